"""The reader of `tests/data/conformance/vectors.jsonl`, shared by the modules that replay one kind each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Session, SessionError

VECTORS = Path(__file__).parent.parent / "data" / "conformance" / "vectors.jsonl"
LARGEST_EXACT = 2**53 - 1
OWN_WORDING = frozenset({"$preamble$", "$error$"})

Record = dict[str, Any]
"""One line of the file: `id`, `kind`, and what the kind has."""


def _integer(literal: str) -> int | float:
    """Read an integer literal as the original did, which knows doubles only."""
    if literal == "-0":
        return -0.0
    value = int(literal)
    return value if abs(value) <= LARGEST_EXACT else float(literal)


def parse(text: str) -> Any:
    """Read JSON text with the original's numbers: `-0` is a negative zero, 2**53 and beyond are floats."""
    return json.loads(text, parse_int=_integer)


@cache
def _records() -> dict[str, list[Record]]:
    by_kind: dict[str, list[Record]] = {}
    for line in VECTORS.read_bytes().splitlines():
        record = parse(line.decode("ascii"))
        by_kind.setdefault(record["kind"], []).append(record)
    return by_kind


def records(kind: str) -> list[Any]:
    """Give every record of a kind as a pytest parameter whose id is the record's."""
    return [pytest.param(record, id=record["id"]) for record in _records()[kind]]


def kinds() -> set[str]:
    """Give the kinds that the file has."""
    return set(_records())


def given(record: Record, field: str) -> tuple[bool, Any]:
    """Give a field that may be spelt as `field` or as JSON source in `fieldText`, and whether it is there at all."""
    if f"{field}Text" in record:
        return True, parse(record[f"{field}Text"])
    return field in record, record.get(field)


def passes_null(arguments: Mapping[str, Any], *names: str) -> bool:
    """Tell whether one of the named arguments is an explicit null, which Python cannot tell from an absent one."""
    return any(name in arguments and arguments[name] is None for name in names)


def code_of(error: Exception) -> str:
    """Give the code of an error, which has to be one of ours: anything else is raised again."""
    if isinstance(error, SessionError):
        return error.code
    raise error


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: Any) -> None:
        self.now = now

    def __call__(self) -> Any:
        return self.now

    @property
    def refused(self) -> bool:
        """Whether this package refuses what the clock says (the original does so only when it reads the log back)."""
        now = self.now
        return not (type(now) in {int, float} and 0 <= now <= LARGEST_EXACT and now == int(now))


def difference(ours: Any, theirs: Any, path: str = "$", *, ordered: bool = True) -> str | None:
    """Describe the first place where two JSON values differ, or give None.

    `1` and `1.0` are one value; `true` and `1` are two. Keys have an order, except where one of them looks like an
    integer: the original's host sorts those.
    """
    if isinstance(theirs, dict):
        if not isinstance(ours, dict):
            return f"{path}: {ours!r} is no object, {theirs!r} was recorded"
        if ours.keys() != theirs.keys():
            return f"{path}: the keys are {list(ours)}, {list(theirs)} were recorded"
        if ordered and list(ours) != list(theirs) and not any(key.isdecimal() for key in theirs):
            return f"{path}: the keys stand in the order {list(ours)}, {list(theirs)} was recorded"
        pairs: Iterator[tuple[str, Any, Any]] = ((f"{path}.{key}", ours[key], theirs[key]) for key in theirs)
    elif isinstance(theirs, list):
        if not isinstance(ours, (list, tuple)):
            return f"{path}: {ours!r} is no list, {theirs!r} was recorded"
        if len(ours) != len(theirs):
            return f"{path}: {len(ours)} items, {len(theirs)} were recorded"
        pairs = ((f"{path}[{index}]", *pair) for index, pair in enumerate(zip(ours, theirs, strict=True)))
    elif isinstance(theirs, str) and theirs in OWN_WORDING:
        return None if isinstance(ours, str) and ours else f"{path}: {ours!r} is no text of our own"
    else:
        numbers = _is_number(ours) and _is_number(theirs)
        same = ours == theirs and (numbers or type(ours) is type(theirs))
        return None if same else f"{path}: {ours!r}, {theirs!r} was recorded"
    return next((found for key, a, b in pairs if (found := difference(a, b, key, ordered=ordered)) is not None), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def assert_equal(ours: Any, theirs: Any, *, ordered: bool = True) -> None:
    """Fail with the first place where a value of ours differs from the recorded one."""
    found = difference(ours, theirs, ordered=ordered)
    assert found is None, found


class StateReader:
    """The recorded states of one script, full after the deltas are applied, compared with a session's own."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._state: dict[str, Any] = {"messages": []}
        self.advance(start)

    def advance(self, delta: Mapping[str, Any]) -> None:
        """Take over a full state, or what a delta says has changed."""
        for name, value in delta.items():
            if name == "messages":
                self._state[name] = self._state[name][: value["keep"]] + value["tail"]
            else:
                self._state[name] = value

    def assert_shown_by(self, session: Session) -> None:
        """Compare all five parts of the state, the messages by both of their names."""
        state = self._state
        assert session.seq == len(session.events) == state["length"]
        assert_equal(list(session.surface.nodes), state["nodes"])
        assert session.surface.replace_generation == state["generation"]
        assert_equal(session.derive_messages(), state["messages"])
        assert_equal(list(session.messages), state["messages"])
        assert_equal(session.request_header(), state["requestHeader"])


def build(script: Mapping[str, Any], clock: Clock, **options: Any) -> Session:
    """Build the bare session that a script's `session` describes."""
    arguments: dict[str, Any] = {}
    for name in ("seed", "header"):
        present, value = given(dict(script), name)
        if present:
            arguments[name] = value
    return Session(script["id"], **arguments, clock=clock, **options)


def wire(events: Sequence[Any]) -> list[Any]:
    """Give events in their wire form."""
    return [event.to_dict() for event in events]
