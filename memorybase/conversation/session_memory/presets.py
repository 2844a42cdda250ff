"""What a model is given of a session: presets that combine the newest messages with a summary of the older ones.

flowx_5         the latest 3 pairs of question and reply, and a summary of earlier ones
flowx_6         the latest 30 pairs, no summary
token_buffer    as many whole turns as the budget holds, and a summary of earlier ones
window          the latest 10 turns

Pure: records and a summary in, a view out. Pairs and their summary have what users and agents said to each other: no
tool results and no intermediate outputs (`is_output: false`). A turn without a reply does not count as a pair.

Other callers share the summary, so it may cover more than the window leaves out; that is still shown verbatim. Messages
outside of the window that the summary does not cover yet are shown verbatim, up to `uncovered_tokens`; if there are
more, the view is flagged `gap`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from memorybase.conversation.history.session_reader import Tail
from memorybase.conversation.view.budget import GAP, LIMIT, SUMMARISED, SUMMARY_DROPPED, Summary
from memorybase.conversation.view.build import (
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
from memorybase.conversation.view.limits import Limits
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.rendering import Align, Format
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.conversation.view.transcript import INDENT, _indented
from memorybase.conversation.view.turns import groups_of, open_question, turns_of

SummaryStyle = Literal["line", "heading", "both"]
SUMMARY_LINE = "Summary of previous replies: "
SUMMARY_HEADING = "## Previous conversation summary:\n"


@dataclass(frozen=True, slots=True)
class Pair:
    """A user message and all replies to it."""

    user: Record
    agent: str


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """The turns with a user message and a reply, oldest first; several replies are joined by line breaks."""
    pairs: list[Pair] = []
    for turn in turns_of(records, groups_of(records)):
        members = sorted(index for group in turn for index in group)
        replies = [records[index].text for index in members if records[index].role == "assistant"]
        reply = "\n".join(text for text in replies if text.strip())
        if records[members[0]].role == "user" and reply:
            pairs.append(Pair(records[members[0]], reply))
    return pairs


def session_text(
    pairs: Sequence[Pair],
    summary: str = "",
    *,
    summary_style: SummaryStyle = "line",
    summary_first: bool = False,
    faithful: bool = False,
) -> str:
    """FlowX's structure: "user:" and "agent:" lines, oldest first, and the summary of earlier messages."""
    lines = [
        f"{role}: {_indented(text, faithful=faithful)}"
        for pair in pairs
        for role, text in (("user", pair.user.text), ("agent", pair.agent))
    ]
    if summary:
        text = _indented(summary, faithful=faithful)
        if summary_style != "line" and not faithful and text.startswith(("user:", "agent:")):
            text = INDENT + text
        headings = {"line": SUMMARY_LINE, "heading": SUMMARY_HEADING, "both": SUMMARY_LINE + SUMMARY_HEADING}
        lines.insert(0 if summary_first else len(lines), headings[summary_style] + text)
    return "\n".join(lines)


def memory_use_summary(pairs: Sequence[Pair], summary: str = "") -> dict[str, Any]:
    """What a console shows of session memory: the pairs, newest first."""
    return {
        "summary": summary,
        "chatMessages": [
            {"messageId": pair.user.id, "userMessage": pair.user.text, "agentMessage": pair.agent}
            for pair in reversed(pairs)
        ],
    }


NOT_IN_THREAD = "not_in_thread"
PAIRS = "pairs_"  # begins the name of a summary of what is before the latest pairs
DIALOGUE: frozenset[Role] = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreset:
    """How a session is shown: the latest `pairs`, in session memory's structure, or what `limits` allow.

    count_current   the current question counts as one of the pairs
    clip            the oldest turn shown, and a newest one that is too large, may be truncated with a mark
    roles           only messages of these roles; pairs have users and assistants alone
    """

    name: str
    pairs: int | None = None
    limits: Limits = field(default_factory=lambda: Limits(prune="turn"))
    summary: bool = False
    uncovered_tokens: int = 2_000
    count_current: bool = False
    clip: bool = False
    summary_style: SummaryStyle = "line"
    summary_first: bool = False
    align: Align = "strict"
    format: Format = "openai"
    roles: frozenset[Role] | None = None

    @property
    def summary_of(self) -> str:
        """The name under which its summaries are stored; presets with equal windows share them."""
        return self.name if self.pairs is None else f"{PAIRS}{self.pair_count}"

    @property
    def pair_count(self) -> int:
        return max(1, (self.pairs or 0) - self.count_current)


