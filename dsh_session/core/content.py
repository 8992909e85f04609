"""From plain words to content blocks, prompts and call arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

from dsh_session.core.lossless import encode, snapshot_json_value

Block = Mapping[str, Any]
Content = str | Block | Sequence[str | Block]
"""Text, one content block, or several of either."""

Prompt = Content | Sequence[Content] | None
"""One prompt, or a list of several; a list of blocks is one prompt."""


def blocks_of(content: Content) -> list[Any]:
    """Give content blocks; a string becomes a text block.

    Raises:
        TypeError: For what is neither text nor blocks.

    Example:
        >>> blocks_of(["a", {"type": "image", "url": "u"}])
        [{'type': 'text', 'text': 'a'}, {'type': 'image', 'url': 'u'}]
    """
    items: Any = [content] if isinstance(content, (str, Mapping)) else content
    if not isinstance(items, Sequence) or isinstance(items, (bytes, bytearray)):
        raise TypeError(f"content must be a str, a content block or a list of them, not {type(items).__name__}")
    return [_block_of(item) for item in items]


def _block_of(item: Any) -> Any:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if isinstance(item, Mapping):
        return item if isinstance(item, dict) else dict(item)
    raise TypeError(f"a content block must be a str or a dict, not {type(item).__name__}")


def prompts_of(prompt: Prompt) -> list[list[Any]]:
    """Give the content of each prompt.

    Args:
        prompt: Text; content blocks; a list with a string or a list of blocks for each of several
            prompts; None for none.

    Raises:
        TypeError: For anything else, and for a list in which blocks stand beside prompts.

    Example:
        >>> prompts_of(["a", "b"])
        [[{'type': 'text', 'text': 'a'}], [{'type': 'text', 'text': 'b'}]]
        >>> prompts_of([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
        [[{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]]
    """
    if prompt is None:
        return []
    if isinstance(prompt, (str, Mapping)):
        return [blocks_of(prompt)]
    if not isinstance(prompt, Sequence):
        raise TypeError(f"a prompt must be a str, content blocks or a list of prompts, not {type(prompt).__name__}")
    items: list[Any] = list(prompt)
    kinds = {isinstance(item, Mapping) for item in items}
    if kinds == {True}:
        return [blocks_of(items)]
    if True in kinds:
        raise TypeError("content blocks stand beside other prompts: put each prompt's blocks into a list of their own")
    return [blocks_of(item) for item in items]


def arguments_of(arguments: Any) -> str:
    """Give a tool call's arguments as text: a string as it is, any other JSON value encoded compactly.

    Raises:
        JsonValueError: ``NOT_JSON`` for what is neither.

    Example:
        >>> arguments_of({"path": "README.md"}), arguments_of('{"path": ')
        ('{"path":"README.md"}', '{"path": ')
    """
    if isinstance(arguments, str):
        return arguments
    value = dict(arguments) if isinstance(arguments, Mapping) and not isinstance(arguments, dict) else arguments
    return encode(snapshot_json_value(value, what="arguments")).decode()


def todo_of(item: Any) -> dict[str, Any]:
    """Give one line of a todo list; a string is still to do.

    Example:
        >>> todo_of("test it"), todo_of(("build it", "completed"))
        ({'content': 'test it', 'status': 'pending'}, {'content': 'build it', 'status': 'completed'})
    """
    if isinstance(item, str):
        return {"content": item, "status": "pending"}
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, tuple) and len(item) == 2:
        return {"content": item[0], "status": item[1]}
    raise TypeError(f"a todo must be a str, a (content, status) pair or a dict, not {type(item).__name__}")
