from __future__ import annotations

import csv
import html
import io
import re
import time
import unicodedata
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session.views import escape
from dsh_session.views.export import csv_text
from dsh_session.views.render import render
from tests.views.engines import ENGINES
from tests.views.hostile import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable

ANYTHING = st.text(st.characters(), max_size=200) | st.sampled_from([text[:200] for text in HOSTILE])
BORDERS = [getattr(escape, name) for name in escape.__all__ if name not in {"cut", "visible", "one_line"}]
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def controls(text: str) -> set[str]:
    return {char for char in text if unicodedata.category(char) in {"Cc", "Cs"} or char in BIDI} - {"\n", "\t"}


@pytest.mark.parametrize("border", BORDERS, ids=lambda border: border.__name__)
@given(text=ANYTHING)
def test_no_border_lets_through_what_steers_or_hides(border: Callable[[str], str], text: str) -> None:
    escaped = border(text)
    assert not controls(escaped)
    escaped.encode("utf-8")


@pytest.mark.parametrize("border", [*BORDERS, escape.visible, escape.one_line], ids=lambda border: border.__name__)
@pytest.mark.parametrize("char", ["a", "\x00", "<", "\\", "\ud83d", "\u202e", " ", "你"], ids=ascii)
def test_a_megabyte_is_no_burden_at_any_border(border: Callable[[str], str], char: str) -> None:
    text = char * 1_000_000
    start = time.perf_counter()
    border(text)
    assert time.perf_counter() - start < 3  # a fifth of a second at most where nothing else runs


@given(ANYTHING)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    once = escape.visible(text)
    assert escape.visible(once) == once
    line = escape.one_line(text)
    assert escape.one_line(line) == line
    assert not set(line) & set("\n\t\r\v\f\u2028\u2029")


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_in_any_script_is_not_touched_by_visible(text: str) -> None:
    kept = text.translate(dict.fromkeys(map(ord, "\ufdd0")))
    assert escape.visible(kept) == kept


def test_control_characters_and_direction_marks_can_be_seen() -> None:
    assert escape.visible("\x00\x07\x1b\x7f\x85") == "␀␇␛␡[U+0085]"
    assert escape.visible("\u202ex\u2066\u200f") == "[RLO]x[LRI][RLM]"
    assert escape.visible("\ufeff\u200b\u2028\U000e0041") == "[U+FEFF][U+200B][U+2028][U+E0041]"
    assert escape.visible("a\ud83db\ufffec") == "a\ufffdb\ufffdc"


def test_a_joined_emoji_and_persian_spelling_keep_their_joiners() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert escape.visible(family) == family
    assert escape.visible("می\u200cخواهم") == "می\u200cخواهم"


def test_a_windows_line_end_is_a_line_end_and_a_lone_carriage_return_is_shown() -> None:
    assert escape.visible("a\r\nb\rc") == "a\nb␍c"


# ------------------------------------------------------------------------------------------------------------- cut


@given(ANYTHING, st.integers(1, 50))
def test_a_cut_text_is_never_longer_than_its_limit_and_begins_like_the_whole(text: str, limit: int) -> None:
    short = escape.cut(text, limit)
    assert len(short) <= limit
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_a_cut_does_not_part_a_letter_from_its_accent_or_an_emoji_from_its_partner() -> None:
    assert escape.cut("abe\u0301def", 4) == "ab…"
    assert escape.cut("ab\U0001f468\u200d\U0001f469cd", 5) == "ab…"


def test_a_run_of_accents_without_a_letter_is_cut_all_the_same() -> None:
    assert len(escape.cut("\u0301" * 1_000_000, 10)) <= 10


# ------------------------------------------------------------------------------------------------------------ HTML


