"""The keyword half: which turns say the words of a question, and around which turns they are said.

BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) over postings that SQL keeps exactly. The
numbers of one question are divided by what its words could at best have given, so that they compare across questions,
and a word's rarity is taken relative to the rarest possible, so that they compare across stores of any size.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase.keyword_index import analyzer
from memorybase.keyword_index import queries as postings
from memorybase.keyword_index.queries import Collected, Occurrences

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

K1 = 1.2
B = 0.5
# How much a word counts one turn and two turns away: an answer seldom repeats the words of its question.
AROUND = {-2: 0.35, -1: 0.35, 0: 1.0, 1: 0.5, 2: 0.35}
MAX_TERMS = 32  # the rarest words of a question
# A search reads so many postings, of the rarest words first. A word that is in too many messages to be among them says
# little: where it stands is looked up for the candidates that rarer words and vectors have found.
POSTINGS_READ = 4_000
REMEMBER_ABOVE = 1_000  # sessions, or a common word's messages: counts beyond it are taken anew only every so often
REMEMBER_SECONDS = 10.0


@dataclass(slots=True)
class Term:
    """A word of the question and where it stands. `common`: not all of its places are known."""

    text: str
    key: int
    rarity: float
    positions: Positions
    times: Floats
    common: bool

    def at(self, wanted: Positions) -> Floats:
        """How often it stands at each of these places."""
        if not len(self.positions):
            return np.zeros(len(wanted))
        index = np.minimum(np.searchsorted(self.positions, wanted), len(self.positions) - 1)
        return np.where(self.positions[index] == wanted, self.times[index], 0.0)


@dataclass(slots=True)
class Words:
    """The question's words in one flow."""

    terms: list[Term]
    collected: Collected
    best_possible: float  # what the numbers are divided by

    @property
    def rarities(self) -> dict[str, float]:
        """How rare each of the words is in the flow, 0 to 1."""
        return {term.text: term.rarity for term in self.terms}

    def best_positions(self, limit: int) -> Positions:
        """The places that promise most, best first: where the words stand, and the turns around."""
        telling = [term for term in self.terms if len(term.positions)]
        if not telling:
            return np.empty(0, dtype=np.int64)
        positions, index = np.unique(
            np.concatenate([term.positions + step for term in telling for step in AROUND]), return_inverse=True
        )
        promise = np.zeros(len(positions))
        start = 0
        for term in telling:
            times = np.zeros(len(positions))
            for step, part in AROUND.items():
                here = index[start : start + len(term.positions)]
                start += len(here)
                times[here] += part * term.times
                if step == 0:
                    promise[here] += _saturated(term, term.times, K1)
            promise += _saturated(term, times, K1)
        return _best(positions, promise, limit)

    def complete(self, db: OrmSession, positions: Positions) -> None:
        """Look common words up around these places."""
        common = [term for term in self.terms if term.common]
        around = np.unique(np.concatenate([positions + step for step in AROUND])).tolist() if common else []
        found = postings.occurrences_at(db, [term.key for term in common], around)
        for term in common:
            term.positions, term.times = found[term.key]

    def said(self, positions: Positions, lengths: Floats) -> Floats:
        """BM25 of the turns at these places, which have so many terms."""
        average = self.collected.terms / max(1, self.collected.documents) or 1.0
        damping = K1 * (1 - B + B * lengths / average)
        total = np.zeros(len(positions))
        for term in self.terms:
            total += _saturated(term, term.at(positions), damping)
        return total / self.best_possible

    def near(self, positions: Positions, gates: Mapping[int, Floats]) -> Floats:
        """BM25 of what is said at the places and around them; `gates` say how much each turn beside them counts."""
        total = np.zeros(len(positions))
        for term in self.terms:
            times = term.at(positions)
            for step, gate in gates.items():
                times = times + AROUND[step] * gate * term.at(positions + step)
            total += _saturated(term, times, K1)
        return total / self.best_possible

    def coverage(self, positions: Positions) -> Floats:
        """How much of the question's words stands there, by rarity: 0 to 1."""
        whole = sum(term.rarity for term in self.terms)
        if not whole:
            return np.zeros(len(positions))
        found = np.zeros(len(positions))
        for term in self.terms:
            found += term.rarity * (term.at(positions) > 0)
        return found / whole


def _saturated(term: Term, times: Floats, damping: Floats | float) -> Floats:
    """BM25's share of one word: each further time says less."""
    found: Floats = term.rarity * times * (K1 + 1) / (times + damping)
    return found


def _best(positions: Positions, promise: Floats, limit: int) -> Positions:
    """The `limit` best; of equal ones the later place first."""
    if len(positions) > limit:
        hopeful = promise >= np.partition(promise, -limit)[-limit]
        positions, promise = positions[hopeful], promise[hopeful]
    return positions[np.lexsort((-positions, -promise))[:limit]]


def look_up(db: OrmSession, flow_id: UUID, terms: Sequence[str], within: Sequence[tuple[int, int]] | None) -> Words:
    """The words' places, in the whole flow or within those ranges; rarity is always the flow's."""
    collected = _remembered.get(("flow", flow_id))
    if collected is None:
        collected = postings.collected(db, flow_id)
        _remembered.keep(("flow", flow_id), collected, collected.sessions)
    rarest = math.log(2 * collected.documents + 2)
    texts = {analyzer.term_key(flow_id, text): text for text in terms}
    in_messages = _in_messages(db, list(texts))
    rarities = {
        key: math.log(1 + max(0, collected.documents - number + 0.5) / (number + 0.5)) / rarest
        for key, number in in_messages.items()
    }
    chosen = sorted(rarities, key=lambda key: -rarities[key])[:MAX_TERMS]
    there = in_messages if within is None else postings.counts(db, chosen, within)
    found = _read(db, [key for key in chosen if there[key]], there, within)
    read = [Term(texts[key], key, rarities[key], *found.get(key, postings.NOWHERE), common=False) for key in chosen]
    for term in read:
        term.common = len(term.positions) < there[term.key]
    best = (K1 + 1) * math.sqrt(sum(rarities[key] for key in chosen))
    return Words(read, collected, best or 1.0)


def _read(
    db: OrmSession, keys: Sequence[int], there: Mapping[int, int], within: Sequence[tuple[int, int]] | None
) -> dict[int, Occurrences]:
    """The postings of the words, rarest first, as far as the bound goes; some of the first in any case."""
    totals = accumulate(there[key] for key in keys)
    whole = [key for key, total in zip(keys, totals, strict=True) if total <= POSTINGS_READ]
    return postings.occurrences(db, whole or keys[:1], within, limit=None if whole else POSTINGS_READ)


def _in_messages(db: OrmSession, keys: Sequence[int]) -> dict[int, int]:
    """In how many messages of the flow each word is."""
    known = {key: number for key in keys if (number := _remembered.get(("term", key))) is not None}
    counted = postings.counts(db, [key for key in keys if key not in known])
    for key, number in counted.items():
        _remembered.keep(("term", key), number, number)
    return {key: known.get(key, counted.get(key, 0)) for key in keys}


class _Remembered:
    """Large counts, kept for a few seconds: they change little, and counting them costs with the store."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, Any]] = {}

    def get(self, key: Hashable) -> Any:
        kept, value = self._known.get(key, (-math.inf, None))
        return value if time.monotonic() - kept < REMEMBER_SECONDS else None

    def keep(self, key: Hashable, value: Any, size: int) -> None:
        if size > REMEMBER_ABOVE:
            if len(self._known) > REMEMBER_ABOVE:
                self._known.clear()
            self._known[key] = (time.monotonic(), value)


_remembered = _Remembered()
