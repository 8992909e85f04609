from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from dsh_session import Context, Session
from dsh_session.views import charts, diagrams
from dsh_session.views.describe import KINDS
from dsh_session.views.palette import DARK, LIGHT, SHAPES, Theme, contrast, css_variables, fill_of, shape_of, theme_of
from dsh_session.views.window import ViewError

THEMES = {"light": LIGHT, "dark": DARK}
FILLS = ["user", "assistant", "result", "steering", "summary", "context", "error", "shadowed", "plain"]


def least(pairs: list[tuple[str, str]]) -> float:
    return min(contrast(*pair) for pair in pairs)


@pytest.mark.parametrize(("name", "ratio"), [("light", 10.0), ("dark", 8.4)])
def test_ink_can_be_read_on_every_fill(name: str, ratio: float) -> None:
    theme = THEMES[name]
    assert least([(theme.ink, getattr(theme, f"fill_{fill}")) for fill in FILLS]) >= ratio
    assert least([(theme.ink, theme.page), (theme.ink, theme.panel)]) >= ratio


@pytest.mark.parametrize(("name", "ratio"), [("light", 6.3), ("dark", 7.7)])
def test_muted_text_can_be_read_on_the_page_a_panel_and_what_is_shadowed(name: str, ratio: float) -> None:
    theme = THEMES[name]
    grounds = [theme.page, theme.panel, theme.fill_shadowed, theme.fill_plain]
    assert least([(theme.muted, ground) for ground in grounds]) >= ratio


@pytest.mark.parametrize(("name", "ratio"), [("light", 4.6), ("dark", 7.1)])
def test_coloured_text_and_lines_can_be_seen_on_the_page_and_on_a_panel(name: str, ratio: float) -> None:
    theme = THEMES[name]
    colours = [theme.stands_for, theme.error_text, theme.call_to_result, theme.selection]
    assert least([(colour, ground) for colour in colours for ground in (theme.page, theme.panel)]) >= ratio


@pytest.mark.parametrize(("name", "ratio"), [("light", 3.1), ("dark", 4.3)])
def test_the_border_of_a_node_stands_out_on_both_of_its_sides(name: str, ratio: float) -> None:
    theme = THEMES[name]
    pairs = []
    for fill in FILLS:
        border = theme.border if fill == "plain" else getattr(theme, f"border_{fill}")
        inside = theme.fill_shadowed if fill == "shadowed" else getattr(theme, f"fill_{fill}")
        # The border of an error is a little fainter on its own fill; its text is ink, so nothing depends on it.
        pairs += [(border, inside), (border, theme.page), (border, theme.panel)]
    assert least(pairs) >= ratio


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
    assert contrast("#FFFFFF", "#777777") == contrast("#777777", "#FFFFFF")


def test_kinds_that_a_diagram_draws_differ_in_shape_not_in_colour_alone() -> None:
    drawn = [kind for kind in KINDS if kind in SHAPES and kind != "tool call"]  # a call is a result in white
    assert len({shape_of(kind) for kind in drawn}) == len(drawn)
    assert len({fill_of(kind) for kind in drawn}) == len(drawn)
    assert fill_of("tool call") == "plain"


def test_every_kind_has_a_shape_and_a_fill_of_the_theme() -> None:
    for kind in (*KINDS, "shadowed"):
        assert f"fill-{fill_of(kind)}" in LIGHT.variables()
        assert shape_of(kind)[0]


def test_all_colours_are_written_in_full() -> None:
    for theme in THEMES.values():
        assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in theme.variables().values())


def test_the_style_sheet_names_each_colour_in_both_themes_and_never_changes() -> None:
    css = css_variables(".here")
    for theme in THEMES.values():
        for name, value in theme.variables().items():
            assert f"--dsh-{name}: {value};" in css
    assert css == css_variables(".here")
    assert ".dsh" not in css.replace("--dsh", "")


def test_a_theme_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        LIGHT.ink = "#000000"  # type: ignore[misc]
    assert replace(LIGHT, ink="#000000") != LIGHT
    assert isinstance(LIGHT, Theme)


def test_a_theme_is_taken_by_its_name_or_as_it_is() -> None:
    own = replace(LIGHT, ink="#000000")
    assert [theme_of("light"), theme_of("dark"), theme_of(own)] == [LIGHT, DARK, own]


@pytest.mark.parametrize("theme", ["Dark", "", None, True, ["dark"]])
def test_another_theme_is_refused_by_diagrams_and_charts_alike(theme: Any) -> None:
    with Context() as ctx:
        for draw in (
            lambda: diagrams.surface(Session("s"), theme=theme),
            lambda: diagrams.lineage(ctx.sessions, theme=theme),
            lambda: charts.tokens(Session("s"), theme=theme),
            lambda: charts.trace(Session("s"), "words", theme=theme),
        ):
            with pytest.raises(ViewError, match="there are 'light' and 'dark'") as caught:
                draw()
            assert caught.value.code == "VIEW_THEME"
