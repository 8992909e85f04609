"""Reading logs of later revisions, event by event."""

import hashlib
from pathlib import Path
from typing import Any, Final

from dsh_session.core.event import Replace
from dsh_session.core.revision import is_version_0, looks_later
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import is_seq
from dsh_session.core.vocabulary import CORE_TYPES, VOCABULARY
from dsh_session.importers.blocks import lawful_blocks, lawful_json, text_from
from dsh_session.importers.book import Book
from dsh_session.importers.detection import Sample
from dsh_session.importers.dsh_later import mapping
from dsh_session.importers.dsh_later.packed import PACKED, expand
from dsh_session.importers.dsh_later.rewriter import Rewriter
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.reading import Line, decode, lines

_HEADER: Final = ("type", "version", "id", "createdAt", "cwd", "parentSession", "seedLength")


class DshLater:
    r"""Reads logs of later revisions of the harness; see the package.

    Example:
        >>> from dsh_session.importers.detection import Sample
        >>> later = b'{"type":"session","version":0,"id":"s","createdAt":5,"delegationDepth":0}\n'
        >>> DshLater().recognises(Sample(Path("x"), later))
        True
    """

    name = "dsh-later"
    agent = "dsh (later)"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by its header, or by events that version 0 does not have."""
        first = sample.values[0] if sample.values else None
        if not isinstance(first, dict) or type(first.get("type")) is not str:
            return False
        if first["type"] != "session":
            # A log that lost its header. Claude Code and pi have lines with `data`, too, but types of one word.
            is_event = "data" in first and ("/" in first["type"] or first["type"] in PACKED)
            return is_event and looks_later(sample.head)
        if type(first.get("version")) not in (int, float) or "createdAt" not in first:
            return False
        return not is_version_0(sample.head)

    def read(self, path: Path, **_options: Any) -> Imported:
        """Read a log."""
        return read_tolerantly(path, Book(path.name), agent=self.agent)


def read_tolerantly(path: Path, book: Book, *, agent: str, keeps_unknown: bool = False) -> Imported:
    """Read a log of any revision, whatever damage it has.

    Args:
        path: The log.
        book: Takes what is found.
        agent: The agent's name for people.
        keeps_unknown: Whether events of unknown types stay events, as version 0 has it.
    """
    return _Reading(book, agent, keeps_unknown).run(path)


class _Reading:
    """One log that is being read."""

    def __init__(self, book: Book, agent: str, keeps_unknown: bool) -> None:  # noqa: FBT001 (private)
        self.book = book
        self.agent = agent
        self.keeps_unknown = keeps_unknown
        self.make: Rewriter | None = None
        self.seqs: dict[int, int] = {}  # from theirs to ours
        self.next = 0
        self.seen: set[int] = set()
        self.seed: int | None = None
        self.header: dict[str, Any] = {}
        self.steering: set[str] = set()
        self.has_answer = False

    def run(self, path: Path) -> Imported:
        for line in lines(path, self.book):
            value = decode(line, self.book)
            if value is None:
                self.next += self.make is not None
                continue
            make = self.make
            if make is None:
                make = self.make = self._begin(value, line)
                if isinstance(value, dict) and value.get("type") == "session":
                    continue
            self._take(make, value, line)
        make = self.make or self._begin({}, Line(1, 0, b""))
        if self.seed is not None and "seedLength" not in make._wire:
            make._wire["seedLength"] = make.last + 1
        session = make.finish()
        lineage = []
        if session.header.parent_session is not None:
            kind: Any = "subagent" if self.header.get("origin") == "subagent" else "fork"
            length = session.header.seed_length or 0
            lineage = [Descent(session.id, session.header.parent_session, length, kind)]
        return Imported(session, self.book, agent=self.agent, lineage=lineage)

    def _begin(self, value: Any, line: Line) -> Rewriter:
        if isinstance(value, dict) and value.get("type") == "session":
            self.header = value
            seed: Any = value.get("seedLength")
            self.seed = int(seed) if is_seq(seed) else None
            wire = {key: value[key] for key in _HEADER[2:6] if key in value}
            rest = {key: item for key, item in value.items() if key not in _HEADER}
            if value.get("version") != 0:
                version = name_of(value.get("version"))
                told = f"the log is of version {version}, which is unknown; it was read as far as it is alike"
                self.book.finding("NEWER_VERSION", told, line.number)
                rest["version"] = value.get("version")
        else:
            wire, rest = {"id": f"dsh-{hashlib.sha256(line.raw).hexdigest()[:16]}"}, {}
            self.book.finding(
                "NO_HEADER", "the log has no header line; its id was made from its first line", line.number
            )
        make = Rewriter(wire, self.book, plugin="dsh")
        self.book.side("header", {**value, **rest} if self.header else rest, line=line.number, session=make.id)
        return make

    def _take(self, make: Rewriter, value: Any, line: Line) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or not isinstance(value.get("data"), dict):
            make.at(line.number)
            what = "a second header" if kind == "session" else "no event"
            self.book.finding("BAD_EVENT", f"line {line.number} is {what}; it went to the side table", line.number)
            make.side("event", value)
            self.next += kind != "session"
            return
        own = value.get("seq0" if kind in PACKED else "seq")
        seq = int(own) if is_seq(own) else self.next
        make.at(line.number, value.get("time0" if kind in PACKED else "time"))
        if seq in self.seen:
            make.finding("DUPLICATE_SEQ", f"line {line.number}: seq {seq} comes again; the line went to the side table")
            make.side("event", value)
            return
        if self.seed is not None and seq >= self.seed and "seedLength" not in make._wire:
            make._wire["seedLength"] = make.last + 1
        if kind in PACKED:
            self._take_packed(make, value, seq, line)
            return
        self.seen.add(seq)
        self.next = seq + 1
        made = self._map(make, mapping.RENAMED.get(kind, kind), value["data"], value)
        if made is not None:
            self.seqs[seq] = made

    def _take_packed(self, make: Rewriter, row: dict[str, Any], seq: int, line: Line) -> None:
        chunks = expand(row)
        if isinstance(chunks, str):
            make.finding("BAD_EVENT", f"line {line.number}: a packed row: {chunks}; it went to the side table")
            make.side("event", row)
            self.next = seq + 1
            return
        for at, (time, chunk) in enumerate(chunks):
            make.at(line.number, time)
            self.seqs[seq + at] = make.stepped("assistant/chunk", {"chunk": chunk})
        self.seen.update(range(seq, seq + len(chunks)))
        self.next = seq + len(chunks)

    # ------------------------------------------------------------------------------------------------ one event each

    def _map(self, make: Rewriter, kind: str, data: dict[str, Any], wire: dict[str, Any]) -> int | None:
        if kind == "assistant/chunk":
            return self._chunk(make, data)
        if kind == "turn/start":
            self.has_answer = False
            return make.start_turn(_trigger(data.get("trigger")))
        if kind == "turn/end":
            reason, rest = mapping.end_reason(data.get("reason"), make.last_step)
            self._rest(make, kind, rest)
            if make.turn is not None:
                return make.end_turn(reason)
            self._stray(make, kind, data)
            return None
        if kind == "step/start":
            return make.start_step()
        if kind == "step/end":
            if make.step is not None:
                return make.end_step()
            self._stray(make, kind, data)
            return None
        if kind == "user/message":
            return self._message(make, data, wire)
        if kind in ("context/message", "steering/message"):
            return self._older_message(make, kind, data, wire)
        if kind == "assistant/message":
            return self._answer(make, data, wire)
        if kind == "tool/call":
            kept, rest = mapping.split(data, ("callId", "name", "arguments"))
            made = {name: _text(kept.get(name)) for name in ("callId", "name", "arguments")}
            return self._with_rest(make, kind, make.called(made), mapping.split(rest, ("turn", "step"))[1])
        if kind == "tool/result":
            return self._result(make, data, wire)
        if kind == "request/header":
            made, rest = mapping.header(data)
            return self._with_rest(make, kind, make.log(kind, made), rest)
        if kind in mapping.KEPT:
            return self._log_only(make, kind, data)
        if kind == "agent/inbox/spliced" and data.get("target") == "next-step":
            queued = data.get("inserted")
            self.steering.update(
                message["id"]
                for message in (queued if isinstance(queued, list) else ())
                if isinstance(message, dict) and type(message.get("id")) is str
            )
        if self.keeps_unknown and kind not in CORE_TYPES:
            return make.log(kind, lawful_json(data))
        is_known = kind in mapping.DROPPED or kind.startswith(mapping.DROPPED_FAMILIES) or wire.get("ignorable") is True
        if not is_known:
            make.finding("UNKNOWN_TYPE", f"the event type {name_of(kind)} is unknown; it went to the side table")
        make.side(kind, data)
        return None

    def _chunk(self, make: Rewriter, data: dict[str, Any]) -> int | None:
        chunk = data.get("chunk")
        made = {"chunk": lawful_json(mapping.chunk(chunk) if isinstance(chunk, dict) else chunk)}
        shape = VOCABULARY.shape("assistant/chunk")
        fault = shape.fault({"turn": 1, "step": 1, **made}) if shape is not None else None
        if fault is not None:
            self._unfit(make, "assistant/chunk", data, fault)
            return None
        return make.stepped("assistant/chunk", made)

    def _log_only(self, make: Rewriter, kind: str, data: dict[str, Any]) -> int | None:
        make._need_turn()
        made, rest = mapping.log_only(kind, data, make.turn or 0)
        if kind == "compact/summary":
            kept, rest = mapping.split(
                made,
                ("summary", "shadowedTokenCount", "provider", "model", "maxTokens", "shadowedRange", "shadowedSeqs"),
            )
            made = {**kept, "summary": lawful_blocks(made.get("summary"), make._note)}
            made.update(self._shadowed(data))
        elif kind in ("compact/start", "compact/end"):
            made["turn"] = make.turn
        elif kind == "prompt/blocked":
            made["content"] = lawful_blocks(made.get("content"), make._note)
        shape = VOCABULARY.shape(kind)
        fault = shape.fault(made) if shape is not None else None
        if fault is not None:
            self._unfit(make, kind, data, fault)
            return None
        return self._with_rest(make, kind, make.log(kind, made), rest)

    def _shadowed(self, data: dict[str, Any]) -> dict[str, Any]:
        """Say which of our events a summary stands for."""
        told = data.get("shadowedSeqs")
        seqs = [self.seqs[seq] for seq in (told if isinstance(told, list) else ()) if self._known(seq)]
        made: dict[str, Any] = {"shadowedSeqs": seqs}
        given = data.get("shadowedRange")
        if isinstance(given, dict):
            ends = [given.get("start"), given.get("end")]
            if all(self._known(end) for end in ends):
                made["shadowedRange"] = {"start": self.seqs[ends[0]], "end": self.seqs[ends[1]]}  # type: ignore[index]
        if "shadowedRange" not in made and seqs:
            made["shadowedRange"] = {"start": seqs[0], "end": seqs[-1]}
        return made

    def _known(self, seq: Any) -> bool:
        return type(seq) is int and seq in self.seqs

    def _message(self, make: Rewriter, data: dict[str, Any], wire: dict[str, Any]) -> int | None:
        sources, op = self._surface(make, wire)
        source = data.get("source") if isinstance(data.get("source"), dict) else {"kind": "user"}
        assert isinstance(source, dict)
        content = lawful_blocks(data.get("content"), make._note)
        rest = mapping.split(data, ("content", "source", "role"))[1]
        is_users = source.get("kind") == "user" and type(source.get("kind")) is str
        origin: dict[str, Any] = {"kind": "user"} if is_users else _plugin(source)
        further = mapping.split(source, ("kind", "plugin"))[1]
        if op is None:
            make.started_by(origin)
        is_steering = data.get("id") in self.steering if type(data.get("id")) is str else False
        if op is None and is_users and make.turn is not None and (is_steering or self.has_answer):
            made = make.said("steering/message", {"content": content, "source": origin}, sources, None)
        elif is_users or (op is not None and origin["plugin"] == "compact"):
            made = make.said("user/message", {"content": content, "source": origin}, sources, op)
        else:
            message: dict[str, Any] = {"content": content, "source": origin, "envelope": "raw"}
            if further:
                message["meta"] = lawful_json(further)
                further = {}
            made = make.said("context/message", message, sources, op)
        if further:
            rest["source"] = further
        return self._with_rest(make, "user/message", made, rest)

    def _older_message(self, make: Rewriter, kind: str, data: dict[str, Any], wire: dict[str, Any]) -> int | None:
        """Take a message that the revisions before the folding wrote, as version 0 does."""
        sources, op = self._surface(make, wire)
        source = data.get("source") if isinstance(data.get("source"), dict) else {}
        assert isinstance(source, dict)
        origin = {"kind": "user"} if source.get("kind") == "user" else _plugin(source)
        made: dict[str, Any] = {"content": lawful_blocks(data.get("content"), make._note), "source": origin}
        if kind == "context/message":
            if data.get("envelope") in ("context", "raw"):
                made["envelope"] = data["envelope"]
            if data.get("meta") is not None:
                made["meta"] = lawful_json(data["meta"])
        rest = mapping.split(data, ("turn", "content", "source", "envelope", "meta", "role"))[1]
        return self._with_rest(make, kind, make.said(kind, made, sources, op), rest)

    def _answer(self, make: Rewriter, data: dict[str, Any], wire: dict[str, Any]) -> int:
        sources, op = self._surface(make, wire)
        made, rest = mapping.answer(data)
        made["content"] = lawful_blocks(made["content"], make._note)
        self.has_answer = True
        return self._with_rest(make, "assistant/message", make.answered(made, sources, op), rest)

    def _result(self, make: Rewriter, data: dict[str, Any], wire: dict[str, Any]) -> int | None:
        sources, op = self._surface(make, wire)
        made, rest = mapping.result(data)
        made["content"] = lawful_blocks(made["content"], make._note)
        seq = make.returned(made, sources, op)
        if seq is None:
            make._need_turn()
            seq = make._orphan(made["callId"], made["content"], made.get("meta"), ())
        return self._with_rest(make, "tool/result", seq, rest)

    # ------------------------------------------------------------------------------------------------- what is left

    def _surface(self, make: Rewriter, wire: dict[str, Any]) -> tuple[list[int], Replace | None]:
        """Give the sources and the range of a message by our seqs."""
        told = wire.get("sourceEventSeqs")
        sources = [self.seqs[seq] for seq in (told if isinstance(told, list) else ()) if self._known(seq)]
        op = wire.get("surfaceOp")
        if not isinstance(op, dict):
            return sources, None
        start, end = op.get("start"), op.get("end")
        if self._known(start) and self._known(end):
            return sources, Replace(self.seqs[start], self.seqs[end])  # type: ignore[index]
        told_range = f"{name_of(start)} to {name_of(end)}"
        make.finding("RANGE_NOT_FOUND", f"a message replaces {told_range}, which are no messages here; it was appended")
        return sources, None

    def _rest(self, make: Rewriter, kind: str, rest: dict[str, Any]) -> None:
        if rest:
            make.side(kind, rest)

    def _with_rest(self, make: Rewriter, kind: str, seq: int, rest: dict[str, Any]) -> int:
        if rest:
            make.side(kind, rest, seq=seq)
        return seq

    def _stray(self, make: Rewriter, kind: str, data: dict[str, Any]) -> None:
        make.finding("STRAY_EVENT", f"{name_of(kind)} ends what is not open; it went to the side table")
        make.side(kind, data)

    def _unfit(self, make: Rewriter, kind: str, data: dict[str, Any], fault: Any) -> None:
        make.finding("BAD_EVENT", f"${fault[0]} of {name_of(kind)} {fault[1]}; it went to the side table")
        make.side(kind, data)


def _plugin(source: dict[str, Any]) -> dict[str, Any]:
    """Give a source that is no person's as a plugin's."""
    name = source.get("plugin") if source.get("kind") == "plugin" else source.get("kind")
    return {"kind": "plugin", "plugin": name if type(name) is str and name else "unknown"}


def _trigger(trigger: Any) -> dict[str, Any] | None:
    """Give a turn's trigger where an older revision wrote it."""
    if not isinstance(trigger, dict) or trigger.get("kind") not in ("message", "injection"):
        return None
    source = trigger.get("source")
    if not isinstance(source, dict):
        return None
    origin = {"kind": "user"} if source.get("kind") == "user" else _plugin(source)
    return {"kind": trigger["kind"], "source": origin}


def _text(value: Any) -> str:
    return value if type(value) is str else text_from(value)


IMPORTER = DshLater()
