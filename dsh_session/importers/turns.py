"""Writing turns: what begins and ends them, and what may stand anywhere in them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final

import dsh_session.hooks  # noqa: F401 -- declares the payloads of hook events, which are checked here
from dsh_session.core.vocabulary import CORE_TYPES, VOCABULARY
from dsh_session.importers.blocks import lawful_json
from dsh_session.importers.lawful import reason_from, todos_from
from dsh_session.importers.pen import Pen

USER: Final = {"kind": "user"}
Reason = Mapping[str, Any] | str | None


class Turns(Pen, ABC):
    """Writes turns; see `Assembler`."""

    def open_turn(self, trigger: Mapping[str, Any] | None = None) -> int:
        """Open a turn that the log marks itself; the next prompt belongs to it.

        Args:
            trigger: A ``TurnTrigger``; a message of the user's by default.

        Returns:
            The seq of the ``turn/start``.
        """
        self._close_turn()
        seq = self._begin_turn(dict(trigger) if trigger else {"kind": "message", "source": USER})
        self._is_fresh = True
        return seq

    def prompt(self, content: Any, *, source: Mapping[str, Any] | None = None, sources: Iterable[int] = ()) -> int:
        """Write what a person asked, in a turn of its own; an open turn ends as ``completed`` first.

        Args:
            content: Text, blocks, or what becomes blocks.
            source: Who asked; the user by default.
            sources: Seqs of events that this one repeats.

        Returns:
            The seq of the ``user/message``.
        """
        if not (self._is_open and self._is_fresh):
            self._close_turn()
            self._begin_turn({"kind": "message", "source": dict(source or USER)})
        return self.user(content, source=source, sources=sources)

    def user(self, content: Any, *, source: Mapping[str, Any] | None = None, sources: Iterable[int] = ()) -> int:
        """Write one more user message into the open turn; without one, it is a prompt."""
        origin = dict(source or USER)
        if not self._is_open:
            self._begin_turn({"kind": "message", "source": origin})
        self._is_fresh = False
        return self._message("user/message", {"content": self._blocks(content), "source": origin}, sources)

    def context(self, content: Any, *, kind: str | None = None, meta: Any = None, sources: Iterable[int] = ()) -> int:
        """Write what the model saw though nobody said it; outside a turn it gets one of its own.

        Args:
            content: Text, blocks, or what becomes blocks.
            kind: What it is; the source is the plugin ``<agent>-<kind>``, or ``<agent>``.
            meta: State that the model does not see.
            sources: Seqs of events that this one repeats.

        Returns:
            The seq of the ``context/message``.
        """
        source = {"kind": "plugin", "plugin": f"{self.plugin}-{kind}" if kind else self.plugin}
        if not self._is_open:
            self._begin_turn({"kind": "injection", "source": source})
        data: dict[str, Any] = {"content": self._blocks(content), "source": source, "envelope": "raw"}
        if meta is not None:
            data["meta"] = lawful_json(meta)
        return self._message("context/message", data, sources)

    def steering(self, content: Any, *, source: Mapping[str, Any] | None = None, sources: Iterable[int] = ()) -> int:
        """Write what was said to the model while a turn was running; without an open turn it is a prompt."""
        if not self._is_open:
            return self.prompt(content, source=source, sources=sources)
        data = {"turn": self._turn, "content": self._blocks(content), "source": dict(source or USER)}
        return self._message("steering/message", data, sources)

    def end_turn(self, reason: Reason = None) -> int | None:
        """End the open turn, if there is one.

        Args:
            reason: A ``TurnEndReason`` or its kind; ``completed`` by default.

        Returns:
            The seq of the ``turn/end``.
        """
        if not self._is_open:
            return None
        self.end_step()
        data = {"turn": self._turn, "reason": reason_from(reason, self._step)}
        seq = self._write("turn/end", data)
        self._is_open = self._is_fresh = False
        self.closed_at.append(seq)
        return seq

    def _begin_turn(self, trigger: Mapping[str, Any]) -> int:
        self._turn += 1
        self._step = 0
        self._is_open = True
        self._is_fresh = False
        return self._write("turn/start", {"turn": self._turn, "trigger": trigger})

    def _close_turn(self, reason: Reason = None) -> None:
        """End the open turn because something else begins: when the last event of it happened, not now."""
        if not self._is_open:
            return
        now, lines, file = self._now, self._lines, self._file
        self._trace()
        if self._log and self._has_times:
            self._now = self._log[-1].time
        self._lines, self._file = self._written_lines, self._written_file
        self.end_turn(reason)
        self._trace()
        self._now, self._lines, self._file = now, lines, file

    def todo(self, todos: Any) -> int:
        """Write a whole todo list."""
        self._need_turn()
        return self._write("todo/write", {"todos": todos_from(todos)})

    def event(self, type: str, data: Any) -> int | None:  # noqa: A002 (the field's name)
        """Write a log-only event, such as ``hook/invoked``.

        Args:
            type: Its type, none of the core's own.
            data: Its payload; a missing ``turn`` of a ``hook/*`` event is filled in.

        Returns:
            Its seq; None when the payload has not the type's shape. It is in the side table then.
        """
        if type in CORE_TYPES:
            raise ValueError(f"{type!r} has a method of its own")
        self._need_turn()
        payload = lawful_json(data)
        if isinstance(payload, dict) and type.startswith(("hook/", "compact/")) and "turn" not in payload:
            payload = {"turn": self._turn, **payload}
        shape = VOCABULARY.shape(type)
        fault = None if shape is None else shape.fault(payload)
        if fault is not None:
            self.finding("BAD_EVENT", f"${fault[0]} of {type!r} {fault[1]}; it went to the side table")
            self.side(type, data)
            return None
        return self._write(type, payload)

    def _need_turn(self) -> None:
        if not self._is_open:
            self._begin_turn({"kind": "injection", "source": {"kind": "plugin", "plugin": self.plugin}})

    @abstractmethod
    def end_step(self) -> int | None:
        """End the open step, if there is one."""
