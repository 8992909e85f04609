from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session
from dsh_session.views import mermaid
from dsh_session.views.window import ViewError
from tests.views.golden import session_of
from tests.views.hostile import HOSTILE, hostile_session
from tests.views.made import nested
from tests.views.test_diagrams_all import turns
from tests.views.test_diagrams_surface import sessions, sketch

LABEL = r'"[^"\\`{}<>\[\]|~%&\n]*"'
NAME = r"(?:head|tail|n\d+|more_\d+|chunks_\d+|turn_\d+|step_\d+|shadowed_by_\d+)"
LINE = re.compile(
    rf"flowchart (LR|TB)|(head|tail)\(\((head|tail)\)\)|subgraph {NAME}\[{LABEL}\]|end|direction LR"
    rf"|{NAME} (<-->|-->|-\. stands for \.->) {NAME}"
    rf"|{NAME}(\(\[{LABEL}\]\)|\[{LABEL}\]|>{LABEL}\]|\[\[{LABEL}\]\]|\{{\{{{LABEL}\}}\}}|\[/{LABEL}/\])"
    r"|classDef \w+ [\w:,. -]+|class \w+ \w+"
)


def check(text: str) -> None:
    """Every line is one of the few statements that are written, and every name in an edge is defined."""
    lines = [line.strip() for line in text.split("\n")]
    for line in lines:
        assert LINE.fullmatch(line), line
    assert lines.count("end") == sum(line.startswith("subgraph") for line in lines)
    defined = {re.match(rf"(?:subgraph )?({NAME})[\[(>{{]", line) for line in lines}
    names = {match[1] for match in defined if match}
    for line in lines:
        edge = re.fullmatch(rf"({NAME}) \S.*? ({NAME})", line)
        if edge:
            assert {edge[1], edge[2]} <= names, line


@given(st.text())
def test_no_text_holds_anything_that_means_something_to_mermaid(text: str) -> None:
    assert re.fullmatch(LABEL, f'"{mermaid.mermaid_text(text)}"')


@given(st.one_of(turns(), sessions()))
def test_any_log_is_written_in_statements_that_mermaid_knows(session: Session) -> None:
    check(mermaid.surface(session))
    check(mermaid.nesting(session))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_log_is_nothing_but_text(text: str) -> None:
    session = hostile_session(lambda _: text[:2000])
    check(mermaid.surface(session))
    check(mermaid.nesting(session))


def test_the_surface_is_a_list_from_head_to_tail_with_its_frames() -> None:
    lines = [line.strip() for line in mermaid.surface(sketch()).split("\n")]
    chain = ["head", "n12", "n4", "n13", "tail"]
    for above, below in pairwise(chain):
        assert f"{above} {'-->' if above == 'head' else '<-->'} {below}" in lines
    assert "n12 -. stands for .-> shadowed_by_12" in lines
    assert "n9 -. stands for .-> shadowed_by_9" in lines
    assert lines.index('subgraph shadowed_by_9["3 shadowed by 9"]') < lines.index("n0 --> n1")


def test_turns_hold_their_steps() -> None:
    text = mermaid.nesting(nested(), first=99)
    assert text.index('subgraph turn_0["turn 1: completed"]') < text.index('subgraph step_2["step 1"]')
    assert 'chunks_4["3 chunks, 4 … 6"]' in text
    assert 'subgraph turn_28["turn 3: aborted, session/cancel"]' in text
    assert "class turn_28 bad" in text
    assert "class turn_40 failed" in text
    assert "class turn_55 open" in text


def test_a_long_log_is_cut_and_counted() -> None:
    session = session_of("pi")
    for text in (mermaid.surface(session), mermaid.nesting(session)):
        check(text)
        assert len(text) < 10_000
        assert " more: " in text


def test_a_moment_is_shown_as_it_was_and_a_wrong_one_refused() -> None:
    assert "n3" in mermaid.surface(sketch(), at=3)
    assert "n12" not in mermaid.surface(sketch(), at=11)
    with pytest.raises(ViewError, match="at=99"):
        mermaid.nesting(sketch(), at=99)
    with pytest.raises(ViewError, match="last=-1"):
        mermaid.surface(sketch(), last=-1)
