"""What a model is told of a session: presets, from the newest messages and a summary of those before.

flowx_5         the latest 3 pairs of question and reply, and a summary of all before
flowx_6         the latest 30 pairs, no summary
token_buffer    as many whole turns as the budget holds, and a summary of those before
window          the latest 10 turns

Pure: records and a summary in, a view out. A turn nobody has replied to takes no pair's place. Nothing is given twice
and nothing is left out in silence: what leaves the window and is not in the summary yet is given verbatim, up to
`uncovered_tokens`; beyond that the view is flagged `gap`.
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
from memorybase.conversation.view.build import SUMMARY_PREFIX, Removed, View, ViewOptions, build_view
from memorybase.conversation.view.limits import Limits
from memorybase.conversation.view.records import Record
from memorybase.conversation.view.rendering import Align, Format
from memorybase.conversation.view.tokens import ESTIMATE, TokenCounter
from memorybase.conversation.view.turns import open_question

NOT_IN_THREAD = "not_in_thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreset:
    """How a session is shown. `pairs`: the latest so many, in session memory's structure; else by `limits`.

    count_current   the question under way is one of the pairs
    clip            the oldest turn that is given, and a newest one that is too large, may be cut with a mark
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

    @property
    def summary_of(self) -> str:
        """Under what name its summaries are kept: equal windows share them."""
        return self.name if self.pairs is None else f"pairs_{self.pairs_given}"

    @property
    def pairs_given(self) -> int:
        return max(1, (self.pairs or 0) - self.count_current)


FLOWX_5 = SessionPreset(name="flowx_5", pairs=3, summary=True)
FLOWX_6 = SessionPreset(name="flowx_6", pairs=30)
TOKEN_BUFFER = SessionPreset(name="token_buffer", summary=True, clip=True)
WINDOW = SessionPreset(name="window", clip=True, limits=Limits(max_turns=10, prune="turn"))
PRESETS = {preset.name: preset for preset in (FLOWX_5, FLOWX_6, TOKEN_BUFFER, WINDOW)}


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary and the newest message that it covers: a thread that does not pass it needs another one."""

    summary: Summary
    last_message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What differs from one model call to the next. `inserts` are paid from `reserved_tokens`."""

    token_budget: int | None = None
    reserved_tokens: int = 0
    inserts: Sequence[Record] = ()
    exclude_run_id: str | None = None
    counter: TokenCounter = ESTIMATE
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory:
    """The view; what a summary should cover and none does; what a console shows of session memory, else None.

    `enough`: older records than those given would change nothing.
    """

    view: View
    expired: Record | None = None
    memory_use_summary: dict[str, Any] | None = None
    enough: bool = True


def session_memory(
    tail: Tail, preset: SessionPreset, call: Call, *, stored: StoredSummary | None = None, use_memory: bool = False
) -> SessionMemory:
    """What the model of a node is told; nothing unless the node uses memory, which none does unless it says so."""
    if not use_memory:
        return SessionMemory(view=build_view([], _options(preset, call), counter=call.counter, inserts=call.inserts))
    walked = build_view(
        tail.records,
        ViewOptions(
            thread="inferred",
            exclude_run_id=call.exclude_run_id,
            roles=None if preset.pairs is None else frozenset({"user", "assistant"}),
        ),
        counter=call.counter,
        flags=tail.flags,
    )
    usable = stored if preset.summary and stored is not None and _passes(walked, tail, stored) else None
    show = _limited if preset.pairs is None else _paired
    memory = show(tail, walked, preset, call, None if usable is None else usable.summary)
    return replace(memory, enough=tail.complete or (memory.enough and _goes_back(tail, preset, memory, stored)))


def _goes_back(tail: Tail, preset: SessionPreset, memory: SessionMemory, stored: StoredSummary | None) -> bool:
    """Whether the tail holds the thread as far back as the summary goes, or as anything is given verbatim."""
    if not preset.summary or (stored is not None and _oldest_seq(tail) <= stored.summary.to_seq):
        return True
    # With branches, whether the thread passes the summary's end is not known before it is read.
    return (stored is None or not tail.linked) and GAP in memory.view.report.flags


def _passes(walked: View, tail: Tail, stored: StoredSummary) -> bool:
    """Whether the thread goes through the end of what the summary covers, as far as it was read."""
    if _oldest_seq(tail) > stored.summary.to_seq:
        return not tail.complete
    off = {removed.id for removed in walked.report.removed if removed.reason == NOT_IN_THREAD}
    return any(record.id == stored.last_message_id for record in tail.records) and stored.last_message_id not in off


def _oldest_seq(tail: Tail) -> int:
    return tail.records[0].seq if tail.records else 0


