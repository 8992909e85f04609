"""What a compaction would leave: the surface and its tokens, before anything is written."""

from typing import Any, NamedTuple

from dsh_session.compaction.decision import Compact, Decision, Leave
from dsh_session.compaction.framing import frame_summary, summary_blocks
from dsh_session.compaction.lock import lock_of
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.meter import TokenMeter
from dsh_session.compaction.needed import compact_if_needed
from dsh_session.compaction.summary import Summary
from dsh_session.core.session import Session
from dsh_session.views import describe
from dsh_session.views.escape import html_text
from dsh_session.views.html import repr_css
from dsh_session.views.payload import content_line
from dsh_session.views.window import Gap, choose

LARGE = 4000
"""Logs of more events than this are not copied to see what a summary would leave; it is reckoned instead."""


class Preview(NamedTuple):
    """A surface as it would be.

    Attributes:
        nodes: Seqs that stay, and -1 - n for the n-th message that would be written.
        texts: What those messages would say, in a line.
        replaced: The seqs that they would take the place of.
        tokens_before: What the next request takes now.
        tokens_after: What it would take; None where that is not known before the summary is.
        remark: What else is to be said.
    """

    nodes: tuple[int, ...]
    texts: tuple[str, ...]
    replaced: tuple[int, ...]
    tokens_before: int
    tokens_after: int | None
    remark: str = ""

    @property
    def line(self) -> str:
        """The counts, in a line of plain text."""
        after = "an unknown number" if self.tokens_after is None else f"{self.tokens_after:,}"
        count = len(self.replaced)
        return (
            f"{count} {'node gives' if count == 1 else 'nodes give'} way; "
            f"{self.tokens_before:,} tokens become {after}, on {len(self.nodes)} nodes."
        )


def preview_range(session: Session, nodes: tuple[int, ...], summary: Any, meter: TokenMeter) -> Preview:
    """Say what replacing a range by a summary would leave.

    Args:
        session: The session; nothing is written.
        nodes: The range, in surface order.
        summary: Text, blocks or a `Summary`; None where it is not known yet.
        meter: What measures.

    Raises:
        CompactionError: What is wrong with the summary.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn(["Do it, please. " * 30, "And that."]):
        ...     pass
        >>> print(preview_range(session, (1,), "They want it done.", TokenMeter()).line)
        1 node gives way; 132 tokens become 76, on 2 nodes.
    """
    if summary is not None and session.seq <= LARGE:
        return preview_policy(session, _Chosen(Compact(nodes[0], nodes[-1])), lambda _: summary, meter)
    measured = meter.measure(session)
    gone = sum(map(measured.tokens, nodes))
    after, said = None, "the summary"
    if summary is not None:
        blocks = summary_blocks(Summary.of(summary).content)
        after = measured.total - gone + meter.estimate_message({"content": frame_summary(blocks)})
        said = content_line({"content": blocks}, 160)
    here = list(measured.nodes)
    first = here.index(nodes[0])
    left = (*here[:first], -1, *here[first + len(nodes) :])
    return Preview(left, (said,), nodes, measured.total, after)


def preview_policy(session: Session, policy: Any, summarise: Any, meter: TokenMeter, *, retries: int = 1) -> Preview:
    """Say what a policy would leave, by letting it work on a copy.

    Args:
        session: The session; nothing is written.
        policy: The policy.
        summarise: A summariser that answers at once.
        meter: What measures.
        retries: As for `compact_if_needed`.

    Raises:
        SessionError: What would stop it.
        Exception: What the policy or the summariser raised.
    """
    copy = Session(session.id, seed=session.events, clock=lambda: 0, check_payloads=False)
    if lock_of(copy).turn is None:
        append: Any = copy.append
        append("turn/start", {"turn": 0, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    before = session.seq
    outcome = compact_if_needed(copy, policy, summarise, meter=meter, retries=retries)
    made = [seq for seq in copy.surface.nodes if seq >= before]
    place = {seq: -1 - at for at, seq in enumerate(made)}
    there = set(copy.surface.nodes)
    gone = tuple(seq for seq in session.surface.nodes if seq not in there)
    said = {result.replacement_seq: result.summary for result in outcome.results}
    texts = tuple(content_line({"content": said[seq]}, 160) for seq in made)
    nodes = tuple(place.get(seq, seq) for seq in copy.surface.nodes)
    return Preview(nodes, texts, gone, outcome.tokens_before, outcome.tokens_after, outcome.reason)


class _Chosen:
    """A policy that asks for one given range, once."""

    def __init__(self, decision: Compact) -> None:
        self._decision: Decision | None = decision

    def plan(self, surface: MeasuredSurface) -> Decision:  # noqa: ARG002 (it was chosen already)
        decision, self._decision = self._decision, None
        return decision or Leave("", is_satisfied=True)


def preview_html(session: Session, preview: Preview, measured: MeasuredSurface) -> str:
    """Draw a preview as a small static table; new messages are marked by a word and a sign."""
    events = session.events
    marks = [place for place, node in enumerate(preview.nodes) if node < 0]
    also = [at for mark in marks[:20] for at in (mark - 1, mark, mark + 1) if 0 <= at < len(preview.nodes)]
    rows = []
    for part in choose(len(preview.nodes), first=2, last=2, also=also):
        if isinstance(part, Gap):
            rows.append(f'<tr><td class="dsh-more" colspan="4">… {part.stop - part.start:,} more that stay</td></tr>')
            continue
        node = preview.nodes[part]
        if node < 0:
            cells = ("★", "new summary", "", preview.texts[-1 - node])
        else:
            event = events[node]
            cells = (
                str(node),
                describe.kind(event),
                f"{measured.prices.get(node, 0):,}",
                describe.headline(event, 110),
            )
        seq, kind, tokens, said = map(html_text, (cells[0], cells[1], cells[2], cells[3][:400]))
        rows.append(
            f'<tr><td class="dsh-number">{seq}</td><td class="dsh-kind">{kind}</td>'
            f'<td class="dsh-number">{tokens}</td><td class="dsh-said"><bdi>{said}</bdi></td></tr>'
        )
    head = (
        '<th scope="col" class="dsh-number">seq</th><th scope="col">kind</th>'
        '<th scope="col" class="dsh-number">tokens</th><th scope="col">what it says</th>'
    )
    remark = f'<p class="dsh-muted">{html_text(preview.remark)}</p>' if preview.remark else ""
    said = f"<p><b>Would be:</b> {html_text(preview.line)}</p>{remark}"
    return (
        f'<style>{repr_css()}</style><div class="dsh dsh-repr">{said}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
