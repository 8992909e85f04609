"""The slot through which core objects show themselves in a notebook.

The core draws nothing. The public page puts a function here; until then a notebook shows the
plain repr.
"""

from collections.abc import Callable
from typing import Any

_slot: list[Callable[[Any], str]] = []


def fill(render: Callable[[Any], str]) -> None:
    """Set the function that turns a core object into static HTML."""
    _slot[:] = [render]


def html(shown: Any) -> str | None:
    """Give static HTML for a core object, or None when nothing can draw it."""
    return _slot[0](shown) if _slot else None
