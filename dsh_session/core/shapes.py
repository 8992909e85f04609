"""What a payload must look like: shapes read from typed dicts, and the first fault of a value.

A shape says which JSON values fit. `Record` comes from a `TypedDict`, `Sum` from a union of them
that share a tag. Keys that a record does not name are always kept; the seeds' formats grow that way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from dsh_session.core.payloads import Open

Fault = tuple[str, str]
"""A JSON path below the value, and what is wrong there."""


class Shape(ABC):
    """A set of JSON values."""

    @abstractmethod
    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""


class Anything(Shape):
    """Every JSON value."""

    def fault(self, value: Any) -> Fault | None:  # noqa: ARG002 (nothing to look at)
        """Nothing leaves this shape."""
        return None


class Scalar(Shape):
    """One of the scalar types; an integral float counts as the integer.

    Attributes:
        kind: `str`, `int`, `float` or `bool`.
    """

    def __init__(self, kind: type) -> None:
        """Take the Python type of the values."""
        self.kind = kind

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        kind = type(value)
        if kind is self.kind:
            return None
        if self.kind is float and kind is int:
            return None
        if self.kind is int and kind is float and value.is_integer():
            return None
        return "", f"must be {_NAMES[self.kind]}, not {name_of(value)}"


class Choice(Shape):
    """One of a few strings."""

    def __init__(self, values: tuple[str, ...]) -> None:
        """Take the strings."""
        self.values = values

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        if type(value) is str and value in self.values:
            return None
        return "", f"must be {' or '.join(map(repr, self.values))}, not {name_of(value)}"


class Object(Shape):
    """Any JSON object."""

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        return None if isinstance(value, dict) else ("", f"must be an object, not {name_of(value)}")


class Array(Shape):
    """A list of values of one shape."""

    def __init__(self, item: Shape) -> None:
        """Take the items' shape."""
        self.item = item

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        if not isinstance(value, list):
            return "", f"must be a list, not {name_of(value)}"
        for at, item in enumerate(value):
            below = self.item.fault(item)
            if below:
                return f"[{at}]{below[0]}", below[1]
        return None


class Record(Shape):
    """An object with named fields, some of them optional; others may stand beside them.

    Attributes:
        name: The `TypedDict`'s name.
        fields: Shape per wire key, in declared order.
        required: The keys that must be there.
    """

    def __init__(self, name: str, fields: dict[str, Shape], required: frozenset[str]) -> None:
        """Take the name and the fields."""
        self.name = name
        self.fields = fields
        self.required = required

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        if not isinstance(value, dict):
            return "", f"must be an object, not {name_of(value)}"
        for key, shape in self.fields.items():
            if key in value:
                below = shape.fault(value[key])
                if below:
                    return f".{key}{below[0]}", below[1]
            elif key in self.required:
                return f".{key}", "is missing"
        return None


class Sum(Shape):
    """One of several records, told apart by a tag.

    Attributes:
        tag: The key that holds the tag.
        members: Record per tag; `Object` for a tag known by name only.
        closed: Whether a tag that is no member is a fault; in an open sum it is kept.
    """

    def __init__(self, tag: str, members: dict[str, Shape], *, closed: bool) -> None:
        """Take the tag's key and the members."""
        self.tag = tag
        self.members = members
        self.closed = closed

    def fault(self, value: Any) -> Fault | None:
        """Give the first place where a JSON value leaves the shape, or None."""
        if not isinstance(value, dict):
            return "", f"must be an object, not {name_of(value)}"
        if self.tag not in value:
            return f".{self.tag}", "is missing"
        tag = value[self.tag]
        if type(tag) is not str:
            return f".{self.tag}", f"must be a string, not {name_of(tag)}"
        member = self.members.get(tag)
        if member is not None:
            return member.fault(value)
        if self.closed:
            return f".{self.tag}", f"must be one of {', '.join(map(repr, self.members))}, not {name_of(tag)}"
        return None


_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def name_of(value: Any) -> str:
    """Name a JSON value for a message, cutting what is long."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:39] + "…")
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def shape_of(annotation: Any, open_sum: Callable[[str], Sum]) -> Shape:
    """Read a shape from an annotation.

    Args:
        annotation: A `TypedDict`, a scalar type, ``list[...]``, ``dict[...]``, `Literal` strings,
            a union of tagged `TypedDict`s, `Any`, or ``Annotated[..., Open(name)]``.
        open_sum: Gives the sum of a name.

    Raises:
        TypeError: For an annotation that is none of these.
    """
    origin = get_origin(annotation)
    if annotation is Any or annotation is object:
        return Anything()
    if annotation in _NAMES:
        return Scalar(annotation)
    if annotation is dict or origin is dict:
        return Object()
    if is_typeddict(annotation):
        return _record_of(annotation, open_sum)
    if origin is Annotated:
        marks = [mark for mark in annotation.__metadata__ if isinstance(mark, Open)]
        return open_sum(marks[0].name) if marks else shape_of(annotation.__origin__, open_sum)
    if origin is Literal:
        return Choice(get_args(annotation))
    if origin is list:
        return Array(shape_of(get_args(annotation)[0], open_sum))
    if origin in (Union, UnionType):
        members = get_args(annotation)
        tag, records = tagged(members, open_sum)
        return Sum(tag, records, closed=True)
    raise TypeError(f"no shape can be read from {annotation!r}")


def _record_of(kind: Any, open_sum: Callable[[str], Sum]) -> Record:
    fields: dict[str, Shape] = {}
    optional = set()
    for key, annotation in get_type_hints(kind, include_extras=True).items():
        inner = annotation
        if get_origin(annotation) is NotRequired:
            inner = get_args(annotation)[0]
            optional.add(key)
        fields[key] = shape_of(inner, open_sum)
    required = frozenset(fields) - optional if kind.__total__ else frozenset[str]()
    return Record(kind.__name__, fields, required)


def tagged(kinds: tuple[Any, ...], open_sum: Callable[[str], Sum]) -> tuple[str, dict[str, Shape]]:
    """Read the tag's key and the members by tag from `TypedDict`s with one `Literal` string each."""
    members: dict[str, Shape] = {}
    keys = set()
    for kind in kinds:
        record = _record_of(kind, open_sum)
        tags = [
            (key, shape) for key, shape in record.fields.items() if isinstance(shape, Choice) and len(shape.values) == 1
        ]
        if not tags:
            raise TypeError(f"{kind.__name__} has no Literal field that tells it apart")
        key, choice = tags[0]
        keys.add(key)
        members[choice.values[0]] = record
    if len(keys) != 1:
        raise TypeError(f"{[kind.__name__ for kind in kinds]} are told apart by different keys: {sorted(keys)}")
    return keys.pop(), members
