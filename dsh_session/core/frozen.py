"""Frozen containers that look like JSON.

`FrozenDict` and `FrozenList` are a `dict` and a `list`, so ``json.dumps``, msgspec, pandas and
``==`` treat them as what they are; everything that would change one raises `TypeError`.
"""

from typing import Any, Never

_new_dict = dict.__new__
_fill_dict = dict.update
_new_list = list.__new__
_fill_list = list.extend

_ADVICE = "a logged value never changes; thaw(value) gives a plain copy to edit"


def _refuse(self: object, *_args: object, **_kwargs: object) -> Never:
    raise TypeError(f"{type(self).__name__} is frozen: {_ADVICE}")


class FrozenDict(dict[str, Any]):
    """A `dict` that cannot be changed.

    Example:
        >>> value = freeze({"a": [1]})
        >>> value == {"a": [1]}, isinstance(value, dict)
        (True, True)
        >>> value["a"].append(2)
        Traceback (most recent call last):
        ...
        TypeError: FrozenList is frozen: a logged value never changes; thaw(value) gives a plain copy to edit
    """

    __slots__ = ()

    def __copy__(self) -> "FrozenDict":
        """Give itself: what never changes needs no copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "FrozenDict":
        """Give itself: what never changes needs no copy."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the plain value."""
        return (freeze, (dict(self),))


class FrozenList(list[Any]):
    """A `list` that cannot be changed."""

    __slots__ = ()

    def __copy__(self) -> "FrozenList":
        """Give itself: what never changes needs no copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "FrozenList":
        """Give itself: what never changes needs no copy."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the plain value."""
        return (freeze, (list(self),))


_EVERYWHERE = ("__init__", "__setattr__", "__delattr__", "__setitem__", "__delitem__", "clear", "pop")
for _name in (*_EVERYWHERE, "__ior__", "popitem", "setdefault", "update"):
    setattr(FrozenDict, _name, _refuse)
for _name in (*_EVERYWHERE, "__iadd__", "__imul__", "append", "extend", "insert", "remove", "reverse", "sort"):
    setattr(FrozenList, _name, _refuse)


def frozen_dict(items: dict[str, Any]) -> FrozenDict:
    """Freeze one dict whose values are frozen already."""
    out = _new_dict(FrozenDict)
    _fill_dict(out, items)
    return out


def frozen_list(items: list[Any] | tuple[Any, ...]) -> FrozenList:
    """Freeze one list whose items are frozen already."""
    out = _new_list(FrozenList)
    _fill_list(out, items)
    return out


def freeze(value: Any) -> Any:
    """Freeze a JSON value to the leaves, without recursion.

    Args:
        value: A JSON value; its containers are read, never changed.

    Returns:
        The same value built of `FrozenDict` and `FrozenList`.

    Example:
        >>> freeze([{"a": 1}])
        [{'a': 1}]
    """
    return _rebuilt(value, frozen_dict, frozen_list)


def freeze_owned(value: Any) -> Any:
    """Freeze a JSON value that nobody else holds, such as one just decoded; its parts are used up."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return value
    try:
        return _frozen_in_place(value)
    except RecursionError:
        return _rebuilt_deep(value, frozen_dict, frozen_list)


def _frozen_in_place(value: Any) -> Any:
    # Replacing the value of a key that is there, or an item, is allowed while iterating.
    if type(value) is dict:
        for key, item in value.items():
            kind = type(item)
            if kind is dict or kind is list:
                value[key] = _frozen_in_place(item)
        out: Any = _new_dict(FrozenDict)
        _fill_dict(out, value)
        return out
    for at, item in enumerate(value):
        kind = type(item)
        if kind is dict or kind is list:
            value[at] = _frozen_in_place(item)
    out = _new_list(FrozenList)
    _fill_list(out, value)
    return out


def thaw(value: Any) -> Any:
    """Give a plain, deep copy of a frozen value, to edit.

    Args:
        value: A frozen or plain JSON value.

    Returns:
        The same value built of `dict` and `list`.

    Example:
        >>> plain = thaw(freeze({"content": [{"type": "text", "text": "hi"}]}))
        >>> plain["content"][0]["text"] = "ho"
        >>> plain
        {'content': [{'type': 'text', 'text': 'ho'}]}
    """
    return _rebuilt(value, dict, list)


def _rebuilt(value: Any, make_dict: Any, make_list: Any) -> Any:
    try:
        return _rebuilt_shallow(value, make_dict, make_list)
    except RecursionError:
        return _rebuilt_deep(value, make_dict, make_list)


def _rebuilt_shallow(value: Any, make_dict: Any, make_list: Any) -> Any:
    if isinstance(value, dict):
        fields = {}
        for key, item in value.items():
            fields[key] = _rebuilt_shallow(item, make_dict, make_list) if isinstance(item, (dict, list)) else item
        return make_dict(fields)
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_rebuilt_shallow(item, make_dict, make_list) if isinstance(item, (dict, list)) else item)  # noqa: PERF401 (a comprehension would cost a second frame a level)
        return make_list(items)
    return value


def _rebuilt_deep(value: Any, make_dict: Any, make_list: Any) -> Any:
    """Do the same with a stack of our own, for values deeper than the interpreter's."""
    # Containers in an order in which every one comes after its parent; built from the back.
    order = [value]
    for outer in order:
        inner = outer.values() if isinstance(outer, dict) else outer
        order.extend(item for item in inner if isinstance(item, (dict, list)))
    built: dict[int, Any] = {}
    for outer in reversed(order):
        if isinstance(outer, dict):
            built[id(outer)] = make_dict({key: built.get(id(item), item) for key, item in outer.items()})
        else:
            built[id(outer)] = make_list([built.get(id(item), item) for item in outer])
    return built[id(value)]
