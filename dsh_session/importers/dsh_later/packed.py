"""Packed rows: a run of deltas of one block, stored as one line."""

from typing import Any, Final

from dsh_session.core.lossless import MAX_SAFE_INTEGER

_KINDS: Final = {
    "text-chunks": ("text-delta", "texts", "text"),
    "reasoning-chunks": ("reasoning-delta", "texts", "text"),
    "tool-call-chunks": ("tool-call-delta", "args", "argumentsDelta"),
}
PACKED: Final = frozenset(_KINDS)
"""The types of packed rows."""


def expand(row: dict[str, Any]) -> list[tuple[int | None, dict[str, Any]]] | str:
    """Give the chunks of a packed row, each with its time.

    Args:
        row: ``{"type", "seq0"?, "time0"?, "data": {"turn", "step", "index", "dt", "texts" or "args", …}}``.

    Returns:
        Times (None where the row has none) and chunks; or what is wrong with the row.

    Example:
        >>> expand({"type": "text-chunks", "time0": 5, "data": {"index": 0, "dt": [2], "texts": ["He", "llo"]}})
        [(5, {'type': 'text-delta', 'index': 0, 'text': 'He'}), (7, {'type': 'text-delta', 'index': 0, 'text': 'llo'})]
        >>> expand({"type": "text-chunks", "data": {"index": 0, "dt": [2, 3], "texts": ["Hello"]}})
        '2 time steps for 1 texts'
    """
    kind, many, one = _KINDS[row["type"]]
    data = row.get("data")
    if not isinstance(data, dict):
        return "it has no data"
    parts, steps, index = data.get(many), data.get("dt"), data.get("index")
    if not isinstance(parts, list) or not all(type(part) is str for part in parts):
        return f"{many} is no list of texts"
    if not isinstance(steps, list) or not all(type(step) is int for step in steps):
        return "dt is no list of whole numbers"
    if len(steps) != max(len(parts) - 1, 0):
        return f"{len(steps)} time steps for {len(parts)} {many}"
    if type(index) is not int:
        return "index is no number"
    base: dict[str, Any] = {"type": kind, "index": index}
    if kind == "tool-call-delta":
        if type(data.get("id")) is not str:
            return "id is no text"
        base["id"] = data["id"]
        if type(data.get("name")) is str:
            base["name"] = data["name"]
    time = row.get("time0")
    at = time if type(time) is int and 0 <= time <= MAX_SAFE_INTEGER else None
    made = []
    for number, part in enumerate(parts):
        if number and at is not None:
            at += steps[number - 1]
        made.append((at, {**base, one: part}))
    return made
