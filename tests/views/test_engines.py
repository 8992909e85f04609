"""Which engines the tests draw with, and what only the second one can do."""

from pathlib import Path

import pytest

from dsh_session import Context
from dsh_session.views import diagrams
from dsh_session.views.render import RenderError, render
from tests.views.engines import ENGINES, REQUIRE, engines
from tests.views.golden import DIAGRAMS, diagram_of
from tests.views.made import nested


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(REQUIRE, raising=False)


@pytest.mark.usefixtures("no_dot")
def test_where_there_is_no_dot_the_wheel_draws_alone_and_is_enough() -> None:
    assert engines() == ["pure"]
    assert diagrams.surface(nested()).svg.startswith("<?xml")


@pytest.mark.usefixtures("no_dot")
def test_where_a_dot_is_required_its_absence_is_a_failure_and_no_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIRE, "1")
    assert engines() == ["pure", "system"]
    with pytest.raises(RenderError, match="Graphviz"):
        render("digraph { a }", engine="system")


def test_every_diagram_is_saved_as_pdf_by_the_systems_dot_or_its_absence_is_named(tmp_path: Path) -> None:
    session = nested()
    with Context() as ctx:
        ctx.sessions.create("alone")
        drawn = [("lineage", diagrams.lineage(ctx.sessions)), *((name, diagram_of(name)(session)) for name in DIAGRAMS)]
    for name, diagram in drawn:
        path = tmp_path / f"{name}.pdf"
        if "system" in ENGINES:
            content = diagram.save(path).read_bytes()
            assert content.startswith(b"%PDF-")
            assert content.rstrip().endswith(b"%%EOF")
            assert b"/Type /Page" in content
            assert len(content) > 5_000, name
        else:
            with pytest.raises(RenderError, match="PDF needs"):
                diagram.save(path)
            assert not path.exists()
