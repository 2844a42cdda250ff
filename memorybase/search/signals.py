"""The signals of a search's candidates: what a message and the turns around it show, a number each.

A turn beside a candidate counts by `gate`: fully while both are short, less the longer either is. Between people the
turns around an answer share its topic. A long answer of an assistant shares words with every question, and would lend
them to whatever stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memorybase.keyword_index.analyzer import Traits, name_words
from memorybase.search.keyword_search import AROUND, Floats, Positions, Words
from memorybase.search.queries import Facts, Turn
from memorybase.search.query_parser import Question

SHORT = 40  # terms; people's turns are below it, and most of a user's requests
MOST_CAPITALS = 3
BEFORE = (-2, -1)  # the turns before a candidate that may lend it something, the question that it answers among them


class Candidates:
    """The candidates of a search and the turns around them, as arrays in one order."""

    def __init__(self, facts: Sequence[Facts], turns: Mapping[int, Turn], dense: Floats) -> None:
        self.facts = facts
        self.dense = dense
        self.positions: Positions = np.array([each.position for each in facts], dtype=np.int64)
        self.lengths: Floats = np.array([each.terms for each in facts], dtype=np.float64)
        self.traits: NDArray[np.int64] = np.array([each.traits for each in facts], dtype=np.int64)
        self._turns = turns  # by place
        self._beside: dict[int, list[Turn | None]] = {}

    def beside(self, step: int) -> list[Turn | None]:
        """For each candidate the turn so many places away, in its session."""
        if step not in self._beside:
            found = (self._turns.get(each.position + step) for each in self.facts)
            self._beside[step] = [
                turn if turn is not None and turn.session_id == each.session_id else None
                for turn, each in zip(found, self.facts, strict=True)
            ]
        return self._beside[step]

    @cached_property
    def question_steps(self) -> NDArray[np.int64]:
        """How many places before each candidate somebody else last asked something, as a negative number; 0: nobody."""
        asks = Traits.ASKS.value  # as a number: an operation on flags takes ten times as long
        found = np.zeros(len(self.facts), dtype=np.int64)
        for step in BEFORE:
            for number, (each, turn) in enumerate(zip(self.facts, self.beside(step), strict=True)):
                if turn and turn.traits & asks and (turn.sender_name or turn.role) != (each.sender_name or each.role):
                    found[number] = step
        return found

    def version_at(self, position: int) -> int | None:
        """Of the message at a place; None: no message is there."""
        turn = self._turns.get(position)
        return None if turn is None else turn.version

    def gate(self, step: int) -> Floats:
        """How much each candidate may take from the turn so many places away: 0 where there is none."""
        beside = self.beside(step)
        lengths = np.array([turn.terms if turn else 0 for turn in beside], dtype=np.float64)
        gate: Floats = shortness(self.lengths) * shortness(lengths) * np.array([turn is not None for turn in beside])
        return gate


def places_around(facts: Sequence[Facts]) -> set[int]:
    """The places of these candidates and of the turns around them that the signals look at."""
    return {each.position + step for each in facts for step in AROUND if each.seq + step > 0}


def columns(question: Question, found: Words, candidates: Candidates) -> dict[str, Floats]:
    """Every signal, a value a candidate."""
    facts, lengths, traits, dense = candidates.facts, candidates.lengths, candidates.traits, candidates.dense
    gates = {step: candidates.gate(step) for step in AROUND if step}
    lengthy = long(lengths)
    return {
        "dense": dense,
        "nearby": found.near(candidates.positions, gates),
        "topic": _best_of_session(dense, facts),
        "reply": _before(found, candidates) * gates[-1] * _ended_in_question(candidates.beside(-1)),
        "coverage": found.coverage(candidates.positions) ** 3 * (1 - shortness(lengths)),
        "long": lengthy,
        "long_you": lengthy * question.asks_other_side,
        "speaker": _named(question, facts),
        "time": _having(traits, Traits.TELLS_TIME) * question.asks_time,
        "number": _having(traits, Traits.TELLS_NUMBER) * question.asks_number,
        "date": np.array([_nearness(question, each) for each in facts]),
        "wish": dense * shortness(lengths) * _having(traits, Traits.STATES_WISH) * question.asks_help,
        "first_person": _first_person(facts) * (not question.in_first_person),
        "capitals": np.minimum([each.capitals for each in facts], MOST_CAPITALS) / MOST_CAPITALS,
    }


def shortness(lengths: Floats) -> Floats:
    """1 up to 40 terms, then less in proportion to the length."""
    found: Floats = np.minimum(1.0, SHORT / np.maximum(lengths, 1.0))
    return found


def long(lengths: Floats) -> Floats:
    """0 up to 40 terms, then the log of how many times as long."""
    found: Floats = np.log(np.maximum(lengths, SHORT) / SHORT)
    return found


def _before(found: Words, candidates: Candidates) -> Floats:
    lengths = np.array([turn.terms if turn else 0 for turn in candidates.beside(-1)], dtype=np.float64)
    return found.said(candidates.positions - 1, lengths)


def _ended_in_question(turns: Sequence[Turn | None]) -> NDArray[np.bool_]:
    ends = Traits.ENDS_IN_QUESTION.value  # as a number: an operation on flags takes ten times as long
    return np.array([bool(turn and turn.traits & ends) for turn in turns])


def _best_of_session(dense: Floats, facts: Sequence[Facts]) -> Floats:
    best: dict[int, float] = {}
    for value, each in zip(dense, facts, strict=True):
        best[each.first_position] = max(best.get(each.first_position, 0.0), float(value))
    return np.array([best[each.first_position] for each in facts])


def _named(question: Question, facts: Sequence[Facts]) -> Floats:
    if len(question.names) != 1:  # none, or two of whom either may have said it
        return np.zeros(len(facts))
    return np.array([float(bool(question.names & name_words(each.sender_name))) for each in facts])


def _nearness(question: Question, message: Facts) -> float:
    return max((period.nearness(message.timestamp) for period in question.periods), default=0.0)


def _first_person(facts: Sequence[Facts]) -> Floats:
    found: Floats = np.log1p(np.array([each.first_person for each in facts], dtype=np.float64))
    return found


def _having(traits: NDArray[np.int64], wanted: Traits) -> Floats:
    having: Floats = (traits & wanted.value != 0).astype(np.float64)
    return having
