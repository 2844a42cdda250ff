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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorybase.conversation.history.session_reader import Tail
from memorybase.conversation.session_memory.transcript import (
    Pair,
    SummaryStyle,
    memory_use_summary,
    pairs_of,
    session_text,
)
from memorybase.conversation.view.budget import GAP, LIMIT, SUMMARISED, SUMMARY_DROPPED, Summary
from memorybase.conversation.view.build import SUMMARY_PREFIX, Removed, View, ViewOptions, build_view, summary_use
from memorybase.conversation.view.limits import Limits
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.rendering import Align, Format
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.conversation.view.turns import open_question

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory:
    """The view of a session.

    expired              the newest record that a summary should cover and none does
    memory_use_summary   what a console shows of session memory
    enough               older records would not change the view
    unchecked            they would not, but for whether the summary is of this thread: see StoredSummary.on_thread
    """

    view: View
    expired: Record | None = None
    memory_use_summary: dict[str, Any] | None = None
    enough: bool = True
    unchecked: bool = False


def session_memory(
    tail: Tail, preset: SessionPreset, call: Call, *, stored: StoredSummary | None = None, use_memory: bool = False
) -> SessionMemory:
    """What a node's model is given; only the call's inserts unless the node uses memory."""
    if not use_memory:
        return SessionMemory(view=build_view([], _options(preset, call), counter=call.counter, inserts=call.inserts))
    thread = build_view(
        tail.records,
        ViewOptions(
            thread="inferred",
            leaf_id=tail.leaf_id,
            exclude_run_id=call.exclude_run_id,
            roles=preset.roles if preset.pairs is None else DIALOGUE & (preset.roles or DIALOGUE),
            answers_only=preset.pairs is not None,
        ),
        counter=call.counter,
        flags=tail.flags,
    )
    usable = stored if preset.summary and stored is not None and _passes(thread, tail, stored) else None
    show = _limited if preset.pairs is None else _paired
    memory = show(tail, thread, preset, call, None if usable is None else usable.summary)
    goes_back = tail.complete or not preset.summary or _goes_back(tail, memory, stored)
    # With branches, the thread may not contain the summary's last message.
    is_known = stored is None or stored.on_thread or not tail.linked or _oldest_seq(tail) <= stored.summary.to_seq
    is_full = memory.enough and goes_back
    is_enough = tail.complete or (is_full and (is_known or not preset.summary))
    return replace(memory, enough=is_enough, unchecked=is_full and not is_enough)


def _goes_back(tail: Tail, memory: SessionMemory, stored: StoredSummary | None) -> bool:
    """Whether the tail reaches back to the summary's end, or to the oldest message shown verbatim."""
    return (stored is not None and _oldest_seq(tail) <= stored.summary.to_seq) or GAP in memory.view.report.flags


def _passes(thread: View, tail: Tail, stored: StoredSummary) -> bool:
    """Whether the thread, as far as it was read, contains the summary's last message."""
    if _oldest_seq(tail) > stored.summary.to_seq:
        return not tail.complete
    other_threads = {removed.id for removed in thread.report.removed if removed.reason == NOT_IN_THREAD}
    return stored.last_message_id in {record.id for record in tail.records} - other_threads


def _oldest_seq(tail: Tail) -> int:
    return tail.records[0].seq if tail.records else 0


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


