"""A text that must not be seen."""

from typing import Never

HIDDEN = "[hidden]"


class Secret:
    """Holds a key: neither its repr nor its text shows it, and it cannot be pickled.

    Example:
        >>> key = Secret("sk-1234")
        >>> key, f"{key}", key.hidden_in("wrong key: sk-1234")
        (Secret([hidden]), 'Secret([hidden])', 'wrong key: [hidden]')
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        """Take the key; empty for none."""
        self.__value = value

    def reveal(self) -> str:
        """Give the key to whoever sends it."""
        return self.__value

    def hidden_in(self, text: str) -> str:
        """Give a text in which the key does not occur."""
        return text.replace(self.__value, HIDDEN) if self.__value else text

    def __repr__(self) -> str:
        """Show that there is something, not what."""
        return f"Secret({HIDDEN})"

    def __reduce__(self) -> Never:
        """Refuse: what is pickled is written somewhere."""
        raise TypeError("a key is not pickled; let the other process read it from its environment")
