"""What a page is told about a log: windows of it, as plain values, never the whole.

Every text of the log in an answer is one line, cut short, with nothing unseen in it; the page shows it as text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dsh_session.views import describe
from dsh_session.views.escape import cut, one_line
from dsh_session.views.palette import fill_of
from dsh_session.views.window import Gap, choose
from dsh_session.widgets.moments import plural
from dsh_session.widgets.spans import Spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.widgets.moments import Moments, Step
    from dsh_session.widgets.spans import Span

__all__ = ["MOST", "Windows"]

MOST: Final = 512
"""So many rows are in an answer at most."""
_LABEL: Final = 140
_COUNTED: Final = 2_000
_KEPT: Final = 8_192
"""So many events' words are kept: reading a payload of a megabyte for every step would be felt."""
_BINS: Final = 240

Answer = dict[str, Any]


class _Words(NamedTuple):
    """What is said of an event, wherever it is shown."""

    kind: str
    fill: str
    name: str
    label: str


class Windows:
    """Answers the questions of a page about a log.

    Example:
        >>> from dsh_session import Session
        >>> from dsh_session.widgets.moments import Moments
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> event = session.append("user/message", said, surface_op="append")
        >>> windows = Windows(Moments(session))
        >>> windows.surface(0, 0, 10)["rows"][0]["label"], windows.log(0, 10)["rows"][0]["kind"]
        ('hello', 'user')
    """

    def __init__(self, moments: Moments) -> None:
        """Answer about a log."""
        self.moments = moments
        self.spans = Spans(moments)
        self._words = lru_cache(_KEPT)(self._read)
        self._bins: tuple[int, Answer] | None = None

    def take_in(self) -> None:
        """Know of what was appended since."""
        self.spans.take_in()

    # ---------------------------------------------------------------------------------------------------- the log

    def log(self, start: int, stop: int) -> Answer:
        """Tell about a stretch of the log.

        Args:
            start: The first seq.
            stop: The seq after the last one; of a longer stretch than `MOST` the beginning is told.

        Returns:
            `from` (the first seq), `length` (of the log), `rows` (one per event: `seq`, `kind`, `fill`, `edge`,
            `label`, `node`, `over`, `left`, `rank`), `turns` and `steps` (`name`, `start`, `stop`).
        """
        moments = self.moments
        start = max(0, min(start, moments.length))
        stop = max(start, min(stop, start + MOST, moments.length))
        return {
            "from": start,
            "length": moments.length,
            "rows": [self._event(seq) for seq in range(start, stop)],
            "turns": self._spans(self.spans.turns, start, stop),
            "steps": self._spans(self.spans.steps, start, stop),
        }

    def _event(self, seq: int) -> Answer:
        moments = self.moments
        row = self._row(seq)
        event = moments.event(seq)
        edge = event.type.rpartition("/")[2]
        row["edge"] = edge if edge in {"start", "end"} else ""
        row["node"] = event.surface_op is not None
        row["left"] = moments.left(seq)
        return row

    def _spans(self, spans: list[Span], start: int, stop: int) -> list[Answer]:
        return [
            {"name": self.spans.name(span), "start": span.start, "stop": span.stop}
            for span in self.spans.within(spans, start, stop)
        ]

    def overview(self) -> Answer:
        """Tell about the whole log at once, in at most 240 stretches of one length.

        Returns:
            `length`, `size` (of a stretch, in events) and per stretch the counts `nodes`, `replaced` (events that
            took the place of others) and `turns` (that begin there).
        """
        length = self.moments.length
        if self._bins is None or self._bins[0] != length:
            size = max(1, -(-length // _BINS))
            count = -(-length // size)
            nodes, replaced, turns = [0] * count, [0] * count, [0] * count
            # The history may know of events that were appended since and not been taken in yet.
            appended = self.moments.history.transcript()
            for seq in appended[: bisect_left(appended, length)]:
                nodes[seq // size] += 1
            replacing = list(self.moments.history._replacements)
            for seq in replacing[: bisect_left(replacing, length)]:
                nodes[seq // size] += 1
                replaced[seq // size] += 1
            for span in self.spans.turns:
                turns[span.start // size] += 1
            self._bins = length, {"length": length, "size": size, "nodes": nodes, "replaced": replaced, "turns": turns}
        return self._bins[1]

    def change(self, moment: int, by: int) -> int:
        """Give the nearest moment at which the surface changed.

        Args:
            moment: Where to look from; any whole number.
            by: Whether to look behind it (positive) or before it.

        Returns:
            A seq; the log's last one, or -1, where there is no such moment.
        """
        history = self.moments.history
        moment = min(moment, self.moments.length)  # the history may know of more
        found = self.moments.length - 1 if by > 0 else -1
        for seqs in (history._appended, list(history._replacements)):
            at = bisect_right(seqs, moment) if by > 0 else bisect_left(seqs, moment) - 1
            if 0 <= at < len(seqs):
                found = min(found, seqs[at]) if by > 0 else max(found, seqs[at])
        return found

    # ------------------------------------------------------------------------------------------------- the surface

    def surface(self, moment: int, start: int, stop: int, *, around: bool = False) -> Answer:
        """Tell about a stretch of the surface at a moment, and what the moment's event did.

        Args:
            moment: A seq; -1 for the beginning.
            start: The first position.
            stop: The position after the last one; of a longer stretch than `MOST` the beginning is told.
            around: Whether to move the stretch to where the event entered, if it entered outside of it.

        Returns:
            `moment`, `length` (of the log), `count` and `before` (nodes after and before the event), `at` (the position
            where it entered, or -1), `from` (the first position), `rows` (one per node: `seq`, `kind`, `fill`, `label`,
            `over`, `rank`), `shadowed` (`count`, `start`, `end` and `parts`, or None), `was` (the surface before, in
            parts), `said` (what the event did), `kind` and `label` (of the event).

        Raises:
            SurfaceError: ``RANGE_NOT_FOUND`` for a moment that is not in the log.
        """
        step = self.moments.step(moment)
        span = max(1, min(stop - start, MOST))
        if around and step.at >= 0 and not start <= step.at < start + span:
            start = step.at - span // 2
        start = max(0, min(start, len(step.nodes) - span))
        return {
            "moment": moment,
            "length": self.moments.length,
            "count": len(step.nodes),
            "before": step.before,
            "at": step.at,
            "from": start,
            "rows": [self._row(seq) for seq in step.nodes[start : start + span]],
            "shadowed": self._shadowed(step),
            "was": self._before(step),
            "said": self.moments.sentence(moment),
            "kind": self._words(moment).kind if moment >= 0 else "",
            "label": self._words(moment).label if moment >= 0 else "",
        }

    def _shadowed(self, step: Step) -> Answer | None:
        seqs = step.shadowed
        if not seqs:
            return None
        parts = [
            self._gap(seqs[part.start : part.stop]) if isinstance(part, Gap) else self._row(seqs[part])
            for part in choose(len(seqs), first=14, last=3)
        ]
        return {"count": len(seqs), "start": seqs[0], "end": seqs[-1], "parts": parts}

    def _gap(self, seqs: Sequence[int]) -> Answer:
        counts = ""
        if len(seqs) <= _COUNTED:
            counts = describe.count_kinds(Counter(self._words(seq).kind for seq in seqs))
        return {"gap": len(seqs), "label": f"{plural(len(seqs), 'more node')}{f': {counts}' if counts else ''}"}

    def _before(self, step: Step) -> list[Answer]:
        """The surface before the event: its ends, and what the event took away."""
        count = step.before
        behind = range(step.at, step.at + len(step.shadowed)) if step.shadowed else range(0)
        also = [*behind[:8], *behind[-3:]]
        if step.at >= 0:
            also += [at for at in (step.at - 1, step.at + len(step.shadowed)) if 0 <= at < count]
        parts: list[Answer] = []
        for part in choose(count, first=2, last=5, also=also):
            if isinstance(part, Gap):
                parts.append({"gap": part.stop - part.start, "shadowed": part.start in behind})
            else:
                seq = step.before_at(part)
                words = self._words(seq)
                parts.append({"seq": seq, "kind": words.kind, "fill": words.fill, "shadowed": part in behind})
        return parts

    # ------------------------------------------------------------------------------------------------------ a row

    def _row(self, seq: int) -> Answer:
        moments = self.moments
        words = self._words(seq)
        row: Answer = {
            "seq": seq,
            "kind": words.name,
            "fill": words.fill,
            "label": words.label,
            "over": len(moments.behind(seq)),
        }
        if moments.is_node(seq):
            row["rank"] = moments.rank(seq)
        return row

    def _read(self, seq: int) -> _Words:
        event = self.moments.event(seq)
        kind = describe.kind(event)
        name = kind if kind != "other" else cut(one_line(event.type[:160]), 40) or kind
        fill = fill_of(kind, error=describe.is_error(event))
        return _Words(kind, fill, name, describe.headline(event, _LABEL))
