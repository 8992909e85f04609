"""What takes the place of a range: a summary in its frame, or a line that says that something is gone."""

from typing import Any

from dsh_session.core.content import blocks_of
from dsh_session.core.errors import CompactionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.shapes import name_of

OPENING = "<compacted-summary>"
CLOSING = "</compacted-summary>"
PREAMBLE = (
    "An earlier part of this conversation has been replaced by the summary below. Take it as known, "
    "and go on with the messages after it."
)
SOURCE = {"kind": "plugin", "plugin": "compact"}
"""The source of every message that takes the place of others."""

_PAIRED = ("tool-call", "tool-result")


def frame_summary(blocks: list[Any]) -> list[Any]:
    r"""Put a summary into its frame.

    Args:
        blocks: The summary's content blocks.

    Returns:
        A text block that says what follows and opens the frame, the blocks, and one that closes it.

    Example:
        >>> [block["text"][-20:] for block in frame_summary([{"type": "text", "text": "We renamed it."}])]
        ['\n<compacted-summary>', 'We renamed it.', '</compacted-summary>']
    """
    opening = {"type": "text", "text": f"{PREAMBLE}\n\n{OPENING}"}
    return [opening, *blocks, {"type": "text", "text": CLOSING}]


def summary_blocks(content: Any) -> list[Any]:
    """Give a summary as content blocks.

    Args:
        content: Text, a content block, or several of either.

    Raises:
        CompactionError: ``COMPACTION_EMPTY`` when it says nothing, ``COMPACTION_BAD_SUMMARY`` for
            what is no content or holds tool calls or results, which would want partners.

    Example:
        >>> summary_blocks("We renamed it.")
        [{'type': 'text', 'text': 'We renamed it.'}]
    """
    if content is None:
        raise CompactionError("COMPACTION_EMPTY", "there is no summary: the summariser gave None")
    try:
        blocks = [_exact(block) for block in blocks_of(content)]
    except TypeError as error:
        raise CompactionError("COMPACTION_BAD_SUMMARY", f"a summary must be text or content blocks: {error}") from None
    for block in blocks:
        if block.get("type") in _PAIRED:
            raise CompactionError(
                "COMPACTION_BAD_SUMMARY", f"a summary holds no {name_of(block['type'])} block; write it as text"
            )
    if not any(isinstance(text := block.get("text"), str) and text.strip() for block in blocks):
        raise CompactionError("COMPACTION_EMPTY", "the summary says nothing")
    return blocks


def _exact(block: Any) -> Any:
    """Make texts plain strings: a transcript, or what a template library gives, is a subclass."""
    # Joining gives a plain str; an f-string gives whatever __format__ does.
    return {key: "".join([value]) if isinstance(value, str) else value for key, value in block.items()}  # noqa: FLY002


def is_summary(event: SessionEvent) -> bool:
    """Tell whether an event took the place of a range, as a compaction's message does.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> [event.seq for event in session.events if is_summary(event)]
        [894, 1589]
    """
    return event.type == "user/message" and isinstance(event.surface_op, dict)
