"""The contract, passed by both backends of the package and by one that the tests bring along."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dsh_session.persistence import JsonlPersistence, SessionPersistence, SqlitePersistence

from .contract import PersistenceContract
from .memory import MemoryPersistence, Shelf
from .talk import QuickDisk


class TestJsonl(PersistenceContract):
    """Files of JSON lines."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Any:
        return partial(JsonlPersistence, tmp_path / "root", disk=QuickDisk())

    @contextmanager
    def anew(self) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            yield partial(JsonlPersistence, folder, disk=QuickDisk())


class TestSqlite(PersistenceContract):
    """Rows of a database."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Any:
        return partial(SqlitePersistence, tmp_path / "root" / "sessions.db")

    @contextmanager
    def anew(self) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            yield partial(SqlitePersistence, Path(folder) / "sessions.db")


class TestMemory(PersistenceContract):
    """A dictionary."""

    @pytest.fixture
    def make(self) -> Any:
        return partial(MemoryPersistence, Shelf())

    @contextmanager
    def anew(self) -> Iterator[Any]:
        yield partial(MemoryPersistence, Shelf())


def test_each_of_them_speaks_the_protocol(tmp_path: Path) -> None:
    spoken: list[SessionPersistence] = [
        JsonlPersistence(tmp_path),
        SqlitePersistence(tmp_path / "sessions.db"),
        MemoryPersistence(Shelf()),
    ]
    assert [backend.list() for backend in spoken] == [[], [], []]
