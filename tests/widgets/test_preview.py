from __future__ import annotations

from typing import Any

import pytest

from dsh_session import SessionError
from dsh_session.compaction import Basic, TokenMeter, compact_if_needed, compact_region, extractive
from dsh_session.widgets import CompactForm, preview
from dsh_session.widgets.preview import preview_html, preview_policy, preview_range
from tests.compaction.sessions import close_turn, talked
from tests.views.hostile import HOSTILE

METER = TokenMeter()


def test_what_a_range_would_leave_is_what_it_leaves() -> None:
    session = talked()
    shown = preview_range(session, (1, 3, 5, 8), "Asked and answered.", METER)
    assert session.seq == talked().seq, "nothing is written"
    compact_region(session, 1, 8, lambda _: "Asked and answered.")
    assert shown.tokens_after == METER.measure(session).total
    assert [node if node >= 0 else "new" for node in shown.nodes] == ["new", *session.surface.nodes[1:]]
    assert (shown.texts, shown.replaced) == (("Asked and answered.",), (1, 3, 5, 8))


def test_a_long_log_is_reckoned_and_comes_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = preview_range(talked(), (1, 3, 5, 8), "Asked.", METER)
    monkeypatch.setattr(preview, "LARGE", 0)
    assert preview_range(talked(), (1, 3, 5, 8), "Asked.", METER)[:5] == copied[:5]


def test_a_summary_that_is_not_known_leaves_the_tokens_open() -> None:
    shown = preview_range(talked(), (1,), None, METER)
    assert shown.tokens_after is None
    assert "become an unknown number" in shown.line


def test_what_would_be_refused_is_refused() -> None:
    with pytest.raises(SessionError, match="COMPACTION_NOT_SMALLER"):
        preview_range(talked(), (1,), "word " * 200, METER)


def test_a_policy_works_on_a_copy_with_or_without_an_open_turn() -> None:
    session = talked(6)
    shown = preview_policy(session, Basic(300), extractive, METER)
    count = session.seq
    outcome = compact_if_needed(session, Basic(300), extractive)
    assert (shown.tokens_before, shown.tokens_after) == (outcome.tokens_before, outcome.tokens_after)
    assert session.seq > count
    ended = talked(6)
    close_turn(ended)
    assert preview_policy(ended, Basic(300), extractive, METER).tokens_after is not None


def test_the_table_marks_what_is_new_by_a_sign_and_a_word() -> None:
    session = talked()
    shown = preview_range(session, (1, 3, 5, 8), "Asked and answered.", METER)
    html = preview_html(session, shown, METER.measure(session))
    assert "★" in html
    assert "new summary" in html
    assert "4 nodes give way" in html
    assert "more that stay" in html


@pytest.mark.parametrize("text", HOSTILE[:22], ids=range(22))
def test_a_hostile_summary_is_text(text: str) -> None:
    session = talked()
    shown = preview_range(session, (1, 3, 5, 8), f"{text}.", METER)
    html: Any = preview_html(session, shown, METER.measure(session))
    assert "<script" not in html
    assert "<img" not in html
    html.encode()


def test_of_a_long_log_the_form_says_what_the_policy_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsh_session.widgets.compact_form.LARGE", 0)
    form = CompactForm(talked(6), policy=Basic(300))
    assert form._range_notice.text.startswith("The policy decides: Compact(start=1, ")
    assert not form._button.disabled
    form.close()
