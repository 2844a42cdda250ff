"""A session as a model reads it: the newest messages and a summary of the older ones, by a preset.

Other callers share the summary, so it may cover more than the window leaves out; that is still shown verbatim. Messages
outside of the window that the summary does not cover yet are shown verbatim, up to `uncovered_tokens`; if there are
more, the view is flagged `gap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, Self
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.conversation.history.session_reader import ThreadTail, precedes, tails
from memorybase.core.conversation.session_memory.pairs import memory_use_summary, pair_window, pairs_of, session_text
from memorybase.core.conversation.session_memory.presets import DIALOGUE, SessionPreset
from memorybase.core.conversation.view.budget import GAP, LIMIT, SUMMARISED, SUMMARY_DROPPED, Summary
from memorybase.core.conversation.view.build import (
    SUMMARY_PREFIX,
    Draft,
    PreparedLog,
    Removed,
    Report,
    View,
    ViewOptions,
    prepare,
    summary_use,
)
from memorybase.core.conversation.view.records import Record
from memorybase.core.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.core.conversation.view.turns import open_question

SUMMARY_TOO_OLD = "summary_too_old"  # a flag: it ends so far back that it may be of another branch, and is not shown


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary and the newest message that it covers; a thread without that message needs another summary.

    `on_thread`: the thread is known to contain that message, although it was not read as far back."""

    summary: Summary
    last_message_id: str
    on_thread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """Parameters that differ between model calls. `reserved_tokens` pays for the `inserts`."""

    token_budget: int | None = None
    reserved_tokens: int = 0
    inserts: Sequence[Record] = ()
    exclude_run_id: str | None = None
    counter: TokenCounter = ESTIMATE
    model: str | None = None
    flags: Sequence[str] = ()


# What is to be read before a view is right: nothing more, older messages, or whether the summary is of this thread.
NextRead = Literal["nothing", "older", "summary_thread"]


@dataclass(frozen=True, kw_only=True)
class SessionMemory:
    """A session as a model reads it, rendered when `view` is requested.

    text                 the view as a transcript, if the preset has its own
    is_full              the limits leave something out
    expired              the newest record that a summary should cover and none does
    memory_use_summary   data for a console
    """

    draft: Draft
    text: str | None = None
    is_full: bool = False
    expired: Record | None = None
    memory_use_summary: dict[str, Any] | None = None
    next_read: NextRead = "nothing"

    @cached_property
    def view(self) -> View:
        view = self.draft.view()
        return view if self.text is None else replace(view, text=self.text)

    @property
    def enough(self) -> bool:
        """Whether older records would not change the view."""
        return self.next_read == "nothing"


def session_memory(
    tail: ThreadTail,
    preset: SessionPreset,
    call: ModelCall,
    *,
    stored: StoredSummary | None = None,
    use_memory: bool = False,
) -> SessionMemory:
    """The messages for a node's model; only the call's inserts unless the node uses memory."""
    if not use_memory:
        log = prepare([], _options(preset, call), counter=call.counter)
        return SessionMemory(draft=log.draft(inserts=call.inserts))
    return _PreparedTail.of(tail, preset, call).memory(call, stored)


