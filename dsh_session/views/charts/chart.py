"""A matplotlib figure that shows itself anywhere, the same each time it is drawn."""

from __future__ import annotations

import io
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dsh_session.views.charts.style import RC
from dsh_session.views.escape import cut, one_line, xml_text
from dsh_session.views.palette import LIGHT, Theme

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from matplotlib.axes import Axes

__all__ = ["Chart", "drawn_on"]

_DPI: Final = 150
# What a file says of itself: nothing that differs from day to day.
_METADATA: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None, "Creator": "dsh_session"},
    "pdf": {"CreationDate": None, "Creator": "dsh_session", "Producer": None},
    "png": {"Software": "dsh_session"},
}


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib's own settings and those of all charts, whatever a user has set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


class Chart(Figure):
    """A figure with a description, and with its picture as SVG.

    A cell that ends in a chart shows it. It belongs to no window and to no global state, so that it needs not be
    closed; everything that works on a matplotlib figure works on it.

    Attributes:
        description: What is to be seen, in a line of plain text.

    Example:
        >>> chart = Chart(figsize=(4, 2))
        >>> chart.description = "nothing"
        >>> chart
        <Chart: nothing>
        >>> chart.svg.startswith("<?xml")
        True
    """

    description: str = "a chart"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make a figure; the arguments are matplotlib's."""
        with _settings():
            super().__init__(*args, layout="constrained", **kwargs)
        FigureCanvasAgg(self)

    @property
    def svg(self) -> str:
        """The picture as an SVG document, the same bytes each time."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="svg")
        text = buffer.getvalue().decode()
        name = xml_text(self.description)
        return text.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Write the picture to a file; the ending, or `format`, says what: `svg`, `pdf`, `png` and others.

        Args:
            fname: A path or a binary file.
            transparent: Whether to leave the page out.
            kwargs: What matplotlib's `savefig` takes.
        """
        ending = str(kwargs.get("format") or str(fname).rpartition(".")[2]).lower()
        kwargs.setdefault("metadata", _METADATA.get(ending))
        kwargs.setdefault("facecolor", self.get_facecolor())
        if ending == "png":
            kwargs.setdefault("dpi", _DPI)
        with _settings(), warnings.catch_warnings():
            # A log may be in any script; a letter that the font lacks is a box.
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
            # A figure that its user made very small is drawn as it is.
            warnings.filterwarnings("ignore", message=r"constrained_layout not applied", category=UserWarning)
            super().savefig(fname, transparent=transparent, **kwargs)

    def __repr__(self) -> str:
        return f"<Chart: {cut(one_line(self.description), 300)}>"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """The picture and its description, for a notebook to choose from."""
        bundle = {"text/plain": repr(self), "image/svg+xml": self.svg}
        return {
            kind: form
            for kind, form in bundle.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }


@contextmanager
def drawn_on(
    ax: Axes | None, theme: Theme = LIGHT, *, size: tuple[float, float] = (9.0, 4.5)
) -> Iterator[tuple[Axes, Figure]]:
    """The axes to draw on: those that were given, or those of a new chart.

    Args:
        ax: Axes of a figure of the caller, or `None`.
        theme: Light or dark.
        size: Width and height of a new chart, in inches.

    Yields:
        The axes and their figure.

    Raises:
        ValueError: For axes that were removed from their figure.

    Example:
        >>> with drawn_on(None) as (axes, figure):
        ...     line = axes.plot([1, 2])
        >>> figure
        <Chart: a chart>
    """
    with _settings():
        if ax is not None:
            figure = ax.get_figure()
            if not isinstance(figure, Figure):
                raise ValueError("these axes stand in no figure; give axes of a figure, or none")
            yield ax, figure
        else:
            chart = Chart(figsize=size, facecolor=theme.page)
            yield chart.subplots(), chart
