"""Choosing a policy and its parameters."""

import dataclasses
from collections.abc import Callable
from typing import Any, get_type_hints

from dsh_session.compaction import policies
from dsh_session.core.errors import SessionError
from dsh_session.widgets import parts

POLICIES: dict[str, type] = {name: getattr(policies, name) for name in policies.__all__ if name != "Never"}
"""The packaged policies that may do something, by name."""

_RANGE = "the selected range"
_GIVEN = "the given policy"


class PolicyForm:
    """The parameters of one policy.

    Attributes:
        widget: The box of controls.
        policy: The policy; None where the parameters make none.
        error: Why they make none.

    Example:
        >>> from dsh_session.compaction import Basic
        >>> form = PolicyForm(Basic, {"context_window": 1000}, lambda: None)
        >>> form.policy
        Basic(context_window=1000, threshold_ratio=0.8, retain_tokens=None)
        >>> form.close()
    """

    def __init__(self, kind: type, values: dict[str, Any], changed: Callable[[], Any]) -> None:
        """Show the parameters of a policy.

        Args:
            kind: A frozen dataclass with a method `plan`.
            values: What the parameters begin with, where it is not their default.
            changed: Called after each change.
        """
        self.policy: Any = None
        self.error: SessionError | None = None
        self._kind = kind
        self._changed = changed
        self._controls: dict[str, Any] = {}
        self._included: dict[str, Any] = {}
        rows: list[Any] = []
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            value = values.get(field.name, field.default if field.default is not dataclasses.MISSING else 0)
            label = field.name.replace("_", " ")
            is_optional = type(None) in getattr(hints[field.name], "__args__", ())
            control = (
                parts.number(label, value) if hints[field.name] is float else parts.whole_number(label, value or 0)
            )
            self._controls[field.name] = control
            if is_optional:
                box = parts.flag(f"with {label}", value is not None)
                parts.show(control, value is not None)
                box.observe(lambda change, control=control: parts.show(control, change["new"]), "value")
                box.observe(self._on_change, "value")
                self._included[field.name] = box
                rows.append(box)
            control.observe(self._on_change, "value")
            rows.append(control)
        self.widget = parts.column(*rows)
        self._check()

    def _on_change(self, _change: Any) -> None:
        self._check()
        self._changed()

    def _check(self) -> None:
        try:
            self.policy, self.error = self._kind(**self.values), None
        except SessionError as error:
            self.policy, self.error = None, error

    @property
    def values(self) -> dict[str, Any]:
        """The parameters as they stand."""
        return {
            name: control.value if name not in self._included or self._included[name].value else None
            for name, control in self._controls.items()
        }

    def close(self) -> None:
        """Close the controls."""
        parts.close_tree(self.widget)


class WhatForm:
    """What is to be compacted: a range that is selected, or what a policy asks for.

    Attributes:
        widget: The box of controls.
        policy: The policy; None for a range. While the parameters make none, the last one that was right.

    Example:
        >>> from dsh_session.compaction import Basic
        >>> form = WhatForm(lambda: None, lambda: 1000)
        >>> form.give(Basic(500))
        >>> form.is_range, form.policy.context_window
        (False, 500)
        >>> form.close()
    """

    def __init__(self, changed: Callable[[], Any], tokens: Callable[[], int]) -> None:
        """Start with the selected range.

        Args:
            changed: Called after each change that a person makes.
            tokens: Gives the size of the history, which a new policy's window just holds, so that it has something
                to say.
        """
        self.policy: Any = None
        self._given: Any = None
        self._changed = changed
        self._tokens = tokens
        self._is_filling = False
        self._parameters: PolicyForm | None = None
        self._choice = parts.choice("What to compact", [_RANGE, *POLICIES], _RANGE)
        self._box = parts.column()
        self.widget = parts.column(self._choice, self._box)
        self._choice.observe(self._on_choice, "value")

    @property
    def is_range(self) -> bool:
        """Whether it is the selected range."""
        return bool(self._choice.value == _RANGE)

    @property
    def error(self) -> SessionError | None:
        """Why the parameters make no policy; None where they do."""
        return None if self._parameters is None else self._parameters.error

    def give(self, policy: Any) -> None:
        """Choose a policy that exists already, of any kind; None chooses the range."""
        name = _RANGE if policy is None else type(policy).__name__
        if policy is not None and POLICIES.get(name) is not type(policy):
            name = _GIVEN
        self.policy = policy
        if name == _GIVEN:
            self._given = policy
        self._is_filling = True
        parts.offer(self._choice, [_RANGE, *POLICIES, *([] if self._given is None else [_GIVEN])], name)
        self._is_filling = False
        self._show({} if policy is None or name == _GIVEN else vars(policy))

    def _on_choice(self, _change: Any) -> None:
        if self._is_filling:
            return
        before = {} if self._parameters is None else self._parameters.values
        self._show({"context_window": max(self._tokens(), 100), **before})
        self._on_parameters()

    def _on_parameters(self) -> None:
        if self._parameters is None:
            self.policy = None if self.is_range else self._given
        else:
            self.policy = self._parameters.policy or self.policy
        self._changed()

    def _show(self, values: dict[str, Any]) -> None:
        before, kind = self._parameters, POLICIES.get(self._choice.value)
        self._parameters = None if kind is None else PolicyForm(kind, values, self._on_parameters)
        self._box.children = () if self._parameters is None else (self._parameters.widget,)
        if before is not None:
            before.close()

    def enable(self, is_enabled: bool) -> None:  # noqa: FBT001 (the value is what it is about)
        """Let the choice be changed, or not."""
        self._choice.disabled = not is_enabled

    def close(self) -> None:
        """Close the controls."""
        parts.close_tree(self.widget)
