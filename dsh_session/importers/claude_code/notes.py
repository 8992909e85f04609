"""Lines that are no messages and still say something the log has an event for: hooks, and failed requests."""

from typing import Any, Final, NamedTuple

from dsh_session.importers.claude_code.values import Fields, integer, mapping, python, string

_LONGEST_STDERR: Final = 500
_DECISIONS: Final = frozenset({"approve", "allow", "block", "deny", "ask"})
_BLOCKS: Final = 2


class Hook(NamedTuple):
    """A hook that ran.

    Attributes:
        point: When it ran, such as ``"PostToolUse"``.
        matcher: The tool it was asked about.
        outcome: The ``hook/result`` payload without turn, point and handler.
    """

    point: str
    matcher: str | None
    outcome: dict[str, Any]


def hook_of(attachment: Fields) -> Hook | None:
    """Read an attachment that says how a hook went; None unless it names command and exit code.

    Example:
        >>> hook_of({"hookEvent": "Stop", "hookName": "Stop", "command": "true", "exitCode": 0, "durationMs": 12})
        Hook(point='Stop', matcher=None, outcome={'decision': 'pass', 'exitCode': 0, 'durationMs': 12})
    """
    point = string(attachment.get("hookEvent"))
    command = string(attachment.get("command"))
    code = integer(attachment.get("exitCode"))
    if not point or command is None or code is None:
        return None
    _, _, matcher = (string(attachment.get("hookName")) or "").partition(":")
    outcome: dict[str, Any] = {"decision": _decision(string(attachment.get("stdout")) or "", code), "exitCode": code}
    stderr = string(attachment.get("stderr"))
    if stderr:
        outcome["stderrSummary"] = stderr[:_LONGEST_STDERR]
    duration = python(attachment.get("durationMs"))
    outcome["durationMs"] = duration if type(duration) in (int, float) and duration >= 0 else 0
    return Hook(point, matcher or None, outcome)


def _decision(stdout: str, code: int) -> str:
    """Say what a hook decided: its output may be an object that does, an exit code of 2 blocks."""
    if stdout.lstrip()[:1] == "{":
        answer = mapping(_read(stdout))
        if answer is not None:
            special = mapping(answer.get("hookSpecificOutput")) or {}
            for said in (special.get("permissionDecision"), answer.get("decision")):
                if isinstance(said, str) and said in _DECISIONS:
                    return said
            if answer.get("continue") is False:
                return "stop"
    return "block" if code == _BLOCKS else "pass"


def _read(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def retry_message(fields: Fields) -> dict[str, Any]:
    """Give the message of a request that failed, as a turn's end reports it.

    Example:
        >>> retry_message({"error": {"status": 529, "error": {"error": {"message": "Overloaded"}}}})
        {'message': 'Overloaded', 'code': '529'}
    """
    error: Any = python(fields.get("error"))
    found: dict[str, Any] = {"message": ""}
    for _ in range(5):
        if not isinstance(error, dict):
            if isinstance(error, str):
                found["message"] = error
            break
        if isinstance(error.get("message"), str):
            found["message"] = error["message"]
        if "code" not in found and isinstance(error.get("status"), (int, str)):
            found["code"] = str(error["status"])
        error = error.get("error")
    if not found["message"]:
        found["message"] = string(fields.get("content")) or "the request failed"
    return found
