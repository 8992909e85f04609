"""The documentation of views: its examples run, it names all that there is, and its gallery shows all of it."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from dsh_session.views import charts, diagrams, frames
from dsh_session.views.palette import DARK, LIGHT

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
CHARTS = [name for name in charts.__all__ if name != "Chart"]


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(gallery: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gallery")
    gallery.draw(folder)
    return folder


def test_the_examples_of_the_page_run() -> None:
    result = doctest.testfile(str(DOCS / "views.md"), module_relative=False, encoding="utf-8")
    assert result.attempted >= 25
    assert result.failed == 0


def test_the_page_names_every_diagram_frame_and_chart() -> None:
    text = (DOCS / "views.md").read_text(encoding="utf-8")
    for name in (*diagrams.__all__, *frames.COLUMNS, *CHARTS):
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("name", [*diagrams.__all__, *CHARTS])
def test_every_diagram_and_chart_stands_in_the_gallery_with_its_code_light_and_dark(name: str) -> None:
    module, ending = ("diagrams", "svg") if name in diagrams.__all__ and name not in CHARTS else ("charts", "png")
    assert f"{module}.{name}(" in GALLERY
    for theme in ("light", "dark"):
        assert f"```{{image}} generated/gallery/{name}-{theme}.{ending}\n:class: only-{theme}\n:alt: " in GALLERY


def test_the_gallerys_pictures_are_those_that_its_code_draws(drawn: Path) -> None:
    shown = set(re.findall(r"generated/gallery/([\w.-]+)", GALLERY))
    assert {path.name for path in drawn.iterdir()} == shown


def test_each_picture_is_drawn_in_the_colours_of_its_page(drawn: Path) -> None:
    for path in drawn.glob("*.svg"):
        root = ET.fromstring(path.read_bytes())
        page = next(root.iter("{http://www.w3.org/2000/svg}polygon")).get("fill", "")
        assert page.upper() == (LIGHT if path.stem.endswith("-light") else DARK).page.upper(), path.name
    for name in CHARTS:
        light, dark = ((drawn / f"{name}-{theme}.png").read_bytes() for theme in ("light", "dark"))
        assert light.startswith(b"\x89PNG")
        assert light != dark


def test_below_each_picture_stands_what_to_see_in_it() -> None:
    for part in GALLERY.split("\n### ")[1:]:
        words = re.sub(r"```.*?```", "", part, flags=re.DOTALL).split()
        assert len(words) > 20, part[:40]
