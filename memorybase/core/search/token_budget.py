"""Packs passages of hits into a token budget, best hits first. Pure. In this order, until the budget is full:

    1. the best passage of each hit; of the two best hits also the next ones
    2. the next best passages of each hit, while they have terms of the question
    3. the turns around the best hits, with or without terms of the question
    4. the rest of the hits
    5. shorter passages of the next hits, where a passage did not fit

A text that is already there, apart from letter case and white space, is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from uuid import UUID

from memorybase.core import time_zones
from memorybase.core.messages import message_text
from memorybase.core.search import corrections
from memorybase.core.search.hits import Hit
from memorybase.core.search.passages import Passage, PassageTerms, Reader, Span, best_passage, rarities

PASSAGE_CHARS = 400  # about a hundred tokens
# Messages further down answer less often, so shorter passages of more of them bring more; lost sentences matter
# less there.
BEST_HITS = 10
SHORT_PASSAGE_CHARS = 160
PASSAGES_PER_MESSAGE = 4
# The two best hits show more at once, up to this share of the budget: in a long message the answer often is not in the
# passage with most of the words.
FIRST_HITS, FIRST_SHARE = 2, 0.25
HITS_COUNTED = 32  # the best hits, from which a term's rarity is taken
HITS_SHORTENED = 3
SHORTEST_PASSAGE = 32  # tokens
SMALLEST_LINE = 16  # tokens; with less left the budget is full
CUT = "\u2026"

Cost = Callable[[str], int]
Around = Callable[[], Iterable[tuple[Hit, Sequence[Mapping[str, Any]]]]]


@dataclass(frozen=True, slots=True)
class QuotedTurn:
    """A message that may be shown. `score`: a hit's; None for a neighboring turn. `matched`: the hit's snippet. `note`:
    that a later message corrects it, and `superseded_by` which one."""

    message_id: UUID
    session_id: str
    seq: int
    sent_at: datetime
    who: str
    text: str
    score: float | None = None
    matched: Span | None = None
    note: str = ""
    superseded_by: UUID | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """Some passages of a message, in text order."""

    turn: QuotedTurn
    passages: tuple[Passage, ...]

    @property
    def line(self) -> str:
        """The passages, with an ellipsis where text is left out. Further lines are indented, so none looks like another
        memory."""
        text = self.turn.text
        first, last = self.passages[0], self.passages[-1]
        before = f"{CUT} " if text[: first.start].strip() else ""
        after = f" {CUT}" if text[last.end :].strip() else ""
        shown = before + f" {CUT} ".join(passage.of(text) for passage in self.passages) + after
        note = f" ({self.turn.note})" if self.turn.note else ""
        return f"- [{self.turn.sent_at.date()}] {self.turn.who}: " + "\n  ".join(shown.splitlines()) + note

    def with_passage(self, passage: Passage) -> Memory:
        """The memory with one more passage; adjacent passages become one."""
        joined: list[Passage] = []
        for part in sorted([*self.passages, passage], key=lambda part: part.start):
            if joined and not self.turn.text[joined[-1].end : part.start].strip():
                before = joined.pop()
                # A passage may be inside of one that has grown since.
                joined.append(Passage(before.start, max(before.end, part.end), max(before.score, part.score)))
            else:
                joined.append(part)
        return Memory(self.turn, tuple(joined))


@dataclass(frozen=True, slots=True)
class Packed:
    """The memories in conversation order, and the tokens of their lines."""

    memories: tuple[Memory, ...] = ()
    tokens: int = 0


class Packer:
    """Packs the hits of one question into any budget; reads each message at most once."""

    def __init__(
        self,
        hits: Sequence[Hit],
        sought: PassageTerms,
        cost: Cost,
        around: Around | None = None,
        zone: tzinfo = UTC,
    ) -> None:
        """`around` fetches the turns around the hits; it is called only if the hits leave some budget. Dates are shown
        in the zone."""
        self._sought, self._cost, self._read_around, self._zone = sought, cost, around, zone
        self._hits = [_turn_of(hit, zone) for hit in hits]
        self._best = {turn.message_id for turn in self._hits[:BEST_HITS]}
        self._around: list[QuotedTurn] | None = None
        self._readers: dict[UUID, Reader] = {}
        self._passages: dict[UUID, list[Passage]] = {}
        best = [self._reader(turn).terms for turn in self._hits[:HITS_COUNTED]]
        self._weights: Mapping[str, float] = rarities(sought.terms, best)

    def pack(self, max_tokens: int, *, seen: Iterable[str] = (), without: Collection[UUID] = ()) -> Packed:
        """The messages that fit the budget, without these and without texts that the caller has `seen`."""
        budget = _Budget(max_tokens, self._cost, {_normalized(text) for text in seen})
        hits = [turn for turn in self._hits if turn.message_id not in without]
        for number in range(PASSAGES_PER_MESSAGE):
            if budget.left > (1 - FIRST_SHARE) * max_tokens:
                self._add(budget, hits[:FIRST_HITS], number)
        for number in range(PASSAGES_PER_MESSAGE):
            self._add(budget, hits, number)
        if not budget.is_full:
            self._add(budget, [turn for turn in self._turns_around() if turn.message_id not in without], 0)
        for turn in hits:
            self._add_rest(budget, turn)
        for turn in [turn for turn in hits if budget.wants(turn, 0)][:HITS_SHORTENED]:
            self._add_shorter(budget, turn)
        return budget.packed()

    def _add(self, budget: _Budget, turns: Sequence[QuotedTurn], number: int) -> None:
        """Add the passage with this number of each turn, within the budget."""
        for turn in turns:
            if budget.is_full:
                return
            passage = self._passage(turn, number) if budget.wants(turn, number) else None
            # Passages without a term wait until after the first, even if another budget has already read them.
            if passage is not None and (not number or passage.score > 0):
                budget.add(turn, passage)

    def _add_rest(self, budget: _Budget, turn: QuotedTurn) -> None:
        """Add the rest of a message that is already there, within the budget."""
        number = 1
        while not budget.is_full and budget.wants(turn, number):
            passage = self._passage(turn, number, rest=True)
            if passage is None or not budget.add(turn, passage):
                return
            number += 1

    def _add_shorter(self, budget: _Budget, turn: QuotedTurn) -> None:
        """Add as much of a message as fits, at four characters a token or at one, depending on the script."""
        for chars_a_token in (3, 1) if budget.left >= SHORTEST_PASSAGE else ():
            chars = min(PASSAGE_CHARS, chars_a_token * budget.left)
            passage = best_passage(turn.text, self._weights, self._sought, max_chars=chars, matched=turn.matched)
            if passage is not None and budget.add(turn, passage):
                return

    def _turns_around(self) -> list[QuotedTurn]:
        if self._around is None:
            found = self._read_around() if self._read_around else ()
            self._around = [_neighbor_turn(hit, turn, self._zone) for hit, turns in found for turn in turns]
        return self._around

    def _reader(self, turn: QuotedTurn) -> Reader:
        reader = self._readers.get(turn.message_id)
        if reader is None:
            max_chars = PASSAGE_CHARS if turn.message_id in self._best else SHORT_PASSAGE_CHARS
            reader = Reader(turn.text, self._sought, max_chars=max_chars, matched=turn.matched)
            self._readers[turn.message_id] = reader
        return reader

    def _passage(self, turn: QuotedTurn, number: int, *, rest: bool = False) -> Passage | None:
        """The passage with this number of a message, counted from the best one."""
        passages = self._passages.setdefault(turn.message_id, [])
        while len(passages) <= number:
            passage = self._reader(turn).next_passage(self._weights, rest=rest)
            if passage is None:
                return None
            passages.append(passage)
        return passages[number]


class _Budget:
    """The memories added so far, and the tokens left."""

    def __init__(self, max_tokens: int, cost: Cost, seen: set[str]) -> None:
        self.left, self._max_tokens, self._cost, self._seen = max_tokens, max_tokens, cost, seen
        self._memories: dict[UUID, tuple[Memory, int]] = {}

    @property
    def is_full(self) -> bool:
        return self.left < SMALLEST_LINE

    def wants(self, turn: QuotedTurn, number: int) -> bool:
        """Whether the message is absent (for its first passage) or present (for a further one)."""
        return (turn.message_id in self._memories) == bool(number)

    def add(self, turn: QuotedTurn, passage: Passage) -> bool:
        """Add a message, or more of a present one, unless its text is already there or does not fit."""
        if turn.message_id in self._memories:
            memory, paid = self._memories[turn.message_id]
            return self._put(memory.with_passage(passage), paid)
        text = _normalized(passage.of(turn.text))
        if text in self._seen or not self._put(Memory(turn, (passage,)), 0):
            return False
        self._seen.add(text)
        return True

    def _put(self, memory: Memory, paid: int) -> bool:
        tokens = self._cost(memory.line + "\n")
        if tokens - paid > self.left:
            return False
        self.left -= tokens - paid
        self._memories[memory.turn.message_id] = (memory, tokens)
        return True

    def packed(self) -> Packed:
        memories = [memory for memory, _ in self._memories.values()]
        memories.sort(key=lambda memory: (memory.turn.sent_at, memory.turn.session_id, memory.turn.seq))
        return Packed(tuple(memories), self._max_tokens - self.left)


def _turn_of(hit: Hit, zone: tzinfo) -> QuotedTurn:
    text = message_text(hit.content) or hit.snippet
    matched = Span(hit.snippet_start, hit.snippet_end)
    who = _name(hit.sender_name, hit.role)
    note = corrections.text_for_model(hit.corrected_by)
    sent = (hit.message_id, hit.session_id, hit.seq, time_zones.local(hit.timestamp, zone), who, text)
    return QuotedTurn(*sent, hit.score, matched, note, hit.superseded_by)


def _neighbor_turn(hit: Hit, turn: Mapping[str, Any], zone: tzinfo) -> QuotedTurn:
    who = _name(turn["sender_name"], turn["role"])
    text = message_text(turn["content"])
    sent_at = time_zones.local(turn["timestamp"], zone)
    return QuotedTurn(turn["message_id"], hit.session_id, turn["seq"], sent_at, who, text)


def _name(sender_name: str | None, role: str) -> str:
    return " ".join((sender_name or role).split())


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