class SessionHistory:
    """A session as it was read for one model call: for views that differ in what is reserved and inserted."""

    def __init__(self, preset: SessionPreset, call: ModelCall, stored: StoredSummary | None = None) -> None:
        self._preset, self._call, self._stored = preset, call, stored
        self._tails: list[_PreparedTail] = []
        self._known: dict[tuple[int, int], SessionMemory] = {}  # by tail and reserved tokens; without inserts

    def read(
        self,
        db: OrmSession,
        flow_id: UUID,
        session_id: str,
        *,
        leaf_id: UUID | None = None,
        use_memory: bool = True,
        as_of: datetime | None = None,
    ) -> Self:
        """Read as much of the session as the budget needs. Raises NotFound for a leaf of another session."""
        run_id = None if self._call.exclude_run_id is None else UUID(self._call.exclude_run_id)
        for tail in tails(db, flow_id, session_id, leaf_id=leaf_id, run_id=run_id, as_of=as_of):
            if not use_memory:
                break
            self._tails.append(_PreparedTail.of(tail, self._preset, self._call))
            if tail.complete:
                break
            if self.shown().next_read == "summary_thread":
                self._check_summary(db, flow_id, session_id, tail)
            if self.shown().enough:
                break
        return self

    def shown(self, reserved_tokens: int = 0, inserts: Sequence[Record] = ()) -> SessionMemory:
        """The preset's view next to the reserved tokens, from no longer a tail than it needs."""
        call = replace(self._call, reserved_tokens=reserved_tokens, inserts=inserts)
        if not self._tails:
            return session_memory(ThreadTail([], complete=True), self._preset, call)
        for number, tail in enumerate(self._tails):
            known = None if inserts else self._known.get((number, reserved_tokens))
            memory = known or tail.memory(call, self._stored)
            if not inserts:
                self._known[number, reserved_tokens] = memory
            if memory.enough:
                break
        return memory

    def _check_summary(self, db: OrmSession, flow_id: UUID, session_id: str, tail: ThreadTail) -> None:
        """Find out whether the summary, which ends before the tail, is of the tail's thread; else it is not shown."""
        if self._stored is None:
            return
        first, last = UUID(tail.records[0].id), UUID(self._stored.last_message_id)
        is_on_thread = precedes(db, flow_id, session_id, first, last, self._stored.summary.to_seq)
        self._stored = replace(self._stored, on_thread=True) if is_on_thread else None
        self._call = replace(self._call, flags=(SUMMARY_TOO_OLD,) if is_on_thread is None else ())
        self._known.clear()


@dataclass(frozen=True, slots=True)
class _PreparedTail:
    """The tail of a session's thread, for calls that differ in what is reserved and inserted."""

    tail: ThreadTail
    preset: SessionPreset
    log: PreparedLog
    dialogue: Draft | None = None  # what users and agents said, without limits: to find pairs in

    @classmethod
    def of(cls, tail: ThreadTail, preset: SessionPreset, call: ModelCall) -> _PreparedTail:
        if preset.pairs is None:
            return cls(tail, preset, prepare(tail.records, _options(preset, call), counter=call.counter))
        options = ViewOptions(
            thread="given",
            exclude_run_id=call.exclude_run_id,
            roles=DIALOGUE & (preset.roles or DIALOGUE),
            answers_only=True,
        )
        log = prepare(tail.records, options, counter=call.counter)
        return cls(tail, preset, log, log.draft(flags=tail.flags))

    def memory(self, call: ModelCall, stored: StoredSummary | None = None) -> SessionMemory:
        """The messages for a model in this call."""
        summary = self._shown_summary(stored)
        if self.dialogue is None:
            memory = _within_limits(self, call, summary)
        else:
            memory = _in_pairs(self.dialogue, self.preset, call, summary)
        return replace(memory, next_read=self._next_read(memory, stored))

    def _shown_summary(self, stored: StoredSummary | None) -> Summary | None:
        """The summary, unless the thread, as far as it was read, does not contain its last message."""
        if stored is None or not self.preset.summary:
            return None
        if not self._reaches(stored):
            return None if self.tail.complete else replace(stored.summary, precedes_log=True)
        is_on_thread = any(record.id == stored.last_message_id for record in self.tail.records)
        return stored.summary if is_on_thread else None

    def _next_read(self, memory: SessionMemory, stored: StoredSummary | None) -> NextRead:
        """The first rule that applies decides."""
        if self.tail.complete:
            return "nothing"
        if not memory.is_full:
            return "older"
        if not self.preset.summary or self._reaches(stored):
            return "nothing"
        if GAP not in memory.draft.report.flags:
            return "older"  # messages that no summary covers are shown verbatim, however old
        if stored is None or stored.on_thread or not self.tail.linked:
            return "nothing"
        return "summary_thread"  # there are branches: the thread may not contain the summary's last message

    def _reaches(self, stored: StoredSummary | None) -> bool:
        """Whether the tail goes back to the end of the summary."""
        oldest_seq = self.tail.records[0].seq if self.tail.records else 0
        return stored is not None and oldest_seq <= stored.summary.to_seq


