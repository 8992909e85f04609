"""Shapes made fast, twice: generated Python for live appends, msgspec structs for text.

Neither explains a refusal. Each accepts the common case in one pass and says nothing more than
"not sure" about everything else, which then goes the slow, complete way.

* `copier` gives a function that checks the exact types and the shape of a live payload while it
  copies it, looking at every value once, and keeps the order of its keys.
* `struct_of` gives a type for `msgspec.json.Decoder` that reads a payload's text and drops it.
"""

from collections.abc import Callable
from functools import cache
from sys import intern
from typing import Any, Literal, Union

import msgspec

from dsh_session.core.lossless import MAX_SAFE_INTEGER, copy_json, is_json_value
from dsh_session.core.shapes import Array, Choice, Object, Record, Scalar, Shape, Sum

Copier = Callable[[Any], Any]
"""Takes a live value; gives the checked copy, or None for "not sure". It may raise anything."""

_ALL_STR = frozenset({str}).issuperset


@cache
def copier(shape: Shape) -> Copier:
    """Give the function that copies a live value of a record or sum, or gives up."""
    if isinstance(shape, Record):
        return _generate(shape)
    if isinstance(shape, Sum):
        members, tag = Members(shape), shape.tag
        return lambda value: members[value[tag]](value)
    return copy_json


class Members(dict[str, Copier]):
    """A sum's copiers by tag, each made when it is first wanted: a sum may contain itself."""

    def __init__(self, union: Sum) -> None:
        """Take the sum."""
        super().__init__()
        self.union = union

    def __missing__(self, tag: str) -> Copier:
        """Make a member's copier; a `KeyError` for an unknown tag is a "not sure" as well."""
        record = self.union.members[tag]
        self[tag] = copier(record) if isinstance(record, Record) else give_up
        return self[tag]


def give_up(_value: Any) -> None:
    """Say "not sure" about every value."""
    return None  # noqa: RET501 (this None is an answer)


def _generate(record: Record) -> Copier:
    """Write and compile a record's copying function."""
    names: dict[str, Any] = {"copy_json": copy_json}
    body = _record("value", record, names)
    source = "\n    ".join(["def copy(value):", *body, "return value"])
    exec(compile(source, f"<copier of {record.name}>", "exec"), names)  # noqa: S102 (built from declared shapes alone)
    copy: Copier = names["copy"]
    return copy


def _record(name: str, record: Record, names: dict[str, Any]) -> list[str]:
    """Give the lines that replace the object in variable `name` by a checked copy.

    The copy is taken first, in one step, so that what is checked is what is kept.
    """
    lines = [
        f"if type({name}) is not dict: return None",
        f"{name} = {name}.copy()",
        *_exact_keys(name, record, names),
    ]
    for key, shape in record.fields.items():
        if key in record.required:
            lines += _entry(name, key, shape, names)
    optional = [key for key in record.fields if key not in record.required]
    if optional:
        count = _bind(None, names)
        lines += [f"if len({name}) != {len(record.required)}:", f"    {count} = {len(record.required)}"]
        for key in optional:
            lines += [f"    if {key!r} in {name}:", f"        {count} += 1"]
            lines += [f"        {line}" for line in _entry(name, key, record.fields[key], names)]
        lines += [f"    if len({name}) != {count}: return None"]
    else:
        lines += [f"if len({name}) != {len(record.required)}: return None"]
    return lines


def _exact_keys(name: str, record: Record, names: dict[str, Any]) -> list[str]:
    """Give the lines that see to it that every key is a `str` and not something that equals one.

    Keys written as literals in the declared order are the very objects that stand here, which is
    quicker to see than what type each has.
    """
    names["all_str"] = _ALL_STR
    check = f"if not all_str(map(type, {name})): return None"
    keys = [key for key in record.fields if key in record.required]
    if not keys:
        return [check]
    found = [_bind(None, names) for _ in keys]
    same = " and ".join(f"{there} is {_bind(intern(key), names)}" for there, key in zip(found, keys, strict=True))
    return [
        f"if len({name}) == {len(keys)}:",
        f"    {', '.join(found)}, = {name}",
        f"    if not ({same}):",
        f"        {check}",
        f"el{check}",
    ]


