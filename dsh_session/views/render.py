"""DOT in, a picture out: one function, one program, one time limit.

Three ways to a picture, tried in this order unless `engine` or the environment variable
`DSH_SESSION_GRAPHVIZ` says otherwise:

=========  ==========================================================================================
`pure`     the program of the wheel `graphviz-pure`: the same bytes on every machine; SVG and PNG
`system`   the `dot` of the system: SVG, PNG and PDF, laid out by the fonts of the machine
a path     any other program that takes Graphviz's options
=========  ==========================================================================================
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, TypeAlias

from dsh_session.core.errors import SessionError
from dsh_session.views.escape import cut, visible

__all__ = ["ENGINE_VARIABLE", "Format", "RenderError", "engine_path", "render"]

Format: TypeAlias = Literal["svg", "png", "pdf"]
"""What a picture can be rendered to."""

ENGINE_VARIABLE: Final = "DSH_SESSION_GRAPHVIZ"
"""The environment variable that chooses an engine where no argument does."""

_WHEEL: Final = "graphviz-pure"
_INSTALL: Final = (
    "Install one: `python -m pip install graphviz-pure` (SVG and PNG), "
    "or Graphviz for your system from https://graphviz.org/download/ (PDF as well)."
)
_STDERR: Final = 2000


class RenderError(SessionError):
    """A picture that could not be drawn.

    Its codes: `RENDER_NO_ENGINE` (nothing that could draw it is installed), `RENDER_FORMAT` (the engine does not
    write this format), `RENDER_TIMEOUT`, `RENDER_FAILED` (the engine refused the DOT text and says where).
    """


def engine_path(engine: str | None = None, *, fmt: Format = "svg") -> Path:
    """The program that draws.

    Args:
        engine: `pure`, `system`, a path, or None for the environment variable and then the first that is there.
        fmt: What it must be able to write; only the system's `dot` writes PDF.

    Returns:
        An existing file.

    Raises:
        RenderError: `RENDER_NO_ENGINE` with what to install, or `RENDER_FORMAT` for a PDF from `pure`.

    Example:
        >>> engine_path("pure").name.startswith("graphviz-pure")
        True
    """
    choice = engine or os.environ.get(ENGINE_VARIABLE) or "auto"
    if choice == "pure" and fmt == "pdf":
        raise RenderError(
            "RENDER_FORMAT", f"graphviz-pure writes SVG and PNG but no PDF: use engine='system'. {_INSTALL}"
        )
    if choice == "pure":
        found = _pure()
    elif choice == "system":
        found = _system()
    elif choice == "auto":
        found = _system() if fmt == "pdf" else _pure() or _system()
    else:
        found = shutil.which(choice)
        if found is None:
            raise RenderError(
                "RENDER_NO_ENGINE",
                f"no program at {_short(choice)!r}: engine= and {ENGINE_VARIABLE} take 'pure', 'system' or a path",
            )
    if found is None:
        what = "PDF needs Graphviz's own dot, which" if fmt == "pdf" else f"Graphviz ({choice})"
        raise RenderError("RENDER_NO_ENGINE", f"{what} was not found. {_INSTALL}")
    return Path(found)


def render(dot: str, fmt: Format = "svg", *, engine: str | None = None, timeout: float = 30.0) -> bytes:
    r"""Draw DOT text.

    Args:
        dot: The source of a graph. Everything from a log in it is escaped already (`escape.dot_text`).
        fmt: `svg`, `png` or `pdf`.
        engine: `pure`, `system`, a path, or None for the first that is there (see the module).
        timeout: How long the program may take, in seconds; then it is ended.

    Returns:
        The bytes of the picture.

    Raises:
        RenderError: With the engine's own words and line numbers where it refused the text.

    Example:
        >>> render("digraph { a -> b }", "png")[:4]
        b'\x89PNG'
    """
    program = engine_path(engine, fmt=fmt)
    # -q keeps warnings about fonts and tight labels out of a notebook; errors still come.
    command = [os.fspath(program), "-q", f"-T{fmt}"]
    try:
        # A group of its own, so that a program behind a wrapper script is ended together with the script.
        process = subprocess.Popen(  # noqa: S603 -- chosen by the user of this machine, never by a log
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        raise RenderError("RENDER_NO_ENGINE", f"{program} does not start: {error.strerror or error}") from error
    with process:
        try:
            # A lone surrogate cannot reach a program; borders have replaced it long before this.
            out, err = process.communicate(dot.encode("utf-8", "replace"), timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise RenderError(
                "RENDER_TIMEOUT",
                f"{program.name} was ended after {timeout:g} s: show a smaller window, or allow more time",
            ) from None
        except BaseException:  # an interrupt, too, must not leave the program behind
            _end(process)
            raise
    if process.returncode != 0 or not out:
        said = _short(err.decode("utf-8", "replace")) or "it said nothing"
        if fmt == "pdf" and "Format:" in said:
            raise RenderError("RENDER_FORMAT", f"{program.name} writes no PDF. {_INSTALL}")
        raise RenderError("RENDER_FAILED", f"{program.name} ended with {process.returncode}: {said}")
    return out


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        import signal  # killpg is not there on other systems

        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()


def _pure() -> str | None:
    try:
        files = metadata.files(_WHEEL) or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.stem == _WHEEL and file.suffix in {"", ".exe"} and "dist-info" not in str(file):
            path = Path(os.fspath(file.locate())).resolve()
            if path.is_file():
                return str(path)
    return None


def _system() -> str | None:
    return shutil.which("dot")


def _short(text: str) -> str:
    return cut(visible(text.strip()), _STDERR)
