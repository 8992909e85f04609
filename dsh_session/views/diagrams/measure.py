"""How wide a text is, without a font: so that labels are cut and wrapped before anything is drawn.

The boxes of the diagrams have fixed sizes, the same in every engine and on every machine; it is the text that is
made to fit. Latin text is measured with the advance widths of DejaVu Sans, the widest font that commonly stands in
for Helvetica; full-width characters count a whole em, marks nothing, everything else what is seldom exceeded.
"""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["fit", "width", "wrap"]

# Advance widths of DejaVu Sans in thousandths of an em, from U+0020 to U+007E.
_ASCII: Final = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337),
    *(636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531),
    *(1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787),
    *(603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500),
    *(500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612),
    *(635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838),
)
_ELLIPSIS: Final = "…"


def width(text: str) -> float:
    """The width of a line of text.

    Args:
        text: One line.

    Returns:
        Its width in ems: times the font size it is the width in points, seldom less than what is drawn.

    Example:
        >>> round(width("abc"), 2), width("中文")
        (1.8, 2.0)
    """
    # Whole numbers add up to the same whatever Python adds them; fractions do not.
    return sum(map(_advance, text)) / 1000


def _advance(char: str) -> int:
    """The advance width of a character, in thousandths of an em."""
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return _ASCII[code - 0x20]
    category = unicodedata.category(char)
    if category in {"Mn", "Me", "Cf"}:
        return 0
    if unicodedata.east_asian_width(char) in {"W", "F"}:
        # Emoji are drawn larger than the em square.
        return 1300 if code >= 0x1F000 else 1000
    if code < 0x0590:  # Latin with accents, Greek, Cyrillic, Armenian
        return 850 if category == "Lu" else 650
    return 1000


def fit(text: str, room: float) -> str:
    """As much of a line as fits, an ellipsis in place of the rest.

    Args:
        text: One line.
        room: The width that it may take, in ems.

    Returns:
        The line, or its beginning and an ellipsis.

    Example:
        >>> fit("What does README.md say?", 6)
        'What doe…'
    """
    return _split(text, room)[0]


def wrap(text: str, room: float, lines: int) -> list[str]:
    """A text on at most so many lines, broken between words where it can be.

    Args:
        text: Text without line feeds.
        room: The width of a line, in ems.
        lines: The greatest number of lines, at least 1; the last one ends in an ellipsis if something is left.

    Returns:
        The lines; none for an empty text.

    Example:
        >>> wrap("Now run the tests again, all of them, twice", 9, 2)
        ['Now run the tests', 'again, all of…']
    """
    result: list[str] = []
    rest = text.strip()
    while rest and len(result) < lines - 1:
        at = _reach(rest, room)
        if at == len(rest):
            break
        # A break at a space that is not too early; else in the middle of the word.
        space = rest.rfind(" ", at // 2, at + 1)
        at = space if space > 0 else max(at, 1)
        result.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    if rest:
        result.append(_split(rest, room)[0])
    return result


def _reach(text: str, room: float) -> int:
    """How many characters of the text fit; a mark goes with its letter."""
    used, most = 0, 1000 * room
    for at, char in enumerate(text):
        used += _advance(char)
        if used > most:
            return at
    return len(text)


def _split(text: str, room: float) -> tuple[str, str]:
    at = _reach(text, room)
    if at == len(text):
        return text, ""
    at = _reach(text, room - width(_ELLIPSIS))
    # Where a word ends close by, the cut is there.
    space = text.rfind(" ", at - 6 if at > 12 else at, at)
    at = space if space > 0 else at
    return text[:at].rstrip() + _ELLIPSIS, text[at:]
