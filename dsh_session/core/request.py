"""The part of a request that is not derived history: configuration, system prompt, tools, prefix."""

from collections.abc import Iterable
from typing import Any

from dsh_session.core.errors import PayloadError
from dsh_session.core.event import SessionEvent
from dsh_session.core.frozen import FrozenDict, freeze, frozen_dict
from dsh_session.core.lossless import encode, integral, snapshot_json_value
from dsh_session.core.messages import kind_of

_COMPARED = ("provider", "model", "temperature", "maxTokens", "stop")


def canonical_header(header: Any) -> FrozenDict:
    """Give a request header in its normal form (the seeds' "Canonical form").

    Args:
        header: An ``EpochHeader``.

    Returns:
        A frozen header of ``config``, ``system``, ``tools`` and ``messagePrefix``; what is empty is
        absent, other keys are dropped.

    Raises:
        PayloadError: ``PAYLOAD_INVALID`` when it is no object or has no ``config``.

    Example:
        >>> canonical_header({"config": {"provider": "p", "model": "m"}, "system": "", "tools": []})
        {'config': {'provider': 'p', 'model': 'm'}}
    """
    if not isinstance(header, dict) or "config" not in header:
        raise PayloadError("PAYLOAD_INVALID", "a request header must be an object with a config")
    frozen = header if isinstance(header, FrozenDict) else freeze(snapshot_json_value(header))
    kept = {"config": frozen["config"]}
    for key in ("system", "tools", "messagePrefix"):
        if frozen.get(key):
            kept[key] = frozen[key]
    return frozen_dict(kept)


def fold_request_header(
    events: Iterable[SessionEvent | dict[str, Any]], initial: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Give the request header in force: the latest ``request/header``, in normal form.

    Args:
        events: Events or wire dicts, in log order.
        initial: What was in force before them; given back unchanged when they hold no header.

    Raises:
        PayloadError: ``PAYLOAD_INVALID`` when the latest header event holds no header.

    Example:
        >>> fold_request_header(
        ...     [
        ...         {
        ...             "type": "request/header",
        ...             "data": {
        ...                 "header": {"config": {"provider": "p", "model": "m"}, "system": "be brief"},
        ...                 "reason": "initial",
        ...             },
        ...         }
        ...     ]
        ... )
        {'config': {'provider': 'p', 'model': 'm'}, 'system': 'be brief'}
    """
    latest = None
    for event in events:
        if kind_of(event) == "request/header":
            latest = event
    if latest is None:
        return initial
    data = latest.data if isinstance(latest, SessionEvent) else latest.get("data")
    if not isinstance(data, dict):
        raise PayloadError("PAYLOAD_INVALID", "data of 'request/header' must be an object")
    return canonical_header(data.get("header"))


def header_equals(a: Any, b: Any) -> bool:
    """Tell whether two request headers ask for the same request.

    Args:
        a: An ``EpochHeader``.
        b: Another one.

    Returns:
        True when provider, model, temperature, maxTokens and stop agree, the system prompts are
        the same as given (``""`` is not absent), and tools and prefix have the same text, an empty
        list counting as absent.

    Raises:
        PayloadError: ``PAYLOAD_INVALID`` for what is no object.

    Example:
        >>> config = {"provider": "p", "model": "m"}
        >>> header_equals({"config": config, "tools": []}, {"config": {**config, "extra": 1}})
        True
    """
    if a is None or b is None:
        return a is b
    if not isinstance(a, dict) or not isinstance(b, dict):
        raise PayloadError("PAYLOAD_INVALID", "a request header must be an object")
    return _compared(a) == _compared(b)


def _compared(header: dict[str, Any]) -> tuple[Any, ...]:
    config = header.get("config")
    config = config if isinstance(config, dict) else {}
    return (
        *(_text(config.get(key)) for key in _COMPARED),
        _text(header.get("system")),
        _text(header.get("tools") or None),
        _text(header.get("messagePrefix") or None),
    )


def _text(value: Any) -> bytes:
    return encode(integral(value))
