"""A summary that fills in a form."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from string import Formatter

from dsh_session.compaction.summarisers.reading import files_of, read_transcript
from dsh_session.core.errors import CompactionError

FIELDS = (
    "messages",
    "characters",
    "prompts",
    "answers",
    "calls",
    "errors",
    "tools",
    "files",
    "first_prompt",
    "last_prompt",
    "last_answer",
)
"""What a template may name."""


def template(form: str) -> Callable[[str], str]:
    r"""Make a summariser that fills in a form.

    Args:
        form: A text with names in braces, ``{{`` and ``}}`` for braces themselves. Numbers: ``messages``,
            ``characters``, ``prompts``, ``answers``, ``calls``, ``errors``; lists: ``tools``, ``files``;
            texts: ``first_prompt``, ``last_prompt``, ``last_answer``.

    Returns:
        A summariser.

    Raises:
        CompactionError: ``COMPACTION_SETUP`` for a form that names something else.

    Example:
        >>> summarise = template("{messages} messages about {first_prompt!r}; tools: {tools}.")
        >>> summarise("User: Look.\n\nAssistant: [tool-call: ls({})]\n\nTool result (call c1): README.md")
        "3 messages about 'Look.'; tools: ls."
    """
    try:
        named = {name for _, name, _, _ in Formatter().parse(form) if name is not None}
    except ValueError as error:
        raise CompactionError("COMPACTION_SETUP", f"the template {form!r} is none: {error}") from None
    unknown = sorted(named.difference(FIELDS))
    if unknown:
        raise CompactionError(
            "COMPACTION_SETUP", f"the template names {', '.join(map(repr, unknown))}; there are {', '.join(FIELDS)}"
        )

    summarise = partial(_filled, form)
    summarise.name = "template"  # type: ignore[attr-defined]  # what the log calls it
    return summarise


def _filled(form: str, transcript: str) -> str:
    said = read_transcript(transcript)
    calls = [call for one in said for call in one.calls]
    texts = {role: [one.text for one in said if one.role == role] for role in ("user", "assistant", "error")}
    answers = [text for text in texts["assistant"] if text]
    values: dict[str, int | str] = {
        "messages": len(said),
        "characters": len(transcript),
        "prompts": len(texts["user"]),
        "answers": len(answers),
        "calls": len(calls),
        "errors": len(texts["error"]),
        "tools": ", ".join(Counter(call.tool for call in calls)),
        "files": ", ".join(dict.fromkeys(file for call in calls for file in files_of(call))),
        "first_prompt": texts["user"][0] if texts["user"] else "",
        "last_prompt": texts["user"][-1] if texts["user"] else "",
        "last_answer": answers[-1] if answers else "",
    }
    return form.format_map(values)
