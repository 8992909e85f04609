"""Talking to a terminal: one line each, whatever a log holds or a file is called."""

import sys
from typing import Final, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dsh_session.views.escape import visible

_WIDE: Final = 100_000  # no line of a pipe is broken


def say(text: str, *, style: str = "") -> None:
    """Print a line."""
    _print(Console(soft_wrap=True, highlight=False, markup=False, emoji=False), text, style)


def warn(text: str) -> None:
    """Print a line on stderr, and go on."""
    _print(Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False), text, "")


def fail(message: str, hint: str | None = None) -> NoReturn:
    """Say on stderr what is wrong and what to do, and end with exit code 2."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)
    _print(console, f"dsh-session: {message}", "")
    if hint:
        _print(console, f"  {hint}", "")
    raise typer.Exit(2)


def table(names: tuple[str, ...], rows: list[tuple[str, ...]], *, numbers: frozenset[str]) -> None:
    """Print a table; the columns of numbers stand to the right and are never broken."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        is_number = name in numbers
        made.add_column(name, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for row in rows:
        made.add_row(*(Text(visible(cell, lines=False)) for cell in row))
    width = None if sys.stdout.isatty() else _WIDE
    Console(width=width, highlight=False, markup=False, emoji=False).print(made)


def count(number: int, noun: str) -> str:
    """Give a number with its noun: 1 event, 2,540 events."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(length: int) -> str:
    """Give a length in bytes for people."""
    return f"{length / 1e6:.1f} MB" if length >= 1_000_000 else f"{max(length // 1000, 1)} kB"


def _print(console: Console, text: str, style: str) -> None:
    console.print(Text(visible(text, lines=False), style=style))
