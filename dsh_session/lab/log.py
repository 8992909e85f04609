"""Which log the tour is about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from dsh_session import load, samples

if TYPE_CHECKING:
    from dsh_session.core.session import Session

__all__ = ["LOG_VARIABLE", "SAMPLE", "open_log"]

LOG_VARIABLE: Final = "DSH_SESSION_LOG"
"""The environment variable through which `dsh-session lab LOG` hands the path to the notebook."""

SAMPLE: Final = "pi-compacted-twice"
"""The sample that everything shows when no log is named."""


def open_log() -> Session:
    """The log that `dsh-session lab LOG` was started with, else the packaged sample.

    Returns:
        A new session over the log's events.

    Raises:
        SessionError: The log cannot be read; the message names the place.
        OSError: The file cannot be opened.

    Example:
        >>> import os
        >>> _ = os.environ.pop("DSH_SESSION_LOG", None)
        >>> open_log().id
        'pi-compacted-twice'
    """
    path = os.environ.get(LOG_VARIABLE)
    return load(path) if path else samples.load(SAMPLE)
