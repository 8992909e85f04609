"""What a front end would hear: every comm that is opened, what is sent through it, and whether it is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import comm
import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances

if TYPE_CHECKING:
    from dsh_session import Context


class Wire:
    """Counts what goes over the wire.

    Attributes:
        sent: The messages, their comm's open and close included.
        open: The ids of the comms that are open.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.open: set[str] = set()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Every comm of this test goes over a counted wire."""
    wire = Wire()

    class Counted(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            wire.sent.append((msg_type, data))
            if msg_type == "comm_open":
                wire.open.add(self.comm_id)
            elif msg_type == "comm_close":
                wire.open.discard(self.comm_id)

    monkeypatch.setattr(comm, "create_comm", Counted)
    return wire


def widgets_alive() -> int:
    """How many widgets, layouts and styles have an open comm."""
    return len(_instances)


def listeners(ctx: Context) -> int:
    """How many listeners hear what a context publishes."""
    bus: Any = ctx._state.bus
    return sum(map(len, bus._listeners.values()))
