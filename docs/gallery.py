"""The pictures of gallery.md, drawn by the code that stands in it.

A block of code that an image follows ends in what the image shows. Each is run twice, with the colours of a light page
and of a dark one; what a block prints becomes a text file.
"""

import ast
import contextlib
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from dsh_session.views import charts, diagrams
from dsh_session.views.diagram import Diagram
from dsh_session.views.palette import DARK, LIGHT

PAGE = Path(__file__).resolve().parent / "gallery.md"
THEMES = {"light": LIGHT, "dark": DARK}
BLOCK = re.compile(
    r"^```\{code-block\} python\n(?P<code>.*?)^```\n"
    r"(?:\s*```\{(?:image|literalinclude)\} generated/gallery/(?P<name>\w+))?",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A block of code on the page.

    Attributes:
        code: What stands there.
        name: What its picture is called; empty where it has none.
    """

    code: str
    name: str


class Themed:
    """A module whose functions draw in given colours: the page's code does not mention them."""

    def __init__(self, module: ModuleType, **options: Any) -> None:
        """Take the module, and what each call of its functions gets besides."""
        self._module = module
        self._options = options

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Give a function of the module, with the options."""
        return partial(getattr(self._module, name), **self._options)


def blocks() -> list[Block]:
    """The blocks of the page, in their order."""
    return [Block(found["code"], found["name"] or "") for found in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def pictures() -> Iterator[tuple[str, bytes]]:
    """Run the page.

    Yields:
        The name of each file and what it holds: an SVG for a diagram, a PNG for a chart.
    """
    for theme, colours in THEMES.items():
        names: dict[str, Any] = {}
        for block in blocks():
            shown, printed = run(block.code, names)
            # The first block has imported the modules under their own names.
            names["diagrams"] = Themed(diagrams, theme=theme, engine="pure")
            names["charts"] = Themed(charts, theme=colours)
            if isinstance(shown, Diagram):
                yield f"{block.name}-{theme}.svg", shown.svg.encode()
            elif isinstance(shown, charts.Chart):
                png = io.BytesIO()
                shown.savefig(png, format="png")
                yield f"{block.name}-{theme}.png", png.getvalue()
            elif printed and theme == "light":
                yield f"{block.name}.txt", printed.encode()


def run(code: str, names: dict[str, Any]) -> tuple[Any, str]:
    """Run code as a notebook would; give the value of its last line, and what it printed."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(PAGE), "exec"), names)  # noqa: S102 -- the documentation's own code
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)  # noqa: S307 -- the same
    return value, printed.getvalue()


def draw(folder: Path) -> list[Path]:
    """Draw all of them into a folder.

    Args:
        folder: Where to; it is made if need be.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, content in pictures():
        file = folder / name
        file.write_bytes(content)
        files.append(file)
    return files
