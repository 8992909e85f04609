"""The things around the code keep what they promise: README, licence, changes, requirements, Binder."""

import doctest
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dsh_session import samples
from dsh_session.views import diagrams

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

REPORT = 'python3 -m venv .venv && .venv/bin/python -m pip install ".[lab]" && .venv/bin/dsh-session report'
TESTS = 'python3 -m venv .venv && .venv/bin/python -m pip install ".[test]" && .venv/bin/python -m pytest'


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```$", README, re.DOTALL | re.MULTILINE)


def needed(*extras: str) -> list[Requirement]:
    """What these extras of the project ask for, those extras included that they name."""
    asked = [Requirement(text) for text in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, EXTRAS[extra]):
            if requirement.name == PROJECT["name"]:
                asked += needed(*requirement.extras)
            else:
                asked.append(requirement)
    return asked


def test_the_readme_opens_with_a_picture_and_exactly_two_commands() -> None:
    assert blocks("sh") == [REPORT, TESTS]
    first_screen = README.splitlines()[:25]
    assert [line for line in first_screen if line.startswith("python3 ")] == [REPORT, TESTS]
    picture = re.search(r"!\[(.+)\]\((.+)\)", "\n".join(first_screen))
    assert picture is not None
    assert (ROOT / picture[2]).is_file()


def test_the_picture_shows_what_the_package_draws() -> None:
    drawn = diagrams.surface(samples.load("pi-compacted-twice"), engine="pure")
    kept = (ROOT / "docs" / "_static" / "surface.svg").read_text(encoding="utf-8")
    assert kept.strip() == drawn.svg.strip(), "draw it again: scripts/picture"


def test_the_same_two_commands_stand_there_for_windows() -> None:
    (windows,) = blocks("bat")
    again = [line.replace("py -m", "python3 -m").replace("\\Scripts\\", "/bin/") for line in windows.splitlines()]
    assert again == [REPORT, TESTS]


def test_the_examples_of_the_readme_run() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert result.attempted >= 8
    assert result.failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_what_a_page_links_to_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [*re.findall(r"\]\(([^)#:]+)\)", text), *re.findall(r"\{figure\} (\S+)", text)]
    assert targets
    for target in targets:
        assert ((ROOT / page).parent / target).is_file(), target


@pytest.mark.parametrize("name", ["check", "test", "bench", "docs"])
def test_the_scripts_that_the_readme_names_can_be_run(name: str) -> None:
    assert f"`scripts/{name}`" in README
    script = (ROOT / "scripts" / name).read_text(encoding="utf-8")
    assert script.startswith("#!/usr/bin/env bash\n")
    assert "${PYTHON:-python}" in script


def test_the_version_has_its_entry_among_the_changes() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", changes, re.MULTILINE)
    assert metadata.version(PROJECT["name"]) == PROJECT["version"]


def test_the_installed_command_is_the_declared_one() -> None:
    (command,) = metadata.entry_points(group="console_scripts", name="dsh-session")
    assert command.value == PROJECT["scripts"]["dsh-session"]
    assert callable(command.load())


@pytest.mark.parametrize("extra", ["lab", "test"])
def test_every_requirement_is_satisfied_here(extra: str) -> None:
    for requirement in needed(extra):
        if requirement.marker is None or requirement.marker.evaluate():
            found = metadata.version(requirement.name)
            assert requirement.specifier.contains(found, prereleases=True), f"{requirement} is {found}"


def test_every_requirement_has_a_bound() -> None:
    for requirement in [*needed("test"), *needed("docs")]:
        assert requirement.specifier, f"{requirement.name} may be of any age"


def test_the_test_extra_brings_all_that_the_readme_promises() -> None:
    named = {requirement.name for requirement in needed("test")}
    assert {requirement.name for requirement in needed("lab")} < named


def test_binder_installs_this_project_with_the_packages_of_the_lab() -> None:
    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").split()
    assert lines == [".[lab]"]
    assert "lab" in EXTRAS


def test_binder_runs_a_python_that_the_project_supports() -> None:
    runtime = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    name, _, version = runtime.partition("-")
    assert name == "python"
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_binder_has_no_second_description_that_would_win_over_the_first() -> None:
    assert {path.name for path in (ROOT / "binder").iterdir()} == {"requirements.txt", "runtime.txt"}
