"""Condensations: from the events that were forgotten to ranges of the surface.

OpenHands names events, a surface has nodes. Several events may be one node (parallel calls of one
answer), some are none (the system prompt), and what is forgotten need not lie together.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from dsh_session.importers.assembler import Assembler, price_of


class Seen(NamedTuple):
    """One event of the view that the model is given.

    Attributes:
        key: The event's id.
        seq: Its node on the surface; None for one that is none, as the system prompt.
        is_summary: Whether it is what a condensation put there.
    """

    key: str
    seq: int | None
    is_summary: bool = False


class View:
    """The events that the model is given, as the source's own program keeps them, beside our surface."""

    def __init__(self, make: Assembler) -> None:
        """Begin with an empty view."""
        self._make = make
        self._seen: list[Seen] = []
        self._steps: dict[int, list[int]] = {}  # by node of an answer: the nodes of its results
        self._was: set[str] = set()
        self._last_answer = -1
        self._last_condensed_at: int | None = None

    def add(self, key: str, seq: int | None) -> None:
        """Note an event that the model is given."""
        self._seen.append(Seen(key, seq))
        self._was.add(key)

    def answered(self, seq: int, results: Iterable[int]) -> None:
        """Note the results that belong to an answer of the model's."""
        self._steps[seq] = list(results)
        self._last_answer = seq

    def condense(
        self,
        key: str,
        forgotten: Collection[str],
        *,
        summary: str | None,
        offset: int | None,
        model: Mapping[str, str],
        keeps_older_summaries: bool,
        is_range: bool = False,
    ) -> None:
        """Write a condensation.

        Args:
            key: The event's id.
            forgotten: Ids of the events that the model is not given any more.
            summary: What it is given in their place.
            offset: Where in the view that stands.
            model: Provider and model that wrote it, as far as they are known.
            keeps_older_summaries: Whether earlier summaries stay unless they are named; else a new one
                takes the place of all.
            is_range: Whether the ids are all numbers of a range, which has gaps.
        """
        make = self._make
        if not forgotten:
            # Programs that run wild write thousands of these: they cost nothing here.
            make.compaction(
                start=None, end=None, summary=summary, provider=model.get("provider"), model=model.get("model")
            )
            self._judge(None, 0)
            if summary is not None:
                self._seen.append(Seen(f"{key}-summary", make.surface[-1], is_summary=True))
                self._was.add(f"{key}-summary")
            return
        position = {seq: at for at, seq in enumerate(make.surface)}
        gone = {seen.key for seen in self._seen if seen.key in forgotten}
        self._say_unknown(set(forgotten) - gone, is_range=is_range)
        nodes = {seq for seen in self._seen if seen.key in gone and (seq := seen.seq) is not None and seq in position}
        self._widen(nodes, gone, position)
        dropped = self._older_summaries(forgotten, summary, offset, nodes, position, keeps=keeps_older_summaries)
        nodes |= {seq for seen in dropped if (seq := seen.seq) is not None}
        gone |= {seen.key for seen in dropped}
        runs = self._runs(nodes, position)
        main = self._main(runs, gone, summary, offset)
        others = [(run[0], run[-1]) for run in runs if run is not main]
        if others:
            told = f"a condensation forgets {len(runs)} separate ranges; the summary stands for the one at its offset"
            make.finding("SPLIT_RANGE", told)
        cost = sum(price_of(make._session.events[seq]) for run in runs for seq in run)
        made = make.compaction(
            start=main[0] if main else None,
            end=main[-1] if main else None,
            summary=summary,
            provider=model.get("provider"),
            model=model.get("model"),
            also=others,
        )
        self._judge(made, cost)
        self._replace(key, gone, made, summary)

    # ------------------------------------------------------------------------------------------------------- the range

    def _say_unknown(self, missing: set[str], *, is_range: bool) -> None:
        older = sorted(missing & self._was)
        if older:
            told = f"a condensation names {len(older)} events that were forgotten before, such as {older[0]:.80}"
            self._make.finding("FORGOTTEN_BEFORE", told)
        unknown = sorted(missing - self._was)
        if unknown and not is_range:
            told = f"a condensation names {len(unknown)} events that the model was not given, such as {unknown[0]:.80}"
            self._make.finding("UNKNOWN_EVENT", told)

    def _widen(self, nodes: set[int], gone: set[str], position: Mapping[int, int]) -> None:
        """Take the whole of a step of which a part is forgotten: its calls are one message."""
        for seen in self._seen:
            if seen.seq in nodes and seen.key not in gone and seen.seq in self._steps and seen.seq is not None:
                nodes |= {seq for seq in self._steps[seen.seq] if seq in position}
                told = (
                    f"some of the parallel calls of seq {seen.seq} are forgotten; the range was widened to all of them"
                )
                self._make.finding("WIDENED_RANGE", told)
                gone.add(seen.key)
        lost = {seen.seq for seen in self._seen if seen.seq in nodes}
        gone |= {seen.key for seen in self._seen if seen.seq in lost}

    def _older_summaries(
        self,
        forgotten: Collection[str],
        summary: str | None,
        offset: int | None,
        nodes: set[int],
        position: Mapping[int, int],
        *,
        keeps: bool,
    ) -> list[Seen]:
        """Find the earlier summaries that this one takes the place of without naming them."""
        if summary is None:
            return []
        found = []
        for at, seen in enumerate(self._seen):
            if not seen.is_summary or seen.key in forgotten or seen.seq not in position:
                continue
            if keeps:
                # Where each summary stays, a new one at the place of an old one can only mean its successor.
                before = sum(1 for other in self._seen[:at] if other.key not in forgotten)
                if offset is None or before != offset or not nodes:
                    continue
                self._make.finding("SUMMARY_DROPPED", "a summary takes the place of an earlier one without naming it")
            found.append(seen)
        return found

    def _runs(self, nodes: Iterable[int], position: Mapping[int, int]) -> list[list[int]]:
        """Put nodes that stand together into one run; what stands for no event of the source does not part them."""
        order = list(self._make.surface)
        named = {seen.seq for seen in self._seen}
        runs: list[list[int]] = []
        for seq in sorted(nodes, key=position.__getitem__):
            if runs:
                between = order[position[runs[-1][-1]] + 1 : position[seq]]
                if not any(node in named for node in between):
                    runs[-1] += [*between, seq]
                    continue
            runs.append([seq])
        return runs

    def _main(self, runs: list[list[int]], gone: set[str], summary: str | None, offset: int | None) -> list[int] | None:
        """Choose the run whose place the summary takes."""
        if not runs:
            return None
        if summary is None or offset is None:
            return runs[0]
        kept = 0
        places: dict[int, int] = {}
        for seen in self._seen:
            if seen.seq is not None:
                places.setdefault(seen.seq, kept)
            kept += seen.key not in gone
        for run in runs:
            if places.get(run[0]) == offset:
                return run
        stands = places.get(runs[0][0])
        told = f"the summary's offset is {offset} where the forgotten range leaves {stands}; it took the range's place"
        self._make.finding("SUMMARY_OFFSET", told)
        return runs[0]

    # ----------------------------------------------------------------------------------------------------- afterwards

    def _judge(self, made: int | None, cost: int) -> None:
        """Say what a loop of condensations looks like: no answer in between, or nothing won."""
        make = self._make
        if self._last_condensed_at is not None and self._last_condensed_at > self._last_answer:
            make.finding(
                "REPEATED_COMPACTION", "a condensation follows another one with no answer of the model between"
            )
        self._last_condensed_at = make.last
        if made is None:
            return
        size = price_of(make._session.events[made])
        if size * 5 >= cost * 4:
            told = f"a condensation of about {cost} tokens left about {size}: little or nothing was won"
            make.finding("LITTLE_GAIN", told)

    def _replace(self, key: str, gone: set[str], made: int | None, summary: str | None) -> None:
        at = next((at for at, seen in enumerate(self._seen) if seen.key in gone), len(self._seen))
        kept = [seen for seen in self._seen if seen.key not in gone]
        if made is not None:
            kept.insert(min(at, len(kept)), Seen(f"{key}-summary", made, is_summary=summary is not None))
        elif summary is not None:
            # Nothing was replaced; the summary stands at the end, as context.
            kept.append(Seen(f"{key}-summary", self._make.surface[-1], is_summary=True))
        self._was.add(f"{key}-summary")
        self._seen = kept
