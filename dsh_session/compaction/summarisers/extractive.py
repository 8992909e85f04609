"""A summary without a model: what a transcript says about itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import NamedTuple

from dsh_session.compaction.summarisers.reading import Call, Said, commands_of, files_of, read_transcript

_SHARE = 3  # the summary takes at most this part of the transcript
_LONGEST_LINE = 400  # characters
_SHORTEST_CUT = 12  # characters; less of a line says nothing


def extractive(transcript: str, *, max_chars: int = 6000) -> str:
    """Summarise a transcript by quoting it: the same text for the same transcript, and no model.

    What was asked, earlier summaries, tools, files and commands, errors, and the last thing said. Where
    there is too much of something, its first and its latest entries are kept.

    Args:
        transcript: What `CompactionBracket.transcript` gives; a plain text of that form will do.
        max_chars: The greatest length, in characters.

    Returns:
        A text of at most a third of the transcript's length.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.compaction import Transcript
        >>> session = samples.load("pi-compacted-twice")
        >>> print(extractive(Transcript.of(session, session.surface.nodes[1:40]), max_chars=400))
        Asked: can leave it
        Tools: bash 19
        Commands:
        - cd /Users/user/workspaces/pi-mono/packages/coding-agent/src/modes/interactive/co…
        - cd /Users/user/workspaces/pi-mono/packages/coding-agent/src/modes/interactive/theme #…
        Last state: Good, those are fine. Now fix the components in modes/interactive/components/:
    """
    limit = min(max_chars, len(transcript) // _SHARE)
    said = read_transcript(transcript)
    sections = [section for section in _sections(said) if any(map(str.strip, section.lines))]
    written = []
    for at, section in enumerate(sections):
        weights = sum(other.weight for other in sections[at:])
        text = section.fitted(limit * section.weight // weights)
        if text:
            written.append(text)
            limit -= len(text) + 1
    return "\n".join(written) or _cut(transcript, max(limit, 1))


class _Section(NamedTuple):
    """A heading and its lines, of which some may have to go.

    Attributes:
        title: The heading.
        lines: Its lines, oldest first.
        weight: Its part of the room.
        keeps_first: Whether the first line is worth as much as the last.
        may_cut: Whether a beginning of a line is worth having.
    """

    title: str
    lines: Sequence[str]
    weight: int
    keeps_first: bool = False
    may_cut: bool = True

    def fitted(self, room: int) -> str:
        """Give heading and lines in at most so many characters; empty when not even one line fits."""
        order = list(range(len(self.lines) - 1, -1, -1))
        if self.keeps_first and len(order) > 1:
            order.insert(0, order.pop())
        left = room - len(self.title) - 1
        kept: dict[int, str] = {}
        for at in order:
            # The first line is chosen first, and leaves room for the latest.
            most = left - 3 if kept or len(order) == 1 else left // 2
            line = _cut(self.lines[at], min(_LONGEST_LINE, most))
            if len(line) < len(_cut(self.lines[at], _SHORTEST_CUT if self.may_cut else _LONGEST_LINE)):
                break
            kept[at] = line
            left -= len(line) + 3
        if not kept:
            return ""
        lines = [f"{self.title}:", *(f"- {kept[at]}" for at in sorted(kept))]
        text = f"{self.title}: {kept[0]}" if len(self.lines) == 1 else "\n".join(lines)
        return text if len(text) <= room else ""


def _sections(said: Sequence[Said]) -> list[_Section]:
    calls = [call for one in said for call in one.calls]
    answers = [one.text for one in said if one.role == "assistant" and one.text]
    tools = Counter(call.tool or "?" for call in calls)
    used = ", ".join(f"{tool} {count}" for tool, count in tools.most_common(12))
    folder, files = _files(file for call in calls for file in files_of(call))
    commands = _latest(command for call in calls for command in commands_of(call))
    return [
        _Section("Asked", [one.text for one in said if one.role == "user" and one.text], 5, keeps_first=True),
        _Section("Earlier summary", _lines_of(said), 5, keeps_first=True),
        _Section("Tools", [used] if used else [], 1),
        _Section(f"Files in {folder}" if folder else "Files", files, 3, may_cut=False),
        _Section("Commands", commands, 3),
        _Section("Errors", _errors(said, calls), 3),
        _Section("Last state", answers[-1:], 3),
    ]


def _lines_of(said: Sequence[Said]) -> list[str]:
    texts = [one.text for one in said if one.role == "summary"]
    lines = [line.strip().removeprefix("- ") for text in texts for line in text.splitlines()]
    return [line for line in lines if line]


def _errors(said: Sequence[Said], calls: Sequence[Call]) -> list[str]:
    tools = {call.id: call.tool for call in calls if call.id}
    found = []
    for one in said:
        if one.role == "error":
            tool = tools.get(one.call_id)
            found.append(f"{tool}: {one.text}" if tool else one.text)
    return _latest(found)


def _latest(lines: Iterable[str]) -> list[str]:
    """Give each line once, where it came last."""
    return list(dict.fromkeys(reversed(list(lines))))[::-1]


def _files(found: Iterable[str]) -> tuple[str, list[str]]:
    """Give the folder that all files lie in, where saying it once is shorter, and the files in it."""
    files = _latest(found)
    folder = commonprefix(files).rpartition("/")[0] if len(files) > 1 else ""  # noqa: RUF071 (cut at a slash)
    return (folder, [file[len(folder) + 1 :] for file in files]) if len(folder) > 1 else ("", files)


def _cut(text: str, length: int) -> str:
    # Only what can be shown is looked at: a tool's output may be very long.
    line = " ".join(text[: 4 * max(length, 0) + 80].split())
    if len(line) <= length:
        return line
    return f"{line[: length - 1].rstrip()}…" if length > 0 else ""
