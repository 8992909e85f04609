"""What a person touches: explore a session, step through it, append, compact, fork.

`explore` shows everything at once; each part can be used alone. All of it needs ipywidgets and anywidget, which come
with ``pip install "dsh-session[lab]"``.
"""

from dsh_session.widgets.append_form import AppendForm
from dsh_session.widgets.compact_form import CompactForm
from dsh_session.widgets.explorer import Explorer, explore
from dsh_session.widgets.fork_form import ForkForm
from dsh_session.widgets.lineage import Lineage
from dsh_session.widgets.panels import Panels
from dsh_session.widgets.snapshot import Snapshot
from dsh_session.widgets.stepper import Stepper

__all__ = [
    "AppendForm",
    "CompactForm",
    "Explorer",
    "ForkForm",
    "Lineage",
    "Panels",
    "Snapshot",
    "Stepper",
    "explore",
]