class Seen(HTMLParser):
    """What a browser's parser sees: tags with attributes, and text."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANYTHING)
def test_html_text_reads_back_as_the_visible_text_and_opens_no_tag(text: str) -> None:
    seen = Seen(f"<p>{escape.html_text(text)}</p>")
    assert seen.tags == [("p", [])]
    assert seen.text == escape.visible(text)


@pytest.mark.parametrize("quote", ['"', "'"])
@given(text=ANYTHING)
def test_an_html_attribute_reads_back_as_the_visible_text_in_either_quotes(quote: str, text: str) -> None:
    seen = Seen(f"<p title={quote}{escape.html_attribute(text)}{quote}>x</p>")
    assert seen.tags == [("p", [("title", escape.visible(text))])]
    assert seen.text == "x"


# ------------------------------------------------------------------------------------------------------------- XML


@given(ANYTHING)
def test_xml_text_is_well_formed_as_text_and_as_attribute(text: str) -> None:
    escaped = escape.xml_text(text)
    root = ET.fromstring(f'<a b="{escaped}">{escaped}</a>')
    assert (root.text or "") == html.unescape(escaped)
    assert "]]>" not in escaped


def test_what_xml_forbids_becomes_the_replacement_character() -> None:
    assert escape.xml_text("a\x00b\x1bc\ud83dd\uffffe") == "a\ufffdb\ufffdc\ufffdd\ufffde"


# ------------------------------------------------------------------------------------------------------------- DOT

SHORT = [text[:120] for text in HOSTILE if text.strip("\u0301 \t\r\n")]


def drawn(dot: str, engine: str) -> ET.Element:
    return ET.fromstring(render(dot, "svg", engine=engine))


def texts(root: ET.Element) -> str:
    return "".join("".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")).replace("\xa0", " ")


def expected(text: str) -> str:
    return escape.visible(text).replace("\t", "    ").replace("\n", "")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dot_label_shows_hostile_text_as_it_is(engine: str) -> None:
    for text in SHORT:
        root = drawn(f"digraph g {{ node_name [label={escape.dot_string(text)}] }}", engine)
        assert texts(root).strip() == expected(text).strip(), ascii(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_html_like_dot_label_shows_hostile_text_as_it_is(engine: str) -> None:
    for text in SHORT:
        root = drawn(f"digraph g {{ node_name [label=<<b>[{escape.dot_html(text)}]</b>>] }}", engine)
        assert texts(root) == f"[{expected(text)}]", ascii(text)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dot_tooltip_holds_hostile_text_as_it_is(engine: str) -> None:
    for text in SHORT:
        root = drawn(f'digraph g {{ node_name [label=x, tooltip="{escape.dot_tooltip(text)}."] }}', engine)
        (link,) = root.iter("{http://www.w3.org/2000/svg}a")
        # An XML attribute gives a tab and a line feed back as they are written by reference, else as spaces.
        found = link.get("{http://www.w3.org/1999/xlink}title", "").replace("\t", " ").replace("\n", " ")
        assert found == f"{escape.visible(text)}.".replace("\t", " ").replace("\n", " "), ascii(text)
        assert set(link.attrib) == {"{http://www.w3.org/1999/xlink}title"}


@given(ANYTHING)
def test_a_dot_string_holds_no_quote_no_bracket_and_only_pairs_of_backslashes(text: str) -> None:
    inner = escape.dot_text(text)
    assert not set('"<>') & set(inner)
    assert "\\" not in inner.replace("\\\\", "")
    assert escape.dot_string(text) == f'"{inner}"'


# ------------------------------------------------------------------------------------------------- file, terminal, CSV


@given(ANYTHING)
def test_a_file_name_is_one_plain_component(text: str) -> None:
    name = escape.file_name(text)
    assert 0 < len(name) <= 120
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>| \0')
    assert name[0] not in ".-"
    assert name[-1] not in ". "


def test_names_that_windows_keeps_for_itself_are_changed() -> None:
    for name in ("CON", "nul", "com1", "LPT9", "aux.txt", "con.jsonl"):
        assert escape.file_name(name).partition(".")[0].lower() not in {"con", "nul", "com1", "lpt9", "aux"}
    assert escape.file_name("console") == "console"


@given(ANYTHING, ANYTHING)
def test_different_texts_have_different_file_names(first: str, second: str) -> None:
    assert (escape.file_name(first) == escape.file_name(second)) == (first == second)


def test_a_long_name_cannot_be_forged_by_a_short_one() -> None:
    long = "x" * 1000
    name = escape.file_name(long)
    assert escape.file_name(name) != name
    assert escape.file_name("x" * 1001) != name


def test_a_terminal_gets_no_escape_sequence() -> None:
    assert escape.terminal("\x1b]8;;http://x\x1b\\a\x1b[2J\r\x08") == "␛]8;;http://x␛\\a␛[2J␍␈"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\n=1", "＝1", "\r=1"])
def test_a_formula_is_text_in_a_spreadsheet(text: str) -> None:
    assert escape.csv_cell(text).startswith(("'", "␍"))


@given(ANYTHING)
def test_a_cell_survives_a_csv_file(text: str) -> None:
    cell = escape.csv_cell(text)
    file = io.StringIO()
    csv.writer(file).writerow([cell, "next"])
    assert next(csv.reader(io.StringIO(file.getvalue(), newline=""))) == [cell, "next"]
    assert csv_text(cell) == escape.visible(text)


@given(st.text(alphabet=";\t\n '\"=+-@\u00a0a＝", max_size=12))
def test_what_guards_a_cell_can_be_taken_away_again(text: str) -> None:
    cell = escape.csv_cell(text)
    assert csv_text(cell) == escape.visible(text)
    file = io.StringIO()
    csv.writer(file).writerow(["1", cell, "2"])
    for separator in ";\t":
        # As a spreadsheet of another locale, to which a quote within a cell is none.
        for part in re.split(rf"[{separator}\n]", file.getvalue().rstrip("\r\n")):
            assert not re.match(r"[\s\"]*[=+\-@＝]", part), part


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a;=cmd|' /C calc'!A0", "a;'=cmd|' /C calc'!A0"),
        ('a; "=1"', 'a;\' "=1"'),
        ("a\n- b\n- c", "a\n'- b\n'- c"),
        ("a; b-c, d", "a; b-c, d"),
    ],
)
def test_a_formula_behind_another_separator_is_text_too(text: str, cell: str) -> None:
    assert escape.csv_cell(text) == cell
