from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING

import graphviz
import pytest

from dsh_session.views import diagram as module
from dsh_session.views.diagram import Diagram, diagram_css
from dsh_session.views.render import RenderError, render
from tests.views.engines import ENGINES
from tests.views.hostile import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path


def small(description: str = "two nodes", **options: str) -> Diagram:
    graph = graphviz.Digraph("g")
    graph.edge("a", "b")
    return Diagram(graph, description, **options)  # type: ignore[arg-type]


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DSH_SESSION_GRAPHVIZ", raising=False)


def test_a_notebook_gets_three_forms() -> None:
    bundle = small()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "image/svg+xml"}
    assert bundle["text/plain"] == "<Diagram: two nodes>"
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert bundle["text/html"].startswith("<style>")
    assert "<?xml" not in bundle["text/html"]


def test_a_notebook_gets_the_forms_that_it_asks_for() -> None:
    assert set(small()._repr_mimebundle_(include={"text/html"})) == {"text/html"}
    assert set(small()._repr_mimebundle_(exclude={"text/html"})) == {"text/plain", "image/svg+xml"}


def test_the_same_graph_has_the_same_forms_without_an_address() -> None:
    first, second = small()._repr_mimebundle_(), small()._repr_mimebundle_()
    assert first == second
    assert not any(re.search("0x[0-9a-f]{6}", form) for form in first.values())


def test_the_inline_form_can_stand_in_a_page_with_a_strict_policy() -> None:
    form = small().inline
    assert not re.search(r"<style|<script| style=| on\w+=| id=|href|url\(|https?:", form)


def test_two_diagrams_in_one_page_share_no_id() -> None:
    assert " id=" not in small().inline + small().inline


def test_the_style_sheet_is_the_same_at_every_call_and_loads_nothing() -> None:
    css = diagram_css()
    assert css == diagram_css()
    assert "url(" not in css
    assert "@import" not in css
    assert "</" not in css
    assert "prefers-color-scheme: dark" in css
    assert "var(--jp-content-font-color1," in css
    assert "forced-colors" in css


def test_every_variable_that_the_style_sheet_uses_is_declared() -> None:
    css = diagram_css()
    assert set(re.findall(r"var\((--dsh-[\w-]+)", css)) <= set(re.findall(r"(--dsh-[\w-]+):", css))


def test_the_picture_is_drawn_when_it_is_first_looked_at_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*args: object, **options: object) -> bytes:
        calls.append(args)
        return render(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "render", counted)
    diagram = small()
    assert diagram.dot.startswith("digraph")
    assert not calls
    diagram._repr_mimebundle_()
    assert diagram.svg
    assert diagram.inline
    assert len(calls) == 1


@pytest.mark.usefixtures("nothing_installed")
def test_without_an_engine_a_notebook_gets_the_graph_as_text_and_one_line_on_what_to_install() -> None:
    graph = graphviz.Digraph("g")
    graph.node("a", label="&lt;b&gt;</pre>")
    bundle = Diagram(graph, "a <b>")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    for form in bundle.values():
        assert "pip install graphviz-pure" in form
        assert "digraph g {" in form
    assert "</pre>&" not in bundle["text/html"]
    assert bundle["text/html"].count("</pre>") == 1
    assert "a &lt;b&gt;" in bundle["text/html"]


@pytest.mark.usefixtures("nothing_installed")
def test_without_an_engine_a_very_large_graph_is_cut() -> None:
    graph = graphviz.Digraph("g")
    graph.node("a", label="x" * 1_000_000)
    assert all(len(form) < 50_000 for form in Diagram(graph, "")._repr_mimebundle_().values())


@pytest.mark.usefixtures("nothing_installed")
def test_without_an_engine_the_svg_says_what_to_install_and_the_dot_is_still_there(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="pip install graphviz-pure"):
        assert small().svg
    assert small().save(tmp_path / "a.dot").read_text().startswith("digraph")


def test_a_graph_that_the_engine_refuses_shows_itself_as_text() -> None:
    graph = graphviz.Digraph("g", body=["\ta -> -> b\n"])
    form = Diagram(graph, "broken")._repr_mimebundle_()["text/html"]
    assert "line 2" in form
    assert "a -&gt; -&gt; b" in form


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("dot", b"digraph"), ("SVG", b"<")]
)
def test_a_diagram_saves_itself_by_the_ending(tmp_path: Path, engine: str, ending: str, start: bytes) -> None:
    path = small(engine=engine).save(tmp_path / f"a b.{ending}")
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_pdf_is_written_by_the_systems_graphviz_or_its_absence_is_named(tmp_path: Path) -> None:
    if "system" in ENGINES:
        assert small().save(str(tmp_path / "a.pdf")).read_bytes().startswith(b"%PDF")
    else:
        with pytest.raises(RenderError, match="PDF needs"):
            small().save(tmp_path / "a.pdf")


def test_an_unknown_ending_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for name in ("a.gif", "a", "\x1b[31m.x"):
        with pytest.raises(RenderError, match=r"none of \.svg, \.png, \.pdf and \.dot") as caught:
            small().save(tmp_path / name)
        assert "\x1b" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("before")
    with pytest.raises(RenderError):
        Diagram(graphviz.Digraph("g", body=["]"]), "broken").save(path)
    assert path.read_text() == "before"
    small().save(path)
    assert path.read_text().startswith("<?xml")
    folder = tmp_path / "folder.svg"
    folder.mkdir()
    with pytest.raises(OSError, match="folder"):
        small().save(folder)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.svg", "folder.svg"]


def test_a_folder_that_is_not_there_is_named_and_no_draft(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: .*not there'$"):
        small().save(tmp_path / "not there" / "a.svg")
    assert not list(tmp_path.iterdir())


def test_a_hostile_description_is_one_line_of_text() -> None:
    for text in HOSTILE:
        diagram = small(text)
        assert "\n" not in repr(diagram)
        assert len(repr(diagram)) < 320
        assert "<script" not in diagram.inline
        assert diagram.inline.count("<svg") == 1
