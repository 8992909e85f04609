"""What was said on a path so far: the events that kept items of a compaction repeat."""

from typing import Any, Final

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.items import plain_text

_PROMPT: Final = "prompt"
"""The role under which prompts are noted once more: the program writes in the user's name too."""


class Originals:
    """Events by the role and the text of what they say.

    Example:
        >>> said = Originals()
        >>> said.note("user", "Hello.", 1, is_prompt=True)
        >>> said.prompts(), said.matches([{"role": "user", "content": "Hello."}, {"type": "compaction"}], {1})
        (['Hello.'], [1, None])
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._seqs: dict[tuple[str, str], list[int]] = {}

    def before(self, length: int) -> "Originals":
        """Give those among the first events of the log."""
        kept = Originals()
        for key, seqs in self._seqs.items():
            early = [seq for seq in seqs if seq < length]
            if early:
                kept._seqs[key] = early
        return kept

    def note(self, role: str, text: str, seq: int, *, is_prompt: bool = False) -> None:
        """Note an event that says something."""
        self._seqs.setdefault((role, text), []).append(seq)
        if is_prompt:
            self._seqs.setdefault((_PROMPT, text), []).append(seq)

    def prompts(self) -> list[str]:
        """Give the texts of the prompts, in order."""
        said = [(seq, text) for (role, text), seqs in self._seqs.items() if role == _PROMPT for seq in seqs]
        return [text for _, text in sorted(said)]

    def matches(self, items: list[Any], surface: set[int]) -> list[int | None]:
        """Find for each item an event that says the same: one of the old context, or else one from before it.

        They are taken in order, each event once.

        Args:
            items: The items of a new context.
            surface: The nodes of the old one.
        """
        last = -1
        taken: set[int] = set()
        found: list[int | None] = []
        for item in items:
            match = None
            if isinstance(item, dict) and item.get("role") is not None:
                key = (text_from(item.get("role")), plain_text(item.get("content")))
                seqs = [seq for seq in self._seqs.get(key, ()) if seq not in taken]
                seqs = [seq for seq in seqs if seq in surface] or seqs
                match = next((seq for seq in seqs if seq > last), seqs[0] if seqs else None)
            if match is not None:
                taken.add(match)
                last = match
            found.append(match)
        return found
