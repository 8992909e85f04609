"""Frames as files: CSV for people and spreadsheets, Parquet for programs."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dsh_session.views.escape import GUARDED, csv_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

__all__ = ["csv_text", "to_csv", "to_parquet"]


def to_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write a frame as CSV that is safe to open in a spreadsheet, whole or not at all.

    Texts are made visible, and an apostrophe stands before what a spreadsheet would take for a formula: at the
    beginning of a text, and after a semicolon, tab or line end in it, where some spreadsheets begin a cell. `csv_text`
    takes these apostrophes away, and no others. Numbers, times and truth values are written as they are, what is
    missing as nothing. Column names are treated like texts.

    Args:
        frame: Any frame; it is not changed. Row labels are left out.
        path: Where to; the file is UTF-8 with LF line ends.

    Returns:
        The path.

    Raises:
        OSError: When the file cannot be written.

    Example:
        >>> import pandas as pd, tempfile
        >>> frame = pd.DataFrame({"text": ["=HYPERLINK(1)", "a, b"], "tokens": [-3, 4]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = to_csv(frame, f"{folder}/texts.csv")
        ...     print(path.read_text(encoding="utf-8"))
        ...     pd.read_csv(path)["text"].map(csv_text).to_list()
        text,tokens
        '=HYPERLINK(1),-3
        "a, b",4
        <BLANKLINE>
        ['=HYPERLINK(1)', 'a, b']
    """
    safe = frame.copy(deep=False)
    safe.columns = [_cell(name) for name in frame.columns]
    for at, dtype in enumerate(frame.dtypes):
        if _holds_text(dtype):
            # Assigning a column by its place copes with names that occur twice.
            safe.isetitem(at, frame.iloc[:, at].astype(object).map(_cell).to_numpy())
    return _whole(
        path,
        lambda draft: safe.to_csv(draft, index=False, encoding="utf-8", lineterminator="\n"),
    )


def csv_text(cell: str) -> str:
    """Give the text of a cell that `to_csv` wrote: for programs, which need no apostrophes.

    Args:
        cell: A cell, as a reader of CSV gives it.

    Returns:
        The text as it was made visible, without the apostrophes that keep a spreadsheet from taking it for a formula.

    Example:
        >>> csv_text("'=HYPERLINK(1)"), csv_text("a;'=1"), csv_text("'twas")
        ('=HYPERLINK(1)', 'a;=1', "'twas")
    """
    return GUARDED.sub("", cell)


def to_parquet(frame: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write a frame as Parquet, whole or not at all; reading it gives the same values and dtypes.

    Args:
        frame: Any frame; it is not changed. Row labels are left out.
        path: Where to.

    Returns:
        The path.

    Raises:
        ImportError: When pyarrow is not installed; the message says how to get it.
        OSError: When the file cannot be written.

    Example:
        >>> import pandas as pd, tempfile
        >>> from dsh_session import samples
        >>> from dsh_session.views import frames
        >>> table = frames.turns(samples.load("pi-compacted-twice"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bool((pd.read_parquet(to_parquet(table, f"{folder}/turns.parquet"))["turn"] == table["turn"]).all())
        True
    """
    # Pandas looks for it by itself, and says less when it is missing.
    if find_spec("pyarrow") is None:
        raise ImportError(
            "pyarrow, which writes Parquet, is not installed; pip install 'dsh-session[parquet]' brings it"
        )
    return _whole(path, lambda draft: frame.to_parquet(draft, engine="pyarrow", index=False))


def _holds_text(dtype: object) -> bool:
    # Categories are texts as well; everything else that a column of ours can hold is not.
    return str(dtype) in {"object", "category", "string", "str"} or str(dtype).startswith("string")


def _cell(value: object) -> object:
    return csv_cell(value) if isinstance(value, str) else value


def _whole(path: str | os.PathLike[str], write: Callable[[Path], object]) -> Path:
    """Let a file be written beside the target and put it in its place."""
    target = Path(path)
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        write(draft)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    return target
