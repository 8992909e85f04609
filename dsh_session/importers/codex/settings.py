"""What requests of a Codex rollout are made with, and what its tools are allowed."""

from typing import Any, Final, NamedTuple

from dsh_session.importers.codex.records import Record

_FIELDS: Final = ("model", "effort", "summary", "service_tier", "personality")


class Snapshot(NamedTuple):
    """Settings at one moment.

    Attributes:
        config: The ``LlmCallConfig``.
        system: The instructions; None where they are not known.
        approval: The approval policy; None where it is not known.
        sandbox: The sandbox mode; None where it is not known.
    """

    config: dict[str, Any]
    system: str | None
    approval: str | None = None
    sandbox: str | None = None


def first_settings(meta: dict[str, Any]) -> Snapshot:
    """Give what a session's header says.

    Example:
        >>> first_settings({"model_provider": "openai", "base_instructions": {"text": "Be good."}})
        Snapshot(config={'provider': 'openai'}, system='Be good.', approval=None, sandbox=None)
    """
    instructions = meta.get("base_instructions", meta.get("instructions"))
    if isinstance(instructions, dict):
        instructions = instructions.get("text")
    config = {}
    for key, field in (("provider", "model_provider"), ("model", "model")):
        if isinstance(meta.get(field), str) and meta[field]:
            config[key] = meta[field]
    return Snapshot(config, instructions if isinstance(instructions, str) and instructions else None)


class Settings:
    """Settings as a rollout changes them.

    Attributes:
        config: The ``LlmCallConfig`` now.
        system: The instructions; None where they are not known.
        news: Policies that changed and are not written yet, as (event type, payload).
    """

    def __init__(self, begin: Snapshot) -> None:
        """Begin with what is known."""
        self.config = dict(begin.config)
        self.system = begin.system
        self.news: list[tuple[str, dict[str, str]]] = []
        self._approval = begin.approval
        self._sandbox = begin.sandbox

    @property
    def now(self) -> Snapshot:
        """What is known now."""
        return Snapshot(dict(self.config), self.system, self._approval, self._sandbox)

    def take(self, record: Record) -> None:
        """Take a ``turn_context``."""
        data = record.data
        for key in _FIELDS:
            if isinstance(data.get(key), str) and data[key]:
                self.config[key] = data[key]
        provider = data.get("model_provider", data.get("model_provider_id"))
        if isinstance(provider, str) and provider:
            self.config["provider"] = provider
        approval = _policy(data.get("approval_policy"))
        if approval is not None and approval != self._approval:
            self._approval = approval
            self.news.append(("approval/policy", {"policy": approval}))
        sandbox = _policy(data.get("sandbox_policy"))
        if sandbox is not None and sandbox != self._sandbox:
            self._sandbox = sandbox
            self.news.append(("bash/sandbox-mode", {"mode": sandbox}))


def _policy(value: Any) -> str | None:
    """Give a policy's name: newer logs have an object, with the name as a field or as the only key."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("type", "mode") if key in value), next(iter(value), None))
    return value if isinstance(value, str) and value else None
