"""Token counts as model APIs report them, made disjoint."""

from typing import Any, Final

from dsh_session.core.lossless import MAX_SAFE_INTEGER

_INPUT: Final = ("input_tokens", "prompt_tokens", "inputTokens", "prompt_token_count")
_OUTPUT: Final = ("output_tokens", "completion_tokens", "outputTokens", "candidates_token_count")
_READ: Final = ("cache_read_input_tokens", "input_tokens_cache_read", "cache_read_tokens", "cacheReadTokens")
_WRITE: Final = ("cache_creation_input_tokens", "input_tokens_cache_write", "cache_write_tokens", "cacheWriteTokens")
_REASONING: Final = ("reasoning_tokens", "reasoningTokens")
_INPUT_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS: Final = ("completion_tokens_details", "output_tokens_details")


def usage_of(raw: Any) -> dict[str, int] | None:
    """Give token counts in the log's form: disjoint, so that they may be added.

    OpenAI's prompt tokens include those read from the cache; Anthropic's input tokens do not. Where both
    names could mean either, the total decides.

    Args:
        raw: A usage object of an OpenAI- or Anthropic-style API, or of Inspect AI.

    Returns:
        `TokenUsage`; None where there is neither an input nor an output count.

    Example:
        >>> usage_of({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}})
        {'inputTokens': 40, 'outputTokens': 5, 'cacheReadTokens': 60}
        >>> usage_of({"input_tokens": 40, "output_tokens": 5, "cache_read_input_tokens": 60})
        {'inputTokens': 40, 'outputTokens': 5, 'cacheReadTokens': 60}
    """
    if not isinstance(raw, dict):
        return None
    taken, given = _first(raw, _INPUT), _first(raw, _OUTPUT)
    if taken is None and given is None:
        return None
    usage = {"inputTokens": taken or 0, "outputTokens": given or 0}
    details = _object(raw, _INPUT_DETAILS)
    inside = _count(details.get("cached_tokens"))  # a part of the prompt tokens, by the API's own word
    read = _first(raw, _READ)
    write = _first(raw, _WRITE)
    if read is None and inside is not None:
        read = inside
        usage["inputTokens"] = max(0, usage["inputTokens"] - inside)
    elif read and (raw.get("prompt_tokens") is not None or _total_says_included(raw, usage, read, write or 0)):
        usage["inputTokens"] = max(0, usage["inputTokens"] - read)
    if read is not None:
        usage["cacheReadTokens"] = read
    if write is not None:
        usage["cacheWriteTokens"] = write
    reasoning = _first(raw, _REASONING)
    if reasoning is None:
        reasoning = _first(_object(raw, _OUTPUT_DETAILS), _REASONING)
    if reasoning is not None:
        usage["reasoningTokens"] = reasoning
    return usage


def _total_says_included(raw: dict[str, Any], usage: dict[str, int], read: int, write: int) -> bool:
    total = _count(raw.get("total_tokens"))
    alone = usage["inputTokens"] + usage["outputTokens"]
    return total is not None and total == alone != alone + read + write and usage["inputTokens"] >= read


def _first(raw: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        count = _count(raw.get(name))
        if count is not None:
            return count
    return None


def _object(raw: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    for name in names:
        value = raw.get(name)
        if isinstance(value, dict):
            return value
    return {}


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MAX_SAFE_INTEGER else None
