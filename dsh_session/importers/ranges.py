"""Writing compactions: which range was replaced by what, and what is wrong with it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from dsh_session.compaction.counters import heuristic
from dsh_session.compaction.events import COMPACT_END, COMPACT_START, COMPACT_SUMMARY
from dsh_session.compaction.framing import frame_summary
from dsh_session.compaction.meter import BLOCK_TOKENS, DEFAULT_METER, MESSAGE_TOKENS
from dsh_session.core.event import SessionEvent, peek
from dsh_session.importers.steps import Steps

FORGOTTEN: Final = "(forgotten)"
"""What stands in the place of a range that was dropped without a summary."""


class Ranges(Steps):
    """Writes compactions; see `Assembler`."""

    def compaction(
        self,
        *,
        start: int | None,
        end: int | None,
        summary: Any,
        provider: str | None = None,
        model: str | None = None,
        tokens_before: Any = None,
        plugin: str = "compact",
        also: Iterable[tuple[int, int]] = (),
        is_framed: bool = False,
    ) -> int | None:
        """Replace a range of the surface, as the source did.

        Args:
            start: Seq of the first node of the range; None for an empty range.
            end: Seq of the last one, in surface order.
            summary: What takes its place, as the model saw it; None where the range was dropped.
            provider: Who wrote the summary.
            model: The model that did.
            tokens_before: What the source says the whole context took; kept in the side table.
            plugin: The source of the message that takes the range's place.
            also: Further ranges that were dropped with it.
            is_framed: Whether to put the summary between this package's own tags.

        Returns:
            The seq of the message that replaced the range; None where the range was empty. The summary,
            if any, is a context message then.
        """
        self.end_step()
        if not self._is_open:
            self._begin_turn({"kind": "injection", "source": {"kind": "plugin", "plugin": plugin}})
        blocks = [] if summary is None else self._blocks(summary)
        ranges = [found for given in ((start, end), *also) if (found := self._range(*given)) is not None]
        ranges = self._disjoint(ranges)
        opening = self._write(COMPACT_START, {"turn": self._turn})
        made: int | None = None
        origin = {"provider": provider or "unknown", "model": model or "unknown"}
        for at, shadowed in enumerate(ranges):
            text = blocks if at == 0 and blocks else [{"type": "text", "text": FORGOTTEN}]
            replacement = self._replace(opening, shadowed, text, origin, plugin, is_framed=is_framed and at == 0)
            made = replacement if made is None else made
        if tokens_before is not None:
            self.side("tokensBefore", tokens_before)
        if made is None:
            self.finding("EMPTY_RANGE", "a compaction that replaces nothing; its summary, if any, was kept as context")
            self._write(COMPACT_END, {"turn": self._turn, "error": "empty range"})
            if blocks:
                self.context(blocks, kind="summary")
            return None
        self._write(COMPACT_END, {"turn": self._turn})
        return made

    def shorten(self, seq: int, content: Any, *, provider: str | None = None, model: str | None = None) -> int | None:
        """Put other content in the place of one node's, as the source did; a tool result stays one.

        Args:
            seq: The seq of a node.
            content: Text, blocks, or what becomes blocks; None where it was dropped.
            provider: Who wrote the content.
            model: The model that did.

        Returns:
            The seq of the message that replaced it; None, with a finding, where it is not on the surface.
        """
        if not self.is_live(seq):
            self.finding("RANGE_NOT_FOUND", f"a change of the message at seq {seq}, which is not on the surface")
            return None
        self._need_turn()
        blocks = self._blocks(content) or [{"type": "text", "text": FORGOTTEN}]
        opening = self._write(COMPACT_START, {"turn": self._turn})
        origin = {"provider": provider or "unknown", "model": model or "unknown"}
        if self._log[seq].type == "tool/result":
            recorded = self._record([seq], blocks, origin)
            data = {**peek(self._log[seq]), "content": blocks}
            made = self._replacement(data, [opening, recorded, seq], seq, seq, "tool/result")
            self._balance[made] = -1
        else:
            if self._balance.get(seq):
                self.finding("UNBALANCED_EDGE", f"a change of the message at seq {seq} takes its tool calls away")
            made = self._replace(opening, [seq], blocks, origin, "compact", is_framed=False)
        self._write(COMPACT_END, {"turn": self._turn})
        return made

    def _replace(
        self,
        opening: int,
        shadowed: list[int],
        blocks: list[Any],
        origin: Mapping[str, str],
        plugin: str,
        *,
        is_framed: bool,
    ) -> int:
        recorded = self._record(shadowed, blocks, origin)
        data = {
            "content": frame_summary(blocks) if is_framed else blocks,
            "source": {"kind": "plugin", "plugin": plugin},
        }
        return self._replacement(data, [opening, recorded, *shadowed], shadowed[0], shadowed[-1])

    def _record(self, shadowed: list[int], blocks: list[Any], origin: Mapping[str, str]) -> int:
        record = {
            "summary": blocks,
            "shadowedRange": {"start": shadowed[0], "end": shadowed[-1]},
            "shadowedSeqs": shadowed,
            "shadowedTokenCount": sum(price_of(self._log[node]) for node in shadowed),
            **origin,
        }
        return self._write(COMPACT_SUMMARY, record)

    def _range(self, start: int | None, end: int | None) -> list[int] | None:
        """Give the nodes of a range, after saying what is wrong with it."""
        if start is None or end is None:
            return None
        lost = [seq for seq in (start, end) if not self._links.holds(seq)]
        if lost:
            self.finding("RANGE_NOT_FOUND", f"a compaction names seq {lost[0]}, which is not on the surface any more")
            return None
        if self._links.rank(start) > self._links.rank(end):
            self.finding("RANGE_REVERSED", f"a compaction begins at seq {start} and ends before it; it was turned")
            start, end = end, start
        nodes = list(self._links._between(start, end))
        before, inside = self._open_calls(start), 0
        for node in nodes:
            inside += self._balance.get(node, 0)
        for where, seq, count in (("before", start, before), ("after", end, before + inside)):
            if count:
                told = f"a compaction cuts {where} seq {seq}, where {count} tool calls are open; it was left so"
                self.finding("UNBALANCED_EDGE", told)
        return nodes

    def _open_calls(self, seq: int) -> int:
        """Give how many calls are open before a node."""
        total = 0
        for node in self._links.order():
            if node == seq:
                break
            total += self._balance.get(node, 0)
        return total

    def _disjoint(self, ranges: list[list[int]]) -> list[list[int]]:
        taken: set[int] = set()
        kept = []
        for nodes in ranges:
            if taken.isdisjoint(nodes):
                kept.append(nodes)
                taken.update(nodes)
            else:
                self.finding("RANGES_OVERLAP", f"two ranges of one compaction overlap at seq {nodes[0]}; one was left")
        return kept


class _Block(msgspec.Struct, gc=False):
    type: Literal["text", "reasoning", "tool-call"]
    text: str = ""
    name: str = ""
    arguments: str = ""


class _Message(msgspec.Struct, gc=False):
    content: list[_Block]
    envelope: str | None = None


class _Envelope(msgspec.Struct, gc=False):
    data: _Message


_message_of = msgspec.json.Decoder(_Envelope).decode


def price_of(event: SessionEvent) -> int:
    """Give the tokens of the message that an event derives, as the default meter estimates them; nothing is kept."""
    # A compaction shadows hundreds of nodes that hold nothing but text: what the meter would add up, at once.
    kind = event.type
    try:
        message = _message_of(event._line).data
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return DEFAULT_METER.estimate_event(event)
    if kind == "steering/message" or (kind == "context/message" and message.envelope != "raw"):
        return DEFAULT_METER.estimate_event(event)
    content = message.content
    if kind == "assistant/message" and not content:
        return 0
    total = MESSAGE_TOKENS + BLOCK_TOKENS * (len(content) + (kind == "tool/result"))
    for block in content:
        if block.type == "tool-call":
            total += heuristic(block.name) + heuristic(block.arguments)
        else:
            total += heuristic(block.text)
    return total
