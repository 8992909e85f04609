from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import SessionError
from dsh_session.widgets.jsontext import is_writable, parse, pretty
from tests.strategies import json_values


@given(json_values())
def test_what_is_written_is_read_back(value: Any) -> None:
    text = pretty(value)
    assert parse(text) == value
    assert is_writable(text)


@given(st.text())
def test_a_text_that_no_browser_would_give_back_is_written_as_escapes(text: str) -> None:
    assert parse(pretty({"text": text})) == {"text": text}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1"),
        ('{"a": 1,}', "line 1, column [89]"),  # the comma itself, from Python 3.13 on
        ('{\n"a" 1}', "line 2, column 5"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ("NaN", "no number"),
        ("[" * 100_000, "too deep"),
        ("9" * 400, "beyond"),
    ],
)
def test_what_is_no_json_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(SessionError, match=said) as refused:
        parse(text)
    assert refused.value.code == "NOT_JSON"
