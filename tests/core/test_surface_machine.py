"""The surface against a naive list, over thousands of random appends and replacements, valid and invalid.

The model keeps plain lists and projects every message anew. Derived state is read only sometimes:
a stale cache hides where everything is read after every step.
"""

import math
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dsh_session import Replace, Session, SessionError, derive_event_message, fold_surface, loads, thaw
from tests.strategies import json_values, surface_payloads

from .payloads import LOG_ONLY_TYPES, SURFACE_TYPES, Ticks, payload

Wire = dict[str, Any]


def project(event: Wire) -> Wire | None:
    """The message that an event becomes, by the table of the specification and nothing else."""
    data, type_ = event["data"], event["type"]
    content = data["content"]
    if type_ == "assistant/message":
        return {"role": "assistant", "content": content, "provenance": data["provenance"]} if content else None
    if type_ == "tool/result":
        block = {"type": "tool-result", "toolCallId": data["callId"], "content": content, "isError": data["isError"]}
        return {"role": "user", "content": [block]}
    if type_ == "user/message" or (type_ == "context/message" and data.get("envelope") == "raw"):
        return {"role": "user", "content": content}
    tag = type_.partition("/")[0]
    opening = derive_event_message({"type": type_, "data": {**data, "content": []}})
    assert opening is not None  # its text is checked character by character elsewhere
    first = thaw(opening["content"][0])
    assert first["text"].startswith(f"<{tag} source=")
    return {"role": "user", "content": [first, *content, {"type": "text", "text": f"</{tag}>"}]}


