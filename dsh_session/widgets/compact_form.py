"""Compacting by hand: which range, what takes its place, and what that would leave."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
import traitlets

from dsh_session.compaction.meter import DEFAULT_METER, TokenMeter
from dsh_session.compaction.needed import CompactionOutcome
from dsh_session.compaction.transcript import Transcript
from dsh_session.core.bus import running_loop
from dsh_session.core.context import Context
from dsh_session.core.errors import CompactionError, SessionError
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore
from dsh_session.widgets import parts
from dsh_session.widgets.cuts import Snapped, snap, why_not
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.policy_form import WhatForm
from dsh_session.widgets.preview import LARGE, Preview, preview_html, preview_policy, preview_range
from dsh_session.widgets.running import Work, line_of
from dsh_session.widgets.subject import session_of, why_read_only
from dsh_session.widgets.summary_form import SummaryForm


class CompactForm(parts.Part):
    """Compact a range, or as much as a policy asks for; see what it would leave before anything is written.

    The edges of a range snap to where no tool call is split from its result, and the form says why. A summariser runs
    beside the notebook and can be cancelled. What is written goes through the compaction API, so the log is the one
    that the same call in code would leave.

    Attributes:
        session: The session.
        selection: The first and the last seq of the range; empty for none.
        policy: The policy that chooses the range; None while the range is chosen by hand.
        snapped: The range that would be replaced, as a `Snapped` with the reasons why its edges were moved, or None.
        is_busy: Whether a summary is being made.
        preview: What the compaction would leave; None where nothing can be said.
        result: What the last one made: a `CompactionResult` or a `CompactionOutcome`.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn(["Rename foo to bar, and tell me all. " * 20, "Go on."]):
        ...     form = CompactForm(session, selection=(1, 1))
        ...     form.summary = "They want foo renamed to bar."
        ...     print(form.preview.line)
        ...     result = form.compact()
        1 node gives way; 198 tokens become 78, on 2 nodes.
        >>> result.shadowed_seqs, session.surface.nodes
        ((1,), (5, 2))
        >>> form
        <CompactForm of s: done>
        >>> form.close()
    """

    selection = traitlets.List(traitlets.Int())
    policy = traitlets.Any(None, allow_none=True)
    snapped = traitlets.Any(None, allow_none=True)
    is_busy = traitlets.Bool(False)

    def __init__(
        self,
        subject: Session | SessionStore | Context,
        *,
        selection: tuple[int, int] | None = None,
        policy: Any = None,
        summarisers: Mapping[str, Any] | None = None,
        meter: TokenMeter | None = None,
        retries: int = 1,
    ) -> None:
        """Make a form for a session.

        Args:
            subject: The session, or a store whose first session it is.
            selection: The range to begin with: its first and its last seq.
            policy: The policy to begin with.
            summarisers: Further summarisers by the names they are offered under. A model is offered by itself where
                the environment configures one; see `dsh_session.compaction.ChatSummariser`.
            meter: What measures.
            retries: How many more ranges a policy may ask for; see `compact_if_needed`.
        """
        self.session = session_of(subject)
        self.preview: Preview | None = None
        self.result: Any = None
        self._meter = meter or DEFAULT_METER
        self._retries = retries
        self._task: asyncio.Task[Any] | None = None
        self._told: list[Callable[[Any], Any]] = []
        self._is_shown = True
        self._is_filling = False
        self._state = "nothing chosen"
        self._found: Snapped | None = None
        first = next(iter(self.session.surface.nodes), 0)
        self._what = WhatForm(self._what_changed, lambda: self._meter.measure(self.session).total)
        self._start = parts.whole_number("First node", first)
        self._end = parts.whole_number("Last node", first)
        self._range = parts.row(self._start, self._end)
        self._range_notice = Notice()
        self._summary = SummaryForm(summarisers, self._update)
        self._preview = ipywidgets.HTML()
        self._button = parts.button("Compact", self.compact, is_main=True)
        self._cancel = parts.button("Cancel", self.cancel, tooltip="Stop the summariser; the surface stays as it is")
        self._notice = Notice()
        super().__init__(
            (
                self._what.widget,
                self._range,
                self._range_notice,
                self._summary.widget,
                self._preview,
                parts.row(self._button, self._cancel),
                self._notice,
            )
        )
        self._cancel.disabled = True
        for control in (self._start, self._end):
            control.observe(self._on_range, "value")
        self._at_close(self.cancel)
        self._follow(self.session, self.refresh)
        if selection is not None:
            self.selection = list(selection)
        self.policy = policy
        self.refresh()

    # What is chosen.

    @property
    def summary(self) -> str:
        """The text of a summary by hand."""
        return self._summary.text

    @summary.setter
    def summary(self, value: str) -> None:
        self._summary.text = value

    @property
    def summariser(self) -> str:
        """The name of what summarises, one of `summarisers`; `extractive` is enough for the one without a model."""
        return self._summary.name

    @summariser.setter
    def summariser(self, value: str) -> None:
        self._summary.name = value

    @property
    def summarisers(self) -> tuple[str, ...]:
        """What can summarise, by the names that are offered."""
        return self._summary.names

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        chosen: list[int] = proposal["value"]
        if len(chosen) not in {0, 2}:
            raise traitlets.TraitError(f"selection={chosen!r}: give the first and the last seq of a range, or nothing")
        return chosen

    @traitlets.observe("selection")
    def _selected(self, _change: Any) -> None:
        if len(self.selection) == 2 and not self._is_filling:
            self._is_filling = True
            self._start.value, self._end.value = self.selection
            self._is_filling = False
        self._update()

    @traitlets.observe("policy")
    def _policy_given(self, change: Any) -> None:
        if not self._is_filling:
            self._what.give(change["new"])
            self._update()

    def _what_changed(self) -> None:
        self._is_filling = True
        self.policy = self._what.policy
        self._is_filling = False
        self._update()

    def _on_range(self, _change: Any) -> None:
        if self._is_filling:
            return
        self._is_filling = True
        self.selection = [self._start.value, self._end.value]
        self._is_filling = False
        self._update()

    # What it would leave.

    def set_shown(self, is_shown: bool) -> None:  # noqa: FBT001 (the value is what it is about)
        """Say whether anybody looks at the form; one that nobody sees does not reckon."""
        self._is_shown = is_shown
        if is_shown:
            self.refresh()

    def refresh(self) -> None:
        """Take in what the log has grown by."""
        if self._is_shown:
            self._update()

    def _update(self) -> None:
        if self._is_filling or not self._is_shown or self.is_busy:
            return
        is_range = self._what.is_range
        parts.show(self._range, is_range)
        self.preview = self._found = None
        self._range_notice.clear()
        self._summary.notice.clear()
        try:
            self._state = self._reckon_range() if is_range else self._reckon_policy()
        except SessionError as error:
            about_summary = error.code in {"COMPACTION_EMPTY", "COMPACTION_BAD_SUMMARY", "COMPACTION_NOT_SMALLER"}
            where = self._summary.notice if about_summary else self._range_notice
            where.say(str(error), "warning" if error.code == "COMPACTION_EMPTY" else "error")
            self._state = error.code
        except Exception as error:  # noqa: BLE001 (a policy of somebody's may raise anything, and is shown as it is)
            self._range_notice.say(f"{type(error).__name__}: {error}", "error")
            self._state = type(error).__name__
        self._draw()
        self.snapped = self._found
        self._allow()

    def _draw(self) -> None:
        preview = self.preview
        measured = self._meter.measure(self.session)
        self._preview.value = "" if preview is None else preview_html(self.session, preview, measured)

    def _reckon_range(self) -> str:
        """Set what can be said in advance of a range, and give the form's state."""
        if not self.selection:
            self._range_notice.say("Select nodes on the surface, or give the first and the last seq of a range.")
            return "nothing chosen"
        self._found = found = snap(self.session, *self.selection)
        if found.reasons:
            self._range_notice.say(" ".join(found.reasons), "warning")
        else:
            count = len(found.nodes)
            self._range_notice.say(f"{found.start} … {found.end}: {count} {'node' if count == 1 else 'nodes'}.")
        summary = None
        if self._summary.is_by_hand and not self.summary.strip():
            self._summary.notice.say("Write what takes the range's place.")
        elif self._summary.answers_at_once:
            summary = self._summary.summarise(Transcript.of(self.session, found.nodes))
        self.preview = preview_range(self.session, found.nodes, summary, self._meter)
        return "ready"

    def _reckon_policy(self) -> str:
        """Set what can be said in advance of what a policy asks for, and give the form's state."""
        error = self._what.error
        if error is not None:
            raise error
        if self.session.seq > LARGE:
            decision = self.policy.plan(self._meter.measure(self.session))
            self._range_notice.say(f"The policy decides: {decision!r}")
            return "ready"
        at_once = self._summary.answers_at_once
        summarise = self._summary.summarise if at_once else lambda _transcript: "…"
        preview = preview_policy(self.session, self.policy, summarise, self._meter, retries=self._retries)
        self.preview = preview if at_once else preview._replace(tokens_after=None)
        self._range_notice.say(preview.remark)
        return "ready"

    def _why_not(self) -> str | None:
        read_only = why_read_only(self.session)
        if read_only is not None:
            return read_only
        refusal = why_not(self.session)
        return None if refusal is None else str(refusal)

    def _allow(self) -> None:
        why = self._why_not()
        is_range = self._what.is_range
        is_chosen = self.snapped is not None if is_range else self.policy is not None and self._state == "ready"
        self._button.disabled = self.is_busy or why is not None or not is_chosen
        self._cancel.disabled = not self.is_busy
        count = 0 if self.snapped is None else len(self.snapped.nodes)
        counted = f" {count} {'node' if count == 1 else 'nodes'}" if is_range and count else ""
        self._button.description = f"Compact{counted}"
        if why is not None:
            self._notice.say(why, "warning")
        elif self._notice.kind == "warning":
            self._notice.clear()

    # Doing it.

    def on_compact(self, act: Callable[[Any], Any]) -> None:
        """Call a function with each result that this form has made."""
        self._told.append(act)

    def compact(self) -> Any:
        """Compact, as the button does.

        Returns:
            Where an event loop runs and a summariser may take its time, the `asyncio.Task` that does it; else the
            result. None when it was refused, and the form says why.
        """
        why = "a compaction is under way" if self.is_busy else self._why_not()
        if why is not None:
            self._notice.say(why, "error" if self.is_busy else "warning")
            return None
        loop = running_loop()
        try:
            work = self._work()
            if loop is None or self._summary.is_by_hand:
                result = work.at_once(self._summary.summarise)
                self._done(result)
                return result
        except Exception as error:  # noqa: BLE001 (whatever a summariser raises is shown; compact/end holds it too)
            self._failed(error)
            return None
        self._work_begins()
        self._task = loop.create_task(self._beside(work, self._summary.summarise))
        return self._task

    def _work(self) -> Work:
        region = None
        if not self._what.is_range and self._what.error is not None:
            raise self._what.error
        if self._what.is_range:
            if not self.selection:
                raise CompactionError("REGION_NOT_FOUND", "no range is chosen: select nodes, or set `selection`")
            self.snapped = snapped = snap(self.session, self._start.value, self._end.value)
            region = (snapped.start, snapped.end)
        return Work(self.session, region, self.policy, self._meter, self._retries)

    async def _beside(self, work: Work, summarise: Any) -> Any:
        try:
            result = await work.beside(summarise, lambda said: self._notice.say(said, "busy"))
        except asyncio.CancelledError:
            self._work_over()
            self._update()
            self._state = "cancelled"
            self._notice.say("Cancelled. The surface is as it was, and compact/end says so.")
            return None
        except Exception as error:  # noqa: BLE001 (whatever a summariser raises is shown; compact/end holds it too)
            self._work_over()
            self._failed(error)
            return None
        self._work_over()
        self._done(result)
        return result

    def _work_begins(self) -> None:
        self.is_busy = True
        self._state = "busy"
        self._enable(is_enabled=False)
        self._allow()
        self._notice.say(f"Summarising with {self._summary.name}…", "busy")

    def _work_over(self) -> None:
        self._task = None
        self.is_busy = False
        self._enable(is_enabled=True)

    def _enable(self, *, is_enabled: bool) -> None:
        self._what.enable(is_enabled)
        self._start.disabled = self._end.disabled = not is_enabled
        self._summary.enable(is_enabled)

    def _done(self, result: Any) -> None:
        self.result = result
        if not isinstance(result, CompactionOutcome):
            self._is_filling = True
            self.selection = []
            self._is_filling = False
            self._summary.clear()
        self._update()
        self._state = "done"
        self._notice.say(line_of(result), "done")
        for act in self._told:
            act(result)

    def _failed(self, error: Exception) -> None:
        said = str(error) if isinstance(error, SessionError) else f"{type(error).__name__}: {error}"
        self._update()
        self._state = "failed"
        self._notice.say(said, "error")

    def cancel(self) -> None:
        """Stop a summariser that is at work; the surface stays as it is."""
        if self._task is not None:
            self._notice.say("Cancelling…", "busy")
            self._task.cancel()

    def _says(self) -> str:
        return f"of {self.session.id}: {self._state}"
