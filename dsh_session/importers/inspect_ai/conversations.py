"""A sample as sessions: its own conversation, and those of graders and helpers."""

from typing import Final

from dsh_session.core.session import Session
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat.digest import digest_of, free_id, is_handy
from dsh_session.importers.found import Descent
from dsh_session.importers.inspect_ai.samples import SampleLog, event_kind
from dsh_session.importers.inspect_ai.tracks import Track, tracks_of
from dsh_session.importers.inspect_ai.writing import TrackWriter

_DEEPEST: Final = 100  # spans within spans; a circle ends there


def write_sample(log: SampleLog, book: Book, taken: set[str]) -> tuple[Session, list[Session], list[Descent]]:
    """Write a sample.

    Args:
        log: The sample.
        book: Takes what has no place in an event.
        taken: Ids that are taken already; those of its sessions are added.

    Returns:
        Its session, those of other conversations in it, and where they come from.
    """
    book.file = log.file
    book.entries[log.file] = log.first + log.length
    identity = free_id(_identity(log), taken)
    tracks = tracks_of(log) or [Track(set(), [], [])]
    placed: set[int] = set()
    spans, started = _spans(log)
    children: list[Session] = []
    lineage: list[Descent] = []
    for track in tracks[1:]:
        role = text_from(log.events[track.calls[0]].get("role"))
        name = free_id(f"{identity}-{role if is_handy(role) else 'call'}", taken)
        children.append(TrackWriter(log, book, name, track, placed, parent=identity).write())
        lineage.append(
            Descent(name, identity, 0, "subagent", started.get(_agent_span(log, track.calls[0], spans, started)))
        )
    # The sample's own conversation comes last: it takes with it what nobody else has taken.
    main = TrackWriter(log, book, identity, tracks[0], placed).write(is_main=True, others=tracks[1:])
    return main, children, lineage


def _spans(log: SampleLog) -> tuple[dict[str, str], dict[str, str]]:
    """Give the span around each span, and the tool call that each agent's span was started by."""
    around: dict[str, str] = {}
    started: dict[str, str] = {}
    for event in log.events:
        kind = event_kind(event)
        if kind == "span_begin" and event.get("parent_id"):
            around[text_from(event.get("id"))] = text_from(event["parent_id"])
        elif kind == "tool" and event.get("agent_span_id"):
            started[text_from(event["agent_span_id"])] = text_from(event.get("id"))
    return around, started


def _agent_span(log: SampleLog, place: int, around: dict[str, str], started: dict[str, str]) -> str:
    """Give the agent's span that an event lies in; "" for none."""
    span = text_from(log.events[place].get("span_id"))
    for _ in range(_DEEPEST):
        if not span or span in started:
            return span
        span = around.get(span, "")
    return ""


def _identity(log: SampleLog) -> str:
    own = text_from(log.facts.get("uuid"))
    if is_handy(own):
        return own
    parts = [log.evaluation.get("eval_id") or log.evaluation.get("run_id"), log.facts.get("id"), log.facts.get("epoch")]
    named = "-".join(text_from(part) for part in parts if part not in (None, ""))
    if is_handy(named) and parts[0]:
        return named
    return f"inspect-{digest_of([*parts, log.facts.get('input'), log.messages, log.events])}"