def _entry(name: str, key: str, shape: Shape, names: dict[str, Any]) -> list[str]:
    """Give the lines for one entry of the object in variable `name`."""
    item = _bind(None, names)
    check = _item(item, shape, names)
    store = [] if isinstance(shape, (Scalar, Choice)) else [f"{name}[{key!r}] = {item}"]
    return [f"{item} = {name}[{key!r}]", *check, *store]


def _item(name: str, shape: Shape, names: dict[str, Any]) -> list[str]:
    """Give the lines that check the variable `name`, and rebind it to a copy unless it is a scalar."""
    if isinstance(shape, Scalar):
        whole = f"type({name}) is int and -{MAX_SAFE_INTEGER} <= {name} <= {MAX_SAFE_INTEGER}"
        tests = {
            str: f"type({name}) is str",
            bool: f"{name} is True or {name} is False",
            int: whole,
            float: f"({whole}) or (type({name}) is float and is_json_value({name}))",
        }
        names["is_json_value"] = is_json_value
        return [f"if not ({tests[shape.kind]}): return None"]
    if isinstance(shape, Choice):
        allowed = f"{name} == {shape.values[0]!r}" if len(shape.values) == 1 else f"{name} in {shape.values!r}"
        return [f"if type({name}) is not str or not {allowed}: return None"]
    if isinstance(shape, Array):
        items, item = _bind(None, names), _bind(None, names)
        loop = [f"    {line}" for line in (*_item(item, shape.item, names), f"{items}.append({item})")]
        return [
            f"if type({name}) is not list: return None",
            f"{items} = []",
            f"for {item} in {name}.copy():",
            *loop,
            f"{name} = {items}",
        ]
    if isinstance(shape, Record):
        return _record(name, shape, names)
    if isinstance(shape, Sum):
        members = _bind(Members(shape), names)
        return [f"{name} = {members}[{name}[{shape.tag!r}]]({name})", f"if {name} is None: return None"]
    if isinstance(shape, Object):
        return [f"if type({name}) is not dict: return None", f"{name} = copy_json({name})"]
    return [f"{name} = copy_json({name})"]


def _bind(value: Any, names: dict[str, Any]) -> str:
    """Give a fresh name; a value is what it stands for in the generated function's globals."""
    name = f"x{len(names)}"
    names[name] = value
    return name


_STRICT: dict[str, Any] = {"forbid_unknown_fields": True, "gc": False, "eq": False}


def struct_of(shape: Shape, *, tag: tuple[str, str] | None = None, known: dict[int, Any] | None = None) -> Any:
    """Give the type with which msgspec checks the text of a value.

    Args:
        shape: What the text must hold. A record becomes a struct that forbids further keys: text
            with more than is declared goes the slow way.
        tag: For a sum's member: the tag's key, and its value.
        known: Types made already, by shape; sums contain themselves.
    """
    known = {} if known is None else known
    if isinstance(shape, Scalar):
        return shape.kind
    if isinstance(shape, Choice):
        return Literal[shape.values]
    if isinstance(shape, Array):
        return list[struct_of(shape.item, known=known)]  # type: ignore[misc]  # made at run time
    if isinstance(shape, Object):
        return dict
    if isinstance(shape, Record):
        return _struct(shape, tag, known)
    if isinstance(shape, Sum):
        return _union(shape, known)
    return Any


def _struct(record: Record, tag: tuple[str, str] | None, known: dict[int, Any]) -> Any:
    fields: list[Any] = []
    for key, shape in record.fields.items():
        if tag is not None and key == tag[0]:
            continue
        kind = struct_of(shape, known=known)
        if key in record.required:
            fields.append((key, kind))
        else:
            fields.append((key, Union[kind, msgspec.UnsetType], msgspec.UNSET))  # noqa: UP007 (made at run time)
    fields.sort(key=lambda field: len(field) > 2)
    tagging: dict[str, Any] = {"tag_field": tag[0], "tag": tag[1]} if tag else {}
    return msgspec.defstruct(record.name, fields, **tagging, **_STRICT)


def _union(union: Sum, known: dict[int, Any]) -> Any:
    if id(union) in known:
        # A sum that contains itself: the inner one is read whole, which checks its text as well.
        return known[id(union)]
    known[id(union)] = dict
    members = [
        _struct(record, (union.tag, tag), known) for tag, record in union.members.items() if isinstance(record, Record)
    ]
    known[id(union)] = Union[tuple(members)] if members else dict  # noqa: UP007 (made at run time)
    return known[id(union)]
