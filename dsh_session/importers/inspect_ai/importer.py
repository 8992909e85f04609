"""Recognising and reading Inspect AI's evaluation logs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dsh_session.core.session import Session
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.inspect_ai.archive import MAGIC, Archive
from dsh_session.importers.inspect_ai.conversations import write_sample
from dsh_session.importers.inspect_ai.samples import SampleLog, has_sample_shape, sample_log
from dsh_session.importers.inspect_ai.shapes import chunked_samples, joined_sample, sample_members
from dsh_session.importers.reading import document
from dsh_session.importers.registry import ImportLogError

_HEADERS: Final = ("header.json", "_journal/start.json")
_MARKS: Final = (b"_journal/start.json", b"samples/", b"header.json")
_TAIL: Final = 1 << 16


class InspectAi:
    """Reads evaluation logs: an archive with a file for each sample, or one JSON document.

    Each sample is a session, the first one the main one. Model calls of a sample that have no message in
    common with its conversation, such as a grader's, are sub-agents.
    """

    name = "inspect-ai"
    agent = "Inspect AI"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by the members of an archive, or by an evaluation and its samples."""
        if sample.is_dir:
            return False
        if sample.head.startswith(MAGIC):
            return any(mark in sample.head for mark in _MARKS) or _directory_tells(sample.path)
        found = sample.document
        return isinstance(found, dict) and isinstance(found.get("eval"), dict) and "status" in found

    def find(self, folder: Path) -> Iterator[Path]:
        """Give the archives below a folder."""
        yield from sorted(folder.rglob("*.eval"))

    def read(self, path: Path, *, sample: str | None = None, **_options: Any) -> Imported:
        """Read a log.

        Args:
            path: The archive or document.
            sample: The id of the sample to read; all of them by default.

        Raises:
            ImportLogError: ``IMPORT_EMPTY`` when there is no sample that can be read.
            OSError: When it cannot be opened.
        """
        book = Book(path.name)
        with path.open("rb") as file:
            is_archive = file.read(len(MAGIC)) == MAGIC
        logs = _from_archive(path, book, sample) if is_archive else _from_document(path, book, sample)
        sessions: list[Session] = []
        subagents: list[Session] = []
        lineage: list[Descent] = []
        taken: set[str] = set()
        for log in logs:
            main, children, descents = write_sample(log, book, taken)
            sessions.append(main)
            subagents += children
            lineage += descents
        if not sessions:
            told = (
                "there is no sample in it that can be read" if sample is None else f"it holds no sample {sample!r:.80}"
            )
            hints = "; ".join(finding.message for finding in book.findings[:3])
            raise ImportLogError("IMPORT_EMPTY", f"{path}: {told}{f' ({hints})' if hints else ''}")
        return Imported(sessions[0], book, agent=self.agent, subagents=subagents, lineage=lineage, others=sessions[1:])


def _from_archive(path: Path, book: Book, wanted: str | None) -> Iterator[SampleLog]:
    """Read an archive sample by sample; only one of them is in memory at a time."""
    name = book.file
    with Archive(path, book) as archive:
        book.entries[name] = 1
        book.side("members", list(archive.members), line=1)
        members, others = sample_members(archive.members, book)
        facts: dict[str, Any] = {}
        for other in others:
            value = _member(archive, other, book)
            book.side(other, value, line=1)
            if other in _HEADERS and isinstance(value, dict) and not facts:
                facts = value
        for member in members:
            value = _member(archive, member, book)
            if isinstance(value, dict) and _is_wanted(value, wanted):
                yield sample_log(value, member, 0, facts)
            else:
                book.side("sample", value, line=1)
                if value is not None and not isinstance(value, dict):
                    book.finding("NOT_A_SAMPLE", "it holds no object; it went to the side table", 1)
        for prefix, parts in chunked_samples(archive.members).items():
            value = joined_sample(parts, lambda part: _part(archive, part, book))
            book.file = f"{prefix}/sample.json"
            if value is not None and _is_wanted(value, wanted):
                yield sample_log(value, book.file, 0, facts)
            elif value is not None:
                book.side("sample", value, line=1)
    book.file = name


def _member(archive: Archive, name: str, book: Book) -> Any:
    book.file = name
    content = archive.read(name)
    book.entries[name] = 1
    return document(content, book) if content else None


def _part(archive: Archive, name: str, book: Book) -> Any:
    value = _member(archive, name, book)
    # What a sequence holds is told of as a part of its sample.
    book.side("part", {"items": len(value)} if isinstance(value, list) else value, line=1)
    return value


def _from_document(path: Path, book: Book, wanted: str | None) -> Iterator[SampleLog]:
    found = document(path, book)
    if not isinstance(found, dict):
        return
    samples = found.pop("samples", None)
    facts = found
    book.side("log", facts, line=None)
    first = 0
    for value in samples if isinstance(samples, list) else ():
        if isinstance(value, dict) and _is_wanted(value, wanted):
            log = sample_log(value, path.name, first, facts)
            first += log.length
            yield log
        else:
            book.side("sample", value, line=None)
            if not isinstance(value, dict):
                book.finding("NOT_A_SAMPLE", "a sample that is no object; it went to the side table")
    book.entries[path.name] = first


def _is_wanted(value: dict[str, Any], wanted: str | None) -> bool:
    return has_sample_shape(value) if wanted is None else text_from(value.get("id")) == wanted


def _directory_tells(path: Path) -> bool:
    """Tell by the archive's directory, which stands at its end."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        tail = file.read()
    return any(mark in tail for mark in _MARKS)


IMPORTER = InspectAi()
