"""Diagrams of a session, each a pure function that gives a `Diagram`.

Each takes a `Session` or a `SurfaceHistory`, as it is now or as it was after any event (`at=`). A diagram shows
itself in a notebook, gives its DOT text and its SVG, and saves itself. Long sessions are shown in a window, and the
picture says what it leaves out.
"""

from dsh_session.views.diagrams.lineage import lineage
from dsh_session.views.diagrams.log import log
from dsh_session.views.diagrams.nesting import nesting
from dsh_session.views.diagrams.provenance import provenance
from dsh_session.views.diagrams.replacements import replacements
from dsh_session.views.diagrams.surface import surface
from dsh_session.views.diagrams.views import views

__all__ = ["lineage", "log", "nesting", "provenance", "replacements", "surface", "views"]
