"""Hypothesis strategies for JSON values, payloads and surface intents."""

from typing import Any

from hypothesis import strategies as st

LARGEST_EXACT = 2**53 - 1

integers = st.integers(-LARGEST_EXACT, LARGEST_EXACT)
floats = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
texts = st.text(st.characters(exclude_categories=()), max_size=12)
"""Any code points, lone surrogates and NUL included."""

paired_texts = st.text(max_size=12)
"""Texts that encode to UTF-8."""

scalars = st.none() | st.booleans() | integers | floats | texts


def json_values(leaves: st.SearchStrategy[Any] = scalars, *, max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """JSON values: scalars, lists and objects of them."""
    keys = st.text(max_size=6)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=max_leaves,
    )


def blocks() -> st.SearchStrategy[Any]:
    """Content blocks, of known and of unknown tags."""
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
        st.fixed_dictionaries({"type": st.just("reasoning"), "text": texts}),
        st.fixed_dictionaries(
            {"type": st.just("tool-call"), "id": paired_texts, "name": paired_texts, "arguments": paired_texts}
        ),
        st.fixed_dictionaries({"type": st.just("image"), "url": texts, "size": integers}),
    )


contents = st.lists(blocks(), max_size=3)

sources = st.one_of(
    st.just({"kind": "user"}),
    st.fixed_dictionaries({"kind": st.just("plugin"), "plugin": paired_texts}),
    st.fixed_dictionaries({"kind": paired_texts.map(lambda name: f"x-{name}"), "job": integers}),
)


def surface_payloads(type_: str) -> st.SearchStrategy[Any]:
    """Valid payloads of one surface type."""
    step = {"turn": st.integers(1, 9), "step": st.integers(1, 9)}
    if type_ == "assistant/message":
        provenance = st.fixed_dictionaries(
            {"provider": st.sampled_from(["mock", "deep"]), "model": st.just("m1")},
            optional={"replayState": json_values(max_leaves=4)},
        )
        return st.fixed_dictionaries({**step, "content": contents, "provenance": provenance})
    if type_ == "tool/result":
        return st.fixed_dictionaries({**step, "callId": paired_texts, "content": contents, "isError": st.booleans()})
    if type_ == "context/message":
        return st.fixed_dictionaries(
            {"content": contents, "source": sources},
            optional={"envelope": st.sampled_from(["context", "raw"]), "meta": json_values(max_leaves=4)},
        )
    if type_ == "steering/message":
        return st.fixed_dictionaries({"turn": st.integers(1, 9), "content": contents, "source": sources})
    return st.fixed_dictionaries({"content": contents, "source": sources})
