"""A progress bar for work that takes more than about a second; silent where nobody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

DELAY: Final = 1.0
"""Seconds before a bar appears."""


@contextmanager
def meter(what: str, size: int) -> Iterator[Callable[[int], Any]]:
    """Show how far a piece of work is, once it has taken a second.

    Args:
        what: What is done, such as ``"reading log.jsonl"``.
        size: How much there is to do, in bytes.

    Yields:
        A function that takes how many more bytes are done.
    """
    if not _is_watched():
        yield _nothing
        return
    from tqdm.auto import tqdm

    with tqdm(total=size, desc=_plain(what), unit="B", unit_scale=True, delay=DELAY, leave=False) as bar:
        yield bar.update


def _nothing(_done: int) -> None:
    """Nobody watches."""


def _is_watched() -> bool:
    """Tell whether somebody looks: a terminal, or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    return sys.stderr is not None and sys.stderr.isatty()


def _plain(text: str) -> str:
    """Keep a file's name from steering the terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)[:80]
