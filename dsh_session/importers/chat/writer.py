"""A conversation of chat messages as turns and steps."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.chat.content import Answer
from dsh_session.importers.chat.messages import ChatMessage


class Placed(NamedTuple):
    """A message and where it stands.

    Attributes:
        line: The line, or the entry of a file that is one list.
        message: The message.
    """

    line: int
    message: ChatMessage


class ChatWriter:
    """Writes a conversation: prompts open turns, answers are steps, results go to the step that called.

    Attributes:
        make: Writes the session.
        route: Provider and model, for answers that name none.
        answers: The seqs of the answers so far.
    """

    def __init__(
        self, make: Assembler, route: Mapping[str, str], *, context_kind: Callable[[int], str | None] | None = None
    ) -> None:
        """Take what writes the session.

        Args:
            make: Writes the session.
            route: Provider and model, for answers that name none.
            context_kind: Tells of a message in the role of the user, by its place, what kind of context it
                is; None for what a person said.
        """
        self.make = make
        self.route = dict(route)
        self.answers: list[int] = []
        self._context_kind = context_kind or (lambda _: None)
        self._moved: set[tuple[int, int]] = set()
        self._waiting: dict[str, deque[tuple[int, int]]] = {}  # by call id: where its results stand
        self._asked: dict[str, list[int]] = {}  # by call id: the messages that make such a call
        self._apart: list[int] = []  # by message: the next one that is no mere result

    def write(self, placed: Sequence[Placed], *, system: str = "", header: Mapping[str, Any] | None = None) -> None:
        """Write all messages.

        Args:
            placed: The messages, in order.
            system: A system prompt that stands beside them.
            header: Further arguments for `Assembler.header`: ``config`` and ``tools``.
        """
        groups = _groups(placed)
        self._look_ahead(placed)
        leading = [system] if system else []
        begun = 0
        for group in groups:
            message = placed[group[0]].message
            if message.role != "system":
                break
            leading += [text for block in message.blocks if isinstance(text := block.get("text"), str)]
            self.make.at(placed[group[0]].line, message.time)
            self._keep(message, None)
            self.make.side("system", message.blocks)
            begun += 1
        if leading or header:
            self.make.header(system="\n\n".join(leading), **(header or {}))
        for group in groups[begun:]:
            self._take(group, placed)

    def _look_ahead(self, placed: Sequence[Placed]) -> None:
        for at, (_, message) in enumerate(placed):
            for number, answer in enumerate(message.answers):
                if answer.call_id:
                    self._waiting.setdefault(answer.call_id, deque()).append((at, number))
            for block in message.blocks if message.role == "assistant" else ():
                if block.get("type") == "tool-call":
                    self._asked.setdefault(block["id"], []).append(at)
        self._apart = [len(placed)] * (len(placed) + 1)
        for at in range(len(placed) - 1, -1, -1):
            is_result = placed[at].message.answers and not placed[at].message.blocks
            self._apart[at] = self._apart[at + 1] if is_result else at

    def _take(self, group: Sequence[int], placed: Sequence[Placed]) -> None:
        at = group[0]
        line, message = placed[at]
        make = self.make.at(line, message.time)
        if message.role == "assistant":
            self._answer(group, placed)
            return
        for number, answer in enumerate(message.answers):
            if (at, number) not in self._moved:
                make.at(line, message.time)
                self._result(answer)
        if message.role == "tool":
            self._keep(message, make.last)
            return
        if message.answers and not message.blocks:
            self._keep(message, make.last)
            return
        if message.role == "user" and message.answers:
            seq = make.steering(message.blocks)
        elif message.role == "user":
            kind = self._context_kind(at)
            if kind is None:
                seq = (make.steering if make.first_pending is not None else make.prompt)(message.blocks)
            else:
                make.end_step()
                seq = make.context(message.blocks, kind=kind)
        else:
            make.end_step() if make.first_pending is None else None
            seq = make.context(message.blocks, kind=message.role[:40] or "message")
            if message.role != "system":
                make.finding("UNKNOWN_ROLE", f"a message with the role {message.role!r:.80} was kept as context")
        self._keep(message, seq)

    def _answer(self, group: Sequence[int], placed: Sequence[Placed]) -> None:
        parts = [placed[at] for at in group]
        first = parts[0].message
        make = self.make.at([part.line for part in parts], first.time)
        blocks = [block for part in parts for block in part.message.blocks]
        calls = [block for block in blocks if block.get("type") == "tool-call"]
        for number, call in enumerate(calls):
            if not call["id"]:
                call["id"] = f"call-{make.turn or 0}-{make.last + 1}-{number}"
        model = next((part.message.model for part in parts if part.message.model), "")
        route = {**self.route, **({"model": model} if model else {})}
        usage = next((part.message.usage for part in parts if part.message.usage), None)
        seq = make.response(blocks, provenance=route, usage=usage)
        self.answers.append(seq)
        for part in parts:
            make.at(part.line, part.message.time)
            self._keep(part.message, seq)
            for answer in part.message.answers:  # of tools that the provider ran itself
                make.result(answer.call_id, answer.content, is_error=answer.is_error)
        self._answer_calls(group[-1], calls, placed)

    def _answer_calls(self, at: int, calls: Sequence[Mapping[str, Any]], placed: Sequence[Placed]) -> None:
        """Write the results that stand further down, in their order."""
        found = []
        for call in calls:
            waiting = self._waiting.get(call["id"]) if call["id"] in self._asked else None
            while waiting and waiting[0][0] <= at:
                waiting.popleft()
            if waiting and self.make.waits_for(call["id"]) and self._is_its_own(at, waiting[0][0], call["id"]):
                found.append(waiting.popleft())
        for place, number in sorted(found):
            self._moved.add((place, number))
            line, message = placed[place]
            self.make.at(line, message.time)
            seq = self._result(message.answers[number])
            if self._apart[at + 1] < place:
                self.make.side("moved", {"line": line}, seq=seq)

    def _is_its_own(self, at: int, place: int, call_id: str) -> bool:
        """Tell whether a result is for the call at a place, and for no later one of the same id."""
        asked = self._asked[call_id]
        return bisect_right(asked, at) == bisect_left(asked, place)

    def _result(self, answer: Answer) -> int:
        call_id, first = answer.call_id, self.make.first_pending
        if not call_id and first is not None:
            call_id = first
            self.make.finding("PAIRED_IN_ORDER", "a result names no call; it was given to the first one that waits")
        error = {"name": answer.name or "ToolError", "code": "error"} if answer.is_error else None
        return self.make.result(call_id, answer.content, is_error=answer.is_error, error=error, meta=answer.meta)

    def _keep(self, message: ChatMessage, seq: int | None) -> None:
        for key, value in message.aside:
            self.make.side(key, value, seq=seq)


def _groups(placed: Sequence[Placed]) -> list[list[int]]:
    """Put items that make up one response together; every other message stands alone."""
    groups: list[list[int]] = []
    for at, (_, message) in enumerate(placed):
        before = placed[at - 1].message if at else None
        joins = message.is_item and message.role == "assistant" and before is not None
        if joins and before is not None and before.is_item and before.role == "assistant":
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups
