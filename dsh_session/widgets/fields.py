"""A form for a shape: one labelled control for each scalar, lists that grow, sums with a choice.

`field_for` makes the field that a shape and a value call for. A value that the shape does not fit, or that no control
of a browser would give back unchanged, gets a field of JSON text, so that a form never loses what it was given.
"""

from functools import partial
from typing import Any

from dsh_session.core.shapes import Anything, Array, Choice, Object, Record, Scalar, Shape, Sum
from dsh_session.widgets import parts
from dsh_session.widgets.jsontext import is_writable, pretty
from dsh_session.widgets.leaves import LONGEST, Changed, Constant, Field, FieldError, JsonLeaf, Leaf, NumberLeaf

_LONG = frozenset({"arguments", "argumentsDelta", "content", "message", "reason", "system", "text", "description"})
"""Keys whose texts may have several lines."""
_MOST, _DEEPEST = 12, 4
"""Lists of more items, and lists deeper in each other, are written as JSON: a form of them would be no help."""


class RecordField(Field):
    """An object with named fields, some of which may be left out."""

    def __init__(self, path: str, shape: Record, value: dict[str, Any], changed: Changed) -> None:
        """Make a field for each key of the shape, and one for all the others."""
        self._fields: dict[str, Field] = {}
        self._included: dict[str, Any] = {}
        rows: list[Any] = []
        for key, inner in shape.fields.items():
            below = f"{path}.{key}"
            is_there = key in value
            if isinstance(inner, Choice) and len(inner.values) == 1 and (not is_there or value[key] == inner.values[0]):
                if key in shape.required or is_there:
                    self._fields[key] = Constant(below, inner.values[0])
                continue
            field = field_for(below, inner, value[key] if is_there else blank(inner), changed)
            self._fields[key] = field
            if key in shape.required:
                rows.append(field.widget)
            else:
                rows += self._optional(key, field, is_there, changed)
        extras = {key: value[key] for key in value if key not in shape.fields}
        self._extras = JsonLeaf(path, parts.area(f"{name_of_path(path)}: other keys", pretty(extras)), changed)
        if extras:
            rows.append(self._extras.widget)
        else:
            parts.close_tree(self._extras.widget)
        super().__init__(path, parts.column(*rows))

    def _optional(self, key: str, field: Field, is_there: bool, changed: Changed) -> list[Any]:  # noqa: FBT001
        box = parts.flag(f"with {name_of_path(field.path)}", is_there)
        parts.show(field.widget, is_there)

        def switched(change: dict[str, Any]) -> None:
            parts.show(field.widget, change["new"])
            changed()

        box.observe(switched, "value")
        self._included[key] = box
        return [box, field.widget]

    def read(self) -> dict[str, Any]:
        """Give the object; keys that were left out are not in it."""
        found = {
            key: field.read()
            for key, field in self._fields.items()
            if key not in self._included or self._included[key].value
        }
        extras = self._extras.read()
        if not isinstance(extras, dict):
            raise FieldError(self.path, "NOT_JSON", "the other keys must be an object")
        return {**found, **extras}

    def fill(self, value: Any) -> bool:
        """Put another object in; one with other keys calls for other controls."""
        if not isinstance(value, dict) or value.keys() != self.read().keys():
            return False
        extras = {key: value[key] for key in value if key not in self._fields}
        return self._extras.read() == extras and all(
            field.fill(value[key]) for key, field in self._fields.items() if key in value
        )

    def inner(self) -> list[Field]:
        """Give the fields that have a control."""
        return [field for field in self._fields.values() if field.widget is not None]


class ListField(Field):
    """Items of one shape; each can be taken away, and one added."""

    def __init__(self, path: str, shape: Array, value: list[Any], changed: Changed) -> None:
        """Make a field for each item."""
        self._shape = shape.item
        self._changed = changed
        self._items: list[Field] = []
        self._box = parts.column()
        name = name_of_path(path)
        # The first child is what a notice stands behind.
        super().__init__(path, parts.column(self._box, parts.button(f"Add to {name}", self._add)))
        self._rebuild(value)

    def _rebuild(self, values: list[Any]) -> None:
        before = list(self._box.children)
        self._items = []
        self._box.children = tuple(self._item(at, value) for at, value in enumerate(values))
        for widget in before:
            parts.close_tree(widget)

    def _item(self, at: int, value: Any) -> Any:
        field = field_for(f"{self.path}[{at}]", self._shape, value, self._changed)
        self._items.append(field)
        remove = parts.button(f"Remove {name_of_path(field.path)}", partial(self._remove, at))
        box = parts.column(field.widget, remove)
        box.add_class("dsh-fields")
        return box

    def _add(self) -> None:
        # The others stay as they are, half-written JSON included.
        self._box.children = (*self._box.children, self._item(len(self._items), blank(self._shape)))
        self._changed()

    def _remove(self, at: int) -> None:
        kept = [item for place, item in enumerate(self._items) if place != at]
        try:
            values = [item.read() for item in kept]
        except FieldError:
            self._changed()  # says what is wrong with the one that has no value yet
            return
        self._rebuild(values)
        self._changed()

    def read(self) -> list[Any]:
        """Give the items."""
        return [item.read() for item in self._items]

    def fill(self, value: Any) -> bool:
        """Put as many other items in."""
        is_as_long = isinstance(value, list) and len(value) == len(self._items)
        return is_as_long and all(item.fill(each) for item, each in zip(self._items, value, strict=True))

    def inner(self) -> list[Field]:
        """Give the items' fields."""
        return list(self._items)