FLOWX_5 = SessionPreset(name="flowx_5", pairs=3, summary=True)
FLOWX_6 = SessionPreset(name="flowx_6", pairs=30)
TOKEN_BUFFER = SessionPreset(name="token_buffer", summary=True, clip=True)
WINDOW = SessionPreset(name="window", clip=True, limits=Limits(max_turns=10, prune="turn"))
PRESETS = {preset.name: preset for preset in (FLOWX_5, FLOWX_6, TOKEN_BUFFER, WINDOW)}


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary and the newest message that it covers; a thread without that message needs another summary.

    `on_thread`: the thread is known to contain that message, although it was not read as far back."""

    summary: Summary
    last_message_id: str
    on_thread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What differs between model calls. `reserved_tokens` pays for the `inserts`."""

    token_budget: int | None = None
    reserved_tokens: int = 0
    inserts: Sequence[Record] = ()
    exclude_run_id: str | None = None
    counter: TokenCounter = ESTIMATE
    flags: Sequence[str] = ()
    degraded: Sequence[str] = ()


# What is to be read before a view is right: nothing more, older messages, or whether the summary is of this thread.
NextRead = Literal["nothing", "older", "summary_thread"]


@dataclass(frozen=True, kw_only=True)
class SessionMemory:
    """What a model is given of a session, rendered when `view` is asked for.

    text                 the view as a transcript, if the preset has its own
    is_full              the limits leave something out
    expired              the newest record that a summary should cover and none does
    memory_use_summary   what a console shows of session memory
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

    @property
    def unchecked(self) -> bool:
        """Whether older records would change nothing only if the summary is of this thread: the caller checks that."""
        return self.next_read == "summary_thread"


def session_memory(
    tail: Tail, preset: SessionPreset, call: Call, *, stored: StoredSummary | None = None, use_memory: bool = False
) -> SessionMemory:
    """What a node's model is given; only the call's inserts unless the node uses memory."""
    if not use_memory:
        log = prepare([], _options(preset, call), counter=call.counter)
        return SessionMemory(draft=log.draft(inserts=call.inserts))
    return SessionLog.of(tail, preset, call).memory(call, stored)


@dataclass(frozen=True, slots=True)
class SessionLog:
    """A session as it was read, for calls that differ in what is reserved and inserted."""

    tail: Tail
    preset: SessionPreset
    log: PreparedLog
    thread: Draft | None = None  # without limits, to find pairs in

    @classmethod
    def of(cls, tail: Tail, preset: SessionPreset, call: Call) -> SessionLog:
        if preset.pairs is None:
            options = replace(_options(preset, call), leaf_id=tail.leaf_id)
            return cls(tail, preset, prepare(tail.records, options, counter=call.counter))
        options = ViewOptions(
            thread="inferred",
            leaf_id=tail.leaf_id,
            exclude_run_id=call.exclude_run_id,
            roles=DIALOGUE & (preset.roles or DIALOGUE),
            answers_only=True,
        )
        log = prepare(tail.records, options, counter=call.counter)
        return cls(tail, preset, log, log.draft(flags=tail.flags))

    def memory(self, call: Call, stored: StoredSummary | None = None) -> SessionMemory:
        """What a model is given in this call."""
        summary = self._shown_summary(stored)
        if self.thread is None:
            memory = _limited(self, call, summary)
        else:
            memory = _paired(self.thread, self.preset, call, summary)
        return replace(memory, next_read=self._next_read(memory, stored))

    def _shown_summary(self, stored: StoredSummary | None) -> Summary | None:
        """The summary, unless the thread, as far as it was read, does not contain its last message."""
        if stored is None or not self.preset.summary:
            return None
        if not self._reaches(stored):
            return None if self.tail.complete else replace(stored.summary, precedes_log=True)
        on_thread = {record.id for record in self.tail.records}.difference(self.log.removed_for(NOT_IN_THREAD))
        return stored.summary if stored.last_message_id in on_thread else None

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


def _options(preset: SessionPreset, call: Call) -> ViewOptions:
    return ViewOptions(
        thread="none" if preset.pairs is not None else "inferred",
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
    )


def _limited(session: SessionLog, call: Call, summary: Summary | None) -> SessionMemory:
    """The messages that fit the limits."""
    draft = session.log.draft(
        reserved_tokens=call.reserved_tokens,
        summary=summary,
        inserts=call.inserts,
        flags=(*session.tail.flags, *call.flags),
        degraded=call.degraded,
    )
    overflow = draft.overflow[: open_question(draft.overflow)]  # a question is summarized with its answer
    expired = overflow[-1] if session.preset.summary and overflow else None
    return SessionMemory(draft=draft, is_full=draft.report.is_full, expired=expired)


@dataclass(frozen=True, slots=True)
class _Window:
    """The pairs shown, the messages before the window, and whether any of those is neither shown nor covered."""

    shown: list[Pair]
    earlier: list[Record]
    gap: bool


def _paired(thread: Draft, preset: SessionPreset, call: Call, summary: Summary | None) -> SessionMemory:
    """The latest pairs, the summary, and what lies between the two."""
    pairs, turns = pairs_of(thread.records), _turns(thread.records)
    window = _window(thread.records, pairs, turns, preset, call.counter, 0 if summary is None else summary.to_seq)
    if not window.earlier:
        summary = None  # everything is in the window
    records = [record for pair in window.shown for record in turns[pair.user.id]]
    log = prepare(records, _options(preset, call), counter=call.counter)
    draft = _pair_draft(log, thread, call, summary)
    if summary is not None and draft.report.over_budget:
        summary, draft = None, _pair_draft(log, thread, call, None, flags=(SUMMARY_DROPPED,))
    report = _pair_report(draft, thread, summary)
    kept = set(report.kept)
    covered_seq = 0 if summary is None else summary.to_seq
    is_gap = window.gap or any(record.id not in kept and record.seq > covered_seq for record in records)
    if is_gap and preset.summary:
        report = replace(report, flags=tuple(dict.fromkeys([*report.flags, GAP])))
    shown, text = [pair for pair in window.shown if pair.user.id in kept], "" if summary is None else summary.text
    session_part = session_text(shown, text, summary_style=preset.summary_style, summary_first=preset.summary_first)
    left_out = [*window.earlier, *(record for record in records if record.id not in kept)]
    last = max(left_out, key=lambda record: record.seq, default=None)
    return SessionMemory(
        draft=replace(draft, report=report),
        text="\n".join([*(insert.text for insert in call.inserts), *([session_part] if session_part else [])]),
        is_full=len(pairs) > preset.pair_count,
        expired=last if preset.summary and last is not None and last.seq > covered_seq else None,
        memory_use_summary=memory_use_summary(shown, text),
    )


def _window(
    records: Sequence[Record],
    pairs: Sequence[Pair],
    turns: Mapping[str, Sequence[Record]],
    preset: SessionPreset,
    counter: TokenCounter,
    covered_seq: int,
) -> _Window:
    """The latest pairs, and before them those that the summary does not cover, up to `uncovered_tokens`."""
    latest = list(pairs[-preset.pair_count :])
    start = latest[0].user.seq if latest else 0
    earlier = [record for record in records if record.seq < start]
    if not preset.summary:
        return _Window(latest, earlier, gap=False)
    waiting = [pair for pair in pairs if covered_seq < pair.user.seq < start]
    tokens_left = preset.uncovered_tokens
    index = len(waiting)
    while index and tokens_left >= (cost := sum(map(counter.count, turns[waiting[index - 1].user.id]))):
        index -= 1
        tokens_left -= cost
    return _Window([*waiting[index:], *latest], earlier, gap=index > 0)


def _pair_draft(
    window: PreparedLog, thread: Draft, call: Call, summary: Summary | None, flags: Sequence[str] = ()
) -> Draft:
    """The messages of the window, after the summary."""
    inserts, reserved = list(call.inserts), call.reserved_tokens
    if summary is not None:
        inserts.insert(0, summary.as_record("system", SUMMARY_PREFIX))
        reserved += call.counter.count(inserts[0])
    return window.draft(
        reserved_tokens=reserved,
        inserts=inserts,
        flags=(*thread.report.flags, *call.flags, *flags),
        degraded=(*thread.report.degraded, *call.degraded),
    )


def _pair_report(draft: Draft, thread: Draft, summary: Summary | None) -> Report:
    """The report of the window for the whole thread."""
    covered_seq = 0 if summary is None else summary.to_seq
    kept = set(draft.report.kept)
    reasons = {removed.id: removed.reason for removed in draft.report.removed if removed.reason != LIMIT}
    left_out = tuple(
        Removed(record.id, reasons.get(record.id, SUMMARISED if record.seq <= covered_seq else LIMIT))
        for record in thread.records
        if record.id not in kept
    )
    return replace(
        draft.report,
        removed=(*thread.report.removed, *left_out),
        tokens_before=thread.report.tokens_before,
        summary=summary_use(summary, draft.records),
    )


def _turns(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each turn, by the id of its user message."""
    turns: dict[str, list[Record]] = {}
    turn: list[Record] = []
    for record in records:
        if record.role == "user":
            turn = turns.setdefault(record.id, [])
        turn.append(record)
    return turns
