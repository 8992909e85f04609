"""Lines of Codex rollouts, for tests."""

from typing import Any

CALL_ARGUMENTS = '{"cmd":"ls"}'


class Rollout:
    """Makes lines with rising times."""

    def __init__(self) -> None:
        self._second = 0

    def line(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        self._second += 1
        return {
            "timestamp": f"2026-01-01T00:{self._second // 60:02}:{self._second % 60:02}.000Z",
            "type": kind,
            "payload": payload,
        }

    def meta(self, **fields: Any) -> dict[str, Any]:
        return self.line("session_meta", {"id": "rollout-1", "cwd": "/p", "model_provider": "openai", **fields})

    def settings(self, **fields: Any) -> dict[str, Any]:
        return self.line("turn_context", {"model": "gpt", **fields})

    def item(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.line("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.line("event_msg", {"type": kind, **fields})

    def said(self, role: str, text: str, **fields: Any) -> dict[str, Any]:
        part = "output_text" if role == "assistant" else "input_text"
        return self.item("message", role=role, content=[{"type": part, "text": text}], **fields)

    def prompt(self, text: str) -> list[dict[str, Any]]:
        """A prompt as both forms say it."""
        return [self.said("user", text), self.event("user_message", message=text)]

    def call(self, identity: str, name: str = "exec_command", arguments: str = CALL_ARGUMENTS) -> dict[str, Any]:
        return self.item("function_call", name=name, arguments=arguments, call_id=identity)

    def output(self, identity: str, output: Any = "done") -> dict[str, Any]:
        return self.item("function_call_output", call_id=identity, output=output)

    def count(
        self, given: int, taken: int, *, cached: int = 0, total: int | None = None, **info: Any
    ) -> dict[str, Any]:
        last = {
            "input_tokens": given,
            "cached_input_tokens": cached,
            "output_tokens": taken,
            "reasoning_output_tokens": 0,
            "total_tokens": given + taken,
        }
        totals = {} if total is None else {"total_token_usage": {"total_tokens": total}}
        return self.event("token_count", info={**totals, "last_token_usage": last, **info})