def _options(preset: SessionPreset, call: ModelCall) -> ViewOptions:
    return ViewOptions(
        thread="none" if preset.pairs is not None else "given",
        exclude_run_id=call.exclude_run_id,
        roles=preset.roles,
        limits=replace(preset.limits, max_tokens=call.token_budget),
        reserved_tokens=call.reserved_tokens,
        uncovered_tokens=preset.uncovered_tokens if preset.summary and preset.pairs is None else None,
        clip_oversized=preset.clip and preset.pairs is None,
        clip_edge=preset.clip and preset.pairs is None,
        summary_role="system",  # as a user message it would merge with a question
        align=preset.align,
        format=preset.format,
        model=call.model,
    )


def _within_limits(tail: _PreparedTail, call: ModelCall, summary: Summary | None) -> SessionMemory:
    """The messages that fit the limits."""
    draft = tail.log.draft(
        reserved_tokens=call.reserved_tokens,
        summary=summary,
        inserts=call.inserts,
        flags=(*tail.tail.flags, *call.flags),
    )
    overflow = draft.overflow[: open_question(draft.overflow)]  # a question is summarized with its answer
    expired = overflow[-1] if tail.preset.summary and overflow else None
    return SessionMemory(draft=draft, is_full=draft.report.is_full, expired=expired)


def _in_pairs(dialogue: Draft, preset: SessionPreset, call: ModelCall, summary: Summary | None) -> SessionMemory:
    """The latest pairs, the summary, and what lies between the two."""
    pairs = pairs_of(dialogue.records)
    window = pair_window(pairs, dialogue.records, preset, call.counter, 0 if summary is None else summary.to_seq)
    if not window.earlier:
        summary = None  # everything is in the window
    records = [record for pair in window.shown for record in pair.records]
    log = prepare(records, _options(preset, call), counter=call.counter)
    draft = _pair_draft(log, dialogue, call, summary)
    if summary is not None and draft.report.over_budget:
        summary, draft = None, _pair_draft(log, dialogue, call, None, flags=(SUMMARY_DROPPED,))
    covered_seq, text = (0, "") if summary is None else (summary.to_seq, summary.text)
    kept = set(draft.report.kept)
    left_out = [record for record in records if record.id not in kept]
    report = _pair_report(draft, dialogue, summary)
    if preset.summary and (window.gap or any(record.seq > covered_seq for record in left_out)):
        report = replace(report, flags=tuple(dict.fromkeys([*report.flags, GAP])))
    shown = [pair for pair in window.shown if pair.user.id in kept]
    session_part = session_text(shown, text, summary_style=preset.summary_style, summary_first=preset.summary_first)
    last = max([*window.earlier, *left_out], key=lambda record: record.seq, default=None)
    return SessionMemory(
        draft=replace(draft, report=report),
        text="\n".join([*(insert.text for insert in call.inserts), *([session_part] if session_part else [])]),
        is_full=len(pairs) > preset.pair_count,
        expired=last if preset.summary and last is not None and last.seq > covered_seq else None,
        memory_use_summary=memory_use_summary(shown, text),
    )


def _pair_draft(
    window: PreparedLog, dialogue: Draft, call: ModelCall, summary: Summary | None, flags: Sequence[str] = ()
) -> Draft:
    """The messages of the window, after the summary."""
    inserts, reserved = list(call.inserts), call.reserved_tokens
    if summary is not None:
        inserts.insert(0, summary.as_record("system", SUMMARY_PREFIX))
        reserved += call.counter.count(inserts[0])
    return window.draft(
        reserved_tokens=reserved,
        inserts=inserts,
        flags=(*dialogue.report.flags, *call.flags, *flags),
        degraded=dialogue.report.degraded,
    )


def _pair_report(draft: Draft, dialogue: Draft, summary: Summary | None) -> Report:
    """The report of the window for the whole thread."""
    covered_seq = 0 if summary is None else summary.to_seq
    kept = set(draft.report.kept)
    reasons = {removed.id: removed.reason for removed in draft.report.removed if removed.reason != LIMIT}
    left_out = tuple(
        Removed(record.id, reasons.get(record.id, SUMMARISED if record.seq <= covered_seq else LIMIT))
        for record in dialogue.records
        if record.id not in kept
    )
    return replace(
        draft.report,
        removed=(*dialogue.report.removed, *left_out),
        tokens_before=dialogue.report.tokens_before,
        summary=summary_use(summary, draft.records),
    )
