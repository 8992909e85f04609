"""Hypothesis profiles: the same examples on every run, and a longer search for whoever asks for one."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    derandomize=True,  # a failure in CI is a failure on the next machine too
    deadline=None,  # machines are shared; time is what scripts/bench measures
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", settings.get_profile("fixed"), derandomize=False, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
