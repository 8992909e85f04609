from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dsh_session import Session, SurfaceHistory, samples
from dsh_session.compaction import TokenMeter, compact_region
from dsh_session.views import frames
from dsh_session.widgets import Panels
from dsh_session.widgets.panels import NAMES
from tests.compaction.sessions import talked
from tests.views.hostile import HOSTILE, hostile_session
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")


def compacted() -> Session:
    """A session of two turns; its first turn is summarised by seq 25."""
    session = talked(2)
    compact_region(session, 1, 8, lambda _: "Asked and answered.")
    return session


@pytest.fixture
def panels() -> Iterator[Panels]:
    panels = Panels(compacted())
    yield panels
    panels.close()


def test_they_begin_at_the_end_with_the_event(panels: Panels) -> None:
    assert panels.moment == 26
    assert "compact/end" in panels.html
    assert repr(panels) == "<Panels of s: Event at 26>"


def test_the_event_is_shown_as_its_json(panels: Panels) -> None:
    panels.moment = 3
    assert "&quot;type&quot;: &quot;assistant/message&quot;" in panels.html
    panels.moment = -1
    assert "Nothing has happened yet" in panels.html


def test_a_selected_node_is_what_the_panels_are_about(panels: Panels) -> None:
    panels.moment = 20
    panels.selection = [1, 8]
    assert "&quot;seq&quot;: 1," in panels.html
    assert "selected" in panels.html


def test_the_messages_are_those_that_the_model_saw_at_the_moment(panels: Panels) -> None:
    panels.panel = "Messages"
    assert "Asked and answered." in panels.html
    assert "Question 1?" not in panels.html
    panels.moment = 10
    assert "Question 1?" in panels.html
    assert "4 nodes" in panels.html


def test_a_summary_says_what_it_stands_for(panels: Panels) -> None:
    panels.panel = "Stands for"
    panels.moment = 25
    assert "stands for 4 messages, 1 level deep" in panels.html
    assert "Question 1?" in panels.html
    panels.moment = 26
    assert "Select a node" in panels.html
    panels.moment = 10
    panels.selection = [3, 3]
    assert "until event 25 took its place" in panels.html
    assert "stands for itself" in panels.html


def test_the_turn_and_the_step_of_an_event_are_found(panels: Panels) -> None:
    panels.panel = "Turn"
    panels.moment = 5
    assert "1, from event 0" in panels.html
    assert "1, from event 2" in panels.html
    panels.moment = 8
    assert "2, from event 7" in panels.html
    panels.moment = 22
    assert "3, from event 22" in panels.html
    assert "none is open" in panels.html


def test_tokens_are_estimated_at_every_moment(panels: Panels) -> None:
    panels.panel = "Tokens"
    panels.moment = 21
    total = TokenMeter().measure(talked(2)).total
    assert f"About {total:,} tokens" in panels.html
    panels.moment = 25
    assert "this event changed it by -" in panels.html
    panels.moment = 21
    panels.selection = [1, 8]
    assert "in the selection" in panels.html


@pytest.mark.parametrize(
    "name",
    ["events", "surface", "messages", "turns", "steps", "tools", "usage", "replacements", "compactions", "todos"],
)
def test_every_frame_can_be_looked_at(panels: Panels, name: str) -> None:
    panels.panel = "Frames"
    controls(panels)["Frame"].value = name
    assert "cannot be written" not in panels.html
    assert f"frames.{name}(session)" in panels.html or len(frames.columns(name)) <= 9
    assert 'aria-current="true"' in panels.html or name in {"turns", "steps", "tools", "usage", "todos"}


def test_only_the_panel_that_is_looked_at_is_written(panels: Panels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panels, "_messages", lambda _: 1 / 0)
    panels.moment = 3
    assert "cannot be written" not in panels.html
    panels.panel = "Messages"
    assert "This panel cannot be written: ZeroDivisionError" in panels.html
    panels.panel = "Event"
    assert "cannot be written" not in panels.html


def test_a_tab_that_is_chosen_in_the_page_is_the_panel(panels: Panels) -> None:
    panels._tabs.set_state({"selected": 4})
    assert panels.panel == "Tokens"
    panels._tabs.set_state({"selected": 99})
    assert panels.panel == NAMES[-1]


def test_a_history_of_wire_forms_has_all_panels_but_frames() -> None:
    session = compacted()
    panels = Panels(SurfaceHistory([event.to_dict() for event in session.events]))
    for name in NAMES:
        panels.panel = name
        assert "cannot be written" not in panels.html
    assert "a history of bare events" in panels.html
    panels.panel = "Messages"
    assert "Asked and answered." in panels.html
    panels.close()


def test_an_empty_log_is_said_to_be_empty() -> None:
    panels = Panels(Session("s"))
    assert "The log is empty." in panels.html
    panels.close()


def test_the_snapshot_is_what_is_shown(panels: Panels) -> None:
    panels.panel = "Messages"
    assert panels.snapshot()._repr_html_() == panels.html
    assert repr(panels.snapshot()) == "<Snapshot: Messages at 26>"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_hostile_log_becomes_anything_but_text(name: str) -> None:
    session = hostile_session(lambda at: HOSTILE[at % 22])
    panels = Panels(session)
    panels.panel = name
    for moment in range(0, session.seq, 5):
        panels.moment = moment
        html: Any = panels.html.lower()
        assert "<script" not in html
        assert "<img" not in html
        assert "cannot be written" not in html
        html.encode()
    panels.close()


def test_a_long_recorded_session_is_shown_in_windows() -> None:
    panels = Panels(samples.load("pi-compacted-twice"))
    for name in NAMES:
        panels.panel = name
        assert len(panels.html) < 60_000
    panels.close()


def test_a_frame_that_is_slow_to_make_is_made_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsh_session.widgets.frame_panel._SLOW", 60.0)
    session = compacted()
    panels = Panels(session)
    panels.panel = "Frames"
    assert "27 rows" in panels.html
    session.append("todo/write", {"todos": []})
    panels.refresh()
    assert "28 rows" in panels.html, "it is quick to make"
    monkeypatch.setattr("dsh_session.widgets.frame_panel._SLOW", 0.0)
    session.append("todo/write", {"todos": []})
    panels.refresh()
    assert "28 rows" in panels.html
    assert "as of event 27, choose the frame again for the latest" in panels.html
    panels.panel = "Event"
    panels.panel = "Frames"
    assert "29 rows" in panels.html
    panels.close()
