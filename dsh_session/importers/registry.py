"""Which formats there are, which one a log has, and reading it.

The package's own formats come first, in a fixed order, then those of other packages: an entry point of
the group ``dsh_session.importers`` names an object with the methods of `Importer`.
"""

from collections.abc import Iterator
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from dsh_session.core.errors import SessionError
from dsh_session.core.jsonl import load as load_strictly
from dsh_session.core.session import Session
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Imported

GROUP: Final = "dsh_session.importers"
"""The entry point group of further importers."""

_OWN: Final = (
    "dsh",
    "dsh_later",
    "claude_code",
    "codex",
    "pi",
    "openhands",
    "inspect_ai",
    "swe_agent",
    "messages",
)


class ImportLogError(SessionError):
    """A log of which nothing at all can be read, or that no importer knows (``IMPORT_*``)."""


@runtime_checkable
class Importer(Protocol):
    """What reads one format.

    Attributes:
        name: The format's name, such as ``"claude-code"``.
        agent: The agent's name for people.
    """

    name: str
    agent: str

    def recognises(self, sample: Sample) -> bool:
        """Tell whether a log has this format, from what it holds."""

    def read(self, path: Path, **options: Any) -> Imported:
        """Read a log; what can be read is read, the rest is a finding.

        Options are keyword-only parameters, each with a default; only those that are named can be given.

        Raises:
            ImportLogError: When there is nothing to be read.
        """


@cache
def own_importers() -> tuple[Importer, ...]:
    """Give this package's own importers in the order in which they are asked."""
    return tuple(import_module(f"dsh_session.importers.{name}").IMPORTER for name in _OWN)


def importers() -> tuple[Importer, ...]:
    """Give all importers in the order in which they are asked.

    Raises:
        ImportLogError: ``IMPORT_PLUGIN`` when another package's importer cannot be loaded.

    Example:
        >>> [importer.name for importer in importers()][:2]
        ['dsh', 'dsh-later']
    """
    others, broken = others_and_broken()
    if broken:
        raise broken[0]
    return (*own_importers(), *others)


def others_and_broken() -> tuple[tuple[Importer, ...], tuple[ImportLogError, ...]]:
    """Give the importers of other packages, and why some of them cannot be loaded.

    Example:
        >>> others, broken = others_and_broken()
        >>> broken
        ()
    """
    others: list[Importer] = []
    broken: list[ImportLogError] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            others.append(_loaded(point))
        except ImportLogError as error:
            broken.append(error)
    return tuple(others), tuple(broken)


def _loaded(point: EntryPoint) -> Importer:
    try:
        loaded = point.load()
        if isinstance(loaded, type):
            loaded = loaded()
    except Exception as error:
        told = f"{_place(point)} cannot be loaded: {error}; mend or remove its package"
        raise ImportLogError("IMPORT_PLUGIN", told) from error
    named = all(isinstance(getattr(loaded, name, None), str) for name in ("name", "agent"))
    if not named or not isinstance(loaded, Importer):
        told = f"{_place(point)} is no importer; it needs name, agent, recognises and read"
        raise ImportLogError("IMPORT_PLUGIN", told)
    return _Guarded(loaded, _place(point))


def _place(point: EntryPoint) -> str:
    return f"the entry point {point.name!r} ({point.value})"


class _Guarded:
    """Another package's importer: a fault of it is told as one, and stops nobody else's."""

    def __init__(self, importer: Importer, place: str) -> None:
        self.name = importer.name
        self.agent = importer.agent
        self._recognises = importer.recognises
        self._place = place

        @wraps(importer.read)  # which keeps the names of its options
        def read(path: Path, **options: Any) -> Imported:
            try:
                imported: Any = importer.read(path, **options)
            except (SessionError, OSError):
                raise
            except Exception as error:
                if options and isinstance(error, ValueError):
                    raise  # about the value of an option
                raise self._failed(f"{path}: ", error) from error
            if not isinstance(imported, Imported):
                told = f"{path}: {place} gave {type(imported).__name__} instead of Imported; mend or remove its package"
                raise ImportLogError("IMPORT_PLUGIN", told)
            return imported

        self.read = read

    def recognises(self, sample: Sample) -> bool:
        try:
            return bool(self._recognises(sample))
        except Exception as error:
            raise self._failed("", error) from error

    def _failed(self, where: str, error: Exception) -> ImportLogError:
        told = f"{where}{self._place} failed with {type(error).__name__}: {error}; mend or remove its package"
        return ImportLogError("IMPORT_PLUGIN", told)


def recognise(path: str | Path) -> Importer | None:
    """Tell which importer reads a log, from what it holds and never from its name.

    Args:
        path: A file, or a folder that is one log.

    Returns:
        The importer; None when nobody knows the format.

    Raises:
        OSError: When it cannot be opened.
        ImportLogError: ``IMPORT_PLUGIN`` when nobody knows it, and another package's importer failed.

    Example:
        >>> from dsh_session import samples
        >>> recognise(samples.path("pi-compacted-twice")).name
        'dsh'
    """
    return recognise_sample(Sample.of(Path(path)))


