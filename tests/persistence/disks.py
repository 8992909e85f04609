"""Disks that fail, and one that forgets."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dsh_session.persistence.disk import Disk

from .talk import QuickDisk

CALLS = (
    "create",
    "open",
    "write",
    "truncate",
    "sync",
    "link",
    "rename",
    "unlink",
    "make_folder",
    "sync_folder",
    "close",
)


class PowerCut(BaseException):
    """The machine is off: nothing catches this on the way out."""


class WatchedDisk(QuickDisk):
    """Counts what is asked of the disk, and lets a test do something at a call.

    Attributes:
        log: The names of the calls so far.
        before: Called with the name and the number of each call before it is made.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.before: Callable[[str, int], None] = lambda _name, _number: None

    def _note(self, name: str) -> None:
        number = len(self.log)
        self.log.append(name)
        self.before(name, number)


def _watched(name: str) -> Any:
    def call(self: WatchedDisk, *args: Any) -> Any:
        self._note(name)
        return getattr(super(WatchedDisk, self), name)(*args)

    return call


for _name in CALLS:
    setattr(WatchedDisk, _name, _watched(_name))


class FaultyDisk(WatchedDisk):
    """Fails at chosen calls. A failing write has written half of what it was given.

    Attributes:
        faults: By the number of a call, the error code that it fails with.
    """

    def __init__(self, faults: dict[int, int]) -> None:
        super().__init__()
        self.faults = faults
        self.failed: list[str] = []

    def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
        number = len(self.log)
        self._note("write")
        if number in self.faults:
            self.failed.append("write")
            if len(data) > 1:
                Disk.write(self, file, data[: len(data) // 2], offset)
            raise self._error(number)
        return Disk.write(self, file, data, offset)

    def _note(self, name: str) -> None:
        number = len(self.log)
        super()._note(name)
        # Closing and removing a draft are courtesies; what they say is not listened to.
        if number in self.faults and name not in {"write", "close"}:
            self.failed.append(name)
            raise self._error(number)

    def _error(self, number: int) -> OSError:
        code = self.faults[number]
        return OSError(code, os.strerror(code))


class ForgetfulDisk(FaultyDisk):
    """Knows which bytes and which names were made durable, and gives the disk as it is after a power cut."""

    def __init__(self, base: Path, faults: dict[int, int] | None = None) -> None:
        super().__init__(faults or {})
        self._base = base
        self._files: dict[int, bytes] = {}
        self._folders: dict[Path, dict[str, int | None]] = {}

    def create(self, path: Path) -> int:
        file = super().create(path)
        self._files.pop(os.fstat(file).st_ino, None)  # the number may have been another file's
        return file

    def sync(self, file: int) -> None:
        super().sync(file)
        status = os.fstat(file)
        self._files[status.st_ino] = os.pread(file, status.st_size, 0)

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        self._folders[path] = _names(path)

    def after_power_cut(self, target: Path, chance: random.Random | None = None) -> None:
        """Write what is left into a folder: what was synced and nothing else, or, by chance, some of the rest."""
        self._restore(self._base, target, chance)

    def _restore(self, path: Path, target: Path, chance: random.Random | None) -> None:
        target.mkdir()
        names = dict(self._folders.get(path, {}))
        if chance is not None and path.is_dir():
            names |= {name: node for name, node in _names(path).items() if chance.random() < 0.5}
        for name, node in names.items():
            if node is None:
                self._restore(path / name, target / name, chance)
            else:
                (target / name).write_bytes(self._left(path / name, node, chance))

    def _left(self, path: Path, node: int, chance: random.Random | None) -> bytes:
        kept = self._files.get(node, b"")
        if chance is not None and path.exists() and path.stat().st_ino == node:
            there = path.read_bytes()
            if there.startswith(kept):
                return there[: chance.randint(len(kept), len(there))]
        return kept


def _names(path: Path) -> dict[str, int | None]:
    """The names in a folder: a file's number, None for a folder."""
    return {entry.name: None if entry.is_dir() else entry.lstat().st_ino for entry in path.iterdir()}