class SumField(Field):
    """One of several records, chosen by its tag."""

    def __init__(self, path: str, shape: Sum, value: dict[str, Any], changed: Changed) -> None:
        """Offer the members, and show the fields of the one that the value is."""
        self._shape = shape
        self._changed = changed
        self._kept: dict[str, Any] = {}
        tag = value[shape.tag]
        self._choice = parts.choice(f"{name_of_path(path)} {shape.tag}", list(shape.members), tag)
        self._body = field_for(path, shape.members[tag], value, changed)
        super().__init__(path, parts.column(self._choice, self._body.widget))
        self._tag = tag
        self._choice.observe(self._chosen, "value")

    def _chosen(self, change: dict[str, Any]) -> None:
        try:
            self._kept[self._tag] = self._body.read()
        except FieldError:
            self._choice.value = self._tag  # what was typed is no value yet, and it must not be lost
            return
        if change["new"] == self._tag:
            return
        before = self._body.widget
        self._tag = tag = change["new"]
        # What was said under another tag is taken over where the keys are the same.
        blankly = blank_member(self._shape, tag)
        said = {key: value for kept in self._kept.values() for key, value in kept.items() if key != self._shape.tag}
        shape = self._shape.members[tag]
        fitting = (
            {key: said[key] for key in blankly if key in said and shape.fields[key].fault(said[key]) is None}
            if isinstance(shape, Record)
            else {}
        )
        self._body = field_for(self.path, shape, self._kept.get(tag, {**blankly, **fitting}), self._changed)
        self.widget.children = (self._choice, self._body.widget)
        parts.close_tree(before)
        self._changed()

    def read(self) -> Any:
        """Give the chosen member."""
        found = self._body.read()
        return {self._shape.tag: self._choice.value, **found} if isinstance(found, dict) else found

    def fill(self, value: Any) -> bool:
        """Put in another member of the same tag."""
        return isinstance(value, dict) and value.get(self._shape.tag) == self._tag and self._fill_body(value)

    def _fill_body(self, value: dict[str, Any]) -> bool:
        body = self._body.read()
        has_tag = isinstance(body, dict) and self._shape.tag in body
        return self._body.fill(value if has_tag else {k: v for k, v in value.items() if k != self._shape.tag})

    def inner(self) -> list[Field]:
        """Give the member's fields."""
        return self._body.inner()


def blank(shape: Shape) -> Any:
    """Give the emptiest value of a shape.

    Example:
        >>> from dsh_session.core.vocabulary import VOCABULARY
        >>> blank(VOCABULARY.shape("todo/write")), blank(VOCABULARY.shape("step/start"))
        ({'todos': []}, {'turn': 0, 'step': 0})
    """
    if isinstance(shape, Scalar):
        return shape.kind()
    if isinstance(shape, Choice):
        return shape.values[0]
    if isinstance(shape, Array):
        return []
    if isinstance(shape, Record):
        return {key: blank(inner) for key, inner in shape.fields.items() if key in shape.required}
    if isinstance(shape, Sum):
        return blank_member(shape, next(iter(shape.members)))
    return {} if isinstance(shape, Object) else None


def blank_member(shape: Sum, tag: str) -> dict[str, Any]:
    """Give the emptiest member of a sum that has this tag."""
    found = blank(shape.members[tag])
    return {shape.tag: tag, **(found if isinstance(found, dict) else {})}


def field_for(path: str, shape: Shape | None, value: Any, changed: Changed) -> Field:
    """Make the field for a value.

    Args:
        path: Where the value stands, below the form's value; its last name is the control's label.
        shape: What it should look like; None for anything.
        value: What it is now.
        changed: Told of each change.

    Returns:
        A field that gives back the value until somebody changes it.
    """
    name = name_of_path(path)
    if shape is None or not _fits(shape, value) or path.count("[") > _DEEPEST:
        return JsonLeaf(path, parts.area(f"{name} (JSON)", pretty(value), rows=4), changed)
    if isinstance(shape, Record):
        return RecordField(path, shape, value, changed)
    if isinstance(shape, Array):
        return ListField(path, shape, value, changed)
    if isinstance(shape, Sum):
        return SumField(path, shape, value, changed)
    if isinstance(shape, Choice):
        return Leaf(path, parts.choice(name, list(shape.values), value), changed)
    if isinstance(shape, Scalar):
        if shape.kind is float or type(value) is float:
            return NumberLeaf(path, parts.number(name, float(value)), changed)
        control = _scalar(name, path, value)
        if control is not None:
            return Leaf(path, control, changed)
    return JsonLeaf(path, parts.area(f"{name} (JSON)", pretty(value), rows=4), changed)


def _fits(shape: Shape, value: Any) -> bool:
    """Tell whether a shape's own field can hold a value; what is wrong deeper inside is left to the fields there."""
    if isinstance(shape, (Anything, Object)):
        return False
    if isinstance(shape, Record):
        return isinstance(value, dict) and shape.required <= value.keys()
    if isinstance(shape, Array):
        return isinstance(value, list) and len(value) <= _MOST
    if isinstance(shape, Sum):
        tag = value.get(shape.tag) if isinstance(value, dict) else None
        return isinstance(tag, str) and tag in shape.members
    return shape.fault(value) is None


def _scalar(name: str, path: str, value: Any) -> Any:
    """Give the control for a scalar; None where a browser's would change it."""
    kind = type(value)
    if kind is bool:
        return parts.flag(name, value)
    if kind is int:
        return parts.whole_number(name, value)
    if len(value) > LONGEST or not is_writable(value):
        return None
    is_long = "\n" in value or path.rpartition(".")[2] in _LONG
    return parts.area(name, value) if is_long else parts.text(name, value)


def name_of_path(path: str) -> str:
    """Give a path as a label.

    Example:
        >>> name_of_path(".content[0].text"), name_of_path("")
        ('content[0].text', 'payload')
    """
    return path.removeprefix(".") or "payload"
