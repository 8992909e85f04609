from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from ipywidgets import Widget

from tests.core.stores import context
from tests.widgets.ears import widgets_alive, wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsh_session import Context

__all__ = ["wire"]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The test closes all that it opens."""
    before = widgets_alive()
    yield
    left = widgets_alive() - before
    Widget.close_all()
    assert left == 0, f"{left} widgets were left open"


@pytest.fixture
def ctx() -> Iterator[Context]:
    with context() as ctx:
        yield ctx
