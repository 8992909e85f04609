"""Providers and models, from the names that programs give them."""

from typing import Any


def route_of(name: Any) -> dict[str, str]:
    """Give provider and model of a name such as ``anthropic/claude``.

    Example:
        >>> route_of("openai/gpt-5"), route_of("gpt-5"), route_of(None)
        ({'provider': 'openai', 'model': 'gpt-5'}, {'model': 'gpt-5'}, {})
    """
    text = name if isinstance(name, str) else ""
    provider, slash, model = text.partition("/")
    if slash and provider and model:
        return {"provider": provider, "model": model}
    return {"model": text} if text else {}
