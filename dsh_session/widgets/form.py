"""A payload as a form, with the first thing that is wrong with it said where it stands."""

from collections.abc import Callable
from typing import Any

from dsh_session.core.shapes import Shape
from dsh_session.widgets import parts
from dsh_session.widgets.fields import field_for
from dsh_session.widgets.jsontext import pretty
from dsh_session.widgets.leaves import Field, FieldError, JsonLeaf
from dsh_session.widgets.notice import Notice

Refusal = tuple[str, str, str]
"""JSON path, code, and what is wrong."""


class Form:
    """A payload being written: as fields, or as one JSON text.

    Attributes:
        widget: The box that holds the controls.
        is_json: Whether it is one JSON text.
        refusal: The first thing that is wrong with the payload, if anything is.
    """

    def __init__(self, shape: Shape | None, value: Any, changed: Callable[[], None], *, is_json: bool = False) -> None:
        """Show a value.

        Args:
            shape: The payload's shape; None for a type that nobody described.
            value: The payload to begin with.
            changed: Told of each change; the form has been checked by then.
            is_json: Whether to show one JSON text.
        """
        self.is_json = is_json
        self.refusal: Refusal | None = None
        self._shape = shape
        self._changed = changed
        self._marked: Field | None = None
        self._notice: Notice | None = None
        self.widget = parts.column()
        self._field = self._shown(value)

    def _shown(self, value: Any) -> Field:
        if self.is_json:
            control = parts.area("payload (JSON)", pretty(value), rows=12)
            field: Field = JsonLeaf("", control, self._check)
        else:
            field = field_for("", self._shape, value, self._check)
        self.widget.children = (field.widget,)
        return field

    def read(self) -> Any:
        """Give the payload.

        Raises:
            FieldError: When some text in it is no JSON.
        """
        return self._field.read()

    def fill(self, value: Any) -> bool:
        """Put another payload into the controls that are there, so that whoever stands on one stays there.

        Returns:
            Whether that could be done; where it could not, some of them may hold the new payload already.
        """
        is_filled = self._field.fill(value)
        try:
            return is_filled and bool(self.read() == value)
        except FieldError:
            return False

    def switch(self, *, is_json: bool) -> bool:
        """Show the payload the other way.

        Returns:
            Whether that was possible: a text that does not parse stays what it is, so that nothing is lost.
        """
        if is_json == self.is_json:
            return True
        try:
            value = self.read()
        except FieldError as error:
            self.refuse(error.path, error.code, error.message)
            return False
        before = self._field.widget
        self.unmark()
        self.is_json = is_json
        self._field = self._shown(value)
        parts.close_tree(before)
        self._check()
        return True

    def check(self) -> Refusal | None:
        """Say what is wrong first, in the place where it is; nothing that is typed changes by it."""
        try:
            value = self.read()
        except FieldError as error:
            return self.refuse(error.path, error.code, error.message)
        fault = None if self._shape is None else self._shape.fault(value)
        if fault is not None:
            return self.refuse(fault[0], "PAYLOAD_INVALID", fault[1])
        self.unmark()
        return None

    def _check(self) -> None:
        self.check()
        self._changed()

    def refuse(self, path: str, code: str, message: str) -> Refusal:
        """Show a refusal at the control that is to blame."""
        self.refusal = (path, code, message)
        field = self._field.find(path)
        if field is not self._marked or self._notice is None or self._notice.comm is None:
            self.unmark()
            self.refusal = (path, code, message)
            self._marked, self._notice = field, Notice()
            field.mark(self._notice)
        self._notice.say(f"{code} at ${path}: {message}", "error")
        return self.refusal

    def unmark(self) -> None:
        """Take the refusal away."""
        self.refusal = None
        if self._marked is not None:
            self._marked.mark(None)
        if self._notice is not None:
            parts.close_tree(self._notice)
        self._marked = self._notice = None

    def close(self) -> None:
        """Close the controls."""
        self.unmark()
        parts.close_tree(self.widget)
