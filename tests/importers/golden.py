"""What every recorded log becomes, as text that is compared and, by `scripts/golden`, written anew."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dsh_session import Session
from dsh_session.core.event import Replace
from dsh_session.importers.found import Imported
from tests.importers.corpora import DATA, all_logs, importer_named, label_of

FOLDER = DATA / "golden" / "importers"
WHOLE = 40
"""Up to how many events a session is written in full; a longer one has a line per event."""


def golden_of(name: str, path: Path) -> Path:
    return FOLDER / name / (label_of(path).replace("/", "__") + ".txt")


def text_of(imported: Imported) -> str:
    """Give everything of an import that should not change by accident."""
    lines = [f"agent: {imported.agent}"]
    for session in imported.sessions:
        lines += ["", *_session(session)]
    lines += ["", f"lineage: {len(imported.lineage)}"]
    lines += [json.dumps(row._asdict()) for row in imported.lineage]
    lines += ["", f"findings: {len(imported.findings)}"]
    lines += [f"{finding.code} {finding.line} {finding.message}" for finding in imported.findings]
    rows = imported.book.side_rows
    digest = hashlib.sha256(repr(rows).encode("utf-8", "replace")).hexdigest()[:16]
    lines += ["", f"side table: {len(rows)} rows, sha256 {digest}"]
    lines += [f"{count} {key}" for key, count in sorted(Counter(row[4] for row in rows).items())]
    sources = imported.book.source_rows
    digest = hashlib.sha256(repr(sources).encode("utf-8", "replace")).hexdigest()[:16]
    lines += ["", f"sources: {len(sources)} rows, sha256 {digest}", ""]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace").decode()


def _session(session: Session) -> Iterator[str]:
    text = session.to_jsonl()
    yield f"session: {json.dumps(session.header.to_dict())}"
    digest = hashlib.sha256(text).hexdigest()[:16]
    yield f"events: {session.seq}, nodes: {len(session.surface)}, {len(text)} bytes, sha256 {digest}"
    for event in session.events:
        if session.seq <= WHOLE:
            yield ascii(event.to_json())[1:-1] if not event.to_json().isascii() else event.to_json()
            continue
        op = event.surface_op
        mark = f" replace {op.start} {op.end}" if isinstance(op, Replace) else " *" if op else ""
        digest = hashlib.sha256(event._line).hexdigest()[:8]
        yield f"{event.seq} {event.time} {event.type}{mark} {digest}"


def texts(only: str | None = None) -> Iterator[tuple[Path, str]]:
    """Each file and what it should hold."""
    for name, path in all_logs():
        if only is None or name == only:
            yield golden_of(name, path), text_of(importer_named(name).read(path))


def write(only: str | None = None) -> int:
    """Write all files anew, or those of one format; gives how many have changed."""
    changed = 0
    for path, text in texts(only):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed += 1
    return changed
