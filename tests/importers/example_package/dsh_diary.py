"""A further importer, as another package would bring it: diaries, where each line is ``time who: what``."""

import re
from pathlib import Path
from typing import Any

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.book import Book
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Imported
from dsh_session.importers.reading import lines

_ENTRY = re.compile(rb"(\d+) (I|they): (.*)")


class Diary:
    """Reads diaries."""

    name = "diary"
    agent = "A diary"

    def recognises(self, sample: Sample) -> bool:
        """Tell one by its first line."""
        return _ENTRY.match(sample.head) is not None

    def read(self, path: Path, *, me: str = "me", **_options: Any) -> Imported:
        """Read one; `me` is the name of the model."""
        book = Book(path.name)
        make = Assembler({"id": "diary", "createdAt": 0}, book, plugin="diary")
        for line in lines(path, book):
            entry = _ENTRY.fullmatch(line.raw)
            if entry is None:
                book.finding("BAD_LINE", f"line {line.number} is no entry; it was left out", line.number)
                continue
            time, who, what = entry.groups()
            make.at(line.number, int(time))
            if who == b"they":
                make.prompt(what.decode("utf-8", "replace"))
            else:
                make.response(what.decode("utf-8", "replace"), provenance={"provider": "paper", "model": me})
        return Imported(make.finish(), book, agent=self.agent)
