"""Which model calls of a sample belong together: those whose requests have messages in common."""

from typing import Any, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.inspect_ai.samples import SampleLog, event_kind, key_of, request_key


class Track(NamedTuple):
    """A conversation within a sample.

    Attributes:
        keys: The keys of its messages.
        calls: The places of its model events.
        marks: The places of the compactions that happened in it.
    """

    keys: set[str]
    calls: list[int]
    marks: list[int]


def tracks_of(log: SampleLog) -> list[Track]:
    """Part a sample's model calls into conversations, the sample's own one first.

    A call belongs to the latest conversation that a message of its request is in. System prompts do not
    count: many conversations may begin with the same one.
    """
    tracks: list[Track] = []
    of_key: dict[str, int] = {}
    of_call: dict[str, int] = {}
    latest: int | None = None
    before: list[str] = []  # the request before, and the conversation that it belongs to
    before_in: int | None = None
    for at, event in enumerate(log.events):
        kind = event_kind(event)
        if kind == "compaction" and latest is not None:
            tracks[latest].marks.append(at)
        if kind == "tool" and text_from(event.get("id")) in of_call:
            # A request may hold no more of what came before than a tool's answer.
            of_key[text_from(event.get("message_id"))] = of_call[text_from(event.get("id"))]
        if kind != "model":
            continue
        request = log.request_of(event)[1]
        # Most requests go on where the one before ended: what is known of that need not be asked again.
        goes_on = request[: len(before)] == before
        keys = set(request[len(before) :] if goes_on else request)
        keys.discard("")
        found = max(map(of_key.__getitem__, keys & of_key.keys()), default=None)
        if goes_on and before_in is not None:
            found = before_in if found is None else max(found, before_in)
        before = request
        if found is None:
            found = len(tracks)
            tracks.append(Track(set(), [], []))
        answer = output_message(event)
        if answer is not None:
            keys.add(key_of(answer))
            of_call |= dict.fromkeys(_calls(answer), found)
        tracks[found].keys.update(keys)
        of_key |= dict.fromkeys(keys, found)
        tracks[found].calls.append(at)
        before_in = found if any(request) else None
        latest = found
    own = {request_key(message) for message in log.messages if isinstance(message, dict)} - {""}
    if len(tracks) > 1:
        main = max(range(len(tracks)), key=lambda at: (len(tracks[at].keys & own), len(tracks[at].calls), -at))
        tracks.insert(0, tracks.pop(main))
    return tracks


def _calls(message: dict[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    return [text_from(call.get("id")) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)]


def output_message(event: dict[str, Any]) -> dict[str, Any] | None:
    """Give the message that a model call was answered with."""
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None
