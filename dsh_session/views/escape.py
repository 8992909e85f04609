"""Text from a log on its way out: one function per border.

Logs are hostile. A tool result may hold HTML, DOT, a spreadsheet formula, a terminal escape or a mark that
turns the rest of the line around; none of it may become anything but text. Each function below takes any
string, returns text that is safe *at that one border and no other*, and takes time proportional to its input.
Cut before you escape (`cut`): an escaped text that is cut may end in half an entity.

========================  =====================================================================
`html_text`               between HTML tags
`html_attribute`          inside a quoted HTML attribute
`dot_text`                inside a quoted DOT string (a label), shown as it is
`dot_tooltip`             inside a quoted DOT string that is a tooltip
`dot_string`              the same with its quotes
`dot_html`                between the tags of an HTML-like DOT label
`xml_text`                SVG and XML, text and quoted attributes alike
`file_name`               one component of a path
`terminal`                a terminal
`csv_cell`                a cell of a CSV file that a spreadsheet will open
========================  =====================================================================

What all of them do first is `visible`: lone surrogates become U+FFFD, control characters and marks that
steer the reading direction become something that a reader can see.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

__all__ = [
    "csv_cell",
    "cut",
    "dot_html",
    "dot_string",
    "dot_text",
    "dot_tooltip",
    "file_name",
    "html_attribute",
    "html_text",
    "one_line",
    "terminal",
    "visible",
    "xml_text",
]

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

# What steers the reading direction of its neighbours, by the abbreviation that Unicode gives it.
_BIDI: Final = {
    0x061C: "ALM",
    0x200E: "LRM",
    0x200F: "RLM",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
}

# Characters without a glyph that can hide a message or break a line where no reader expects it.
# The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji are spelt with them.
_UNSEEN: Final = (
    0x200B,
    0x2028,
    0x2029,
    0x2060,
    *range(0x206A, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)

_SURROGATES: Final = range(0xD800, 0xE000)
_NONCHARACTERS: Final = (
    *range(0xFDD0, 0xFDF0),
    *(plane + low for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)),
)


def _visible_table() -> dict[int, str]:
    table = {code: chr(0x2400 + code) for code in range(0x20)}  # the control pictures: U+2400 for NUL, and on
    table[0x7F] = "\N{SYMBOL FOR DELETE}"
    table.update({code: f"[U+{code:04X}]" for code in (*range(0x80, 0xA0), *_UNSEEN)})
    table.update({code: f"[{name}]" for code, name in _BIDI.items()})
    table.update(dict.fromkeys((*_SURROGATES, *_NONCHARACTERS), _REPLACEMENT))
    return table


_VISIBLE: Final = _visible_table()
_VISIBLE_LINES: Final = {code: shown for code, shown in _VISIBLE.items() if chr(code) not in "\n\t"}
# In XML a control character is no character at all, so it becomes U+FFFD and not a picture of itself.
_VISIBLE_XML: Final = {code: _REPLACEMENT if code < 0x20 else shown for code, shown in _VISIBLE_LINES.items()}

# One scan that finds nothing is far cheaper than a translation that changes nothing.
_SUSPECT: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\uffff"
    "\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0010ffff]"
)
_SPACES: Final = re.compile(r"[ \t\r\n\f\v\x1c-\x1f\x85\u2028\u2029]+")


def cut(text: str, limit: int, *, ellipsis: str = "…") -> str:
    r"""The first `limit` characters of a text, the last of them an ellipsis where something was left out.

    Args:
        text: Any string.
        limit: The greatest length of the result, in characters, ellipsis included; at least 1.
        ellipsis: What says that something is missing.

    Returns:
        `text` itself if it is short enough. A cut never falls between a letter and its accents.

    Example:
        >>> cut("What does README.md say?", 10)
        'What does…'
        >>> cut("short", 10)
        'short'
    """
    if len(text) <= limit:
        return text
    at = max(limit - len(ellipsis), 0)
    # Step back over marks and joiners, so that what is left is whole; a run of marks without end is no letter.
    floor = max(at - 16, 0)
    while at > floor and _continues(text, at):
        at -= 1
    return text[: at or max(limit - len(ellipsis), 0)].rstrip() + ellipsis


def _continues(text: str, at: int) -> bool:
    """Whether the character at this place belongs to the one before it."""
    joiner = "\u200d"
    return unicodedata.category(text[at])[0] == "M" or text[at] == joiner or text[at - 1] == joiner


def visible(text: str, *, lines: bool = True) -> str:
    r"""The text with nothing in it that a reader cannot see or that moves what stands around it.

    Control characters become their pictures, direction marks their abbreviation in brackets, other characters
    without a glyph their number, lone surrogates and noncharacters U+FFFD.

    Args:
        text: Any string, lone surrogates included.
        lines: Keep line feeds and tabs as they are; a carriage return before a line feed is dropped.

    Returns:
        A string that can be encoded as UTF-8. Doing it twice changes nothing more.

    Example:
        >>> visible("a\x00b\x1b[31m \u202eabc \ud83d")
        'a␀b␛[31m [RLO]abc �'
    """
    if not lines:
        return text.translate(_VISIBLE) if not text.isprintable() else text
    if _SUSPECT.search(text) is None:
        return text
    return text.replace("\r\n", "\n").translate(_VISIBLE_LINES)


def one_line(text: str) -> str:
    r"""The text on one line: every run of white space is one space, nothing unseen is left.

    Args:
        text: Any string; cut a long one first.

    Returns:
        The line, without white space at its ends.

    Example:
        >>> one_line("  one\r\n\ttwo  ")
        'one two'
    """
    return visible(_SPACES.sub(" ", text).strip(" "), lines=False)


def html_text(text: str) -> str:
    """Text between HTML tags.

    Args:
        text: Any string.

    Returns:
        What an HTML parser reads back as the visible text, in any element but `script` and `style`.

    Example:
        >>> html_text("<script>alert(1)</script> & more")
        '&lt;script&gt;alert(1)&lt;/script&gt; &amp; more'
    """
    return _markup(visible(text))


def html_attribute(text: str) -> str:
    r"""Text inside an HTML attribute that stands in double or single quotes.

    Args:
        text: Any string. Not for attributes that hold a URL, a style or a script: no text from a log goes there.

    Returns:
        The escaped text without quotes around it; line feeds and tabs as character references.

    Example:
        >>> html_attribute('" onload="x')
        '&quot; onload=&quot;x'
        >>> html_attribute("two\nlines")
        'two&#10;lines'
    """
    return _markup(visible(text)).replace("\n", "&#10;").replace("\t", "&#9;")


def xml_text(text: str) -> str:
    """Text and quoted attributes in SVG and XML.

    Args:
        text: Any string.

    Returns:
        The escaped text; each character that XML forbids is U+FFFD, `]]>` is harmless.

    Example:
        >>> xml_text("a ]]> b & c")
        'a ]]&gt; b &amp; c'
    """
    if _SUSPECT.search(text) is not None:
        text = text.replace("\r\n", "\n").translate(_VISIBLE_XML)
    return _markup(text)


def dot_text(text: str) -> str:
    r"""Text inside a double-quoted DOT string, shown as it is: no escape, no entity, no HTML-like label.

    The result holds no quote and no angle bracket at all, since Graphviz reads entities in every label, and each
    backslash twice. So it is safe behind any program that adds the quotes, the `graphviz` package included.

    Args:
        text: Any string. A line feed is a line break in the label.

    Returns:
        The escaped text without quotes around it.

    Example:
        >>> print(dot_text('\\N "<b>" &lt;'))
        \\N &quot;&lt;b&gt;&quot; &amp;lt;
    """
    return _markup(visible(text)).replace("\\", "\\\\").replace("\t", "    ")


def dot_tooltip(text: str) -> str:
    r"""Text inside the double-quoted DOT string of a tooltip.

    Graphviz reads the escapes of a tooltip twice and those of a label once, so a backslash is written four times.

    Args:
        text: Any string; line feeds are kept.

    Returns:
        The escaped text without quotes around it.

    Example:
        >>> print(dot_tooltip("\\N"))
        \\\\N
    """
    return _markup(visible(text)).replace("\\", "\\" * 4)


def dot_string(text: str) -> str:
    r"""The text as one quoted DOT string.

    Args:
        text: Any string.

    Returns:
        `dot_text` with double quotes around it.

    Example:
        >>> print(dot_string("ends in \\"))
        "ends in \\"
    """
    return f'"{dot_text(text)}"'


def dot_html(text: str) -> str:
    r"""Text between the tags of an HTML-like DOT label.

    Escapes such as `\N` are replaced there too, so a backslash is written twice. A line feed becomes `<br/>`.

    Args:
        text: Any string.

    Returns:
        The escaped text; it cannot open or close a tag.

    Example:
        >>> print(dot_html("<b>bold</b> \\N\nnext"))
        &lt;b&gt;bold&lt;/b&gt; \\N<br/>next
    """
    return _markup(visible(text)).replace("\\", "\\\\").replace("\t", "    ").replace("\n", "<br/>")


def _markup(text: str) -> str:
    # `&` first, since the others bring new ones.
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


_PLAIN_NAME: Final = re.compile(rb"[^A-Za-z0-9._-]")
_RESERVED: Final = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")


def file_name(text: str, *, limit: int = 120) -> str:
    """The text as one component of a path, on any system.

    Args:
        text: Any string, such as a session's id.
        limit: The greatest length of the result, in characters and bytes (all are ASCII); at least 24.

    Returns:
        ASCII letters, digits, `_`, `-` and inner dots, everything else as `%XX`. It is never empty, never starts
        with a dot or a dash, and different texts give different names: a long one ends in `~` and a digest of it.

    Example:
        >>> file_name("tour-1")
        'tour-1'
        >>> file_name("../../etc/passwd")
        '%2E.%2F..%2Fetc%2Fpasswd'
        >>> file_name("")
        '%'
    """
    raw = text.encode("utf-8", "surrogatepass")
    # Each byte may grow to three, and what is beyond the limit is cut off anyway.
    name = _PLAIN_NAME.sub(lambda match: b"%%%02X" % match[0][0], raw[: limit + 1]).decode("ascii")
    if name[:1] in {".", "-"} or _RESERVED.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if name.endswith("."):
        name = f"{name[:-1]}%2E"
    if len(name) > limit or len(raw) > limit:
        name = f"{name[: limit - 17]}~{hashlib.sha256(raw).hexdigest()[:16]}"
    return name or "%"


def terminal(text: str) -> str:
    r"""Text on a terminal: no escape sequence, no carriage return, no bell.

    Args:
        text: Any string. Programs with a markup of their own (rich) must be told that this is plain text.

    Returns:
        The text with line feeds and tabs only.

    Example:
        >>> terminal("\x1b]0;title\x07 \r50%")
        '␛]0;title␇ ␍50%'
    """
    return visible(text)


# What spreadsheets take for the start of a formula, the full-width forms included.
_STARTS: Final = r"=+\-@＝＋－＠"
# A cell begins with the text. Where semicolons or tabs separate cells, one also begins after each of them within the
# text, and after a line end: there the quotes of a file with commas are no quotes. What is looked at ends before the
# next such place, so that nothing is read twice. Apostrophes are looked through, so that each guard can be undone.
_FIRST: Final = rf"(?=(?:[^\S\t\n]|')*[\t\n{_STARTS}])"
_FURTHER: Final = rf"(?=(?:[^\S\t\n]|['\"])*[{_STARTS}])"
_UNGUARDED: Final = re.compile(rf"\A{_FIRST}|(?<=[;\t\n]){_FURTHER}")
GUARDED: Final = re.compile(rf"\A'{_FIRST}|(?<=[;\t\n])'{_FURTHER}")
"""Each apostrophe that `csv_cell` put into a text."""


def csv_cell(text: str) -> str:
    r"""Text in a cell of a CSV file; the writer still has to quote commas and quotes.

    Args:
        text: Any string. Numbers need no escape: give them to the writer as numbers.

    Returns:
        The visible text; where a spreadsheet would read a formula, an apostrophe stands before it. That is at the
        beginning, and within the text where one begins a cell if semicolons, tabs or line ends separate cells.
        `export.csv_text` takes the apostrophes away.

    Example:
        >>> csv_cell("=HYPERLINK(1)")
        "'=HYPERLINK(1)"
        >>> csv_cell("a;=HYPERLINK(1)")
        "a;'=HYPERLINK(1)"
        >>> csv_cell("a = b")
        'a = b'
    """
    return _UNGUARDED.sub("'", visible(text))
