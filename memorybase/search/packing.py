"""What of the hits fits into so many tokens: passages, the best hits first, until the room is full. Pure.

    first      of each hit its best passage
    then       of each hit its next best passages, as long as one tells something of the question
    then       the turns around the best hits, whose words the question need not share
    then       the rest of the hits
    at last    where a passage is too long for what is left, a shorter one of the next hits

A text that is there already, in other letter case or with other white space, is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memorybase.keyword_index.analyzer import Analyzer
from memorybase.messages import message_text
from memorybase.search.passages import Passage, Reader, Span, best_passage, rarities
from memorybase.search.search import Hit

PASSAGE_CHARS = 400  # about a hundred tokens
# Further down the list a message answers less often, so more of them with less of each bring more. Sentences are lost
# by it, which matters less there.
BEST_HITS = 10
SHORT_PASSAGE_CHARS = 240
PASSAGES_A_MESSAGE = 4
HITS_COUNTED = 32  # in how many of the best hits a word stands says how much it tells
HITS_SHORTENED = 3
SHORTEST_PASSAGE = 32  # tokens
SMALLEST_LINE = 16  # tokens; less room than that is full
CUT = "\u2026"

Cost = Callable[[str], int]
Around = Callable[[], Iterable[tuple[Hit, Sequence[Mapping[str, Any]]]]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message that may be shown. `score`: of a hit; None for a turn beside one. `near`: what matched of it."""

    message_id: UUID
    session_id: str
    seq: int
    said_at: datetime
    who: str
    text: str
    score: float | None = None
    near: Span | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A message as it is shown: some passages of it, in their order."""

    turn: Turn
    passages: tuple[Passage, ...]

    @property
    def line(self) -> str:
        """The passages with a mark where something is left out. Further lines are indented, so that none looks like
        another memory."""
        text = self.turn.text
        first, last = self.passages[0], self.passages[-1]
        before = f"{CUT} " if text[: first.start].strip() else ""
        behind = f" {CUT}" if text[last.end :].strip() else ""
        said = before + f" {CUT} ".join(passage.of(text) for passage in self.passages) + behind
        return f"- [{self.turn.said_at:%Y-%m-%d}] {self.turn.who}: " + "\n  ".join(said.splitlines())

    def with_passage(self, passage: Passage) -> Memory:
        """With one more; two with nothing between them become one."""
        joined: list[Passage] = []
        for each in sorted([*self.passages, passage], key=lambda each: each.start):
            if joined and not self.turn.text[joined[-1].end : each.start].strip():
                before = joined.pop()
                joined.append(Passage(before.start, each.end, max(before.score, each.score)))
            else:
                joined.append(each)
        return Memory(self.turn, tuple(joined))


@dataclass(frozen=True, slots=True)
class Packed:
    """The memories in the order they were said, and what their lines cost together."""

    memories: tuple[Memory, ...] = ()
    tokens: int = 0


class Packer:
    """The hits of one question, to be packed into any room. A message is read once, when its turn comes."""

    def __init__(
        self, hits: Sequence[Hit], query: str, analyzer: Analyzer, cost: Cost, around: Around | None = None
    ) -> None:
        """`around` reads the turns beside the hits, once the hits leave room for them."""
        self._analyzer, self._cost, self._read_around = analyzer, cost, around
        self._terms = list(dict.fromkeys(analyzer.terms(query)))
        self._hits = [_turn_of(hit) for hit in hits]
        self._best = {turn.message_id for turn in self._hits[:BEST_HITS]}
        self._around: list[Turn] | None = None
        self._readers: dict[UUID, Reader] = {}
        self._taken: dict[UUID, list[Passage]] = {}
        best = [self._reader(turn).terms for turn in self._hits[:HITS_COUNTED]]
        self._weights: Mapping[str, float] = rarities(self._terms, best)

    def pack(self, room: int, *, seen: Iterable[str] = (), without: Collection[UUID] = ()) -> Packed:
        """What fits, without these messages and without the texts that are `seen` elsewhere."""
        filling = _Filling(room, self._cost, {_same(text) for text in seen})
        hits = [turn for turn in self._hits if turn.message_id not in without]
        for number in range(PASSAGES_A_MESSAGE):
            self._add(filling, hits, number)
        if not filling.is_full:
            self._add(filling, [turn for turn in self._turns_around() if turn.message_id not in without], 0)
        for turn in hits:
            self._add_rest(filling, turn)
        for turn in [turn for turn in hits if filling.wants(turn, 0)][:HITS_SHORTENED]:
            self._add_shorter(filling, turn)
        return filling.packed()

    def _add(self, filling: _Filling, turns: Sequence[Turn], number: int) -> None:
        """Of each turn the passage with this number, as far as there is room."""
        for turn in turns:
            if filling.is_full:
                return
            passage = self._passage(turn, number) if filling.wants(turn, number) else None
            # Beyond the first, what tells nothing waits, even where it was read for another room before.
            if passage is not None and (not number or passage.score > 0):
                filling.add(turn, passage)

    def _add_rest(self, filling: _Filling, turn: Turn) -> None:
        """What is left of a message that is there, as far as there is room."""
        number = 1
        while not filling.is_full and filling.wants(turn, number):
            passage = self._passage(turn, number, rest=True)
            if passage is None or not filling.add(turn, passage):
                return
            number += 1

    def _add_shorter(self, filling: _Filling, turn: Turn) -> None:
        """As much of a message as there is room for, in a script of four characters a token or of one."""
        for chars_a_token in (3, 1) if filling.left >= SHORTEST_PASSAGE else ():
            chars = min(PASSAGE_CHARS, chars_a_token * filling.left)
            passage = best_passage(turn.text, self._weights, self._analyzer, max_chars=chars, near=turn.near)
            if passage is not None and filling.add(turn, passage):
                return

    def _turns_around(self) -> list[Turn]:
        if self._around is None:
            found = self._read_around() if self._read_around else ()
            self._around = [_turn_beside(hit, turn) for hit, turns in found for turn in turns]
        return self._around

    def _reader(self, turn: Turn) -> Reader:
        reader = self._readers.get(turn.message_id)
        if reader is None:
            max_chars = PASSAGE_CHARS if turn.message_id in self._best else SHORT_PASSAGE_CHARS
            reader = Reader(turn.text, self._terms, self._analyzer, max_chars=max_chars, near=turn.near)
            self._readers[turn.message_id] = reader
        return reader

    def _passage(self, turn: Turn, number: int, *, rest: bool = False) -> Passage | None:
        """The passages of a message are numbered from the best one on."""
        taken = self._taken.setdefault(turn.message_id, [])
        while len(taken) <= number:
            passage = self._reader(turn).take(self._weights, rest=rest)
            if passage is None:
                return None
            taken.append(passage)
        return taken[number]


class _Filling:
    """Memories as they are added, and the room that is left."""

    def __init__(self, room: int, cost: Cost, seen: set[str]) -> None:
        self.left, self._room, self._cost, self._seen = room, room, cost, seen
        self._memories: dict[UUID, tuple[Memory, int]] = {}

    @property
    def is_full(self) -> bool:
        return self.left < SMALLEST_LINE

    def wants(self, turn: Turn, number: int) -> bool:
        """A message's first passage if the message is not there, another one if it is."""
        return (turn.message_id in self._memories) == bool(number)

    def add(self, turn: Turn, passage: Passage) -> bool:
        """Show a message, or more of one that is there, unless its text is there or there is no room for it."""
        if turn.message_id in self._memories:
            memory, paid = self._memories[turn.message_id]
            return self._put(memory.with_passage(passage), paid)
        said = _same(passage.of(turn.text))
        if said in self._seen or not self._put(Memory(turn, (passage,)), 0):
            return False
        self._seen.add(said)
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
        memories.sort(key=lambda memory: (memory.turn.said_at, memory.turn.session_id, memory.turn.seq))
        return Packed(tuple(memories), self._room - self.left)


def _turn_of(hit: Hit) -> Turn:
    text = message_text(hit.content) or hit.snippet
    near = Span(hit.snippet_start, hit.snippet_end)
    who = _name(hit.sender_name, hit.role)
    return Turn(hit.message_id, hit.session_id, hit.seq, hit.timestamp, who, text, hit.score, near)


def _turn_beside(hit: Hit, turn: Mapping[str, Any]) -> Turn:
    who = _name(turn["sender_name"], turn["role"])
    text = message_text(turn["content"])
    return Turn(turn["message_id"], hit.session_id, turn["seq"], turn["timestamp"], who, text)


def _name(sender_name: str | None, role: str) -> str:
    return " ".join((sender_name or role).split())


def _same(text: str) -> str:
    return " ".join(text.casefold().split())
