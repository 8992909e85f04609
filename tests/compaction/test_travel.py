"""What goes to another process arrives there whole."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from dsh_session.compaction import (
    Basic,
    Hierarchical,
    KeepHeadAndTail,
    Never,
    PruneToolResults,
    SlidingWindow,
    TokenMeter,
    deepseek_counter,
    extractive,
    template,
    tokenizers_counter,
)
from dsh_session.core.errors import CompactionError, PairingError

from .sessions import talked


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("policy", [Basic, Hierarchical, KeepHeadAndTail, PruneToolResults, SlidingWindow])
def test_a_policy_arrives(policy: Any) -> None:
    made = policy(context_window=1_000, retain_tokens=7)
    assert again(made) == made
    assert again(Never()) == Never()


def test_a_meter_arrives_without_what_it_remembers() -> None:
    log = talked(2)
    for meter in (TokenMeter(), TokenMeter(deepseek_counter(), prefer_recorded=False)):
        measured = meter.measure(log)
        arrived = again(meter)
        assert len(arrived._accounts._known) == 0
        assert arrived.measure(log).total == measured.total
        assert arrived.prefer_recorded == meter.prefer_recorded


def test_a_tokenizer_from_a_file_arrives(tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    made: Any = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    made.save(str(tmp_path / "tokenizer.json"))
    count = tokenizers_counter(tmp_path / "tokenizer.json")
    assert again(count)("word") == count("word") == 1


def test_summarisers_without_a_key_arrive() -> None:
    words = "User: hello" + " and more" * 20
    for summarise in (extractive, template("{messages}, {first_prompt}")):
        assert again(summarise)(words) == summarise(words)


@pytest.mark.parametrize("kind", [CompactionError, PairingError])
def test_an_error_arrives_with_its_code(kind: Any) -> None:
    arrived = again(kind("SOME_CODE", "what is wrong"))
    assert (type(arrived), arrived.code, arrived.message) == (kind, "SOME_CODE", "what is wrong")
