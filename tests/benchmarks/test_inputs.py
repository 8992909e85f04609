"""The logs of the benchmarks are the ones that the bounds were set for."""

from benchmarks import inputs


def test_every_input_has_its_digest() -> None:
    assert len(list(inputs.check())) == 2 + len(inputs.REPLACED)


def test_a_file_has_a_header_and_a_line_per_event() -> None:
    events = inputs.log_of(inputs.conversation(2))
    assert inputs.lines_of(events).count(b"\n") == len(events) + 1 == 27
