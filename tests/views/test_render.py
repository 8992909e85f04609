from __future__ import annotations

import os
import signal
import stat
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import pytest

from dsh_session.views import render as rendering
from dsh_session.views.render import ENGINE_VARIABLE, RenderError, engine_path, render
from tests.views.engines import ENGINES

GRAPH = "digraph g { a -> b }"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)


def program(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "my dot"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("fmt", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_an_engine_draws(engine: str, fmt: rendering.Format, start: bytes) -> None:
    assert render(GRAPH, fmt, engine=engine).startswith(start)


def test_the_wheel_draws_the_same_bytes_every_time() -> None:
    assert render(GRAPH, engine="pure") == render(GRAPH, engine="pure")


def test_the_wheel_is_found_through_its_metadata_and_not_through_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert engine_path("pure").is_file()
    assert engine_path().name == engine_path("pure").name


def test_the_argument_outranks_the_environment_and_the_environment_outranks_the_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = program(tmp_path, "")
    monkeypatch.setenv(ENGINE_VARIABLE, str(mine))
    assert engine_path() == mine
    assert engine_path("pure") != mine
    monkeypatch.setenv(ENGINE_VARIABLE, "")
    assert engine_path() == engine_path("pure")


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("engine", [None, "pure", "system"])
def test_without_an_engine_the_error_says_what_to_install(engine: str | None) -> None:
    with pytest.raises(RenderError, match="pip install graphviz-pure") as caught:
        render(GRAPH, engine=engine)
    assert caught.value.code == "RENDER_NO_ENGINE"


@pytest.mark.usefixtures("nothing_installed")
def test_pdf_without_the_systems_graphviz_says_so() -> None:
    with pytest.raises(RenderError, match="PDF needs Graphviz's own dot"):
        render(GRAPH, "pdf")


def test_pdf_from_the_wheel_is_refused_before_it_starts() -> None:
    with pytest.raises(RenderError, match="no PDF") as caught:
        render(GRAPH, "pdf", engine="pure")
    assert caught.value.code == "RENDER_FORMAT"


def test_a_path_that_is_not_there_is_named() -> None:
    with pytest.raises(RenderError, match="no program at '/nowhere/dot'"):
        render(GRAPH, engine="/nowhere/dot")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_syntax_error_names_its_line(engine: str) -> None:
    with pytest.raises(RenderError, match="line 3") as caught:
        render("digraph g {\n a -> b\n c -> -> d\n}", engine=engine)
    assert caught.value.code == "RENDER_FAILED"


def test_what_an_engine_says_is_cut_and_made_visible(tmp_path: Path) -> None:
    mine = program(tmp_path, r"import sys; sys.stderr.write('\x1b[31m' + 'x' * 100000); sys.exit(3)")
    with pytest.raises(RenderError, match="ended with 3: ␛") as caught:
        render(GRAPH, engine=str(mine))
    assert len(str(caught.value)) < 3000


def test_an_engine_that_writes_nothing_has_failed(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="said nothing"):
        render(GRAPH, engine=str(program(tmp_path, "")))


def gone(pid: int) -> bool:
    """Whether a process has ended, within a while."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True  # ended; nobody in this container collects orphans
        time.sleep(0.05)
    return False


SLEEPER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({pids!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(60)
"""


def pids(file: Path) -> list[int]:
    for _ in range(200):
        if file.exists() and len(file.read_text().split()) == 2:
            return [int(pid) for pid in file.read_text().split()]
        time.sleep(0.05)
    raise AssertionError("the program did not start")


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    mine = program(tmp_path, SLEEPER.format(pids=str(file)))
    with pytest.raises(RenderError, match="was ended after 2 s") as caught:
        render(GRAPH, engine=str(mine), timeout=2)
    assert caught.value.code == "RENDER_TIMEOUT"
    assert all(gone(pid) for pid in pids(file))


def test_an_interrupt_leaves_no_program_behind(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    mine = program(tmp_path, SLEEPER.format(pids=str(file)))

    main = threading.get_ident()

    def interrupt() -> None:
        pids(file)
        signal.pthread_kill(main, signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    start = time.perf_counter()
    # A program that a shell starts in the background ignores interrupts until it says otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            render(GRAPH, engine=str(mine), timeout=30)
        helper.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - start < 20
    assert all(gone(pid) for pid in pids(file))


def test_a_lone_surrogate_in_the_text_does_not_stop_the_drawing() -> None:
    assert b"<svg" in render('digraph g { a [label="\ud83d"] }')
