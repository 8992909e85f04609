"""The messages of a pi session as content blocks."""

from typing import Any, Final, NamedTuple

from dsh_session.core.lossless import MAX_SAFE_INTEGER
from dsh_session.importers.blocks import text_from

_USAGE: Final = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cacheRead": "cacheReadTokens",
    "cacheWrite": "cacheWriteTokens",
    "reasoning": "reasoningTokens",
}


class Spoken(NamedTuple):
    """What a model said.

    Attributes:
        blocks: Content blocks; what is none of ours stands as it is.
        aside: What blocks held beside it, as (key, value): signatures, and what was hidden.
        calls: The ids of its tool calls.
    """

    blocks: list[Any]
    aside: list[tuple[str, Any]]
    calls: list[str]


def plain_blocks(content: Any) -> list[Any]:
    """Give the content of a message that is no model's; text becomes a block."""
    if isinstance(content, list):
        return content
    return [] if content in (None, "") else [{"type": "text", "text": text_from(content)}]


def spoken(content: Any) -> Spoken:
    """Give the content of a model's message.

    Example:
        >>> spoken([{"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"}])
        Spoken(blocks=[{'type': 'reasoning', 'text': 'Hm.'}], aside=[('thinkingSignature', 's')], calls=[])
    """
    said = Spoken([], [], [])
    for block in plain_blocks(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("thinking", "redactedThinking"):
            said.blocks.append({"type": "reasoning", "text": text_from(block.get("thinking"))})
            _note(block, ("type", "thinking"), said)
        elif kind == "toolCall":
            call = {
                "type": "tool-call",
                "id": text_from(block.get("id")),
                "name": text_from(block.get("name")),
                "arguments": text_from(block.get("arguments", {})),
            }
            said.blocks.append(call)
            said.calls.append(call["id"])
            _note(block, ("type", "id", "name", "arguments"), said)
        elif kind == "text":
            said.blocks.append({"type": "text", "text": text_from(block.get("text"))})
            _note(block, ("type", "text"), said)
        else:
            said.blocks.append(block)
    return said


def _note(block: dict[str, Any], known: tuple[str, ...], said: Spoken) -> None:
    said.aside.extend(
        (key, value) for key, value in block.items() if key not in known and value not in (None, "", False)
    )


def usage_counts(raw: Any) -> dict[str, int] | None:
    """Give token counts; the source's are disjoint as ours are.

    Example:
        >>> usage_counts({"input": 3, "output": 5, "cacheRead": 7, "cost": {"total": 0.1}})
        {'inputTokens': 3, 'outputTokens': 5, 'cacheReadTokens': 7}
    """
    if not isinstance(raw, dict):
        return None
    counts = {}
    for name, ours in _USAGE.items():
        value = raw.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= MAX_SAFE_INTEGER:
            counts[ours] = value
    if "inputTokens" not in counts and "outputTokens" not in counts:
        return None
    return {"inputTokens": 0, "outputTokens": 0, **counts}


def mentioned_blocks(files: Any) -> list[Any]:
    r"""Give the files that a person pointed at, as blocks: a text for each, behind it the image that it is.

    Example:
        >>> mentioned_blocks([{"path": "a.txt", "content": "Hi."}])
        [{'type': 'text', 'text': 'a.txt\nHi.'}]
    """
    made: list[Any] = []
    for file in files if isinstance(files, list) else ():
        if not isinstance(file, dict):
            continue
        parts = (text_from(file.get("path")), text_from(file.get("content")))
        made.append({"type": "text", "text": "\n".join(part for part in parts if part)})
        image = file.get("image")
        if isinstance(image, dict):
            made.append({**image, "type": "image"})
    return made


def shell_text(message: dict[str, Any]) -> str:
    """Say what a command of the user's own gave, or a piece of Python, as one text.

    Example:
        >>> print(shell_text({"command": "ls", "output": "a", "exitCode": 1}))
        $ ls
        a
        (exit code 1)
    """
    asked = message.get("command")
    told = f">>> {text_from(message.get('code'))}" if asked is None and "code" in message else f"$ {text_from(asked)}"
    parts = [told, text_from(message.get("output"))]
    if message.get("exitCode") not in (None, 0):
        parts.append(f"(exit code {text_from(message.get('exitCode'))})")
    if message.get("cancelled", message.get("canceled")) is True:
        parts.append("(cancelled)")
    if message.get("truncated") is True:
        parts.append("(output cut)")
    return "\n".join(part for part in parts if part)
