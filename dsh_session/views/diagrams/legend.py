"""What the shapes and lines of a diagram mean, beneath it: only of what is in the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views.describe import KINDS
from dsh_session.views.diagrams.drawing import label, left
from dsh_session.views.diagrams.measure import width as text_width
from dsh_session.views.escape import dot_html
from dsh_session.views.palette import SHAPES, fill_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dsh_session.views.diagrams.drawing import Drawing

__all__ = ["Entry", "draw", "entries", "height", "of_kinds"]

_ROW: Final = 26.0
_GAP: Final = 14.0
_SAMPLE: Final = 34.0
_SIZE: Final = 9


class Entry(NamedTuple):
    """One entry: a shape with its name in it, or a piece of line with words beside it."""

    name: str
    text: str
    shape: bool

    @property
    def width(self) -> float:
        """The room it takes, in points."""
        words = text_width(self.text) * _SIZE
        return max(words + 28, 64) if self.shape else words + _SAMPLE + 10


def entries(kinds: Collection[str], *, folded: bool, replaced: bool, chosen: bool = False) -> list[Entry]:
    """Choose what is explained.

    Args:
        kinds: The kinds that are in the picture.
        folded: Whether something is left out of it.
        replaced: Whether frames are open.
        chosen: Whether a node is marked as the one that was asked for.

    Returns:
        The entries in order.

    Example:
        >>> [entry.text for entry in entries({"user"}, folded=False, replaced=False)]
        ['user', 'next, prev (hollow)']
    """
    result = of_kinds(kinds)
    result.append(Entry("next", "next, prev (hollow)", shape=False))
    if replaced:
        result.append(Entry("stands-for", "stands for, cites", shape=False))
        result.append(Entry("shadowed", "grey, dashed: shadowed", shape=False))
    if folded:
        result.append(Entry("more", "dotted: left out or folded", shape=False))
    if chosen:
        result.append(Entry("chosen", "thick: asked for", shape=False))
    return result


def _places(key: list[Entry], width: float) -> Iterator[tuple[Entry, float, int]]:
    x, row = 0.0, 0
    for entry in key:
        if x and x + entry.width > width:
            x, row = 0.0, row + 1
        yield entry, x, row
        x += entry.width + _GAP


def height(key: list[Entry], width: float) -> float:
    """How high the legend is, in points.

    Args:
        key: Its entries.
        width: The room it has.
    """
    return _ROW * (1 + max((row for _, _, row in _places(key, width)), default=0))


def draw(drawing: Drawing, key: list[Entry], top: float, width: float) -> None:
    """Draw the legend.

    Args:
        drawing: Where to.
        key: Its entries.
        top: The y of its upper edge.
        width: The room it has.
    """
    for entry, x, row in _places(key, width):
        y = top + _ROW * row + _ROW / 2
        if entry.shape:
            _shape(drawing, entry, x, y)
        else:
            _line(drawing, entry, x, y)


def _shape(drawing: Drawing, entry: Entry, x: float, y: float) -> None:
    shape, style = shape_of(entry.text)
    fill = fill_of(entry.text)
    colours = drawing.theme.variables()
    drawing.node(
        entry.name,
        (x + entry.width / 2, y),
        (entry.width, 18),
        label(entry.text),
        classes=f"boxed centred k-{fill}",
        shape=shape,
        style=f"filled,{style}" if style else "filled",
        fontsize=str(_SIZE),
        fillcolor=colours[f"fill-{fill}"],
        color=colours.get(f"border-{fill}", drawing.theme.border),
    )


class _Stroke(NamedTuple):
    """How a sample line is drawn: a colour of the theme, a style and a width."""

    colour: str
    style: str = "solid"
    penwidth: str = "1"


_STROKES: Final = {
    "next": _Stroke("border"),
    "order": _Stroke("border_shadowed"),
    "stands-for": _Stroke("stands_for", "dashed"),
    "comes-from": _Stroke("stands_for", "dashed"),
    "enters": _Stroke("border"),
    "same": _Stroke("border"),
    "call": _Stroke("call_to_result", "solid", "2"),
    "never": _Stroke("error_text", "dashed", "2"),
}


def _line(drawing: Drawing, entry: Entry, x: float, y: float) -> None:
    if entry.name in _STROKES:
        stroke = _STROKES[entry.name]
        start, end = f"key-{entry.name}-from", f"key-{entry.name}-to"
        for name, at in ((start, x), (end, x + _SAMPLE)):
            drawing.node(name, (at, y), (0.1, 0.1), '""', classes="key", shape="point", style="invis")
        more = {} if stroke.penwidth == "1" else {"penwidth": stroke.penwidth}
        drawing.edge(
            start,
            end,
            [(x, y), (x + _SAMPLE, y)],
            classes=f"e-{entry.name}",
            both=entry.name == "next",
            color=getattr(drawing.theme, stroke.colour),
            style=stroke.style,
            **more,
        )
    else:
        _swatch(drawing, entry, x, y)
    words = entry.width - _SAMPLE - 6
    drawing.node(
        f"key-{entry.name}",
        (x + _SAMPLE + 6 + words / 2, y),
        (words, 13),
        left(f'<font point-size="{_SIZE}" color="{drawing.theme.muted}">{dot_html(entry.text)}</font>', words, 13),
        classes="muted",
        shape="plaintext",
        style="",
    )


class _Swatch(NamedTuple):
    """How a small box is drawn that stands for a state; its colours are names in the theme."""

    classes: str
    style: str
    text: str = " "
    fill: str = "fill_shadowed"
    colour: str = "border_shadowed"
    penwidth: str = "1.2"
    shape: str = "box"


_SWATCHES: Final = {
    "shadowed": _Swatch("k-shadowed", "filled,dashed"),
    "more": _Swatch("more", "rounded,dotted", "…"),
    "chosen": _Swatch("chosen", "filled", " ", "fill_plain", "selection", "3"),
    "log-only": _Swatch("log-only", "filled", " ", "fill_plain", "border_shadowed", "0.9"),
    "mark": _Swatch("mark", "filled", "×", "fill_plain", "error_text", "1.2", "octagon"),
    "turn-completed": _Swatch("t-completed", "filled,rounded", " ", "panel", "border", "1.4"),
    "turn-open": _Swatch("t-open", "filled,rounded,dashed", "…", "panel", "selection", "1.6"),
    "turn-aborted": _Swatch("t-bad", "filled,dashed", "×", "panel", "error_text", "2.6"),
    "turn-interrupted": _Swatch("t-bad", "filled,dotted", "!", "panel", "error_text", "2.6"),
    "turn-error": _Swatch("t-bad", "filled", "!!", "panel", "error_text", "2.6"),
    "turn-rejected": _Swatch("t-quiet", "filled,dashed", "–", "panel", "border_shadowed", "1.2"),
    "turn-limit": _Swatch("t-completed", "filled", "!", "panel", "border", "2.6"),
    "turn-other": _Swatch("t-completed", "filled", "?", "panel", "border", "1.4"),
    "step": _Swatch("step", "filled,rounded", " ", "page", "border_shadowed", "0.9"),
}


def _swatch(drawing: Drawing, entry: Entry, x: float, y: float) -> None:
    swatch = _SWATCHES[entry.name]
    drawing.node(
        f"key-{entry.name}-box",
        (x + _SAMPLE / 2, y),
        (_SAMPLE - 4, 14),
        label(swatch.text),
        classes=f"boxed centred {swatch.classes}",
        shape=swatch.shape,
        style=swatch.style,
        fillcolor=getattr(drawing.theme, swatch.fill),
        color=getattr(drawing.theme, swatch.colour),
        fontcolor=drawing.theme.error_text if swatch.colour == "error_text" else drawing.theme.muted,
        penwidth=swatch.penwidth,
    )


def of_kinds(present: Collection[str]) -> list[Entry]:
    """The entries of the kinds that have a shape.

    Args:
        present: The kinds that are in the picture.

    Returns:
        The entries, in the order of `describe.KINDS`.

    Example:
        >>> [entry.text for entry in of_kinds({"user", "assistant", "chunk"})]
        ['user', 'assistant']
    """
    drawn = [kind for kind in KINDS if kind in present and kind in SHAPES]
    return [Entry(f"key-{kind.replace(' ', '-')}", kind, shape=True) for kind in drawn]
