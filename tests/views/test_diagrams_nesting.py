from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from dsh_session import Session, SessionEvent, load
from dsh_session.views import diagrams
from dsh_session.views.diagrams.brackets import STATES, Turn, nest
from dsh_session.views.palette import LIGHT
from tests.views.engines import ENGINES
from tests.views.golden import session_of
from tests.views.made import Writer, nested
from tests.views.pictures import NUMBER, SVG, Picture, inside, read
from tests.views.test_diagrams_all import turns
from tests.views.test_diagrams_surface import LOGS

BOUNDARIES = {"turn/start", "turn/end", "step/start", "step/end"}


def frames_of(events: Any) -> dict[int, list[str]]:
    """For each event that is no boundary the frames that it lies in, the outer one first; counted naively."""
    found: dict[int, list[str]] = {}
    open_: list[str] = []
    for event in events:
        if event.type == "turn/start":
            open_ = [f"turn-{event.seq}"]
        elif event.type == "turn/end" and open_:
            open_ = []
        elif event.type == "step/start" and open_:
            open_ = [open_[0], f"step-{event.seq}"]
        elif event.type == "step/end" and len(open_) == 2:
            open_ = open_[:1]
        else:
            found[event.seq] = list(open_)
    return found


def standing_in(picture: Picture, name: str) -> list[str]:
    around = [frame for frame, rect in picture.frames.items() if inside(picture.rects[name], rect)]
    return sorted(around, key=lambda frame: picture.frames[frame][0])


