"""Telling a version-0 log from a log of the same harness's later revisions, which call themselves version 0 too."""

import re
from typing import Final

from dsh_session.core.header import SESSION_FORMAT_VERSION
from dsh_session.core.jsonl import BYTE_ORDER_MARK, header_fields

LATER_HEADER: Final = ("delegationDepth", "origin", "agentPreset")
"""Header fields that version 0 does not have."""

# Raw text is searched: a quote inside a string is escaped there, so that nothing that somebody said is mistaken.
_LATER: Final = (
    rb'"type":\s*"(?:(?:text|reasoning|tool-call)-chunks"|agent/|agent-preset/|compaction/|compact/prune"|sandbox/|'
    rb"session/|subagent/|request/context|command/|goal/|plan/|llm/|team/|tool-workflow/|web/|schedule/|feedback/)|"
    rb'"message":\s*\{[^{}]{0,200}"role":\s*"(?:assistant|user)"|"ignorable":\s*true|'
    rb'"role":\s*"user",\s*"id":\s*"[^"]*"\},\s*"surfaceOp"'
)


def is_version_0(head: bytes) -> bool:
    r"""Tell whether a file is a version-0 log, from its beginning.

    Args:
        head: The first bytes of its text, its whole first line among them.

    Example:
        >>> header = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'
        >>> is_version_0(header), is_version_0(header + b'{"type":"compaction/start","data":{}}\n')
        (True, False)
    """
    line, end, _ = head.removeprefix(BYTE_ORDER_MARK).partition(b"\n")
    fields = header_fields(line) if end else None
    return fields is not None and fields["version"] == SESSION_FORMAT_VERSION and not looks_later(head)


def looks_later(head: bytes) -> bool:
    """Tell whether the beginning of a log holds anything that version 0 does not have."""
    line = head.partition(b"\n")[0]
    if b'"session"' in line and any(f'"{name}"'.encode() in line for name in LATER_HEADER):
        return True
    return re.search(_LATER, head) is not None  # compiled when it is first wanted, and then known
