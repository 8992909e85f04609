"""The frame of request headers: one row each, with what it changed."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dsh_session.compaction.meter import TokenMeter
from dsh_session.core.event import SessionEvent
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.places import WRITTEN
from dsh_session.views.frames.values import count, data_of, fraction, record, string

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["HEADERS", "Header", "headers", "parts_of"]

PARTS: Final = ("config", "system", "tools", "messagePrefix")


class Header(msgspec.Struct, gc=False):
    """One request header.

    Attributes:
        entry: Its event.
        reason: Why it was written.
        config: Route and sampling settings.
        system: The system prompt.
        tools: The tool schemas.
        prefix: The messages before the history.
        tokens: Estimated tokens of the three.
        changed: What differs from the header before.
        until: The seq of the next header.
    """

    entry: Entry
    reason: str | None
    config: Mapping[str, Any]
    system: str | None
    tools: Any
    prefix: Any
    tokens: int
    changed: str | None
    until: int | None = None


def _config(key: str) -> Any:
    return lambda row: string(row.config.get(key))


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else 0 if value is None else None


def _tool_names(row: Header) -> str | None:
    if not isinstance(row.tools, list):
        return None
    return ", ".join(string(record(tool).get("name")) or "?" for tool in row.tools) or None


HEADERS: Final[tuple[Column[Header], ...]] = (
    Column(name="seq", dtype="int64", doc="The header's event.", read=attrgetter("entry.event.seq")),
    Column(
        name="until",
        dtype="Int64",
        doc="The seq of the header that took its place; NA for the one in force.",
        read=attrgetter("until"),
    ),
    *WRITTEN,
    Column(
        name="reason",
        dtype="category",
        doc="Why it was written.",
        read=attrgetter("reason"),
        categories=("initial", "resume", "change"),
    ),
    Column(
        name="changed",
        dtype="string",
        doc="Which of config, system, tools and messagePrefix differ from the header before; NA for none.",
        read=attrgetter("changed"),
    ),
    Column(name="provider", dtype="string", doc="Who runs the model.", read=_config("provider")),
    Column(name="model", dtype="string", doc="The model that is asked.", read=_config("model")),
    Column(
        name="temperature",
        dtype="Float64",
        doc="The temperature, where one is set.",
        read=lambda row: fraction(row.config.get("temperature")),
    ),
    Column(
        name="max_tokens",
        dtype="Int64",
        doc="The greatest number of tokens of an answer, where one is set.",
        read=lambda row: count(row.config.get("maxTokens")),
    ),
    Column(name="system", dtype="string", doc="The system prompt.", read=attrgetter("system")),
    Column(
        name="system_chars",
        dtype="Int64",
        doc="Characters of the system prompt; NA without one.",
        read=lambda row: None if row.system is None else len(row.system),
    ),
    Column(
        name="tools",
        dtype="Int64",
        doc="Tool schemas that are offered; NA where the log does not list them.",
        read=lambda row: _length(row.tools),
    ),
    Column(name="tool_names", dtype="string", doc="Their names, with commas between.", read=_tool_names),
    Column(
        name="prefix",
        dtype="Int64",
        doc="Messages before the derived history; NA where the log does not list them.",
        read=lambda row: _length(row.prefix),
    ),
    Column(
        name="tokens",
        dtype="int64",
        doc="Estimated tokens of system prompt, tools and message prefix.",
        read=attrgetter("tokens"),
    ),
)
"""The columns of `headers`."""


def headers(session: Logged, *, meter: TokenMeter | None = None) -> pd.DataFrame:
    """The request headers of a session, one row each in log order.

    Args:
        session: Any session, or a history of one.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `HEADERS`. `dsh_session.views.frames.columns("headers")` says what each holds.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> config = {"provider": "p", "model": "m"}
        >>> _ = session.append("request/header", {"header": {"config": config}, "reason": "initial"})
        >>> header = {"config": config, "system": "Be brief."}
        >>> _ = session.append("request/header", {"header": header, "reason": "change"})
        >>> headers(session)[["seq", "until", "reason", "changed", "model", "tokens"]]
           seq  until   reason changed model  tokens
        0    0      1  initial  config     m       0
        1    1   <NA>   change  system     m       7
    """
    return frame(HEADERS, _rows(session, meter or TokenMeter()))


def parts_of(event: SessionEvent) -> dict[str, Any]:
    """The parts of a header; what is empty is absent, as in a request.

    Args:
        event: A `request/header`, whatever its payload holds. It keeps nothing of what is decoded here.

    Returns:
        Those of `config`, `system`, `tools` and `messagePrefix` that are there.

    Example:
        >>> from dsh_session import Session
        >>> header = {"config": {"provider": "p", "model": "m"}, "system": "", "tools": "{{tools}}"}
        >>> session = Session("tour", check_payloads=False)
        >>> sorted(parts_of(session.append("request/header", {"header": header, "reason": "initial"})))
        ['config', 'tools']
    """
    header = record(data_of(event).get("header"))
    return {key: header[key] for key in PARTS if header.get(key)}


def _rows(session: Logged, meter: TokenMeter) -> Iterator[Header]:
    log = log_of(session)
    if not any(event.type == "request/header" for event in log.events):
        return
    before: dict[str, Any] = {}
    row: Header | None = None
    for entry in entries(log):
        event = entry.event
        if event.type != "request/header":
            continue
        if row is not None:
            row.until = event.seq
            yield row
        parts = parts_of(event)
        changed = ", ".join(key for key in PARTS if before.get(key) != parts.get(key))
        row = Header(
            entry,
            string(data_of(event).get("reason")),
            record(parts.get("config")),
            string(parts.get("system")),
            parts.get("tools"),
            parts.get("messagePrefix"),
            meter.estimate_header(parts),
            changed or None,
        )
        before = parts
    if row is not None:
        yield row