def check_places(picture: Picture, session: Session) -> None:
    expected = frames_of(session.events)
    shown: set[int] = set()
    for name in picture.rects:
        if name.startswith("n") and name[1:].isdigit():
            assert standing_in(picture, name) == expected[int(name[1:])], name
            shown.add(int(name[1:]))
        elif name.startswith("chunks-"):
            first = int(name.removeprefix("chunks-"))
            count = int(picture.texts[name].split(" ")[0].replace(",", ""))
            assert all(session.events[seq].type == "assistant/chunk" for seq in range(first, first + count))
            assert standing_in(picture, name) == expected[first]
            shown.update(range(first, first + count))
    if not any(name.startswith("more-") for name in picture.rects):
        assert shown == set(expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_event_stands_in_the_frames_that_it_lies_in(engine: str) -> None:
    session = nested()
    picture = read(diagrams.nesting(session, first=99, engine=engine).svg)
    check_places(picture, session)
    starts = {event.seq: event.type for event in session.events if event.type in {"turn/start", "step/start"}}
    assert set(picture.frames) == {f"{type_.partition('/')[0]}-{seq}" for seq, type_ in starts.items()}


@given(turns())
@settings(max_examples=60)
def test_boundaries_in_any_order_give_the_frames_that_lie_between_them(session: Session) -> None:
    check_places(read(diagrams.nesting(session, first=99, inside=99).svg), session)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_recorded_log_nests_as_it_says(path: Any) -> None:
    session = load(path)
    check_places(read(diagrams.nesting(session).svg), session)


@given(turns())
@settings(max_examples=60)
def test_nothing_is_lost_and_nothing_told_twice(session: Session) -> None:
    told: list[int] = []
    for part in nest(session.events):
        if isinstance(part, int):
            told.append(part)
            continue
        told.append(part.start)
        for inner in part.parts:
            told += [inner] if isinstance(inner, int) else [inner.start, *inner.seqs]
            if not isinstance(inner, int) and inner.closed:
                told.append(inner.stop)
        if part.outcome not in {"open", "never ended"}:
            told.append(part.stop)
    assert told == list(range(session.seq))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_is_joined_to_its_result_however_they_come(engine: str) -> None:
    session = nested()
    picture = read(diagrams.nesting(session, first=99, engine=engine).svg)
    calls: dict[str, int] = {}
    expected = set()
    for event in session.events:
        assert isinstance(event, SessionEvent)
        if event.type == "tool/call":
            calls[event.data["callId"]] = event.seq
        elif event.type == "tool/result":
            expected.add((f"n{calls.pop(event.data['callId'])}", f"n{event.seq}"))
    assert expected == {("n8", "n11"), ("n9", "n10"), ("n48", "n49")}
    assert picture.edges_of("e-call") == {("n8", "n11"), ("n9", "n10")}
    assert picture.edges_of("e-never") == {("n48", "n49"), ("n50", "none-50"), ("n60", "wait-60")}
    assert {("n7", "n8"), ("n7", "n9")} <= set(picture.edges)
    # Beside each other, and the calls beneath each other.
    for call, result in expected:
        assert picture.rects[call][2] < picture.rects[result][0]
    assert picture.rects["n8"][0] == picture.rects["n9"][0]
    assert "no result" in picture.texts["none-50"]


def test_the_time_between_a_call_and_its_result_stands_at_the_line() -> None:
    picture = read(diagrams.nesting(nested()).svg)
    words = {ends: "".join(edge.itertext()) for ends, edge in picture.edges.items()}
    assert "3.0 s" in words["n8", "n11"]
    assert "1.0 s" in words["n9", "n10"]
    assert "never" in words["n48", "n49"]


def test_every_outcome_has_a_word_and_a_look_of_its_own() -> None:
    session = nested()
    picture = read(diagrams.nesting(session, first=99).svg)
    seen: dict[str, tuple[str | None, str]] = {}
    for part in nest(session.events):
        if isinstance(part, Turn):
            name = f"turn-{part.start}"
            assert part.outcome in picture.texts[name]
            seen[part.outcome] = (picture.dashes[name], picture.classes[name])
    assert set(seen) == {"completed", "max-tokens", "aborted", "rejected", "error", "interrupted", "open"}
    looks = {(state.style, state.penwidth, state.mark) for name, state in STATES.items() if name in seen}
    assert len(looks) == len(seen), "they must differ without colour"
    assert seen["aborted"][0] == "5,2"
    assert seen["interrupted"][0] == "1,5"
    assert seen["error"][0] is None
    assert "t-bad" in seen["error"][1]
    assert "t-completed" in seen["completed"][1]


def test_a_reason_is_said_and_a_kind_that_nobody_knows_is_named() -> None:
    write = Writer("odd")
    write.begin()
    write.end("x/moon", reason="it set")
    write.begin()
    write.begin()
    picture = read(diagrams.nesting(write.session).svg)
    assert "x/moon" in picture.texts["turn-0"]
    assert "it set" in picture.texts["turn-0"]
    assert "never ended" in picture.texts["turn-2"]
    assert "open" in picture.texts["turn-3"]


def test_a_stream_that_was_cut_off_says_so_and_one_that_goes_on_does_not() -> None:
    picture = read(diagrams.nesting(nested(), first=99).svg)
    assert [name for name in picture.rects if name.startswith("cut-")] == ["cut-30"]
    assert "cut off" in picture.texts["cut-30"]
    assert standing_in(picture, "cut-30") == ["turn-28", "step-30"]


def test_long_steps_and_turns_are_cut_and_counted() -> None:
    write = Writer("long")
    for _ in range(30):
        write.begin()
        for _ in range(10):
            write.begin_step()
            for at in range(20):
                write.say("steering/message", f"message {at}")
            write.end_step()
        write.end()
    picture = read(diagrams.nesting(write.session).svg)
    assert sum(name.startswith("turn-") for name in picture.frames) == 5
    assert "… 25 more turns" in "".join(picture.texts.values())
    assert "… 5 more steps" in "".join(picture.texts.values())
    left_out = int(picture.texts["subtitle"].split("step. ")[1].split(" events")[0].replace(",", ""))
    boundaries = 2 * sum(name.startswith(("turn-", "step-")) for name in picture.frames)
    shown = sum(name.startswith("n") and name[1:].isdigit() for name in picture.rects)
    assert left_out == write.session.seq - boundaries - shown


@pytest.mark.parametrize("log", ["openhands", "claude-code"])
def test_a_whole_log_can_be_shown(log: str) -> None:
    session = session_of(log)
    assert "left out" in read(diagrams.nesting(session).svg).texts["subtitle"]
    picture = read(diagrams.nesting(session, first=999, inside=999, steps=999).svg)
    check_places(picture, session)
    assert not any(name.startswith("more-") for name in picture.rects)
    assert "left out" not in picture.texts["subtitle"]


def test_an_open_turn_has_the_colour_of_what_can_still_change() -> None:
    dot = diagrams.nesting(nested()).dot
    assert LIGHT.selection in dot


def test_a_second_result_of_a_call_and_a_result_without_one_stand_alone() -> None:
    write = Writer("twice")
    write.begin()
    write.begin_step()
    call = write.call("c", "read")
    first = write.result("c", "one", call)
    second = write.result("c", "two", call)
    stray = write.result("d", "of nothing", call)
    picture = read(diagrams.nesting(write.session).svg)
    assert picture.edges_of("e-call") == {(f"n{call}", f"n{first}")}
    assert {(f"n{first}", f"n{second}"), (f"n{second}", f"n{stray}")} <= picture.edges_of("e-order")


def test_a_line_between_blocks_begins_at_a_step_or_a_box_and_not_in_the_air() -> None:
    write = Writer("mixed")
    write.begin()
    for number in range(12):
        write.begin_step()
        write.answer("Done.")
        write.end_step()
        for _ in range(number % 4):
            write.say("user/message", "By the way.")
    write.end()
    for steps in (2, 3, 5, 30):
        picture = read(diagrams.nesting(write.session, steps=steps, engine="pure").svg)
        for tail, head in picture.edges_of("e-order"):
            path = picture.edges[tail, head].find(f".//{SVG}path")
            assert path is not None
            x, y = (float(number) for number in NUMBER.findall(path.get("d", ""))[:2])
            around = [
                picture.rects[tail],
                *(rect for rect in picture.frames.values() if inside(picture.rects[tail], rect)),
            ]
            assert any(left <= x <= right and (abs(y - top) < 2 or abs(y - bottom) < 2 or abs(x - right) < 2)
                       for left, top, right, bottom in around), (steps, tail, head)  # fmt: skip
