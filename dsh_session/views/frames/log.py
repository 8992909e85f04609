"""What frames are made of, by the names that they use; see `dsh_session.views.reading`."""

from __future__ import annotations

from dsh_session.views.reading import Log, Logged, Reading, log_of, once

__all__ = ["Log", "Logged", "Reading", "log_of", "once"]
