"""Ids for sessions whose log names none: from what it holds, never from a clock."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from dsh_session.importers.book import text_of

_LONGEST = 120


def digest_of(values: Sequence[Any]) -> str:
    """Give sixteen characters that stand for what values hold.

    Example:
        >>> digest_of([{"role": "user"}])
        '8facc6af07effd97'
    """
    digest = sha256()
    for value in values:
        digest.update(text_of(value))
        digest.update(b"\n")
    return digest.hexdigest()[:16]


def is_handy(name: str) -> bool:
    """Tell whether a name may be an id as it is: short, and of letters, digits, dots, dashes and underscores.

    Example:
        >>> is_handy("django__django-1"), is_handy("../etc"), is_handy("")
        (True, False, False)
    """
    return 0 < len(name) <= _LONGEST and all(letter.isalnum() or letter in "._-" for letter in name)


def free_id(wanted: str, taken: set[str]) -> str:
    """Give an id that is not taken yet, and take it.

    Example:
        >>> taken = {"a"}
        >>> free_id("a", taken), free_id("a", taken), sorted(taken)
        ('a-2', 'a-3', ['a', 'a-2', 'a-3'])
    """
    identity, number = wanted, 2
    while identity in taken:
        identity, number = f"{wanted}-{number}", number + 1
    taken.add(identity)
    return identity