def _limited(tail: Tail, _thread: View, preset: SessionPreset, call: Call, summary: Summary | None) -> SessionMemory:
    """The messages that fit the limits."""
    view = build_view(
        tail.records,
        replace(_options(preset, call), leaf_id=tail.leaf_id),
        counter=call.counter,
        summary=summary,
        inserts=call.inserts,
        flags=(*tail.flags, *call.flags),
        degraded=call.degraded,
    )
    overflow = view.overflow[: open_question(view.overflow)]  # a question is summarized with its answer
    return SessionMemory(
        view=view,
        expired=overflow[-1] if preset.summary and overflow else None,
        enough=any(removed.reason in {LIMIT, SUMMARISED} for removed in view.report.removed),
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """The pairs shown, the messages before the window, and whether any of those is neither shown nor covered."""

    shown: list[Pair]
    earlier: list[Record]
    gap: bool


def _paired(_tail: Tail, thread: View, preset: SessionPreset, call: Call, summary: Summary | None) -> SessionMemory:
    """The latest pairs, the summary, and what lies between the two."""
    pairs, turns = pairs_of(thread.records), _turns(thread.records)
    window = _window(thread.records, pairs, preset, call, 0 if summary is None else summary.to_seq)
    if not window.earlier:
        summary = None  # everything is in the window
    view = _pair_view(thread, window, preset, call, summary)
    if summary is not None and view.report.over_budget:
        summary, view = None, _pair_view(thread, window, preset, call, None, flags=(SUMMARY_DROPPED,))
    text = "" if summary is None else summary.text
    pairs_shown = [pair for pair in window.shown if pair.user.id in view.report.kept]
    session = session_text(pairs_shown, text, summary_style=preset.summary_style, summary_first=preset.summary_first)
    recalled = [insert.text for insert in call.inserts]
    kept = set(view.report.kept)
    beyond_budget = (record for pair in window.shown for record in turns[pair.user.id] if record.id not in kept)
    last = max([*window.earlier, *beyond_budget], key=lambda record: record.seq, default=None)
    is_behind = last is not None and (summary is None or last.seq > summary.to_seq)
    return SessionMemory(
        view=replace(view, text="\n".join([*recalled, *([session] if session else [])])),
        expired=last if preset.summary and is_behind else None,
        memory_use_summary=memory_use_summary(pairs_shown, text),
        enough=len(pairs) > preset.pair_count,
    )


def _window(
    records: Sequence[Record], pairs: Sequence[Pair], preset: SessionPreset, call: Call, covered_seq: int
) -> _Window:
    latest = list(pairs[-preset.pair_count :])
    start = latest[0].user.seq if latest else 0
    earlier = [record for record in records if record.seq < start]
    if not preset.summary:
        return _Window(latest, earlier, gap=False)
    waiting = [pair for pair in pairs if covered_seq < pair.user.seq < start]
    turns = _turns(records)
    tokens_left = preset.uncovered_tokens
    index = len(waiting)
    while index and tokens_left >= (cost := sum(map(call.counter.count, turns[waiting[index - 1].user.id]))):
        index -= 1
        tokens_left -= cost
    return _Window([*waiting[index:], *latest], earlier, gap=index > 0)


def _pair_view(
    thread: View,
    window: _Window,
    preset: SessionPreset,
    call: Call,
    summary: Summary | None,
    *,
    flags: Sequence[str] = (),
) -> View:
    """The messages of the window, after the summary."""
    turns = _turns(thread.records)
    options = _options(preset, call)
    inserts = list(call.inserts)
    if summary is not None:
        insert = summary.as_record("system", SUMMARY_PREFIX)
        inserts.insert(0, insert)
        options = replace(options, reserved_tokens=options.reserved_tokens + call.counter.count(insert))
    records = [record for pair in window.shown for record in turns[pair.user.id]]
    view = build_view(
        records,
        options,
        counter=call.counter,
        inserts=inserts,
        flags=(*thread.report.flags, *call.flags, *flags),
        degraded=(*thread.report.degraded, *call.degraded),
    )
    covered_seq = 0 if summary is None else summary.to_seq
    kept = set(view.report.kept)
    gap = window.gap or any(record.id not in kept and record.seq > covered_seq for record in records)
    reasons = {removed.id: removed.reason for removed in view.report.removed if removed.reason != LIMIT}
    left_out = tuple(
        Removed(record.id, reasons.get(record.id, SUMMARISED if record.seq <= covered_seq else LIMIT))
        for record in thread.records
        if record.id not in kept
    )
    report = replace(
        view.report,
        removed=(*thread.report.removed, *left_out),
        tokens_before=thread.report.tokens_before,
        flags=tuple(dict.fromkeys([*view.report.flags, *([GAP] if gap and preset.summary else [])])),
        summary=summary_use(summary, view.records),
    )
    return replace(view, report=report)


def _turns(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each turn, by the id of its user message."""
    turns: dict[str, list[Record]] = {}
    turn: list[Record] = []
    for record in records:
        if record.role == "user":
            turn = turns.setdefault(record.id, [])
        turn.append(record)
    return turns
