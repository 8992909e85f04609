"""The parts of a form that are one control each: what stands in it is a JSON value, and another one can be put in."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import ipywidgets

from dsh_session.core.errors import JsonValueError
from dsh_session.widgets import parts
from dsh_session.widgets.jsontext import is_writable, parse, pretty

Changed = Callable[[], None]
"""Called after each change that a person, or code, makes to a control."""

LONGEST = 100_000
"""Texts longer than this, in characters, are no longer edited in a form."""


class FieldError(Exception):
    """A control that holds no value: where, and why.

    Attributes:
        path: The JSON path below the form's value.
        code: The rule.
        message: What is wrong.
    """

    def __init__(self, path: str, code: str, message: str) -> None:
        """Take the place and the reason."""
        super().__init__(message)
        self.path = path
        self.code = code
        self.message = message


class Field(ABC):
    """A part of a form: a widget, and the JSON value that stands in it.

    Attributes:
        path: Its JSON path below the form's value, such as ``.content[0].text``.
        widget: What is shown.
    """

    def __init__(self, path: str, widget: Any) -> None:
        """Take the path and the widget."""
        self.path = path
        self.widget = widget

    @abstractmethod
    def read(self) -> Any:
        """Give the value.

        Raises:
            FieldError: When what was typed is no value.
        """

    def fill(self, value: Any) -> bool:
        """Put another value into the controls that are there.

        Returns:
            False where it calls for other controls, or cannot be told; some may hold their part of it by then.
        """
        return bool(self.read() == value)

    def inner(self) -> "list[Field]":
        """Give the fields that this one is made of."""
        return []

    def find(self, path: str) -> "Field":
        """Give the innermost field that a path leads to or into."""
        for field in self.inner():
            if path == field.path or path.startswith((f"{field.path}.", f"{field.path}[")):
                return field.find(path)
        return self

    def mark(self, notice: Any | None) -> None:
        """Show a notice under this field's control, or take it away and close nothing."""
        kept = [child for child in self.widget.children if child is not self._notice]
        self._notice = notice
        self.widget.children = tuple(kept) if notice is None else (*kept[:1], notice, *kept[1:])
        (self.widget.remove_class if notice is None else self.widget.add_class)("dsh-bad")

    _notice: Any = None


class Leaf(Field):
    """One control."""

    def __init__(self, path: str, control: Any, changed: Changed) -> None:
        """Take the control; its `value` is the field's."""
        super().__init__(path, parts.column(control))
        self.control = control
        control.observe(lambda _: changed(), "value")

    def read(self) -> Any:
        """Give the control's value."""
        return self.control.value

    def fill(self, value: Any) -> bool:
        """Put in a value of the same kind; what this control would change calls for another one."""
        if type(value) is not type(self.control.value):
            return False
        if isinstance(value, str):
            is_one_line = not isinstance(self.control, ipywidgets.Textarea)
            if len(value) > LONGEST or not is_writable(value) or (is_one_line and "\n" in value):
                return False
        if value not in getattr(self.control, "options", (value,)):
            return False
        self.control.value = value
        return True


class NumberLeaf(Leaf):
    """A number; one without a fraction is a whole one, as JSON has it."""

    def read(self) -> float | int:
        """Give the number."""
        value: float = self.control.value
        return int(value) if value.is_integer() else value

    def fill(self, value: Any) -> bool:
        """Put in another number."""
        return type(value) in {int, float} and super().fill(float(value))


class JsonLeaf(Leaf):
    """Any JSON value, written as text."""

    def read(self) -> Any:
        """Parse what stands there."""
        try:
            return parse(self.control.value)
        except JsonValueError as error:
            raise FieldError(self.path, error.code, error.message) from None

    def fill(self, value: Any) -> bool:
        """Write another value."""
        self.control.value = pretty(value)
        return True


class Constant(Field):
    """A tag: it has one value, so there is nothing to choose."""

    def __init__(self, path: str, value: str) -> None:
        """Take the value."""
        super().__init__(path, None)
        self._value = value

    def read(self) -> str:
        """Give the value."""
        return self._value
