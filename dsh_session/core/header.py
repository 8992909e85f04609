"""A session's creation metadata: written once, kept outside the log."""

from typing import Any, Final

from dsh_session.core.errors import HeaderError
from dsh_session.core.frozen import FrozenDict, freeze, thaw
from dsh_session.core.lossless import MAX_RECORDED_INTEGER, MAX_SAFE_INTEGER, snapshot_json_value
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import is_seq

SESSION_FORMAT_VERSION: Final = 0
"""The version of the log format that this package reads and writes."""


class SessionHeader:
    """Immutable creation metadata of a session (the seeds' ``SessionHeader``).

    Attributes:
        version: The format version, 0.
        id: The session's id.
        created_at: Epoch milliseconds; may be negative or fractional.
        cwd: The absolute working directory, or None.
        parent_session: The id of the session this one was forked from, or None.
        seed_length: How many leading events came from the parent, or None.

    Example:
        >>> SessionHeader({"version": 0, "id": "s", "createdAt": 5, "cwd": "/home"}, id="s").cwd
        '/home'
    """

    __slots__ = ("_wire",)
    _wire: FrozenDict

    def __init__(self, wire: dict[str, Any], *, id: str | None = None, recorded: bool = False) -> None:  # noqa: A002 (the field's name)
        """Check the wire form.

        Args:
            wire: ``{"version", "id", "createdAt", "cwd"?, "parentSession"?, "seedLength"?}``;
                further keys are kept.
            id: The id that the header must carry.
            recorded: Whether it comes from a recorded log, where a ``cwd`` that does not start with
                ``/`` and integers beyond 2**53 are let through.

        Raises:
            HeaderError: ``HEADER_*``, for the first rule that is broken.
        """
        # A header is written once; a second call would change it.
        if hasattr(self, "_wire"):
            raise TypeError("a session header never changes")
        object.__setattr__(self, "_wire", _checked(wire, id, recorded))

    @property
    def version(self) -> int:
        """The format version, 0."""
        return int(self._wire["version"])

    @property
    def id(self) -> str:
        """The session's id."""
        identity: str = self._wire["id"]
        return identity

    @property
    def created_at(self) -> float:
        """Epoch milliseconds; may be negative or fractional."""
        created: float = self._wire["createdAt"]
        return created

    @property
    def cwd(self) -> str | None:
        """The absolute working directory, or None."""
        return self._wire.get("cwd")

    @property
    def parent_session(self) -> str | None:
        """The id of the session this one was forked from, or None."""
        return self._wire.get("parentSession")

    @property
    def seed_length(self) -> int | None:
        """How many leading events came from the parent, or None."""
        length = self._wire.get("seedLength")
        return None if length is None else int(length)

    def to_dict(self) -> dict[str, Any]:
        """Give the wire form as a fresh, plain dict."""
        plain: dict[str, Any] = thaw(self._wire)
        return plain

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a header never changes."""
        raise TypeError(f"a session header never changes: {name} stays as it is")

    def __delattr__(self, name: str) -> None:
        """Refuse: a header never changes."""
        raise TypeError(f"a session header never changes: {name} stays as it is")

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        return self._wire == other._wire if isinstance(other, SessionHeader) else NotImplemented

    def __hash__(self) -> int:
        """Hash by id."""
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the wire form."""
        return (_restored, (self.to_dict(),))

    def __repr__(self) -> str:
        """Show the wire form."""
        return f"SessionHeader({self.to_dict()!r})"


def _restored(wire: dict[str, Any]) -> SessionHeader:
    return SessionHeader(wire, recorded=True)


def _checked(wire: Any, identity: str | None, recorded: bool) -> FrozenDict:  # noqa: FBT001 (private)
    largest = MAX_RECORDED_INTEGER if recorded else MAX_SAFE_INTEGER
    header = snapshot_json_value(wire, code="HEADER_NOT_JSON", what="header", error=HeaderError, largest=largest)
    if not isinstance(header, dict):
        raise HeaderError("HEADER_NOT_RECORD", f"a header must be an object, not {name_of(header)}")
    version = header.get("version")
    if type(version) not in (int, float) or version != SESSION_FORMAT_VERSION:
        raise HeaderError(
            "HEADER_VERSION", f"version must be {SESSION_FORMAT_VERSION}, not {_shown(header, 'version')}"
        )
    if type(header.get("id")) is not str or (identity is not None and header["id"] != identity):
        expected = "a string" if identity is None else f"the session's id {identity!r}"
        raise HeaderError("HEADER_ID_MISMATCH", f"id must be {expected}, not {_shown(header, 'id')}")
    created = header.get("createdAt")
    if type(created) is not int and type(created) is not float:
        raise HeaderError("HEADER_CREATED_AT", f"createdAt must be a finite number, not {_shown(header, 'createdAt')}")
    if "cwd" in header:
        if type(header["cwd"]) is not str:
            raise HeaderError("HEADER_CWD_TYPE", f"cwd must be a string, not {_shown(header, 'cwd')}")
        if not recorded and not header["cwd"].startswith("/"):
            raise HeaderError("HEADER_CWD_RELATIVE", f"cwd must start with '/', not {_shown(header, 'cwd')}")
    if "parentSession" in header and type(header["parentSession"]) is not str:
        raise HeaderError("HEADER_PARENT", f"parentSession must be a string, not {_shown(header, 'parentSession')}")
    if "seedLength" in header and not is_seq(header["seedLength"]):
        raise HeaderError(
            "HEADER_SEED_LENGTH", f"seedLength must be a non-negative integer, not {_shown(header, 'seedLength')}"
        )
    frozen: FrozenDict = freeze(header)
    return frozen


def _shown(header: dict[str, Any], key: str) -> str:
    return name_of(header[key]) if key in header else "absent"
