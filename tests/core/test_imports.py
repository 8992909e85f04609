"""Importing the package loads the log and nothing heavy."""

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import dsh_session

HEAVY = (
    "IPython",
    "anywidget",
    "graphviz",
    "graphviz_pure",
    "ipywidgets",
    "jinja2",
    "jupyterlab",
    "matplotlib",
    "numpy",
    "pandas",
    "platformdirs",
    "rich",
    "tqdm",
    "typer",
)
SLOW = ("asyncio", "concurrent.futures", "dataclasses", "sqlite3", "subprocess")

BLOCK = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
"""


def _run(code: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_core_works_where_nothing_heavy_is_installed() -> None:
    code = f"""{BLOCK}
import json
import dsh_session
from dsh_session.compaction import events
from dsh_session import hooks
session = dsh_session.Session("s", clock=lambda: 5)
data = {{"content": [{{"type": "text", "text": "hi"}}], "source": {{"kind": "user"}}}}
session.append("user/message", data, surface_op="append")
again = dsh_session.loads(session.to_jsonl())
print(json.dumps([again.derive_messages(), list(again.surface.nodes), repr(session), repr(session.surface)]))
"""
    messages, nodes, *reprs = _run(code)
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert nodes == [0]
    assert all(isinstance(text, str) for text in reprs)


def test_an_import_loads_nothing_heavy_and_nothing_slow() -> None:
    code = """
import json
before = set(sys.modules)
import dsh_session
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    loaded = _run(code)
    assert "dsh_session.core.session" in loaded
    assert [name for name in loaded if name.partition(".")[0] in HEAVY or name in SLOW] == []
    assert [
        name for name in loaded if name.startswith("dsh_session.") and not name.startswith("dsh_session.core")
    ] == []


def test_the_core_does_not_know_the_plugins() -> None:
    code = """
import json
from dsh_session import VOCABULARY
print(json.dumps(list(VOCABULARY.event_types)))
"""
    types = _run(code)
    assert len(types) == 14
    assert not any(name.startswith(("compact/", "hook/")) for name in types)


def test_the_public_names_are_sorted_and_there() -> None:
    names = dsh_session.__all__
    assert list(names) == sorted(set(names), key=lambda name: (not name.isupper(), name[0].islower(), name))
    for name in names:
        assert getattr(dsh_session, name) is not None
        assert not name.startswith("_")
    assert set(names) <= set(dir(dsh_session))


STABLE = (
    "Replace",
    "SESSION_FORMAT_VERSION",
    "Session",
    "SessionError",
    "canonical_header",
    "derive_event_message",
    "fold_request_header",
    "fold_surface",
    "fold_todos",
    "header_equals",
    "is_json_value",
    "is_surface_eligible_type",
    "is_surface_event",
    "load",
    "loads",
    "render_context_content",
    "snapshot_json_value",
    "thaw",
)


@pytest.mark.parametrize("name", STABLE)
def test_a_stable_name_is_public(name: str) -> None:
    assert name in dsh_session.__all__


def _documented() -> Iterator[tuple[str, Any]]:
    for name in dsh_session.__all__:
        value = getattr(dsh_session, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value
        if inspect.isclass(value) and value.__module__.startswith("dsh_session"):
            for member, attribute in vars(value).items():
                if not member.startswith("_") and (
                    inspect.isfunction(attribute) or isinstance(attribute, (property, staticmethod, classmethod))
                ):
                    yield f"{name}.{member}", attribute


@pytest.mark.parametrize(
    ("name", "value"), list(_documented()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_public_name_has_a_docstring(name: str, value: Any) -> None:
    text = value.__doc__
    assert text, name
    assert text.strip()
    assert not text.startswith("dict("), name  # inherited from dict


def test_there_is_a_version() -> None:
    metadata = importlib.import_module("importlib.metadata")
    assert dsh_session.__version__ == metadata.version("dsh-session")
