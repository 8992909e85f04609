"""What the browser tests do on a machine that has no browser."""

from __future__ import annotations

import pytest

from tests.browser.conftest import INSTALL, missing


def test_they_are_skipped_with_the_command_that_installs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSH_SESSION_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"no Chromium was found; to run this test: {INSTALL}"):
        missing("no Chromium was found")


def test_they_fail_where_one_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSH_SESSION_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match=f"DSH_SESSION_REQUIRE_BROWSER=1 asks for one: {INSTALL}"):
        missing("no Chromium was found")
