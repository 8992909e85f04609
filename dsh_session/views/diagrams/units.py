"""What stands in the rows of a step: messages, runs of chunks, and calls each with its result."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.core.turns import place_of
from dsh_session.views.diagrams.flow import Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent

__all__ = ["MESSAGE", "Unit", "duration", "is_synthetic", "units_of"]

MESSAGE: Final = 124.0
"""The width of a message, in points."""
_CALL: Final = 112.0
_SMALL: Final = 104.0
_COUNT: Final = 84.0


class Unit(NamedTuple):
    """A node of a row, or a call and its result: the seqs that it shows.

    Attributes:
        item: What is to be placed.
        seqs: The events that it stands for; of a call its own seq and that of its result.
    """

    item: Item
    seqs: Sequence[int]


def units_of(events: Sequence[SessionEvent], seqs: Sequence[int], *, open_: bool) -> list[Unit]:
    """Find what is to stand in rows: chunks folded, results put beside their calls.

    Args:
        events: The whole log.
        seqs: The events that are to stand there, in log order.
        open_: Whether a result may still come.

    Returns:
        The units, by the first seq of each.
    """
    answers = _answers(events, seqs)
    answered = {answer for answer in answers.values() if answer is not None}
    units: list[Unit] = []
    for is_chunk, group in groupby(seqs, lambda seq: events[seq].type == "assistant/chunk"):
        run = list(group)
        if is_chunk:
            units.append(Unit(Item(f"chunks-{run[0]}", _COUNT), run))
            continue
        for seq in run:
            if seq in answers:
                answer = answers[seq]
                name = f"n{answer}" if answer is not None else f"{'wait' if open_ else 'none'}-{seq}"
                item = Item(f"n{seq}", _CALL, name, MESSAGE)
                units.append(Unit(item, [seq] if answer is None else [seq, answer]))
            elif seq not in answered:
                quiet = events[seq].surface_op is None
                units.append(Unit(Item(f"n{seq}", _SMALL if quiet else MESSAGE), [seq]))
    return units


def _answers(events: Sequence[SessionEvent], seqs: Sequence[int]) -> dict[int, int | None]:
    """For each call the result that names it, None where there is none."""
    waiting: dict[str, int] = {}
    answers: dict[int, int | None] = {}
    for seq in seqs:
        kind = events[seq].type
        if kind not in {"tool/call", "tool/result"}:
            continue
        call = place_of(events[seq]).call
        if kind == "tool/call":
            answers[seq] = None
            if isinstance(call, str):
                waiting[call] = seq
        elif isinstance(call, str) and call in waiting:
            answers[waiting.pop(call)] = seq
    return answers


def is_synthetic(event: SessionEvent) -> bool:
    """Whether a result was written by a repair, in the place of one that never came.

    Args:
        event: A `tool/result`.
    """
    return place_of(event).synthetic


def duration(milliseconds: int) -> str:
    """A time in words; nothing where the log has no times.

    Args:
        milliseconds: The time; below 1 for none.

    Returns:
        A number and its unit.

    Example:
        >>> duration(5), duration(1234), duration(90_000), duration(0)
        ('5 ms', '1.2 s', '1.5 min', '')
    """
    if milliseconds <= 0:
        return ""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else "days"
