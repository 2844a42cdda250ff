"""Decides what a view sends: what the limits allow, and a summary instead of the messages that it covers.

The limits alone decide what is sent verbatim; if they leave something out, the summary comes before it and counts. A
summary that covers more than that overlaps with what is sent, because its end depends on the other callers of the same
log. Messages that are left out and not covered yet are sent verbatim up to `uncovered_tokens`, so that a summary that
lags leaves no gap. A conversation that fits completely gets no summary. With `clip_edge`, the next older unit fills the
remaining room, with its longest message truncated, and so does a summary that is too long beside the newest unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memorybase.conversation.view.limits import Limits, Trimmed, Used, trim
from memorybase.conversation.view.records import Record, Role
from memorybase.conversation.view.tokens import TokenCounter
from memorybase.conversation.view.truncate import clip, clip_longest
from memorybase.conversation.view.turns import groups_of, turns_of

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
    """A summary of exactly the messages from_seq to to_seq of the view's thread."""

    text: str
    from_seq: int
    to_seq: int
    message_ids: Sequence[str] = ()

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
    """How to fit. `leading`: how many records at the front are predefined; `used`: part of the limits that is gone."""

    limits: Limits
    used: Used
    leading: int
    counter: TokenCounter
    cost: Callable[[Record], int]
    clip_oversized: bool
    clip_edge: bool
    uncovered_tokens: int | None


@dataclass(slots=True)
class Fitted:
    """What is sent, in order and with the summary; what is removed, and why.

    `overflow` is what the limits leave out and no summary covers: the next summary should cover it."""

    records: list[Record]
    removed: list[tuple[Record, str]] = field(default_factory=list)
    overflow: list[Record] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    over: bool = False


def fit(records: Sequence[Record], rules: Rules, summary: Summary | None, shown: Record | None) -> Fitted:
    """Choose the records to send. `shown` is the summary as a message."""
    body = list(records)
    base = _trim(body, rules)
    fitted = Fitted(body, over=base.over)
    if base.over and rules.clip_oversized and (clipped := _clipped(body, base, rules)):
        body, base = clipped, _trim(clipped, rules)
        fitted = Fitted(body, over=base.over, flags=[CLIPPED])
    if len(base.kept) == len(body):
        return fitted
    covered = _covered(body, summary)
    uncovered = [index for index in range(rules.leading, len(body)) if index not in covered]
    kept = set(base.kept)
    if kept.issuperset(covered):
        shown = None  # it would repeat what is sent
    if shown is not None:
        kept, shown, flags = _beside_summary(body, base, rules, shown)
        fitted.flags += flags
    fitted.overflow = [body[index] for index in uncovered if index not in kept]
    if rules.uncovered_tokens is not None:
        kept |= _uncovered_verbatim(body, [index for index in uncovered if index not in kept], kept, rules, shown)
    edge = _edge(body, kept, rules, shown) if rules.clip_edge else {}
    if edge:
        body = [edge.get(index, record) for index, record in enumerate(body)]
        kept |= edge.keys()
        fitted.flags.append(CLIPPED)
    if (shown is not None or rules.uncovered_tokens is not None) and not kept.issuperset(uncovered):
        fitted.flags.append(GAP)
    fitted.removed = [
        (record, SUMMARISED if shown is not None and index in covered else LIMIT)
        for index, record in enumerate(body)
        if index not in kept
    ]
    fitted.records = _with_summary(body, sorted(kept), rules.leading, shown)
    return fitted


def _covered(body: Sequence[Record], summary: Summary | None) -> set[int]:
    """The indices that the summary replaces; a group that it covers only in part stays whole."""
    if summary is None:
        return set()
    groups = (group for group in groups_of(body) if all(summary.covers(body[index]) for index in group))
    return {index for group in groups for index in group}


def _trim(body: Sequence[Record], rules: Rules, *, also_used: int = 0) -> Trimmed:
    costs = [rules.cost(record) for record in body]
    used = Used(rules.used.messages, rules.used.tokens + also_used)
    return trim(body, costs, rules.limits, leading=rules.leading, used=used)


