"""Context content as the model sees it."""

import pytest

from dsh_session import Session, render_context_content

from .vectors import Clock, Record, assert_equal, records


@pytest.mark.parametrize("record", records("render"))
def test_context_is_framed_as_recorded(record: Record) -> None:
    for case in record["cases"]:
        envelope = [case["envelope"]] if "envelope" in case else []
        assert_equal(list(render_context_content(case["content"], case["source"], *envelope)), case["blocks"])


@pytest.mark.parametrize("record", records("render"))
def test_an_event_projects_to_the_same_blocks(record: Record) -> None:
    for case in record["cases"]:
        session = Session("render", clock=Clock(0), check_payloads=False)
        data = {name: case[name] for name in ("content", "source", "envelope") if name in case}
        session.append("context/message", data, surface_op="append")
        assert_equal(session.derive_messages(), [{"role": "user", "content": case["blocks"]}])
