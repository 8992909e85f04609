"""The engines that a test draws with: the wheel's everywhere, the system's where there is one."""

import os
import shutil
from typing import Final

REQUIRE: Final = "DSH_SESSION_REQUIRE_DOT"
"""Set it where a machine is meant to have a `dot`: its absence fails the tests that would draw with it."""


def engines() -> list[str]:
    """The engines to draw with, on this machine."""
    return ["pure", "system"] if shutil.which("dot") or os.environ.get(REQUIRE) else ["pure"]


ENGINES: Final = engines()
