"""Version 0 is told from the later revisions that call themselves version 0 too."""

import json
from pathlib import Path

import pytest

from dsh_session import samples
from dsh_session.core.revision import is_version_0, looks_later

LOGS = Path(__file__).parent.parent / "data" / "logs"
HEADER = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'


@pytest.mark.parametrize("path", sorted((LOGS / "dsh-v0").glob("*.jsonl")), ids=lambda path: path.name)
def test_recorded_logs_of_version_0_are_version_0(path: Path) -> None:
    assert is_version_0(path.read_bytes())


@pytest.mark.parametrize("path", sorted((LOGS / "dsh-2026-08").glob("*.jsonl")), ids=lambda path: path.name)
def test_recorded_logs_of_later_revisions_are_not(path: Path) -> None:
    data = path.read_bytes()
    assert not is_version_0(data)
    # Nor when their header does not say so.
    assert looks_later(data.partition(b"\n")[2])


def test_the_sample_and_an_empty_session_are_version_0() -> None:
    assert is_version_0(samples.path("pi-compacted-twice").read_bytes()[: 1 << 16])
    assert is_version_0(HEADER)
    assert is_version_0(b"\xef\xbb\xbf" + HEADER)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        HEADER[:-1],
        b"[]\n",
        b'{"type":"session","version":1,"id":"s","createdAt":5}\n',
        b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z"}\n',
        b'{"type":"session","version":0,"id":"s","createdAt":5,"delegationDepth":0}\n',
    ],
)
def test_what_has_no_version_0_header_is_not(head: bytes) -> None:
    assert not is_version_0(head)


def test_what_somebody_said_is_not_mistaken_for_an_event() -> None:
    said = json.dumps('{"type":"compaction/start"} and {"message":{"role":"user"}} and "ignorable":true')
    line = b'{"type":"user/message","seq":0,"time":1,"data":{"content":[{"type":"text","text":%b}]}}\n'
    assert is_version_0(HEADER + line % said.encode())