def recognise_sample(sample: Sample, known: tuple[Importer, ...] | None = None) -> Importer | None:
    """Tell which importer, of those that are known, reads what a sample is of.

    Raises:
        ImportLogError: ``IMPORT_PLUGIN`` when nobody knows it, and one of those who were to be asked failed.
    """
    found = _asked(sample, known)
    if found is None:
        more = sample.longer()
        found = None if more is None else _asked(more, known)
    return found


def _asked(sample: Sample, known: tuple[Importer, ...] | None) -> Importer | None:
    if known is not None:
        return _first(sample, known, [])
    found = _first(sample, own_importers(), [])
    if found is None:
        # Only what nobody here knows depends on other packages.
        others, broken = others_and_broken()
        found = _first(sample, others, list(broken))
    return found


def _first(sample: Sample, known: tuple[Importer, ...], broken: list[ImportLogError]) -> Importer | None:
    for importer in known:
        try:
            if importer.recognises(sample):
                return importer
        except ImportLogError as error:
            broken.append(error)
    if broken:
        raise broken[0]
    return None


def import_log(path: str | Path, *, format: str | None = None, **options: Any) -> Imported:  # noqa: A002 (what it is)
    """Read any log: its session, forks and sub-agents, and everything that has no place in an event.

    Args:
        path: A file, or a folder that is one log.
        format: The importer's name, for a log that is not recognised.
        options: What the importer takes, such as ``compaction="exact"`` for Codex.

    Returns:
        What was read; its findings say what was repaired, left out or ambiguous.

    Raises:
        ImportLogError: ``IMPORT_UNKNOWN`` when nobody knows the format, ``IMPORT_EMPTY`` for a file with
            nothing in it, ``IMPORT_FOLDER`` for a folder that is no log, ``IMPORT_NO_SUCH_FORMAT``,
            ``IMPORT_OPTION``, ``IMPORT_PLUGIN`` when another package's importer fails.
        OSError: When it cannot be opened.

    Example:
        >>> from dsh_session import samples
        >>> import_log(samples.path("pi-compacted-twice")).session.seq
        2540
    """
    path = Path(path)
    sample = Sample.of(path)
    importer = recognise_sample(sample) if format is None else _named(format)
    if importer is None:
        raise _unknown(sample)
    _check_options(importer, options)
    imported = importer.read(path, **options)
    if format is not None and not any(session.seq for session in imported.sessions):
        imported.add_finding("NOTHING_READ", _why_nothing(importer, sample))
    return imported


def _why_nothing(importer: Importer, sample: Sample) -> str:
    """Say what a file is of which the importer that was asked for read nothing."""
    told = f"nothing in the file is a message of {importer.agent}, so the session is empty"
    try:
        found = recognise_sample(sample)
    except ImportLogError as error:
        return f"{told}; whether it is another agent's log cannot be told: {error.message}"
    if found is None:
        known = ", ".join(one.agent for one in own_importers())
        return f"{told}; it has no format that is known (those are the logs of {known})"
    if found.name == importer.name:
        return f"{told}; it holds titles, and no conversation"
    return f"{told}; it is a log of {found.agent}: read it as {found.name!r}, or name no format"


def options_of(importer: Importer) -> tuple[str, ...]:
    """Give the names of the options that an importer takes: the keywords that its `read` names.

    Example:
        >>> options_of(_named("codex"))
        ('compaction',)
    """
    parameters = signature(importer.read).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY)


def _check_options(importer: Importer, options: dict[str, Any]) -> None:
    known = options_of(importer)
    unknown = [name for name in options if name not in known]
    if unknown:
        listed = f"it takes {', '.join(known)}" if known else "it takes none"
        told = f"the importer of {importer.agent} logs takes no option {unknown[0]!r}; {listed}"
        raise ImportLogError("IMPORT_OPTION", told)


def load_otherwise(path: Path) -> Session:
    """Read what is no version-0 log as a session; see `dsh_session.load`."""
    sample = Sample.of(path)
    importer = recognise_sample(sample)
    if importer is not None:
        return importer.read(path).session
    if sample.is_dir:
        raise _unknown(sample)
    return load_strictly(path)  # which says what a log would look like


def names() -> Iterator[str]:
    """Give the names of the formats."""
    return (importer.name for importer in importers())


def _named(name: str) -> Importer:
    others, broken = others_and_broken()
    found: dict[str, Importer] = {}
    for importer in (*own_importers(), *others):
        found.setdefault(importer.name, importer)  # nobody takes another one's name
    if name not in found:
        if broken:
            raise broken[0]
        told = f"there is no format {name!r}; there are {', '.join(found)}"
        raise ImportLogError("IMPORT_NO_SUCH_FORMAT", told)
    return found[name]


def _unknown(sample: Sample) -> ImportLogError:
    if sample.is_dir:
        told = f"{sample.path}: this folder is no log; name a file in it, or list it with dsh-session list"
        return ImportLogError("IMPORT_FOLDER", told)
    if not sample.head.strip():
        return ImportLogError("IMPORT_EMPTY", f"{sample.path}: the file is empty", line=1, offset=0)
    known = ", ".join(importer.agent for importer in importers())
    told = f"{sample.path}: no known format; known are the logs of {known}"
    return ImportLogError("IMPORT_UNKNOWN", told, line=1, offset=0)
