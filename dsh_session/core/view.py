"""A sequence that keeps its length while the list behind it grows."""

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import index
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class FixedView(Sequence[T], Generic[T]):
    """The first `length` items of a list that only ever grows, read-only.

    Making one costs O(1), whatever the length. It equals any list, tuple or view with the same
    items. A slice is a tuple.

    Example:
        >>> log = ["a", "b"]
        >>> view = FixedView(log, 2)
        >>> log.append("c")
        >>> view, len(view), view == ["a", "b"]
        (('a', 'b'), 2, True)
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[T], length: int) -> None:
        """Take the list and how much of it to show."""
        if hasattr(self, "_items"):
            raise TypeError("a view cannot be changed: make a new one")
        object.__setattr__(self, "_items", items)
        object.__setattr__(self, "_length", length)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a view never changes."""
        raise TypeError(f"a view cannot be changed: {name} stays as it is")

    def __delattr__(self, name: str) -> None:
        """Refuse: a view never changes."""
        raise TypeError(f"a view cannot be changed: {name} stays as it is")

    _items: list[T]
    _length: int

    def __len__(self) -> int:
        """Give the number of items."""
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        """Give one item, or a tuple of a slice's."""
        if isinstance(at, slice):
            start, stop, step = at.indices(self._length)
            if step > 0:
                return tuple(self._items[start:stop:step])
            return tuple(self._items[i] for i in range(start, stop, step))
        position = index(at)
        if position < 0:
            position += self._length
        if not 0 <= position < self._length:
            raise IndexError(f"index {at} is out of range: there are {self._length} items")
        return self._items[position]

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items."""
        return islice(iter(self._items), self._length)

    def __reversed__(self) -> Iterator[T]:
        """Iterate from the last item to the first."""
        return (self._items[at] for at in range(self._length - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        """Compare with a list, a tuple or another view, item by item."""
        if not isinstance(other, (FixedView, list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __add__(self, other: Any) -> tuple[Any, ...]:
        """Give a tuple of the items of both."""
        return (*self, *other)

    def __copy__(self) -> "FixedView[T]":
        """Give itself: what never changes needs no copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "FixedView[T]":
        """Give itself: what never changes needs no copy."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the visible items."""
        return (FixedView, (list(self), self._length))

    def __repr__(self) -> str:
        """Show the items, cutting a long list."""
        shown = ", ".join(repr(item) for item in islice(self, 20))
        more = f", … {self._length - 20} more" if self._length > 20 else ""
        return f"({shown}{more}{',' if self._length == 1 else ''})"
