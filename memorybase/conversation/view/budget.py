"""Decides what a view sends: what the limits allow, and a summary instead of the messages that it covers.

The limits alone decide what is sent verbatim; if they leave something out, the summary comes before it and counts. A
summary that covers more than that overlaps with what is sent, because its end depends on the other callers of the same
log. Messages that are left out and not covered yet are sent verbatim up to `uncovered_tokens`, so that a summary that
lags leaves no gap. A conversation that fits completely gets no summary. With `clip_edge`, the next older unit fills the
remaining room, with its longest message truncated, and so does a summary that is too long beside the newest unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memorybase.conversation.view.limits import Limits, Used, trim
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.tokens import TokenCounter
from memorybase.conversation.view.truncate import clip, clip_longest
from memorybase.conversation.view.turns import Group, groups_of, turns_of

GAP = "gap"  # messages are left out that no summary covers, although there is one or will be
CLIPPED = "clipped"
SUMMARY_CLIPPED = "summary_clipped"  # it is truncated, to leave room for the newest turn
SUMMARY_DROPPED = "summary_dropped"  # it left no room for the newest turn

SUMMARISED = "summarised"
LIMIT = "limit"

_SUMMARY_ID = "summary"
# A shorter part of a turn is useless, and so is a shorter part of a summary.
EDGE_TOKENS = 64
SUMMARY_TOKENS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary of exactly the messages from_seq to to_seq of the view's thread.

    `precedes_log`: they are older than the records of the view, because the log was not read that far back."""

    text: str
    from_seq: int
    to_seq: int
    message_ids: Sequence[str] = ()
    precedes_log: bool = False

    def covers(self, record: Record) -> bool:
        return record.kind == "history" and self.from_seq <= record.seq <= self.to_seq

    def as_record(self, role: Role, prefix: str) -> Record:
        return Record(
            id=_SUMMARY_ID,
            seq=self.from_seq,
            role=role,
            content=prefix + self.text,
            kind="summary",
            message_ids=tuple(self.message_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How to fit. `leading`: how many records at the front are predefined; `used`: part of the limits that is gone;
    `message`: the summary as it is sent."""

    limits: Limits
    used: Used
    leading: int
    counter: TokenCounter
    cost: Callable[[Record], int]
    clip_oversized: bool
    clip_edge: bool
    uncovered_tokens: int | None
    summary: Summary | None = None
    message: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What is sent of the log after some of the steps.

    body       the log; steps truncate records of it
    kept       the records that are sent, by index
    over       not even the newest unit fits
    newest     that unit, by index
    covered    the records that the summary replaces, by index
    summary    the summary as a message, if it is sent
    overflow   what the limits leave out and no summary covers: the next summary should cover it
    """

    rules: Rules
    body: Sequence[Record]
    kept: frozenset[int]
    over: bool = False
    newest: Group = ()
    covered: frozenset[int] = frozenset()
    summary: Record | None = None
    overflow: tuple[Record, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def records(self) -> list[Record]:
        """What is sent: the summary is behind predefined messages and those that are older than what it covers."""
        kept = sorted(self.kept)
        records = [self.body[index] for index in kept]
        if self.summary is not None:
            leading, seq = self.rules.leading, self.summary.seq
            records.insert(sum(index < leading or self.body[index].seq < seq for index in kept), self.summary)
        return records

    @property
    def removed(self) -> list[tuple[Record, str]]:
        """What is not sent, and why."""
        replaced = frozenset[int]() if self.summary is None else self.covered
        return [
            (record, SUMMARISED if index in replaced else LIMIT)
            for index, record in enumerate(self.body)
            if index not in self.kept
        ]

    @property
    def uncovered(self) -> list[int]:
        """The records of the history that are neither sent nor covered by the summary, by index."""
        found = self.kept | self.covered
        return [index for index in range(self.rules.leading, len(self.body)) if index not in found]

    @property
    def tokens_left(self) -> int | None:
        """What is left of the limit; None without one."""
        rules = self.rules
        if rules.limits.max_tokens is None:
            return None
        sent = sum(rules.cost(self.body[index]) for index in self.kept)
        return rules.limits.max_tokens - rules.used.tokens - sent - (rules.cost(self.summary) if self.summary else 0)

    def with_records(self, indices: Sequence[int], records: Sequence[Record]) -> Fitted:
        """With these records truncated."""
        changed = dict(zip(indices, records, strict=True))
        return replace(self, body=[changed.get(index, record) for index, record in enumerate(self.body)])


def fit(records: Sequence[Record], rules: Rules) -> Fitted:
    """Choose the records to send: the limits choose first, and each further step adds to what fits so far."""
    fitted = _trimmed(records, rules)
    for step in (_clip_newest, _send_summary, _send_uncovered, _fill_edge, _flag_gap):
        fitted = step(fitted)
    return fitted


def _trimmed(body: Sequence[Record], rules: Rules, *, beside: Record | None = None) -> Fitted:
    """What the limits allow beside the summary."""
    used = Used(rules.used.messages, rules.used.tokens + (rules.cost(beside) if beside else 0))
    chosen = trim(body, [rules.cost(record) for record in body], rules.limits, leading=rules.leading, used=used)
    return Fitted(rules=rules, body=body, kept=frozenset(chosen.kept), over=chosen.over, newest=chosen.newest)


def _clip_newest(fitted: Fitted) -> Fitted:
    """If not even the newest unit fits, truncate it."""
    rules = fitted.rules
    if not (fitted.over and rules.clip_oversized) or rules.limits.max_tokens is None:
        return fitted
    left = rules.limits.max_tokens - rules.used.tokens
    cut = clip_longest([fitted.body[index] for index in fitted.newest], rules.counter, left)
    if cut is None:
        return fitted
    return replace(_trimmed(fitted.with_records(fitted.newest, cut).body, rules), flags=(CLIPPED,))


def _send_summary(fitted: Fitted) -> Fitted:
    """If the limits leave out what the summary covers, send it too, with what fits beside it."""
    rules, summary = fitted.rules, fitted.rules.message
    if len(fitted.kept) == len(fitted.body) or rules.summary is None or summary is None:
        return fitted
    fitted = replace(fitted, covered=_covered(fitted.body, rules.summary))
    if fitted.kept.issuperset(fitted.covered) and not rules.summary.precedes_log:
        return fitted
    beside = _trimmed(fitted.body, rules, beside=summary)
    if not beside.over:
        return replace(fitted, kept=beside.kept, summary=summary)
    if not rules.clip_edge or rules.limits.max_tokens is None:
        return replace(fitted, flags=(*fitted.flags, SUMMARY_DROPPED))
    # The newest unit comes first: the summary gets what is left. Never more is kept than with a budget that holds both.
    fitted = replace(fitted, kept=beside.kept)
    left = fitted.tokens_left or 0
    clipped = clip(summary, rules.counter, left) if left >= SUMMARY_TOKENS else None
    flag = SUMMARY_DROPPED if clipped is None else SUMMARY_CLIPPED
    return replace(fitted, summary=clipped, flags=(*fitted.flags, flag))


def _covered(body: Sequence[Record], summary: Summary) -> frozenset[int]:
    """The records that the summary replaces; a group that it covers only in part stays whole."""
    groups = (group for group in groups_of(body) if all(summary.covers(body[index]) for index in group))
    return frozenset(index for group in groups for index in group)


def _send_uncovered(fitted: Fitted) -> Fitted:
    """Of what is left out and not covered, send the newest units too, up to `uncovered_tokens`."""
    rules, missing = fitted.rules, fitted.uncovered
    records = [fitted.body[index] for index in missing]
    fitted = replace(fitted, overflow=tuple(records))
    if rules.uncovered_tokens is None or not missing:
        return fitted
    left = fitted.tokens_left
    tokens = rules.uncovered_tokens if left is None else max(0, min(rules.uncovered_tokens, left))
    limits = Limits(max_tokens=tokens, prune=rules.limits.prune)
    chosen = trim(records, [rules.cost(record) for record in records], limits)
    return replace(fitted, kept=fitted.kept.union(missing[index] for index in chosen.kept))


def _fill_edge(fitted: Fitted) -> Fitted:
    """Fill the tokens that are left with the unit before the oldest one that is sent, its longest message truncated."""
    unit, left = _unit_at_edge(fitted), fitted.tokens_left
    if not unit or left is None or left < EDGE_TOKENS:
        return fitted
    cut = clip_longest([fitted.body[index] for index in unit], fitted.rules.counter, left)
    if cut is None:
        return fitted
    flags = (*fitted.flags, CLIPPED)
    return replace(fitted.with_records(unit, cut), kept=fitted.kept.union(unit), flags=flags)


def _unit_at_edge(fitted: Fitted) -> list[int]:
    """The unit before the oldest one that is sent, if it may be truncated and only lacks tokens."""
    rules, limits, leading = fitted.rules, fitted.rules.limits, fitted.rules.leading
    history = [index for index in fitted.kept if index >= leading]
    if not history or not rules.clip_edge or limits.strategy != "drop_oldest" or limits.prune == "message":
        return []
    before = fitted.body[leading : min(history)]
    groups = groups_of(before)
    turns = turns_of(before, groups) if limits.prune == "turn" else [[group] for group in groups]
    unit = [leading + index for group in turns[-1] for index in group] if turns else []
    messages = rules.used.messages + len(fitted.kept) + len(unit)
    turns_sent = sum(fitted.body[index].role == "user" for index in history)
    lacks_messages = limits.max_messages is not None and messages > limits.max_messages
    lacks_turns = limits.max_turns is not None and turns_sent >= limits.max_turns
    return [] if lacks_messages or lacks_turns else unit


def _flag_gap(fitted: Fitted) -> Fitted:
    """Whether messages are missing although there is a summary or will be one."""
    has_summaries = fitted.summary is not None or fitted.rules.uncovered_tokens is not None
    return replace(fitted, flags=(*fitted.flags, GAP)) if has_summaries and fitted.uncovered else fitted