class SurfaceMachine(RuleBasedStateMachine):
    """A session beside its model."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Ticks()
        self.session = Session("machine", clock=self.clock)
        self.wire: list[Wire] = []
        self.nodes: list[int] = []
        self.replacements: list[Wire] = []
        self.header: Wire | None = None
        self.old_views: list[tuple[str, Any, list[Any]]] = []

    # ------------------------------------------------------------------------------------------- what is appended

    @initialize(length=st.integers(0, 6))
    def start(self, length: int) -> None:
        for _ in range(length):
            self._append("user/message", payload("user/message"), surface_op="append")

    @rule(type_=st.sampled_from([*LOG_ONLY_TYPES, "plugin/own"]), value=json_values(max_leaves=3))
    def append_a_log_only_event(self, type_: str, value: Any) -> None:
        data = value if type_ == "plugin/own" else payload(type_)
        if type_ == "request/header":
            data["header"]["system"] = str(len(self.wire))
            self.header = data["header"]
        self._append(type_, data)

    @rule(data=st.data(), type_=st.sampled_from(SURFACE_TYPES), cite=st.booleans())
    def append_a_message(self, data: st.DataObject, type_: str, cite: bool) -> None:
        body = data.draw(surface_payloads(type_))
        sources = data.draw(self._some_seqs()) if cite and self.wire else None
        self._append(type_, body, surface_op="append", source_event_seqs=sources or None)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data(), type_=st.sampled_from(SURFACE_TYPES), more=st.booleans(), whole=st.booleans())
    def replace_a_range(self, data: st.DataObject, type_: str, more: bool, whole: bool) -> None:
        low = 0 if whole else data.draw(st.integers(0, len(self.nodes) - 1))
        high = len(self.nodes) - 1 if whole else data.draw(st.integers(low, min(low + 3, len(self.nodes) - 1)))
        body = data.draw(surface_payloads(type_))
        cited = set(self.nodes[low : high + 1]) | (set(data.draw(self._some_seqs())) if more else set())
        self.replace(low, high, type_, body, sources=data.draw(st.permutations(sorted(cited))), as_object=more)

    def replace(
        self, low: int, high: int, type_: str, body: Any, *, sources: list[int] | None = None, as_object: bool = True
    ) -> None:
        """Replace the nodes at two positions and all between them, in both."""
        shadowed = self.nodes[low : high + 1]
        start, end = shadowed[0], shadowed[-1]
        op = Replace(start, end) if as_object else {"op": "replace", "start": start, "end": end}
        seq = self._append(type_, body, surface_op=op, source_event_seqs=shadowed if sources is None else sources)
        self.nodes[low : high + 1] = [seq]
        self.replacements.append({"seq": seq, "start": shadowed[0], "end": shadowed[-1], "shadowed": shadowed})

    def _some_seqs(self) -> st.SearchStrategy[list[int]]:
        return st.lists(st.integers(0, len(self.wire) - 1), max_size=4, unique=True)

    def _append(self, type_: str, data: Any, **options: Any) -> int:
        seq = len(self.wire)
        event = self.session.append(type_, data, **options)
        expected: Wire = {"type": type_, "seq": seq, "time": self.clock.now, "data": data}
        if options.get("source_event_seqs") is not None:
            expected["sourceEventSeqs"] = list(options["source_event_seqs"])
        if "surface_op" in options:
            op = options["surface_op"]
            expected["surfaceOp"] = op if op == "append" else dict(op)
            if op == "append":
                self.nodes.append(seq)
        self.wire.append(expected)
        assert event.seq == seq
        return seq

    # -------------------------------------------------------------------------------------------- what is refused

    @rule(data=st.data(), fault=st.integers(0, 13))
    def append_something_invalid(self, data: st.DataObject, fault: int) -> None:
        good = payload("user/message")
        gone = [seq for seq in range(len(self.wire) + 3) if seq not in self.nodes]
        lost = data.draw(st.sampled_from(gone))
        later = len(self.wire) + data.draw(st.integers(0, 3))
        first = self.nodes[0] if self.nodes else 0
        attempts: list[tuple[str, str, Any, Wire]] = [
            ("NOT_JSON", "user/message", {**good, "x": math.nan}, {"surface_op": "append"}),
            ("SURFACE_MARKER_REQUIRED", "tool/result", payload("tool/result"), {}),
            ("SURFACE_NOT_ELIGIBLE", "todo/write", payload("todo/write"), {"surface_op": "append"}),
            ("BAD_SURFACE_OP", "user/message", good, {"surface_op": "prepend"}),
            ("BAD_REPLACE_SHAPE", "user/message", good, {"surface_op": {"op": "replace", "start": -1, "end": 0}}),
            ("RANGE_NOT_FOUND", "user/message", good, {"surface_op": Replace(lost, lost), "source_event_seqs": [0]}),
            ("PROVENANCE_NOT_EARLIER", "user/message", good, {"surface_op": "append", "source_event_seqs": [later]}),
            ("PROVENANCE_DUPLICATE", "user/message", good, {"surface_op": "append", "source_event_seqs": [0, 0]}),
            ("PROVENANCE_EMPTY", "user/message", good, {"surface_op": "append", "source_event_seqs": []}),
            ("PAYLOAD_INVALID", "user/message", {"content": 1}, {"surface_op": "append"}),
            ("LEGACY_HEADER", "request/header-delta", {}, {}),
            ("NOT_JSON_METADATA", "user/message", good, {"surface_op": ("append",)}),
        ]
        if self.nodes:
            attempts.append(
                ("PROVENANCE_MISSING", "user/message", good, {"surface_op": Replace(first, self.nodes[-1])})
            )
        if len(self.nodes) > 1:
            at = data.draw(st.integers(1, len(self.nodes) - 1))
            reversed_range = Replace(self.nodes[at], self.nodes[data.draw(st.integers(0, at - 1))])
            attempts.append(("RANGE_REVERSED", "user/message", good, {"surface_op": reversed_range}))
        code, type_, body, options = attempts[fault % len(attempts)]
        with pytest.raises(SessionError) as caught:
            self.session.append(type_, body, **options)
        assert caught.value.code == code

    # ---------------------------------------------------------------------------------- what is read, now and then

    @rule()
    def read_the_messages(self) -> None:
        expected = self._messages()
        assert self.session.derive_messages() == expected
        assert list(self.session.messages) == expected

    @rule()
    def read_the_nodes(self) -> None:
        surface = self.session.surface
        assert list(surface.nodes) == self.nodes
        assert len(surface) == len(self.nodes)

    @rule()
    def walk_the_links(self) -> None:
        links = [(node.prev, node.seq, node.next) for node in self.session.surface]
        padded = [None, *self.nodes, None]
        assert links == list(zip(padded, self.nodes, padded[2:], strict=False))

    @rule(data=st.data())
    def look_up_nodes(self, data: st.DataObject) -> None:
        surface = self.session.surface
        seq = data.draw(st.integers(0, len(self.wire) + 1))
        assert (seq in surface) == (seq in self.nodes)
        if seq in self.nodes:
            at = self.nodes.index(seq)
            node = surface.node(seq)
            assert node.prev == (self.nodes[at - 1] if at else None)
            assert node.next == (self.nodes[at + 1] if at + 1 < len(self.nodes) else None)
        else:
            with pytest.raises(SessionError) as caught:
                surface.node(seq)
            assert caught.value.code == "RANGE_NOT_FOUND"

    @rule()
    def read_the_ends(self) -> None:
        surface = self.session.surface
        assert surface.head == (self.nodes[0] if self.nodes else None)
        assert surface.tail == (self.nodes[-1] if self.nodes else None)
        assert surface.replace_generation == len(self.replacements)

    @rule()
    def read_the_request_header(self) -> None:
        assert self.session.request_header() == self.header

    @rule(which=st.sampled_from(["events", "nodes", "messages"]))
    def keep_a_view(self, which: str) -> None:
        view: Any = {
            "events": lambda: self.session.events,
            "nodes": lambda: self.session.surface.nodes,
            "messages": lambda: self.session.messages,
        }[which]()
        self.old_views.append((which, view, list(view)))

    @rule()
    def seed_and_fold(self) -> None:
        self._assert_ways_agree()

    def _messages(self) -> list[Wire]:
        projected = (project(self.wire[seq]) for seq in self.nodes)
        return [message for message in projected if message is not None]

    def _assert_ways_agree(self) -> None:
        events = self.session.events
        for log in (events, [event.to_dict() for event in events]):
            fold = fold_surface(log)
            assert list(fold.nodes) == self.nodes
            assert [
                {"seq": r.seq, "start": r.start, "end": r.end, "shadowed": list(r.shadowed_seqs)}
                for r in fold.replacements
            ] == self.replacements
            self._assert_same(Session("again", seed=log, clock=lambda: 0))
        self._assert_same(loads(self.session.to_jsonl()))

    def _assert_same(self, other: Session) -> None:
        assert list(other.surface.nodes) == self.nodes
        assert other.surface.replace_generation == len(self.replacements)
        assert other.derive_messages() == self.session.derive_messages()
        assert other.request_header() == self.session.request_header()
        assert [event.to_dict() for event in other.events] == [event.to_dict() for event in self.session.events]

    @invariant()
    def the_number_of_events_is_right(self) -> None:
        assert self.session.seq == len(self.wire)

    def teardown(self) -> None:
        self.read_the_messages()
        self.read_the_nodes()
        self.walk_the_links()
        self.read_the_ends()
        self.read_the_request_header()
        self._assert_ways_agree()
        for event, expected in zip(self.session.events, self.wire, strict=True):
            assert event.to_dict() == expected
        for _, view, items in self.old_views:
            assert len(view) == len(items)
            assert list(view) == items


@pytest.mark.parametrize("seed", range(4))
def test_a_long_random_history_agrees_with_a_list_however_rarely_it_is_read(seed: int) -> None:
    """Replacements between two readings in numbers that no shortcut is made for."""
    random = Random(seed)
    machine = SurfaceMachine()
    machine.start(3)
    until = 0
    for step in range(1_200):
        kind = random.random()
        if kind < (0.45, 0.3, 0.15, 0.6)[seed] or not machine.nodes:
            empty = kind < 0.05
            type_ = "assistant/message" if empty else random.choice(SURFACE_TYPES)
            data = {**payload(type_, str(step)), **({"content": []} if empty else {})}
            machine._append(type_, data, surface_op="append")
        elif kind < 0.95:
            low = random.randrange(len(machine.nodes))
            high = min(low + random.choice((0, 0, 1, 2, 5)), len(machine.nodes) - 1)
            machine.replace(low, high, "user/message", payload("user/message", str(step)))
        else:
            machine._append("todo/write", payload("todo/write"))
        if step == until:
            reads = (machine.read_the_messages, machine.read_the_nodes, machine.walk_the_links, machine.seed_and_fold)
            random.choice(reads)()
            machine.keep_a_view(random.choice(("events", "nodes", "messages")))
            until = step + random.choice((1, 3, 40, 150, 400))
    machine.teardown()


SurfaceMachine.TestCase.settings = settings(max_examples=70, stateful_step_count=50)
TestSurfaceMachine = SurfaceMachine.TestCase