def _clipped(body: list[Record], base: Trimmed, rules: Rules) -> list[Record] | None:
    """The records with the newest unit truncated to fit; None if that is impossible."""
    if rules.limits.max_tokens is None:
        return None
    left = rules.limits.max_tokens - rules.used.tokens
    cut = clip_longest([body[index] for index in base.newest], rules.counter, left)
    if cut is None:
        return None
    by_index = dict(zip(base.newest, cut, strict=True))
    return [by_index.get(index, record) for index, record in enumerate(body)]


def _beside_summary(
    body: Sequence[Record], base: Trimmed, rules: Rules, shown: Record
) -> tuple[set[int], Record | None, list[str]]:
    """What fits beside the summary, the summary as it is sent, and flags. The newest unit comes first: the summary is
    truncated to what that unit leaves, or dropped."""
    beside = _trim(body, rules, also_used=rules.cost(shown))
    if not beside.over:
        return set(beside.kept), shown, []
    limits = rules.limits
    if not rules.clip_edge or limits.max_tokens is None:
        return set(base.kept), None, [SUMMARY_DROPPED]
    kept = set(beside.kept)  # never more than with a budget that holds the summary
    left = limits.max_tokens - _spent(body, kept, rules, None)
    clipped = clip(shown, rules.counter, left) if left >= SUMMARY_TOKENS else None
    return kept, clipped, [SUMMARY_DROPPED if clipped is None else SUMMARY_CLIPPED]


def _uncovered_verbatim(
    body: Sequence[Record], missing: Sequence[int], kept: set[int], rules: Rules, shown: Record | None
) -> set[int]:
    """The newest missing records, in whole units, up to `uncovered_tokens`."""
    tokens = rules.uncovered_tokens or 0
    if rules.limits.max_tokens is not None:
        tokens = max(0, min(tokens, rules.limits.max_tokens - _spent(body, kept, rules, shown)))
    candidates = [body[index] for index in missing]
    limits = Limits(max_tokens=tokens, prune=rules.limits.prune)
    return {missing[index] for index in trim(candidates, [rules.cost(record) for record in candidates], limits).kept}


def _spent(body: Sequence[Record], kept: set[int], rules: Rules, shown: Record | None) -> int:
    return rules.used.tokens + sum(rules.cost(body[index]) for index in kept) + (rules.cost(shown) if shown else 0)


def _edge(body: Sequence[Record], kept: set[int], rules: Rules, shown: Record | None) -> dict[int, Record]:
    """The unit before the oldest one that is kept, with its longest message truncated to fit, by index. Empty if that
    is not allowed or too little would remain."""
    limits = rules.limits
    oldest = min((index for index in kept if index >= rules.leading), default=None)
    if oldest is None or limits.max_tokens is None or limits.strategy != "drop_oldest" or limits.prune == "message":
        return {}
    before = body[rules.leading : oldest]
    groups = groups_of(before)
    turns = turns_of(before, groups) if limits.prune == "turn" else [[group] for group in groups]
    unit = [rules.leading + index for group in turns[-1] for index in group] if turns else []
    if not unit or not _only_lacks_tokens(body, kept, unit, rules):
        return {}
    left = limits.max_tokens - _spent(body, kept, rules, shown)
    cut = clip_longest([body[index] for index in unit], rules.counter, left) if left >= EDGE_TOKENS else None
    return {} if cut is None else dict(zip(unit, cut, strict=True))


def _only_lacks_tokens(body: Sequence[Record], kept: set[int], unit: Sequence[int], rules: Rules) -> bool:
    """Whether only tokens keep the unit out."""
    limits = rules.limits
    messages = rules.used.messages + len(kept) + len(unit)
    turns = sum(body[index].role == "user" for index in kept if index >= rules.leading)
    return (limits.max_messages is None or messages <= limits.max_messages) and (
        limits.max_turns is None or turns < limits.max_turns
    )


def _with_summary(body: Sequence[Record], kept: Sequence[int], leading: int, shown: Record | None) -> list[Record]:
    """The records with the summary after predefined messages and messages older than those it covers."""
    records = [body[index] for index in kept]
    if shown is None:
        return records
    before = sum(index < leading or body[index].seq < shown.seq for index in kept)
    return [*records[:before], shown, *records[before:]]
