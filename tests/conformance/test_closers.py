"""What closes the logs that the scripts of bare sessions end with."""

import pytest

from dsh_session import Session, interrupted_turn_closers

from .test_session import Replay
from .vectors import Clock, Record, assert_equal, records, wire


@pytest.mark.parametrize("record", records("session"))
def test_the_final_log_is_closed_as_recorded(record: Record) -> None:
    replay = Replay(record, check_payloads=False)
    replay.run(read_state=False)
    if not replay.finished:
        return
    events, closers = replay.session.events, record["final"]["closers"]
    for log in (events, wire(events), iter(events)):
        assert_equal(interrupted_turn_closers(log), closers)
    if record["final"]["replay"]["ok"]:
        closed = Session("closed", seed=[*events, *closers], clock=Clock(0))
        assert interrupted_turn_closers(closed.events) == []
