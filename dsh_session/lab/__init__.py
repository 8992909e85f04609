"""The tour: a notebook that ships with the package, and JupyterLab started on it."""

from __future__ import annotations

from dsh_session.lab.log import LOG_VARIABLE, SESSION_VARIABLE, open_log
from dsh_session.lab.server import LabError, prepare, start

__all__ = ["LOG_VARIABLE", "SESSION_VARIABLE", "LabError", "open_log", "prepare", "start"]
