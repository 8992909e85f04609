"""Token counts of a Codex rollout: which response a count belongs to, and which counts are repeated."""

from typing import Any, Final

from dsh_session.core.lossless import MAX_SAFE_INTEGER

_COUNTS: Final = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


def counts_of(data: dict[str, Any]) -> dict[str, Any]:
    """Give the counts of the latest response that a record holds, under the source's names.

    Args:
        data: A ``token_count`` event, with ``info``, or a ``turn.completed`` event, with ``usage``; or
            one that holds the counts themselves.
    """
    info = data.get("info")
    if isinstance(info, dict):
        last = info.get("last_token_usage")
        if isinstance(last, dict):
            return last
        if "prompt" in info or "completion" in info:
            return {"input_tokens": info.get("prompt"), "output_tokens": info.get("completion")}
        return info
    usage = data.get("usage")
    return usage if isinstance(usage, dict) else data


def mark_of(data: dict[str, Any]) -> Any:
    """Give what tells one count from a repetition of it: the total so far, or where it lacks the count itself."""
    info = data.get("info")
    if not isinstance(info, dict):
        return counts_of(data)
    total, last = info.get("total_token_usage"), info.get("last_token_usage")
    return (_told(total), _told(last)) if total is not None or last is not None else info


def is_repeated(mark: Any, before: Any) -> bool:
    """Tell whether a count says the same as the one before it.

    Two kinds of record tell of one response, and one of them may lack the total.

    Args:
        mark: What `mark_of` gives for the count.
        before: The same of the count before it; None where there is none.

    Example:
        >>> last = {"input_tokens": 9, "output_tokens": 2}
        >>> first = mark_of({"info": {"last_token_usage": last}})
        >>> is_repeated(mark_of({"info": {"last_token_usage": last, "total_token_usage": last}}), first)
        True
    """
    pairs = isinstance(mark, tuple) and isinstance(before, tuple)
    if pairs and (mark[0] is None or before[0] is None):
        return bool(mark[1] == before[1])
    return bool(mark == before)


def usage_of(data: dict[str, Any]) -> dict[str, int] | None:
    """Give the usage that a record reports, in the log's form; None for nothing, and for zeros.

    The source counts cached tokens as input and reasoning as output.

    Example:
        >>> usage_of({"info": {"last_token_usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}})
        {'inputTokens': 5, 'outputTokens': 2, 'cacheReadTokens': 4}
        >>> usage_of({"info": {"last_token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 940499}}})
    """
    counts = counts_of(data)
    taken, cached, given, thought = (_whole(counts.get(name)) for name in _COUNTS)
    if not taken and not given:
        return None
    cached = min(cached or 0, taken or 0) if cached is not None else None
    usage = {"inputTokens": (taken or 0) - (cached or 0), "outputTokens": given or 0}
    if cached is not None:
        usage["cacheReadTokens"] = cached
    if thought is not None:
        usage["reasoningTokens"] = thought
    return usage


def size_and_window(data: dict[str, Any]) -> tuple[int | None, int | None]:
    """Give the size of the latest request and the model's window, both in tokens; None where they are not known.

    Example:
        >>> size_and_window({"info": {"last_token_usage": {"total_tokens": 9}, "model_context_window": 5}})
        (9, 5)
    """
    info = data.get("info")
    if not isinstance(info, dict):
        return None, None
    last = info.get("last_token_usage")
    total = _whole(last.get("total_tokens")) if isinstance(last, dict) else None
    return total, _whole(info.get("model_context_window"))


def _told(counts: Any) -> Any:
    """Give what counts say, whichever of their zeros are written."""
    if not isinstance(counts, dict):
        return counts
    return tuple(counts.get(name) or 0 for name in (*_COUNTS, "total_tokens"))


def _whole(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MAX_SAFE_INTEGER else None
