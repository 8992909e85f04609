"""An event as a row, and the row as the event's line again, byte for byte."""

import json
from typing import Any, NamedTuple

import msgspec

from dsh_session.core.event import SessionEvent
from dsh_session.core.lossless import encode

Text = str | bytes
"""Text in a column: a `str`, or, where it holds a lone surrogate, UTF-8 all the same as `bytes`."""


class Row(NamedTuple):
    """One event in columns.

    Attributes:
        seq: Its seq.
        type: Its type.
        time: Its time in epoch milliseconds.
        data: The JSON text of its payload, as the log has it.
        source_event_seqs: The JSON text of its sources, or None.
        surface_op: The JSON text of its surface operation, or None.
    """

    seq: int
    type: Text
    time: int
    data: str
    source_event_seqs: str | None
    surface_op: str | None


_ABSENT = msgspec.Raw()


class _Body(msgspec.Struct, gc=False):
    data: msgspec.Raw
    sourceEventSeqs: msgspec.Raw = _ABSENT  # noqa: N815 (a wire name)
    surfaceOp: msgspec.Raw = _ABSENT  # noqa: N815 (a wire name)


_read_body = msgspec.json.Decoder(_Body).decode


def row_of(event: SessionEvent) -> tuple[Row, str | None]:
    """Give an event's row, and its whole line where that is spelt in a way that the row does not tell."""
    line = event._line
    try:
        body = _read_body(line)
        raws = (body.data, body.sourceEventSeqs, body.surfaceOp)
        texts = [None if raw is _ABSENT else bytes(raw).decode() for raw in raws]
    except (msgspec.MsgspecError, RecursionError):
        wire = event.to_dict()
        texts = [json.dumps(wire[key]) if key in wire else None for key in ("data", "sourceEventSeqs", "surfaceOp")]
    row = Row(event.seq, text_in(event.type), event.time, texts[0] or "null", texts[1], texts[2])
    return row, None if line_of(row) == line else line.decode()


def line_of(row: Row) -> bytes:
    """Give the line that a row stands for, as `dsh_session.Session.append` writes it."""
    parts = [
        b'{"type":%b,"seq":%d,"time":%d,"data":%b' % (encode(text_out(row.type)), row.seq, row.time, row.data.encode())
    ]
    if row.source_event_seqs is not None:
        parts.append(b',"sourceEventSeqs":%b' % row.source_event_seqs.encode())
    if row.surface_op is not None:
        parts.append(b',"surfaceOp":%b' % row.surface_op.encode())
    return b"".join((*parts, b"}"))


def text_in(text: str) -> Text:
    """Give text as a column takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def text_out(value: Any) -> str:
    """Give the text that a column holds."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else str(value)
