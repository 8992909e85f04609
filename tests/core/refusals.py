"""What a refusal owes its caller: the code, the place, and nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dsh_session import Session, SessionError, fold_surface


def shown(session: Session) -> dict[str, Any]:
    """Everything that a session shows, as plain values."""
    surface = session.surface
    return {
        "seq": session.seq,
        "events": [event.to_dict() for event in session.events],
        "text": session.to_jsonl(),
        "nodes": list(surface.nodes),
        "links": [(node.seq, node.prev, node.next) for node in surface],
        "ends": (surface.head, surface.tail),
        "generation": surface.replace_generation,
        "messages": session.derive_messages(),
        "request header": session.request_header(),
        "header": session.header.to_dict(),
        "findings": list(session.findings),
    }


def assert_agrees(session: Session) -> None:
    """Check that everything a session shows follows from its events."""
    now = shown(session)
    fold = fold_surface(session.events)
    again = Session(session.id, seed=now["events"], header=now["header"], check_payloads=False)
    assert now["seq"] == len(now["events"])
    assert [event["seq"] for event in now["events"]] == list(range(now["seq"]))
    assert now["nodes"] == list(fold.nodes)
    assert now["generation"] == len(fold.replacements)
    spelling = {"text", "findings"}  # a wire form does not tell how a loaded line was spelt
    for name, value in shown(again).items():
        assert name in spelling or value == now[name], name


@contextmanager
def refused(
    session: Session, code: str, *places: str, index: int | None = None
) -> Iterator[pytest.ExceptionInfo[SessionError]]:
    """Expect a refusal with a code whose text names the places; nothing that the session shows may change."""
    before, events, messages = shown(session), session.events, session.messages
    with pytest.raises(SessionError) as caught:
        yield caught
    error = caught.value
    assert error.code == code, str(error)
    for place in places:
        assert place in str(error), f"{place} is not named in: {error}"
    assert error.index == index
    assert list(session.events) == list(events)
    assert list(session.messages) == list(messages)
    assert shown(session) == before
