"""Small logs, written by the tests that read them."""

import json
from pathlib import Path
from typing import Any


def write_lines(path: Path, *values: Any) -> Path:
    """Write values as lines; a text is written as it stands."""
    texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
