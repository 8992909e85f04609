"""Where the results of a sample's tool calls stand: in tool events, and in the messages that the model saw."""

from bisect import bisect_right
from collections import deque
from collections.abc import Container, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.inspect_ai.samples import SampleLog, event_kind, key_of

_NEAR: Final = 64  # results of one call id that are looked at: ids are used again, but not for ever


class Result(NamedTuple):
    """The result of one call.

    Attributes:
        place: The place of its tool event; None where there is none.
        event: The tool event.
        message: The message that the model saw; None where there is none.
    """

    place: int | None
    event: dict[str, Any] | None
    message: dict[str, Any] | None


class Results:
    """Finds results by call.

    Attributes:
        placed: The places of tool events that are taken; shared by all conversations of a sample.
        places: By call: the places of its tool events.
    """

    def __init__(self, log: SampleLog, calls: Sequence[int], placed: set[int]) -> None:
        """Index a sample.

        Args:
            log: The sample.
            calls: The places of the conversation's model events.
            placed: The places of tool events that are taken.
        """
        self.placed = placed
        self._events = log.events
        self.places: dict[str, list[int]] = {}
        self._messages: dict[str, deque[dict[str, Any]]] = {}
        for at, event in enumerate(log.events):
            if event_kind(event) == "tool":
                self.places.setdefault(text_from(event.get("id")), []).append(at)
        requested = [] if log.pool else [message for at in calls for message in log.request_of(log.events[at])[0]]
        seen: set[str] = set()
        for message in [*log.pool, *log.messages, *requested]:
            if isinstance(message, dict) and message.get("role") == "tool" and key_of(message) not in seen:
                seen.add(key_of(message))
                self._messages.setdefault(text_from(message.get("tool_call_id")), deque()).append(message)

    def take(self, call_id: str, after: int, known: Container[str]) -> Result | None:
        """Take the next result of a call.

        Args:
            call_id: The call.
            after: The place of the model event that made it; -1 where no event did.
            known: The keys of the messages that are written already.
        """
        places = self.places.get(call_id, [])
        place = next((at for at in places[bisect_right(places, after) :][:_NEAR] if at not in self.placed), None)
        event = self._events[place] if place is not None else None
        waiting = self._messages.get(call_id, deque())
        while waiting and key_of(waiting[0]) in known:
            waiting.popleft()
        named = event.get("message_id") if event else None
        near = [one for one in islice(waiting, _NEAR) if key_of(one) not in known]
        message = next((one for one in near if named and one.get("id") == named), near[0] if near else None)
        if place is not None:
            self.placed.add(place)
        return None if message is None and event is None else Result(place, event, message)
