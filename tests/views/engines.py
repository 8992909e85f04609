"""The engines that a test draws with: the wheel's everywhere, the system's where there is one."""

import os
import shutil

ENGINES = ["pure", *(["system"] if shutil.which("dot") or os.environ.get("DSH_SESSION_REQUIRE_DOT") else [])]
"""`DSH_SESSION_REQUIRE_DOT` makes a missing `dot` a failure, where a machine is meant to have one."""
