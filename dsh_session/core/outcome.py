"""Why a turn ended: what counts when several things happened in it."""

from collections.abc import Mapping
from typing import Any

from dsh_session.core.errors import PayloadError
from dsh_session.core.lossless import snapshot_json_value
from dsh_session.core.vocabulary import VOCABULARY

Reason = dict[str, Any]
"""A ``TurnEndReason``, with its ``kind``."""

_RANKS = {"disposed": 0, "aborted": 1, "error": 2, "max-tokens": 4, "completed": 5}
_FAILED = "the model reported a failure"
_PLUGINS = 3  # a kind of somebody else's says more than that a step was cut short


class Outcome:
    """What happened in a turn so far, and the end reason that follows.

    ``disposed``, ``aborted`` and ``error`` come before ``max-tokens``, and that before
    ``completed``; of two alike, the first counts.

    Example:
        >>> outcome = Outcome()
        >>> outcome.note({"kind": "max-tokens"})
        >>> outcome.note_finish(finish_of("stop"), step=2)
        >>> outcome.reason()
        {'kind': 'max-tokens'}
    """

    def __init__(self) -> None:
        """Start with a turn in which nothing happened."""
        self._reasons: list[Reason] = []

    def note(self, reason: str | Mapping[str, Any]) -> None:
        """Take in a reason to end; a string is one's kind.

        Raises:
            SessionError: ``PAYLOAD_INVALID`` or ``NOT_JSON`` for what is no end reason.
        """
        self._reasons.append(_member("end-reason", reason))

    def note_finish(self, finish: Mapping[str, Any], *, step: int) -> None:
        """Take in why a model call of a step finished; see `finish_of`."""
        kind = finish.get("kind")
        if kind == "error":
            code = {"code": finish["code"]} if "code" in finish else {}
            self._reasons.append({"kind": "error", "step": step, "message": finish.get("message", _FAILED), **code})
        elif kind in ("max-tokens", "aborted"):
            self._reasons.append({"kind": kind})

    def note_exception(self, error: BaseException, *, step: int) -> None:
        """Take in what was raised: an error in the given step, or, for a stop from outside, the abortion."""
        text = _text_of(error)
        if isinstance(error, Exception):
            code = _code_of(error)
            failed = {"kind": "error", "step": step, "message": text}
            self._reasons.append(failed if code is None else {**failed, "code": code})
        else:
            # KeyboardInterrupt, SystemExit and the cancellations of asyncio and others are no Exceptions.
            self._reasons.append({"kind": "aborted", "reason": text})

    def reason(self, otherwise: Reason | None = None) -> Reason:
        """Give the reason that counts, or `otherwise` (``completed``) when nothing happened."""
        fallback = otherwise or {"kind": "completed"}
        return min(self._reasons, key=lambda reason: _RANKS.get(reason.get("kind", ""), _PLUGINS), default=fallback)


def finish_of(finish: str | Mapping[str, Any]) -> Reason:
    """Give a finish reason in wire form; a string is one's kind.

    Raises:
        SessionError: ``PAYLOAD_INVALID`` or ``NOT_JSON`` for what is no finish reason.
    """
    return _member("finish", {"kind": "error", "message": _FAILED} if finish == "error" else finish)


def _member(name: str, reason: str | Mapping[str, Any]) -> Reason:
    plain = {"kind": reason} if isinstance(reason, str) else dict(reason)
    copied: Reason = snapshot_json_value(plain, what=name)
    # Checked here, where the mistake is: at the end of the turn it would leave the turn open.
    fault = VOCABULARY.open_sum(name).fault(copied)
    if fault is not None:
        raise PayloadError("PAYLOAD_INVALID", f"$.reason{fault[0]} {fault[1]}")
    return copied


def _text_of(error: BaseException) -> str:
    try:
        # Joining gives a plain str even where __str__ gives a subclass.
        text = "".join([str(error)])
    except Exception:  # noqa: BLE001 (an error that cannot say what it is still has a name)
        text = ""
    return text or type(error).__name__


def _code_of(error: Exception) -> str | None:
    try:
        code = getattr(error, "code", None)
    except Exception:  # noqa: BLE001 (a property that fails is no code)
        return None
    return code if type(code) is str and code else None
