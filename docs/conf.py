"""How the documentation is built; see scripts/docs. Nothing here reaches for the network."""

import inspect
import re
import shutil
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import dsh_session
from dsh_session.views.frames import COLUMNS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

project = "dsh_session"
author = "The dsh_session authors"
copyright = "2026, The dsh_session authors"  # noqa: A001 - Sphinx's name for it
release = version = installed("dsh-session")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "generated"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The notebooks show the outputs that are committed with them; the tests run each and compare.
nb_execution_mode = "off"

html_theme = "furo"
html_title = "dsh_session"
html_static_path = ["_static"]
html_theme_options = {"top_of_page_buttons": []}

default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Other projects' names have no page here, and looking them up would need the network.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(abc|anywidget|collections|concurrent|datetime|enum|graphviz|ipywidgets|jinja2|matplotlib|msgspec|os|pandas|pathlib|t|traitlets|typer|types|typing)\..*",
    ),
    ("py:.*", r"(Any|Callable|Iterable|Iterator|Mapping|Path|PathLike|Sequence|Self)"),
    ("py:class", r"pd\..*|[A-Z]\w*"),  # an alias that a module imports for its annotations alone has no page
    ("py:(class|obj)", r"dsh_session\..*\.([A-Z]|Record)"),  # type variables
    ("py:(class|exc|obj)", r"(bool|bytes|dict|float|frozenset|int|list|object|set|str|tuple|[A-Z][A-Za-z]*Error)"),
]


PLURAL = re.compile(r"(?:^|(?<=[\s(]))`([^`]+)`(?=\w)")


def bring_notebooks(app: Sphinx) -> None:  # noqa: ARG001 - the signature is Sphinx's
    """Copy the notebooks to where Sphinx can read them: it takes no page from outside its folder."""
    target = HERE / "notebooks"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "notebooks", target, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "*.cfg"))


def write_columns(app: Sphinx) -> None:  # noqa: ARG001 - the signature is Sphinx's
    """Write a table of the columns of each frame, from their declarations."""
    target = HERE / "generated"
    target.mkdir(exist_ok=True)
    for name, columns in COLUMNS.items():
        rows = (f"| `{column.name}` | `{column.dtype}` | {column.doc} |" for column in columns)
        table = "\n".join(("| column | dtype | what it holds |", "| --- | --- | --- |", *rows))
        (target / f"columns-{name}.md").write_text(table + "\n", encoding="utf-8")


def write_names(app: Sphinx) -> None:  # noqa: ARG001 - the signature is Sphinx's
    """Write a table of the public names, each with the first sentence of its description."""
    lines = ["| name | what it is |", "| --- | --- |"]
    for name in dsh_session.__all__:
        thing = getattr(dsh_session, name)
        if inspect.isroutine(thing) or inspect.isclass(thing):
            target, text = f"{thing.__module__}.{thing.__qualname__}", inspect.getdoc(thing) or ""
        else:
            target, text = described_constant(name)
        sentence = re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("``", "`")
        lines.append(f"| {{py:obj}}`{name} <{target}>` | {sentence} |")
    (HERE / "generated" / "names.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw_gallery(app: Sphinx) -> None:  # noqa: ARG001 - the signature is Sphinx's
    """Draw the pictures of the gallery, light and dark, by the code that stands there."""
    import gallery

    gallery.draw(HERE / "generated" / "gallery")


def described_constant(name: str) -> tuple[str, str]:
    """Find where a constant is declared, and the text beneath its declaration."""
    for module in sorted(module for module in sys.modules if module.startswith("dsh_session.core.")):
        text = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
        if text is not None:
            return f"{module}.{name}", "\n".join(text)
    msg = f"dsh_session.{name} is a constant that no module of the core describes"
    raise LookupError(msg)


def prepare_docstring(
    app: Sphinx,  # noqa: ARG001
    what: str,
    name: str,  # noqa: ARG001
    obj: Any,  # noqa: ARG001
    options: Any,  # noqa: ARG001
    lines: list[str],
) -> None:
    """Let docstrings be written for people.

    Napoleon takes the words before a colon in a variable's description for its type; a dash is safe. And
    reStructuredText wants a mark between a literal and the letter that makes it plural.
    """
    if what in {"attribute", "data", "property"} and lines:
        lines[0] = lines[0].replace(": ", " – ")
    lines[:] = [PLURAL.sub(r"``\1``\ ", line) for line in lines]


def skip_tuple_fields(
    app: Sphinx,  # noqa: ARG001
    what: str,  # noqa: ARG001
    name: str,  # noqa: ARG001
    obj: Any,
    skip: bool,  # noqa: ARG001, FBT001
    options: Any,  # noqa: ARG001
) -> bool | None:
    """The fields of a named tuple stand in its class's description; Python's own say "Alias for field number 0"."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Hook into the build."""
    app.connect("builder-inited", bring_notebooks)
    app.connect("builder-inited", write_columns)
    app.connect("builder-inited", write_names)
    app.connect("builder-inited", draw_gallery)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)
