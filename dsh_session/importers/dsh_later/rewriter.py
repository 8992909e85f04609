"""Writing events that already lie in turns and steps, and putting right what does not."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dsh_session.core.event import Replace, SessionEvent, peek
from dsh_session.core.repair import interrupted_turn_closers
from dsh_session.core.session import Session, _LogOnly, _Message
from dsh_session.importers.assembler import Assembler, Reason
from dsh_session.importers.pen import short, text_of_event

UNKNOWN: Final = {"kind": "plugin", "plugin": "unknown"}
INTERRUPTED: Final = {"name": "InterruptedError", "code": "interrupted"}


class Rewriter(Assembler):
    """Writes a session from events that have turns and steps of their own.

    Their numbers are counted anew. An event outside a turn opens one, which ends before the next.
    """

    _is_wrapped = False
    _untold: int | None = None  # the turn/start that does not know yet what started it

    # Turns and steps.

    def start_turn(self, trigger: Mapping[str, Any] | None) -> int:
        """Open a turn; without a trigger, the first prompt in it will say what started it."""
        if self._is_open and not self._is_wrapped:
            self.finding("OPEN_TURN", f"turn {self._turn} has no end; it was closed as interrupted")
            self._close_turn("interrupted")
        self._close_turn()
        seq = self._begin_turn(trigger or {"kind": "injection", "source": UNKNOWN})
        self._is_wrapped = False
        self._untold = None if trigger else seq
        return seq

    def _begin_turn(self, trigger: Mapping[str, Any]) -> int:
        self._is_wrapped = True  # unless somebody says otherwise
        self._untold = None
        return super()._begin_turn(trigger)

    def _need_turn(self) -> None:
        if not self._is_open:
            self._begin_turn({"kind": "injection", "source": UNKNOWN})

    def started_by(self, source: Mapping[str, Any]) -> None:
        """Say what started the open turn, if nobody did so far."""
        seq, self._untold = self._untold, None
        if seq is None:
            return
        at = self._log[seq]
        data = {"turn": self._turn, "trigger": {"kind": "message", "source": source}}
        self._log[seq] = SessionEvent(at.type, seq, at.time, text_of_event(_LogOnly(at.type, seq, at.time, data)))

    def start_step(self) -> int:
        """Open a step, after closing one that was left open."""
        self._need_turn()
        if self._in_step:
            self.finding("OPEN_STEP", f"step {self._step} of turn {self._turn} has no end; it was closed")
            self.end_step()
        self._step += 1
        self._in_step = True
        return self._boundary("step/start")

    def end_step(self) -> int | None:
        """End the open step; a call without a result may stay without one."""
        self._calls.clear()
        return super().end_step()

    def _need_step(self) -> dict[str, Any]:
        """Give the place of an event that belongs in a step."""
        if not self._in_step:
            self.finding("MISSING_STEP", "an event of a step stands outside any; a step was opened for it")
            self.start_step()
        return {"turn": self._turn, "step": self._step}

    # Events.

    def log(self, kind: str, data: Mapping[str, Any]) -> int:
        """Write an event that may stand anywhere in a turn."""
        self._need_turn()
        return self._write(kind, data)

    def stepped(self, kind: str, data: Mapping[str, Any]) -> int:
        """Write an event that is no message and belongs in a step."""
        place = self._need_step()
        return self._write(kind, {**place, **data})

    def called(self, data: Mapping[str, Any]) -> int:
        """Write a ``tool/call``."""
        seq = self.stepped("tool/call", data)
        self._calls[data["callId"]] = seq
        return seq

    def said(self, kind: str, data: Mapping[str, Any], sources: Iterable[int], op: Replace | None) -> int:
        """Write a message that stands in no step, at the end of the surface or in the place of a range."""
        self._need_turn()
        if kind == "steering/message":
            data = {"turn": self._turn, **data}
        return self._placed(kind, data, sources, op)

    def answered(self, data: Mapping[str, Any], sources: Iterable[int], op: Replace | None) -> int:
        """Write an ``assistant/message``."""
        place = self._need_step()
        seq = self._placed("assistant/message", {**place, **data}, sources, op)
        self._balance[seq] = sum(1 for block in data["content"] if block["type"] == "tool-call")
        return seq

    def returned(self, data: dict[str, Any], sources: Iterable[int], op: Replace | None) -> int | None:
        """Write a ``tool/result``; None when its call waits for none here, or it rewrites no result of that call."""
        call = data["callId"]
        if op is not None:
            return self._rewritten(data, sources, op)
        synthetic = data["isError"] and data.get("error", {}).get("code") == "interrupted"
        if not self._in_step or not (synthetic or call in self._calls):
            return None
        self._calls.pop(call, None)
        seq = self._placed("tool/result", {**self._need_step(), **data}, sources, None)
        self._balance[seq] = -1
        return seq

    def _rewritten(self, data: dict[str, Any], sources: Iterable[int], op: Replace) -> int | None:
        """Write shorter content in a result's place; everything else of the result stays."""
        if op.start != op.end or not self._links.holds(op.start) or self._log[op.start].type != "tool/result":
            return None
        before = peek(self._log[op.start])
        if before.get("callId") != data["callId"]:
            return None
        self._need_turn()
        # One result for another: what is open on either side stays as it was.
        seq = self._spliced("tool/result", {**before, "content": data["content"]}, sources, [op.start])
        self._balance[seq] = -1
        return seq

    def _placed(self, kind: str, data: Mapping[str, Any], sources: Iterable[int], op: Replace | None) -> int:
        if op is None:
            return self._message(kind, data, sources)
        shadowed = self._range(op.start, op.end)
        if shadowed is None:
            return self._message(kind, data, sources)
        return self._spliced(kind, data, sources, shadowed)

    def _spliced(self, kind: str, data: Mapping[str, Any], sources: Iterable[int], shadowed: list[int]) -> int:
        seq, time = len(self._log), self.time
        cited = list(dict.fromkeys([*(source for source in sources if 0 <= source < seq), *shadowed]))
        op = Replace(shadowed[0], shadowed[-1])
        plan = self._links.plan(seq, kind, op, cited)
        assert plan is not None
        self._log.append(SessionEvent(kind, seq, time, text_of_event(_Message(kind, seq, time, data, cited, op)), op))
        self._links.apply(plan)
        return seq

    def finish(self, reason: Reason = None) -> Session:
        """Close what a crash left open, as the harness itself would, and give the session."""
        if self._is_open and not self._is_wrapped and not self._is_over:
            self._trace()
            told = f"the log ends in the open turn {short(str(self._turn))}; it was closed as interrupted"
            self.finding("OPEN_TURN", told)
            for closer in interrupted_turn_closers(self._log):
                if closer["type"] == "tool/result":
                    seq = self._message("tool/result", closer["data"], closer.get("sourceEventSeqs", ()))
                    self._balance[seq] = -1
            self._close_turn("interrupted")
        return super().finish(reason)
