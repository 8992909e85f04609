"""Writing one path of a Codex rollout as a session."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.compaction import compact
from dsh_session.importers.codex.counting import Counting
from dsh_session.importers.codex.finished import finished_item, todos_of
from dsh_session.importers.codex.items import (
    UNANSWERED,
    aside_of,
    blocks_of,
    call_id_of,
    output_of,
    plain_text,
    plan_of,
)
from dsh_session.importers.codex.originals import Originals
from dsh_session.importers.codex.prompts import blocks_in_event, said_in_event
from dsh_session.importers.codex.records import COUNTS, ENDS, ITEMS, STARTS, Record
from dsh_session.importers.codex.response import Draft
from dsh_session.importers.codex.rollout import SPOKEN_EVENTS, Rollout, is_response_part, is_told_part
from dsh_session.importers.codex.settings import Settings, Snapshot
from dsh_session.importers.codex.usage import mark_of, usage_of
from dsh_session.importers.path_writer import PathWriter
from dsh_session.importers.paths import Boundary

_OPAQUE: Final = frozenset(
    {
        *("compaction", "compaction_summary", "context_compaction", "ghost_snapshot", "additional_tools"),
        "configuration_update",
    }
)


class State(NamedTuple):
    """What a writer knows at a boundary, apart from the log.

    Attributes:
        settings: What requests are made with.
        mark: What the last token count was.
    """

    settings: Snapshot
    mark: Any = None


class RolloutWriter(PathWriter[Record]):
    """Writes the records of a path, from a boundary on.

    Args:
        rollout: The rollout.
        numbers: The numbers of all records of the path.
        make: What writes the session; it holds the events before the boundary already.
        begin: The boundary.
        originals: What the path that is left there said, for matching kept messages.
        compaction: ``"collapse"`` or ``"exact"``; see `compact`.

    Attributes:
        rollout: The rollout.
        originals: What was said so far, and by which events.
        compaction: ``"collapse"`` or ``"exact"``.
        settings: What requests are made with now.
        spawned: Tool results that name a thread, as (thread, call).
    """

    def __init__(
        self,
        rollout: Rollout,
        numbers: list[int],
        make: Assembler,
        begin: Boundary,
        *,
        originals: Originals | None = None,
        compaction: str = "collapse",
    ) -> None:
        """Take the path, and go to the boundary."""
        super().__init__([rollout.records[number] for number in numbers], make, begin)
        self.rollout = rollout
        self.compaction = compaction
        self.originals = (originals or Originals()).before(begin.length)
        self.spawned: list[tuple[str, str]] = []
        self._numbers = numbers
        state: State = begin.state
        self.settings = Settings(state.settings)
        is_part = is_told_part if rollout.source == "events" else is_response_part
        self._counting = Counting(self.path, state.mark, is_part)
        self._draft = Draft()
        self._held: list[tuple[Record, bool]] = []  # context that came in the middle of a response
        self._task_is_open = False
        self._has_prompt = False
        self._has_answered = False
        self._failure: str | None = None
        self._ids: dict[str, list[int]] | None = None  # of items, once somebody asks
        self._names: dict[str, str] = {}  # of the tools, by the ids of the calls
        for at, record in enumerate(self.path):
            if record.kind == "item" and record.type.endswith("_output"):
                self.ahead.note_answer(_answered(record), at)
            elif record.kind == "item" and record.type.endswith("_call"):
                self.ahead.note_call(call_id_of(record), at)

    def take(self, row: Record) -> None:
        """Write what a record becomes."""
        _WRITERS[row.kind](self, row)

    def take_answer(self, row: Record, at: int) -> None:
        """Write an output that stands further on."""
        del at
        self._write_output(row)

    def finish(self) -> None:
        """Write the last response, end the last turn, and keep the policies that came after it."""
        self.end_response()
        self.end_turn()
        for kind, payload in self.settings.news:
            self.make.side(kind, payload)

    # -------------------------------------------------------------------------------------------------------- turns

    def end_turn(self, reason: dict[str, Any] | None = None, *, own_rows: int = 0) -> None:
        """End the open turn, if there is one.

        Args:
            reason: Why; by default an error that no response followed, else ``completed``.
            own_rows: 1 where the current record belongs to the turn, as its own end mark does.
        """
        make = self.make
        if make.turn is None:
            return
        if reason is None and self._failure is not None:
            reason = {"kind": "error", "step": make.last_step, "message": self._failure}
        make.end_turn(reason)
        self._failure = None
        self._has_prompt = self._has_answered = False
        self.note_boundary(State(self.settings.now, self._counting.mark), own_rows=own_rows)

    def _event(self, record: Record) -> None:
        data = record.data
        if self._number in self.rollout.prompts.echoes:
            self._keep(record)
        elif said_in_event(record) is not None:
            self._prompt(record, blocks_in_event(record))
            self._keep_rest(record, ("message", "type", "item", "turn_id", "thread_id"))
        elif record.type in STARTS:
            self.end_response()
            self.end_turn_before()
            self._task_is_open = True
            self._has_answered = False
            self._keep(record)
        elif record.type in ENDS:
            self._end(record)
        elif record.type == "turn_aborted":
            self.end_response()
            self._task_is_open = False
            reason = data.get("reason")
            self.end_turn({"kind": "aborted", **({"reason": text_from(reason)} if reason else {})}, own_rows=1)
            self._keep(record)
        elif record.type in ("error", "stream_error"):
            self.end_response()
            self._failure = text_from(data.get("message"))
            self._keep(record)
        elif record.type in COUNTS:
            self._token_count(record)
        elif record.type in SPOKEN_EVENTS:
            self._spoken(record)
        else:
            self._finished(record)

    def _end(self, record: Record) -> None:
        if isinstance(record.data.get("usage"), dict) and record.type == "turn.completed":
            self._token_count(record, is_kept=False)
        self.end_response()
        self._task_is_open = False
        self.end_turn(own_rows=1)
        self._keep(record)

    @property
    def _number(self) -> int:
        """The number of the record that is being written."""
        return self._numbers[self.at]

    # ------------------------------------------------------------------------------------------ prompts and context

    def _prompt(self, record: Record, blocks: list[Any]) -> None:
        make = self.make
        self._flush()
        if make.turn is not None and self._task_is_open and self._has_answered:
            seq = make.steering(blocks)
        elif make.turn is not None and self._task_is_open and self._has_prompt:
            seq = make.user(blocks)
        else:
            self.end_response()
            self.end_turn_before()
            seq = make.prompt(blocks)
        self._has_prompt = True
        self._write_policies()
        text = plain_text(record.data.get("content")) if record.kind == "item" else said_in_event(record)
        self.originals.note("user", text or "", seq, is_prompt=True)

    def _context(self, record: Record, *, is_unconfirmed: bool) -> None:
        if self._draft:
            self._held.append((record, is_unconfirmed))
            return
        role = text_from(record.data.get("role"))
        meta: dict[str, Any] = {"role": role} if role else {}
        if is_unconfirmed:
            meta["unconfirmed"] = True
        kind = "developer" if role in ("developer", "system") else None
        seq = self.make.context(blocks_of(record.data.get("content")), kind=kind, meta=meta or None)
        self._write_policies()
        self.originals.note(role, plain_text(record.data.get("content")), seq)

    # --------------------------------------------------------------------------------------------------------- items

    def _item(self, record: Record) -> None:
        data = record.data
        if is_response_part(record):
            self._draft.add(record)
        elif record.type.endswith("_output"):
            self._flush()
            self.make.at(record.line, record.time)
            self._write_output(record)
        elif record.type == "message":
            if self._number in self.rollout.prompts.prompts:
                self._prompt(record, blocks_of(data.get("content")))
            else:
                self._context(record, is_unconfirmed=self._number in self.rollout.prompts.unconfirmed)
            self._keep_rest(record, ())
        elif record.type == "agent_message":
            self._context(record, is_unconfirmed=False)
            self._keep_rest(record, ())
        elif record.type in _OPAQUE:
            self._keep(record)
        else:
            if record.type not in ITEMS:
                self.make.finding("UNKNOWN_ITEM", f"an item of the unknown type {_cut(record.type)} is kept aside")
            self._keep(record)

    def _flush(self, *, counts: bool = True) -> None:
        """Write the response that is being collected, if there is one; with the next token count unless it has none."""
        draft = self._draft
        if not draft:
            return
        self._draft = Draft()
        make = self.make
        self.bring_answers()
        usage = self._counting.take_next(self.at) if counts else None
        make.at(draft.lines, draft.time)
        seq = self._respond(draft.blocks(), usage)
        for role, text in draft.texts():
            self.originals.note(role, text, seq)
        for line, key, value in draft.aside():
            make.at(line).side(key, value, seq=seq)
        for record in draft.parts:
            if record.kind == "item" and record.type.endswith("_call"):
                self._after_call(record)
        for output in draft.finished:
            make.at(output.line, output.time).result(
                output.call_id, output.content, is_error=output.is_error, meta=output.meta
            )
        held, self._held = self._held, []
        for record, is_unconfirmed in held:
            make.at(record.line, record.time)
            self._context(record, is_unconfirmed=is_unconfirmed)
        self.return_to_row()

    def _after_call(self, record: Record) -> None:
        make = self.make.at(record.line, record.time)
        name = text_from(record.data.get("name"))
        call = call_id_of(record)
        self._names[call] = name
        if name == "update_plan":
            plan = plan_of(record.data)
            if plan is not None:
                make.todo(plan)
        if record.type in UNANSWERED and not self.ahead.is_answered(call) and make.waits_for(call):
            result = record.data.get("result")
            content = [] if result in (None, "") else [{"type": "image", "data": result, "mimeType": "image/png"}]
            make.result(call, content)

    def _write_output(self, record: Record) -> None:
        make = self.make
        call = self._call_for(record)
        output = output_of(record.data)
        seq = make.result(call, output.content, is_error=output.is_error, meta=output.meta)
        rest = aside_of(record.data)
        if rest:
            make.side(record.type, rest, seq=seq)
        if self._names.get(call) == "spawn_agent":
            self.spawned.append((text_from(record.data.get("output")), call))

    def _call_for(self, record: Record) -> str:
        """Give the call that an output answers; one that names none answers the first that waits."""
        call = _answered(record)
        first = self.make.first_pending
        if call or first is None:
            return call
        self.make.finding("OUTPUT_WITHOUT_ID", "an output names no call; it was taken for that of the first open call")
        return first

    # ------------------------------------------------------------------------------------------ things out of order

    def end_response(self) -> None:
        """Write the response that is being collected, and bring its outputs here that stand further on."""
        self._flush()
        self.bring_answers()

    # -------------------------------------------------------------------------------------------------- token counts

    def _token_count(self, record: Record, *, is_kept: bool = True) -> None:
        is_new = self._counting.is_new(record)
        if self._draft and is_new:
            self._flush()  # and it takes this count, the first one ahead
        elif is_new:
            self._counting.mark = mark_of(record.data)
            if self.rollout.source == "counts":
                told = "the rollout holds token counts and no responses; each stands for a response without content"
                self.make.book.finding_once("COUNTS_ONLY", told, record.line)
                self._respond([], usage_of(record.data))
        doubt = self._counting.doubt(record)
        if doubt is not None:
            self.make.finding("IMPOSSIBLE_CONTEXT", doubt)
        if is_kept:
            is_repeated = not is_new and not self._counting.is_taken(self.at) and usage_of(record.data) is not None
            self._keep(record, f"{record.type}.repeated" if is_repeated else record.type)

    def _respond(self, blocks: list[Any], usage: dict[str, int] | None) -> int:
        config = self.settings.config
        self.make.header(config, system=self.settings.system)
        seq = self.make.response(blocks, provenance=config, usage=usage)
        self._write_policies()
        self._has_answered = True
        self._failure = None
        return seq

    # ------------------------------------------------------------------------------------- events that repeat items

    def _spoken(self, record: Record) -> None:
        if self.rollout.source == "events":
            self._next_part()
            self._draft.add(record)
        else:
            self._keep(record)

    def _finished(self, record: Record) -> None:
        item = finished_item(record) if self.rollout.source == "events" else None
        todos = todos_of(record) if self.rollout.source == "events" else None
        if todos is not None and (self._draft or self.make.turn is not None):
            self._flush(counts=False)
            self.make.todo(todos)
        if item is None:
            self._keep(record)
        elif item.record is not None:
            self._next_part()
            self._draft.add(item.record)
        else:
            self._next_part()
            self._draft.finish(record, item)

    def _next_part(self) -> None:
        """Begin another response where a tool of the one before has answered; a count between them has ended it."""
        if self._draft.has_results:
            self._flush(counts=False)

    # ------------------------------------------------------------------------------------------------------ settings

    def _settings(self, record: Record) -> None:
        self.settings.take(record)
        if self.make.turn is not None:
            self._write_policies()
        self._keep(record)

    def _write_policies(self) -> None:
        waiting, self.settings.news = self.settings.news, []
        for kind, payload in waiting:
            self.make.event(kind, payload)

    def _meta(self, record: Record) -> None:
        if record.line == self.rollout.meta_line and record.data is self.rollout.meta:
            self._keep(record)
            return
        told = "a further session header is kept in the side table: the rollout copies the history of another"
        self.make.book.finding_once("FURTHER_HEADER", told, record.line)
        self._keep(record)

    def _compacted(self, record: Record) -> None:
        self.end_response()
        compact(self, record)

    # ----------------------------------------------------------------------------------------------------- the rest

    def item_by_id(self, wanted: str) -> dict[str, Any] | None:
        """Give the item on the path, before what is being written, that has an id."""
        if self._ids is None:
            self._ids = {}
            for at, record in enumerate(self.path):
                identity = record.data.get("id") if record.kind == "item" else None
                if isinstance(identity, str):
                    self._ids.setdefault(identity, []).append(at)
        places = self._ids.get(wanted, [])
        before = bisect_left(places, self.at)
        return self.path[places[before - 1]].data if before else None

    def _keep(self, record: Record, key: str | None = None) -> None:
        self.make.side(key or record.type or record.kind, record.data if record.raw is None else record.raw)

    def _keep_rest(self, record: Record, known: tuple[str, ...]) -> None:
        rest = {key: value for key, value in aside_of(record.data).items() if key not in known}
        if rest:
            self.make.side(record.type, rest)


def _answered(record: Record) -> str:
    call = record.data.get("call_id")
    return call if isinstance(call, str) else ""


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


_WRITERS: Final[dict[str, Callable[[RolloutWriter, Record], None]]] = {
    "meta": RolloutWriter._meta,
    "settings": RolloutWriter._settings,
    "item": RolloutWriter._item,
    "event": RolloutWriter._event,
    "compacted": RolloutWriter._compacted,
    "other": RolloutWriter._keep,
}