def _options(preset: SessionPreset, call: Call) -> ViewOptions:
    return ViewOptions(
        thread="none" if preset.pairs is not None else "inferred",
        exclude_run_id=call.exclude_run_id,
        limits=replace(preset.limits, max_tokens=call.token_budget),
        reserved_tokens=call.reserved_tokens,
        uncovered_tokens=preset.uncovered_tokens if preset.summary and preset.pairs is None else None,
        clip_oversized=preset.clip and preset.pairs is None,
        clip_edge=preset.clip and preset.pairs is None,
        summary_role="system",  # beside a question it would become part of it
        align=preset.align,
        format=preset.format,
    )


def _limited(tail: Tail, _walked: View, preset: SessionPreset, call: Call, summary: Summary | None) -> SessionMemory:
    """What the limits hold."""
    view = build_view(
        tail.records,
        _options(preset, call),
        counter=call.counter,
        summary=summary,
        inserts=call.inserts,
        flags=tail.flags,
        degraded=call.degraded,
    )
    overflow = view.overflow[: open_question(view.overflow)]  # a question is summarised with its answer
    return SessionMemory(
        view=view,
        expired=overflow[-1] if preset.summary and overflow else None,
        enough=any(removed.reason in {LIMIT, SUMMARISED} for removed in view.report.removed),
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """Pairs that are given, the messages before the window, and whether some of those are neither given nor covered."""

    shown: list[Pair]
    earlier: list[Record]
    gap: bool


def _paired(_tail: Tail, walked: View, preset: SessionPreset, call: Call, summary: Summary | None) -> SessionMemory:
    """The latest pairs, the summary, and between them what the summary does not cover yet."""
    pairs = pairs_of(walked.records)
    window = _window(walked.records, pairs, preset, call, 0 if summary is None else summary.to_seq)
    view = _pair_view(walked, window, preset, call, summary)
    if summary is not None and view.report.over_budget:
        summary, view = None, _pair_view(walked, window, preset, call, None, flags=(SUMMARY_DROPPED,))
    text = "" if summary is None else summary.text
    given = [pair for pair in window.shown if pair.user.id in view.report.kept]
    written = session_text(given, text, summary_style=preset.summary_style, summary_first=preset.summary_first)
    recalled = [insert.text for insert in call.inserts]
    is_behind = bool(window.earlier) and (summary is None or window.earlier[-1].seq > summary.to_seq)
    return SessionMemory(
        view=replace(view, text="\n".join([*recalled, *([written] if written else [])])),
        expired=window.earlier[-1] if preset.summary and is_behind else None,
        memory_use_summary=memory_use_summary(given, text),
        enough=len(pairs) > preset.pairs_given,
    )


def _window(
    records: Sequence[Record], pairs: Sequence[Pair], preset: SessionPreset, call: Call, covered_seq: int
) -> _Window:
    latest = pairs[-preset.pairs_given :]
    start = latest[0].user.seq if latest else 0
    earlier = [record for record in records if record.seq < start]
    shown = [pair for pair in latest if pair.user.seq > covered_seq]
    if not preset.summary:
        return _Window(shown, earlier, gap=False)
    waiting = [pair for pair in pairs if covered_seq < pair.user.seq < start]
    turns = _turns(records)
    left = preset.uncovered_tokens
    index = len(waiting)
    while index and left >= (cost := sum(map(call.counter.count, turns[waiting[index - 1].user.id]))):
        index -= 1
        left -= cost
    return _Window([*waiting[index:], *shown], earlier, gap=index > 0)


def _pair_view(
    walked: View,
    window: _Window,
    preset: SessionPreset,
    call: Call,
    summary: Summary | None,
    *,
    flags: Sequence[str] = (),
) -> View:
    """The messages of these pairs, behind the summary."""
    turns = _turns(walked.records)
    options = _options(preset, call)
    inserts = list(call.inserts)
    if summary is not None:
        shown = summary.as_record("system", SUMMARY_PREFIX)
        inserts.insert(0, shown)
        options = replace(options, reserved_tokens=options.reserved_tokens + call.counter.count(shown))
    given = [record for pair in window.shown for record in turns[pair.user.id]]
    gap = (GAP,) if window.gap else ()
    view = build_view(
        given,
        options,
        counter=call.counter,
        inserts=inserts,
        flags=(*walked.report.flags, *flags, *gap),
        degraded=(*walked.report.degraded, *call.degraded),
    )
    if preset.summary and len(view.report.kept) < len(given):
        view = replace(view, report=replace(view.report, flags=tuple(dict.fromkeys([*view.report.flags, GAP]))))
    ids = {record.id for record in given}
    covered_seq = 0 if summary is None else summary.to_seq
    left_out = tuple(
        Removed(record.id, SUMMARISED if record.seq <= covered_seq else LIMIT)
        for record in walked.records
        if record.id not in ids
    )
    removed = (*walked.report.removed, *left_out, *view.report.removed)
    return replace(view, report=replace(view.report, removed=removed, tokens_before=walked.report.tokens_before))


def _turns(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each turn by its user message's id."""
    turns: dict[str, list[Record]] = {}
    turn: list[Record] = []
    for record in records:
        if record.role == "user":
            turn = turns.setdefault(record.id, [])
        turn.append(record)
    return turns
