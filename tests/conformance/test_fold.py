"""The whole-log surface fold of events as they are."""

import pytest

from dsh_session import SessionError, fold_surface

from .vectors import Record, assert_equal, records


@pytest.mark.parametrize("record", records("fold"))
def test_a_fold_is_the_recorded_one(record: Record) -> None:
    result = record["result"]
    try:
        fold = fold_surface(record["events"])
    except SessionError as error:
        assert not result["ok"], f"the log was folded, ours says {error.code}: {error}"
        assert error.code == result["error"]["code"]
    else:
        assert result["ok"], f"the log was refused with {result['error']}"
        replacements = [
            {"seq": r.seq, "start": r.start, "end": r.end, "shadowedSeqs": list(r.shadowed_seqs)}
            for r in fold.replacements
        ]
        assert_equal(list(fold.nodes), result["nodes"])
        assert_equal(replacements, result["replacements"])
