"""Session headers: each field's rule, in order."""

import itertools
import math
from typing import Any

import pytest

from dsh_session import SESSION_FORMAT_VERSION, Session, SessionError

from .payloads import wire_event

GOOD: dict[str, Any] = {
    "version": 0,
    "id": "s",
    "createdAt": 5,
    "cwd": "/home/user",
    "parentSession": "p",
    "seedLength": 2,
}

REFUSALS: dict[str, list[dict[str, Any]]] = {
    "HEADER_NOT_JSON": [
        {"x": math.nan},
        {"x": (1,)},
        {"createdAt": math.inf},
        {"createdAt": -0.0},
        {"createdAt": 2**53},
        {"seedLength": 2**53},
        {"cwd": b"/"},
        {1: 2},
    ],
    "HEADER_VERSION": [{"version": v} for v in (1, -1, 0.5, "0", False, True, None, [], ...)],
    "HEADER_ID_MISMATCH": [{"id": v} for v in ("t", "", "S", 7, None, True, ...)],
    "HEADER_CREATED_AT": [{"createdAt": v} for v in ("5", True, False, None, [5], ...)],
    "HEADER_CWD_TYPE": [{"cwd": v} for v in (7, True, None, ["/"], {})],
    "HEADER_CWD_RELATIVE": [{"cwd": v} for v in ("", "home", "./x", "~", " /x", "C:\\x", "{{cwd}}", "\\x")],
    "HEADER_PARENT": [{"parentSession": v} for v in (7, False, None, [], {})],
    "HEADER_SEED_LENGTH": [{"seedLength": v} for v in (-1, 1.5, True, False, "2", None, [], float(2**53))],
}


def _changed(change: dict[str, Any]) -> dict[Any, Any]:
    return {key: value for key, value in {**GOOD, **change}.items() if value is not ...}


@pytest.mark.parametrize(
    ("code", "change"), [(code, change) for code, changes in REFUSALS.items() for change in changes], ids=repr
)
def test_a_header_that_breaks_a_rule_is_refused(code: str, change: dict[str, Any]) -> None:
    with pytest.raises(SessionError) as caught:
        Session("s", header=_changed(change))
    assert caught.value.code == code
    field = next(iter(change))
    assert str(field) in str(caught.value) or code == "HEADER_NOT_RECORD"


@pytest.mark.parametrize("header", [[], "x", 7, True, [GOOD]])
def test_a_header_that_is_no_object_is_refused(header: Any) -> None:
    with pytest.raises(SessionError) as caught:
        Session("s", header=header)
    assert caught.value.code == "HEADER_NOT_RECORD"


@pytest.mark.parametrize("header", [(1,), b"x", math.nan, {1}])
def test_a_header_that_is_no_json_is_refused_before_its_kind_is_looked_at(header: Any) -> None:
    with pytest.raises(SessionError) as caught:
        Session("s", header=header)
    assert caught.value.code == "HEADER_NOT_JSON"


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("HEADER_NOT_JSON", {"x": math.nan}),
    ("HEADER_VERSION", {"version": 1}),
    ("HEADER_ID_MISMATCH", {"id": "t"}),
    ("HEADER_CREATED_AT", {"createdAt": "5"}),
    ("HEADER_CWD_TYPE", {"cwd": 7}),
    ("HEADER_PARENT", {"parentSession": 7}),
    ("HEADER_SEED_LENGTH", {"seedLength": -1}),
]


@pytest.mark.parametrize("count", range(1, len(FAULTS) + 1))
def test_of_several_faults_the_earliest_rule_is_named(count: int) -> None:
    for faults in itertools.combinations(FAULTS, count):
        header = dict(GOOD)
        for _, change in faults:
            header.update(change)
        with pytest.raises(SessionError) as caught:
            Session("s", header=header)
        assert caught.value.code == faults[0][0], header


def test_a_relative_cwd_is_named_before_a_bad_parent() -> None:
    with pytest.raises(SessionError) as caught:
        Session("s", header={**GOOD, "cwd": "rel", "parentSession": 7})
    assert caught.value.code == "HEADER_CWD_RELATIVE"


def test_the_header_is_checked_after_the_whole_seed() -> None:
    with pytest.raises(SessionError) as caught:
        Session("s", seed=[wire_event("turn/start", 1)], header={"x": math.nan})
    assert (caught.value.code, caught.value.index) == ("SEED_NOT_CONTIGUOUS", 0)


def test_a_header_has_attributes_outside_and_wire_keys_inside() -> None:
    header = Session("s", header=GOOD).header
    assert header.to_dict() == GOOD
    assert list(header.to_dict()) == list(GOOD)
    assert (header.version, header.id, header.created_at) == (0, "s", 5)
    assert (header.cwd, header.parent_session, header.seed_length) == ("/home/user", "p", 2)


def test_absent_fields_are_none_outside_and_absent_inside() -> None:
    header = Session("s", header={"version": 0, "id": "s", "createdAt": 5}).header
    assert (header.cwd, header.parent_session, header.seed_length) == (None, None, None)
    assert header.to_dict() == {"version": 0, "id": "s", "createdAt": 5}


def test_unknown_fields_survive() -> None:
    header = {**GOOD, "origin": {"kind": "x"}, "delegationDepth": 0}
    assert Session("s", header=header).header.to_dict() == header


@pytest.mark.parametrize("created", [0, -5, 0.5, -1.25, 1e300, float(2**60), 2**53 - 1])
def test_any_finite_creation_time_is_taken(created: float) -> None:
    assert Session("s", header={**GOOD, "createdAt": created}).header.created_at == created


@pytest.mark.parametrize("cwd", ["/", "//", "/a b", "/é", "/../x"])
def test_an_absolute_working_directory_is_taken(cwd: str) -> None:
    assert Session("s", header={**GOOD, "cwd": cwd}).header.cwd == cwd


def test_an_integral_float_counts_as_the_integer() -> None:
    header = Session("s", header={**GOOD, "version": 0.0, "seedLength": 2.0}).header
    assert header.version == 0
    assert header.seed_length == 2
    assert type(header.seed_length) is int


def test_a_bare_session_synthesises_its_header() -> None:
    header = Session("bare", clock=lambda: 1234).header
    assert header.to_dict() == {"version": 0, "id": "bare", "createdAt": 1234}
    assert SESSION_FORMAT_VERSION == 0


def test_a_session_id_may_be_empty() -> None:
    log = Session("", clock=lambda: 1)
    assert (log.id, log.header.id) == ("", "")


def test_without_a_clock_the_time_is_now() -> None:
    import time

    before = int(time.time() * 1000)
    log = Session("s")
    event = log.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    after = int(time.time() * 1000) + 1
    assert before <= log.header.created_at <= event.time <= after
    assert type(event.time) is int


def test_an_empty_parent_is_a_parent() -> None:
    assert Session("s", header={**GOOD, "parentSession": ""}).header.to_dict()["parentSession"] == ""
