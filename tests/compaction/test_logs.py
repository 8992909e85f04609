"""Recorded sessions, compacted by every policy; the tables of the documentation are what comes of it."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from dsh_session.compaction import TokenMeter
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.invariants import check_invariants
from dsh_session.views import frames

ROOT = Path(__file__).resolve().parent.parent.parent


def script() -> Any:
    """Load scripts/compactions, which is a program and no module."""
    loader = SourceFileLoader("compactions", str(ROOT / "scripts" / "compactions"))
    spec = spec_from_loader("compactions", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


SCRIPT = script()
SESSIONS = SCRIPT.sessions()
CASES = [
    pytest.param(name, policy, share, id=f"{name}-{policy}-{share}")
    for name in SESSIONS
    for policy in SCRIPT.POLICIES
    for share in SCRIPT.SHARES
]


@pytest.mark.parametrize(("name", "policy", "share"), CASES)
def test_every_policy_but_never_makes_every_session_smaller(name: str, policy: str, share: int) -> None:
    session = SESSIONS[name]
    made = SCRIPT.POLICIES[policy](SCRIPT.window(session, share))
    compacted, outcome = SCRIPT.compact_at_the_end(session, made)
    assert outcome.tokens_before >= SCRIPT.size(session)
    if policy == "Never":
        assert not outcome
        assert compacted.surface.replace_generation == 0
        return
    assert len(outcome.results) == compacted.surface.replace_generation >= 1
    assert outcome.tokens_after < outcome.tokens_before
    # Results were shortened by those who published these logs, so that shortening them further is not enough.
    assert outcome.is_satisfied == (policy != "PruneToolResults")
    appended = [event.seq for event in compacted.events if event.surface_op == "append"]
    history = SurfaceHistory(compacted)
    assert [seq for node in compacted.surface.nodes for seq in history.originals(node)] == appended
    assert check_invariants(compacted.events, allow_result_rewrite=True) == check_invariants(session.events)
    table = frames.compactions(compacted)
    assert len(table) == len(outcome.results)
    assert not table[["empty", "not_smaller", "unbalanced", "left_open"]].any(axis=None)


@pytest.mark.parametrize(
    "policy", [policy for policy in SCRIPT.POLICIES if policy not in ("Never", "PruneToolResults")]
)
def test_a_session_that_is_compacted_while_it_is_written_never_outgrows_its_window(policy: str) -> None:
    session = SESSIONS["openhands-condensed-twice"]
    for share in SCRIPT.SHARES:
        limit = SCRIPT.window(session, share)
        made = SCRIPT.POLICIES[policy](limit)
        live = SCRIPT.compact_live(session, made)
        assert SCRIPT.replacements(live.session) >= 1
        assert live.largest < made.threshold < limit
        assert check_invariants(live.session.events) == []
        triggers = frames.compactions(live.session)["trigger"]
        assert set(triggers) == {"auto"}


def test_the_tables_of_the_documentation_are_what_the_script_makes() -> None:
    page = SCRIPT.PAGE.read_text(encoding="utf-8")
    assert sorted(found[2] for found in SCRIPT.places(page)) == sorted(SCRIPT.TABLES)
    assert page == SCRIPT.filled(page), "make them again: scripts/compactions"
    assert page.count("\n| dsh-v0/") >= 10  # the logs that carry usage
    assert page.count("\n| pi-compacted-twice") == len(SCRIPT.SHARES) + 1


def test_a_window_is_a_part_of_what_a_session_takes() -> None:
    session = SESSIONS["openhands-condensed-twice"]
    assert SCRIPT.window(session, 100) == TokenMeter().measure(session).total
