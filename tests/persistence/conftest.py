"""What the fault tests counted, at the end of the run."""

from collections.abc import Callable

import pytest

_lines: list[str] = []


@pytest.fixture
def count() -> Callable[[str], None]:
    """Give the function that says what was tried, in the summary of the run."""
    return _lines.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was counted."""
    if _lines:
        terminalreporter.section("durability")
        for line in _lines:
            terminalreporter.write_line(line)
