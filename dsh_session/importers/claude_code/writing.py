"""One path through the tree, written as a session."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import LawfulBlocks
from dsh_session.importers.book import Book, text_of
from dsh_session.importers.claude_code.content import said, without_base64
from dsh_session.importers.claude_code.entries import CONTEXT, PROMPT, RESPONSE, RESULT, SUMMARY, Entry
from dsh_session.importers.claude_code.leftovers import Left
from dsh_session.importers.claude_code.nodes import COMPACTION, Node
from dsh_session.importers.claude_code.notes import Hook, hook_of, retry_message
from dsh_session.importers.claude_code.places import Places
from dsh_session.importers.claude_code.taking import Taken, counts_of, take, without
from dsh_session.importers.claude_code.values import Fields, integer, items, mapping, python, string

PROVIDER: Final = "anthropic"
INTERRUPTED: Final = "[Request interrupted by user"
HOOK_FEEDBACK: Final = "Stop hook feedback"


class Writer:
    """Writes a path, node by node; see the module.

    Attributes:
        make: What writes the events.
        book: Takes the side table.
        kept: The lines that some compaction kept.
        shared: How many events a fork has in common with its parent.
        places: Where the nodes stand among the events.
        again: The lines that may be written more than once; None for all.
    """

    def __init__(
        self,
        make: Assembler,
        book: Book,
        kept: frozenset[Entry],
        parent: "Writer | None" = None,
        *,
        again: set[Entry] | None = None,
        has_forks: bool = True,
    ) -> None:
        """Begin with nothing, or where a fork begins.

        Args:
            make: What writes the events.
            book: Takes the side table.
            kept: The lines that some compaction kept.
            parent: Who wrote the events that a fork shares.
            again: The lines that may be written more than once; all by default.
            has_forks: Whether anyone will ask what it shares with a fork.
        """
        self.make = make
        self.book = book
        self.kept = kept
        self.shared = 0 if parent is None else make.last + 1
        self.places: Places = Places(None if parent is None else parent.places)
        self._parent = parent
        self._has_forks = has_forks
        self.again = again
        self._seqs: dict[Entry, int] = {}
        self._left = Left(make.id)
        book.later(self._left.rows)
        self._todos: dict[str, Any] = {}
        self._model: str | None = None
        self._hooks: int = 0 if parent is None else parent._hooks
        self._is_settled = False
        self._has_met_limit = False
        self._failure: dict[str, Any] | None = None

    def write(self, nodes: Iterable[Node]) -> None:
        """Write nodes, in this order."""
        make, has_forks, again = self.make, self._has_forks, self.again
        before, is_needed = 0, False
        for node in nodes:
            if has_forks:
                before = make.last + 1
                is_needed = again is None or node.entries[0] in again
            if node.kind == PROMPT:
                self._write_prompt(node)
            elif node.kind == RESPONSE:
                self._write_response(node)
            elif node.kind == COMPACTION:
                self._write_compaction(node)
            else:
                self._write_context(node)
            if node.attached:
                if node.is_mixed:
                    node.attached.sort(key=lambda entry: entry.place)
                self.write_attached(node.attached)
            if has_forks:
                self.places.pass_by(node, before, make.last + 1)
                if not is_needed:
                    node.release_lines()
            else:
                node.release()

    def finish(self) -> None:
        """End the turn that the log ends in."""
        self._end_turn(interrupted=self.make.first_pending is not None)
        self.places.end = self.make.last + 1

    # -------------------------------------------------------------------------------------------------------- forks

    @property
    def parent_id(self) -> str:
        """The id of the session that a fork was taken from."""
        return self.make.id if self._parent is None else self._parent.make.id

    def turn_to(self, entry: Entry) -> None:
        """Go on with another file, if a line is of one."""
        if entry.file != self.book.file:
            self.book.file = entry.file

    def _at(self, entry: Entry) -> None:
        if entry.file != self.book.file:
            self.turn_to(entry)
        self.make.at(entry.number, entry.time)

    def seq_of(self, entry: Entry) -> int | None:
        """Give the node of the surface that a line became; None where it became none."""
        seq = self._seqs.get(entry)
        if seq is None and self._parent is not None:
            seq = self._parent.seq_of(entry)
            return None if seq is None or seq >= self.shared else seq
        return seq

    # --------------------------------------------------------------------------------------------------------- turns

    def _end_turn(self, *, interrupted: bool = False) -> None:
        reason: Any = "completed"
        if self._failure is not None:
            reason = {"kind": "error", **self._failure}
        elif interrupted:
            reason = "interrupted"
        elif self._has_met_limit:
            reason = "max-tokens"
        self.make.end_turn(reason)
        self._begin_afresh()

    def _note_closed(self, node: Node, *, was_settled: bool = True) -> None:
        """Remember where the turn before a node was over, for forks that share it."""
        if self._has_forks and self.make.turn is None:
            self.places.close(node, self.make.last + 1, was_settled=was_settled)

    def _begin_afresh(self) -> None:
        self._is_settled = self._has_met_limit = False
        self._failure = None

    # ------------------------------------------------------------------------------------------------------ messages

    def _write_prompt(self, node: Node) -> None:
        was_settled = self._is_settled
        self._end_turn()
        self._note_closed(node, was_settled=was_settled)
        entry = node.entries[0]
        taken = take(entry)
        self._at(entry)
        if not taken.blocks:
            told = f"line {entry.number}: a message without content; an empty prompt stands for it"
            self.make.finding("NO_CONTENT", told)
        self._made(entry, self.make.prompt(taken.blocks), taken)

    def _write_context(self, node: Node) -> None:
        entry = node.entries[0]
        taken = take(entry)
        if self._is_settled and not taken.text.startswith((INTERRUPTED, HOOK_FEEDBACK)):
            # What comes after the model's last word begins something new.
            self._end_turn()
        self._note_closed(node)
        self._write_injected(entry, taken)

    def _write_injected(self, entry: Entry, taken: Taken) -> None:
        make, text = self.make, taken.text
        self._at(entry)
        if text.startswith(HOOK_FEEDBACK) and make.turn is not None:
            seq = make.steering(taken.blocks, source={"kind": "plugin", "plugin": f"{make.plugin}-hook"})
            self._is_settled = False
        else:
            seq = make.context(taken.blocks, kind=_kind_of(text))
        self._made(entry, seq, taken)
        if text.startswith(INTERRUPTED):
            self._abort()

    def _abort(self) -> None:
        self.make.end_turn({"kind": "aborted", "reason": "user"})
        self._begin_afresh()

    def _write_response(self, node: Node) -> None:
        make = self.make
        entries = node.entries
        first = entries[0]
        self.turn_to(first)
        if len(entries) == 1:
            taken = take(first)
            blocks, answers, model, cost = taken.blocks, taken.answers, taken.model, taken.usage
            reason, failure, todos = taken.stop_reason, taken.failure, taken.todos
            if taken.spent:
                self._shorten(first, taken.spent)
            make.at(first.number, first.time)
        else:
            blocks = LawfulBlocks()
            answers, model, cost, reason, failure, todos = [], None, None, None, None, None
            for entry in entries:
                taken = take(entry)
                if taken.spent:
                    self._shorten(entry, taken.spent)
                if type(taken.blocks) is not LawfulBlocks:
                    blocks = [*blocks]
                blocks += taken.blocks
                answers += taken.answers
                model = taken.model or model
                # The counts of a response grow from line to line.
                cost = taken.usage or cost
                reason = taken.stop_reason or reason
                failure = taken.failure or failure
                if taken.todos:
                    todos = {**(todos or {}), **taken.todos}
            make.at([entry.number for entry in entries], first.time)
        seq = make.response(blocks, provenance={"provider": PROVIDER, "model": model}, usage=counts_of(cost))
        is_settled = make.first_pending is None
        self._left.add_all(entries, seq)
        if self.kept:
            self._seqs.update((entry, seq) for entry in entries if entry in self.kept)
        if todos:
            self._todos.update(todos)
        for call, content, is_error in answers:
            make.result(call, content, is_error=is_error)
        self._model = model or self._model
        self._failure = failure
        self._has_met_limit |= reason == "max_tokens"
        self._is_settled = is_settled

    # -------------------------------------------------------------------------------------- what belongs to a message

    def write_attached(self, entries: list[Entry]) -> None:
        """Write the lines that belong to a node."""
        for entry in entries:
            if entry.kind == RESULT:
                self._write_results(entry)
            elif entry.kind == CONTEXT:
                self._write_injected(entry, take(entry))
            else:
                self._write_note(entry)

    def _write_results(self, entry: Entry) -> None:
        make = self.make
        taken = take(entry)
        self._at(entry)
        meta = None if taken.result is None else without_base64(taken.result)
        seq = None
        for call, content, is_error in taken.answers:
            if not call:
                call = self._first_that_waits(entry)  # noqa: PLW2901 (the log has none)
            if self._todos and not is_error and call in self._todos and make.waits_for(call):
                self._write_todos(self._todos.pop(call))
            made = make.result(call, content, is_error=is_error, meta=meta)
            seq = made if seq is None else seq
            meta = None
        self._made(entry, make.last if seq is None else seq, taken)
        if taken.blocks:
            # Said together with the results.
            if taken.text.startswith(INTERRUPTED):
                make.context(taken.blocks)
                self._abort()
            else:
                make.steering(taken.blocks)

    def _first_that_waits(self, entry: Entry) -> str:
        """Give the call that a result without an id answers: they come in the order of the calls."""
        first = self.make.first_pending
        if first is None:
            return ""
        told = f"line {entry.number}: a result names no call; it was given to the first one that waits"
        self.make.finding("RESULT_WITHOUT_ID", told)
        return first

    def _write_todos(self, given: Any) -> None:
        todos = python((mapping(given) or {}).get("todos"))
        if not isinstance(todos, list):
            self.make.finding("BAD_TODOS", "a todo list that is no list; it is in the tool call only")
            return
        lawful = [todo for todo in todos if isinstance(todo, dict)]
        if len(lawful) != len(todos):
            told = f"{len(todos) - len(lawful)} of {len(todos)} todos are no todos; they are in the tool call only"
            self.make.finding("BAD_TODOS", told)
        self.make.todo(lawful)

    # --------------------------------------------------------------------------------------------------------- notes

    def _write_note(self, entry: Entry) -> None:
        make = self.make
        self._at(entry)
        fields = entry.fields()
        kind, subtype = entry.type or "unknown", string(fields.get("subtype"))
        attachment: Fields = {}
        if kind == "attachment":
            attachment = mapping(fields.get("attachment")) or {}
            subtype = string(attachment.get("type"))
            self._write_attachment(entry, subtype, attachment)
        elif kind == "system" and subtype == "api_error":
            self._failure = retry_message(fields)
        elif kind == "system" and subtype == "microcompact_boundary":
            told = f"line {entry.number}: old tool results were cleared here; they stand in the session as they were"
            make.finding("MICROCOMPACTION", told)
        # A line that is no message is kept whole.
        whole = entry.raw if entry.tree is None else text_of(entry.tree)
        make.side(f"{kind}/{subtype}" if subtype else kind, whole)

    def _write_attachment(self, entry: Entry, kind: str | None, attachment: Fields) -> None:
        make = self.make
        if kind == "queued_command":
            content = said(attachment.get("prompt")).blocks
            if not content:
                return
            if string(attachment.get("commandMode")) == "task-notification":
                self._remember(entry, make.context(content, kind="task-notification"))
            else:
                is_prompt = make.turn is None
                self._remember(entry, make.steering(content))
                if is_prompt:
                    self._begin_afresh()
            self._is_settled = False
        elif kind == "hook_additional_context":
            content = [block for item in items(attachment.get("content")) for block in said(item).blocks]
            if content:
                self._remember(entry, make.context(content, kind="hook"))
        else:
            hook = hook_of(attachment)
            if hook is not None:
                self._write_hook(hook)

    def _write_hook(self, hook: Hook) -> None:
        handler = f"claude:{hook.point}:{self._hooks}"
        self._hooks += 1
        invoked = {"point": hook.point, "dialect": "claude", "handlerId": handler}
        if hook.matcher:
            invoked["matcher"] = hook.matcher
        self.make.event("hook/invoked", invoked)
        self.make.event("hook/result", {"point": hook.point, "handlerId": handler, **hook.outcome})

    # --------------------------------------------------------------------------------------------------- compactions

    def _write_compaction(self, node: Node) -> None:
        make = self.make
        first, last = node.entries[0], node.entries[-1]
        if self._is_settled:
            self._end_turn()
        self._note_closed(node)
        self.turn_to(first)
        make.at([entry.number for entry in node.entries], last.time if last.time is not None else first.time)
        metadata: Fields = {}
        if first.kind != SUMMARY:
            metadata = mapping(first.fields().get("compactMetadata")) or {}
        summary = None
        if last.kind == SUMMARY:
            summary = take(last).blocks
        else:
            told = f"line {first.number}: a compaction without a summary; what it replaced is marked as forgotten"
            make.finding("NO_SUMMARY", told)
        start, end = self._range(node)
        seq = make.compaction(
            start=start,
            end=end,
            summary=summary,
            provider=PROVIDER,
            model=self._model,
            tokens_before=integer(metadata.get("preTokens")),
        )
        for entry in node.entries:
            self._made(entry, make.last if seq is None else seq)
        self._is_settled = False

    def _range(self, node: Node) -> tuple[int | None, int | None]:
        """Give the first and the last node of the surface that a compaction replaced: all before what it kept."""
        surface = self.make.surface
        kept = {self.seq_of(entry) for entry in node.kept}
        before: int | None = None
        for seq in surface:
            if seq in kept:
                break
            before = seq
        return (None, None) if before is None else (surface[0], before)

    def _made(self, entry: Entry, seq: int, taken: Taken | None = None) -> int:
        """Remember what a line became; what it has beside goes to the side table."""
        if taken is not None and taken.spent:
            self._shorten(entry, taken.spent)
        self._left.add(entry, seq)
        self._remember(entry, seq)
        return seq

    def _shorten(self, entry: Entry, spent: Sequence[bytes]) -> None:
        """Let go of what an event has whole: a long log should not stand in memory twice."""
        if self.again is not None and entry not in self.again:
            entry.raw = without(entry.raw, spent)

    def _remember(self, entry: Entry, seq: int) -> None:
        if entry in self.kept:
            self._seqs[entry] = seq


def _kind_of(text: str) -> str | None:
    return "task-notification" if text.startswith("<task-notification>") else None
