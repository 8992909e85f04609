from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ipywidgets import Widget

from tests.widgets.ears import widgets_alive, wire

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["wire"]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The test closes all that it opens."""
    before = widgets_alive()
    yield
    left = widgets_alive() - before
    Widget.close_all()
    assert left == 0, f"{left} widgets were left open"
