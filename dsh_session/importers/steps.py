"""Writing steps: a model's answer, its calls, their results, and what the request was made with."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from dsh_session.importers.blocks import lawful_json, text_from
from dsh_session.importers.lawful import config_from, error_from, usage_from
from dsh_session.importers.pen import short
from dsh_session.importers.turns import Turns


class Steps(Turns):
    """Writes steps; see `Assembler`."""

    _told: dict[str, Any] | None = None
    _route: dict[str, Any]

    def header(self, config: Mapping[str, Any] | None = None, *, system: Any = None, tools: Any = None) -> None:
        """Say what requests are made with from now on; written with the next step, if it differs.

        Args:
            config: The ``LlmCallConfig``, or the part of it that changes.
            system: The system prompt; None leaves it as it is.
            tools: The tools; None leaves them as they are.
        """
        wanted = dict(self._wanted or self._header or {})
        if config is not None:
            wanted["config"] = {**wanted.get("config", {}), **config_from(config)}
        if system is not None:
            wanted["system"] = text_from(system)
        if tools is not None:
            checked = lawful_json(list(tools) if isinstance(tools, (list, tuple)) else [])
            wanted["tools"] = [tool for tool in checked if _is_tool(tool)]
            if len(wanted["tools"]) != len(checked):
                self.side("tools", tools)
        self._wanted = wanted

    def response(
        self,
        content: Any,
        *,
        provenance: Mapping[str, Any] | None = None,
        usage: Any = None,
        sources: Iterable[int] = (),
    ) -> int:
        """Write one answer of the model's as a step, which stays open for its results.

        Args:
            content: Blocks; each ``tool-call`` block gets its ``tool/call``.
            provenance: Provider, model, and what its adapter needs; ``unknown`` where absent.
            usage: Token counts.
            sources: Seqs of events that this one repeats.

        Returns:
            The seq of the ``assistant/message``.
        """
        if self._in_step:
            self.end_step()
        if not self._is_open:
            self._begin_turn({"kind": "injection", "source": {"kind": "plugin", "plugin": self.plugin}})
        self._is_fresh = False
        self._step += 1
        self._in_step = True
        turn, step = self._turn, self._step
        self._boundary("step/start")
        route = self._provenance(provenance)
        if self._wanted is not None:
            self._write_header(route)
        blocks = self._blocks(content)
        calls = [block for block in blocks if block["type"] == "tool-call"]
        if len(calls) > 1 and len({block["id"] for block in calls}) < len(calls):
            blocks = self._with_distinct_ids(blocks)
            calls = [block for block in blocks if block["type"] == "tool-call"]
        data: dict[str, Any] = {"turn": turn, "step": step, "content": blocks, "provenance": route}
        if usage is not None:
            counts = usage_from(usage)
            if counts is not None:
                data["usage"] = counts
        seq = self._message("assistant/message", data, sources)
        if calls:
            self._balance[seq] = len(calls)
            for block in calls:
                call = {
                    "turn": turn,
                    "step": step,
                    "callId": block["id"],
                    "name": block["name"],
                    "arguments": block["arguments"],
                }
                self._calls[block["id"]] = self._write("tool/call", call)
        return seq

    def result(
        self,
        call_id: Any,
        content: Any,
        *,
        is_error: bool = False,
        error: Any = None,
        meta: Any = None,
        sources: Iterable[int] = (),
    ) -> int:
        """Write a tool's answer into the open step.

        A call that is unknown there, or answered already, leaves a context message and a finding.

        Args:
            call_id: The call's id.
            content: Text, blocks, or what becomes blocks.
            is_error: Whether the tool failed.
            error: The kind of failure: ``{"name", "code"}``, or a text.
            meta: State of the tool's own.
            sources: Seqs of events that this one repeats.

        Returns:
            The seq of the ``tool/result``, or of the ``context/message``.
        """
        identity = call_id if type(call_id) is str else text_from(call_id)
        asked = self._calls.pop(identity, None)
        if asked is None:
            further = self._renamed.get(identity)
            if further:
                return self.result(
                    further.popleft(), content, is_error=is_error, error=error, meta=meta, sources=sources
                )
            return self._orphan(identity, content, meta, sources)
        data: dict[str, Any] = {
            "turn": self._turn,
            "step": self._step,
            "callId": identity,
            "content": self._blocks(content),
            "isError": bool(is_error),
        }
        if error is not None:
            data["error"] = error_from(error)
        if meta is not None:
            data["meta"] = lawful_json(meta)
        if sources:
            seq = self._message("tool/result", data, (asked, *sources))
        else:
            seq = self._message("tool/result", data, known=[asked])
        self._balance[seq] = -1
        return seq

    def end_step(self) -> int | None:
        """End the open step, if there is one; its calls without a result get one that says so."""
        if not self._in_step:
            return None
        for call in list(self._calls):
            told = f"the call {short(call)} of turn {self._turn}, step {self._step} has no result; one was added"
            self.finding("CALL_WITHOUT_RESULT", told)
            failure = {"name": "InterruptedError", "code": "interrupted"}
            self.result(call, "No result of this tool call was recorded.", is_error=True, error=failure)
        self._renamed.clear()
        self._in_step = False
        return self._boundary("step/end")

    def _orphan(self, identity: str, content: Any, meta: Any, sources: Iterable[int]) -> int:
        told = f"a result for the call {short(identity)}, which waits for none here; it was kept as context"
        self.finding("RESULT_WITHOUT_CALL", told)
        kept: dict[str, Any] = {"callId": identity}
        if meta is not None:
            kept["meta"] = meta
        self.side("resultWithoutCall", {"callId": identity})
        return self.context(content, kind="tool-result", meta=kept, sources=sources)

    def _with_distinct_ids(self, blocks: list[Any]) -> list[Any]:
        seen: set[str] = set()
        numbers: dict[str, int] = {}  # where to go on looking for a name that is free
        changed = list(blocks)
        for at, block in enumerate(blocks):
            if block["type"] != "tool-call":
                continue
            identity = block["id"]
            if identity in seen:
                number = numbers.get(identity, 2)
                while f"{identity}~{number}" in seen:
                    number += 1
                numbers[identity] = number
                identity = f"{identity}~{number}"
                changed[at] = {**block, "id": identity}
                self._renamed.setdefault(block["id"], deque()).append(identity)
                self.finding("DUPLICATE_CALL", f"the call id {short(block['id'])} comes twice in one message")
            seen.add(identity)
        return changed

    def _provenance(self, provenance: Mapping[str, Any] | None) -> dict[str, Any]:
        if provenance is not None and provenance == self._told:
            return self._route
        given = provenance or {}
        provider, model = given.get("provider"), given.get("model")
        route: dict[str, Any] = {
            "provider": provider if type(provider) is str and provider else "unknown",
            "model": model if type(model) is str and model else "unknown",
        }
        state = given.get("replayState")
        if state is not None:
            return {**route, "replayState": lawful_json(state)}
        # Most answers are of the model that answered before.
        self._told, self._route = dict(given), route
        return route

    def _write_header(self, route: Mapping[str, Any]) -> None:
        wanted = self._wanted
        if wanted is None:
            return
        self._wanted = None
        config = {"provider": route["provider"], "model": route["model"], **wanted.get("config", {})}
        header: dict[str, Any] = {"config": config}
        for key in ("system", "tools"):
            if wanted.get(key):
                header[key] = wanted[key]
        if header != self._header:
            reason = "initial" if self._header is None else "change"
            self._header = header
            self._write("request/header", {"header": header, "reason": reason})


def _is_tool(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and type(tool.get("name")) is str
        and type(tool.get("description")) is str
        and isinstance(tool.get("parameters"), dict)
    )
