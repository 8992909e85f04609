"""Charts of a session: pure functions from a log to a matplotlib figure.

Each takes axes to draw on (`ax=`) and light or dark colours (`theme=`). Without axes it gives a `Chart`, a figure that
shows itself and saves itself as SVG, PDF or PNG, the same bytes each time.
"""

from dsh_session.views.charts.chart import Chart
from dsh_session.views.charts.context import context
from dsh_session.views.charts.lifetimes import lifetimes
from dsh_session.views.charts.prefix_reuse import prefix_reuse
from dsh_session.views.charts.tokens import tokens
from dsh_session.views.charts.trace import trace

__all__ = ["Chart", "context", "lifetimes", "prefix_reuse", "tokens", "trace"]
