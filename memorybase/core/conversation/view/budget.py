"""Decides which messages a view sends: those within the limits, and a summary instead of the messages that it
covers.

The limits alone decide what is sent verbatim; if they leave something out, the summary comes before it and counts. A
summary that covers more than that overlaps with what is sent, because its end depends on the other callers of the
same log. Messages that are left out and not covered yet are sent verbatim up to `uncovered_tokens`, so that a
lagging summary leaves no gap. A conversation that fits completely gets no summary. With `clip_edge`, the next older
unit fills the remaining room, with its longest message truncated, and so does a summary that is too long next to the
newest unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memorybase.core.conversation.view.limits import Limits, Size, trim
from memorybase.core.conversation.view.records import Record, Role
from memorybase.core.conversation.view.tokens import TokenCounter
from memorybase.core.conversation.view.turns import Group, groups_of, turns_of

GAP = "gap"  # messages are left out that no summary covers, although there is one or will be
CLIPPED = "clipped"
SUMMARY_CLIPPED = "summary_clipped"  # it is truncated, to leave room for the newest turn
SUMMARY_DROPPED = "summary_dropped"  # it left no room for the newest turn

MARK = "\n[...]\n"  # where a truncated message lacks text
CLOSE = 2  # tokens below the limit that are close enough

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
    """How to fit. `leading`: number of predefined records at the front; `used`: part of the limits that is spent;
    `message`: the summary as it is sent."""

    limits: Limits
    used: Size
    leading: int
    counter: TokenCounter
    cost: Callable[[Record], int]
    clip_oversized: bool
    clip_edge: bool
    uncovered_tokens: int | None
    summary: Summary | None = None
    message: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The part of the log to send, after some of the steps.

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
        """The records to send: the summary comes after predefined messages and those that are older than it."""
        kept = sorted(self.kept)
        records = [self.body[index] for index in kept]
        if self.summary is not None:
            leading, seq = self.rules.leading, self.summary.seq
            records.insert(sum(index < leading or self.body[index].seq < seq for index in kept), self.summary)
        return records

    @property
    def removed(self) -> list[tuple[Record, str]]:
        """The records that are not sent, each with its reason."""
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
        """Remaining tokens of the limit; None without one."""
        rules = self.rules
        if rules.limits.max_tokens is None:
            return None
        sent = sum(rules.cost(self.body[index]) for index in self.kept)
        return rules.limits.max_tokens - rules.used.tokens - sent - (rules.cost(self.summary) if self.summary else 0)

    def with_records(self, indices: Sequence[int], records: Sequence[Record]) -> Selection:
        """The selection with these records truncated."""
        changed = dict(zip(indices, records, strict=True))
        return replace(self, body=[changed.get(index, record) for index, record in enumerate(self.body)])


def fit(records: Sequence[Record], rules: Rules) -> Selection:
    """Choose the records to send: the limits choose first, and each further step adds to what fits so far."""
    selection = _trimmed(records, rules)
    for step in (_clip_newest, _send_summary, _send_uncovered, _fill_edge, _flag_gap):
        selection = step(selection)
    return selection


def _trimmed(body: Sequence[Record], rules: Rules, *, beside: Record | None = None) -> Selection:
    """The records that the limits allow next to the summary."""
    used = Size(rules.used.messages, rules.used.tokens + (rules.cost(beside) if beside else 0))
    chosen = trim(body, [rules.cost(record) for record in body], rules.limits, leading=rules.leading, used=used)
    return Selection(rules=rules, body=body, kept=frozenset(chosen.kept), over=chosen.over, newest=chosen.newest)


def _clip_newest(selection: Selection) -> Selection:
    """If not even the newest unit fits, truncate it."""
    rules = selection.rules
    if not (selection.over and rules.clip_oversized) or rules.limits.max_tokens is None:
        return selection
    left = rules.limits.max_tokens - rules.used.tokens
    cut = clip_longest([selection.body[index] for index in selection.newest], rules.counter, left)
    if cut is None:
        return selection
    return replace(_trimmed(selection.with_records(selection.newest, cut).body, rules), flags=(CLIPPED,))


def _send_summary(selection: Selection) -> Selection:
    """If the limits leave out messages that the summary covers, send it too, with the records that fit next to it."""
    rules, summary = selection.rules, selection.rules.message
    if len(selection.kept) == len(selection.body) or rules.summary is None or summary is None:
        return selection
    selection = replace(selection, covered=_covered(selection.body, rules.summary))
    if selection.kept.issuperset(selection.covered) and not rules.summary.precedes_log:
        return selection
    beside = _trimmed(selection.body, rules, beside=summary)
    if not beside.over:
        return replace(selection, kept=beside.kept, summary=summary)
    if not rules.clip_edge or rules.limits.max_tokens is None:
        return replace(selection, flags=(*selection.flags, SUMMARY_DROPPED))
    # The newest unit comes first: the summary gets what is left. Never more is kept than with a budget that holds both.
    selection = replace(selection, kept=beside.kept)
    left = selection.tokens_left or 0
    clipped = clip(summary, rules.counter, left) if left >= SUMMARY_TOKENS else None
    flag = SUMMARY_DROPPED if clipped is None else SUMMARY_CLIPPED
    return replace(selection, summary=clipped, flags=(*selection.flags, flag))


def _covered(body: Sequence[Record], summary: Summary) -> frozenset[int]:
    """The records that the summary replaces; a group that it covers only in part stays whole."""
    groups = (group for group in groups_of(body) if all(summary.covers(body[index]) for index in group))
    return frozenset(index for group in groups for index in group)


def _send_uncovered(selection: Selection) -> Selection:
    """Send the newest units that are left out and not covered too, up to `uncovered_tokens`."""
    rules, missing = selection.rules, selection.uncovered
    records = [selection.body[index] for index in missing]
    selection = replace(selection, overflow=tuple(records))
    if rules.uncovered_tokens is None or not missing:
        return selection
    left = selection.tokens_left
    tokens = rules.uncovered_tokens if left is None else max(0, min(rules.uncovered_tokens, left))
    limits = Limits(max_tokens=tokens, prune=rules.limits.prune)
    chosen = trim(records, [rules.cost(record) for record in records], limits)
    return replace(selection, kept=selection.kept.union(missing[index] for index in chosen.kept))


def _fill_edge(selection: Selection) -> Selection:
    """Fill the tokens that are left with the unit before the oldest one that is sent, its longest message truncated."""
    unit, left = _unit_at_edge(selection), selection.tokens_left
    if not unit or left is None or left < EDGE_TOKENS:
        return selection
    cut = clip_longest([selection.body[index] for index in unit], selection.rules.counter, left)
    if cut is None:
        return selection
    flags = (*selection.flags, CLIPPED)
    return replace(selection.with_records(unit, cut), kept=selection.kept.union(unit), flags=flags)


def _unit_at_edge(selection: Selection) -> list[int]:
    """The unit before the oldest one that is sent, if it may be truncated and only lacks tokens."""
    rules, limits, leading = selection.rules, selection.rules.limits, selection.rules.leading
    history = [index for index in selection.kept if index >= leading]
    if not history or not rules.clip_edge or limits.strategy != "drop_oldest" or limits.prune == "message":
        return []
    before = selection.body[leading : min(history)]
    turns = turns_of(before) if limits.prune == "turn" else [[group] for group in groups_of(before)]
    unit = [leading + index for group in turns[-1] for index in group] if turns else []
    messages = rules.used.messages + len(selection.kept) + len(unit)
    turns_sent = sum(selection.body[index].role == "user" for index in history)
    lacks_messages = limits.max_messages is not None and messages > limits.max_messages
    lacks_turns = limits.max_turns is not None and turns_sent >= limits.max_turns
    return [] if lacks_messages or lacks_turns else unit


def _flag_gap(selection: Selection) -> Selection:
    """Whether messages are missing although there is a summary or will be one."""
    has_summaries = selection.summary is not None or selection.rules.uncovered_tokens is not None
    return replace(selection, flags=(*selection.flags, GAP)) if has_summaries and selection.uncovered else selection


def clip_longest(records: Sequence[Record], counter: TokenCounter, max_tokens: int) -> list[Record] | None:
    """The records, the costliest truncated so that all fit; None if that is impossible."""
    tokens = [counter.count(record) for record in records]
    costliest = max(range(len(records)), key=tokens.__getitem__, default=None)
    if costliest is None:
        return None
    allowed = max_tokens - sum(tokens) + tokens[costliest]
    clipped = clip(records[costliest], counter, allowed)
    if clipped is None:
        return None
    return [clipped if index == costliest else record for index, record in enumerate(records)]


def clip(record: Record, counter: TokenCounter, max_tokens: int) -> Record | None:
    """The record truncated to `max_tokens`; None if its content is not a string or even one character is too much."""
    if not isinstance(record.content, str):
        return None
    text = record.content
    tokens_high = counter.count(record)
    if tokens_high <= max_tokens:
        return record
    tokens_low = counter.count(record.with_content(MARK))
    low, high = 0, len(text)  # characters to keep: `high` are too many
    best: Record | None = None
    # A guess in proportion is usually close. Every second step halves, so that no text takes many.
    while high - low > 1 and (best is None or max_tokens - tokens_low > CLOSE):
        share = max(0.0, (max_tokens - tokens_low) / max(1, tokens_high - tokens_low))
        size = min(high - 1, low + 1 + int((high - low) * share))
        for tried in (size, (low + high) // 2):
            if not low < tried < high:
                continue
            candidate = record.with_content(_cut(text, tried))
            tokens = counter.count(candidate)
            if tokens <= max_tokens:
                best, low, tokens_low = candidate, tried, tokens
            else:
                high, tokens_high = tried, tokens
            if best is not None and max_tokens - tokens_low <= CLOSE:
                break
    return best


def _cut(text: str, size: int) -> str:
    if size >= len(text):
        return text
    end = size // 3
    return text[: size - end] + MARK + (text[-end:] if end else "")
