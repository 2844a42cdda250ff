"""The keyword half: which turns say the words of a question, and around which turns they are said.

BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) over postings that SQL keeps exactly. The
numbers of one question are divided by what its words could at best have given, so that they compare across questions,
and a word's rarity is taken relative to the rarest possible, so that they compare across stores of any size.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session as OrmSession

from memorybase import keywords
from memorybase.queries import postings
from memorybase.queries.postings import Collected, Occurrences

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

K1 = 1.2
B = 0.3  # turns are short, and a long one is seldom long for nothing
SESSION_B = 0.75
SESSION_K1 = 3 * K1  # a session repeats its topic's words
# How much a word counts one turn and two turns away: an answer seldom repeats the words of its question.
NEARBY = {1: 0.7, 2: 0.5}
MAX_TERMS = 32  # the rarest words of a question
# A word in more messages than this says little, and reading all of them is what would make a search slow: where it
# stands is then looked up for the candidates that rarer words and vectors have found.
TERM_LIMIT = 2_000
REMEMBER_ABOVE = 1_000  # sessions, or a common word's messages: counts beyond it are taken anew only every so often
REMEMBER_SECONDS = 10.0


@dataclass(slots=True)
class Term:
    """A word of the question and where it stands. `common`: only the first of its places are known."""

    key: int
    rarity: float
    places: Places
    times: Floats
    common: bool

    def at(self, wanted: Places) -> Floats:
        """How often it stands at each of these places."""
        if not len(self.places):
            return np.zeros(len(wanted))
        index = np.minimum(np.searchsorted(self.places, wanted), len(self.places) - 1)
        return np.where(self.places[index] == wanted, self.times[index], 0.0)

    def between(self, low: Places, high: Places) -> Floats:
        """How often it stands from low to high, both included."""
        total = np.concatenate(([0.0], np.cumsum(self.times)))
        found: Floats = total[np.searchsorted(self.places, high, "right")] - total[np.searchsorted(self.places, low)]
        return found


@dataclass(slots=True)
class Words:
    """The question's words in one flow."""

    terms: list[Term]
    collected: Collected
    best_possible: float  # what the numbers are divided by

    def best_places(self, limit: int) -> Places:
        """The places that promise most, best first: where the words stand, and the turns around."""
        telling = [term for term in self.terms if not term.common] or self.terms[:1]
        if not telling or not any(len(term.places) for term in telling):
            return np.empty(0, dtype=np.int64)
        stands = np.concatenate([term.places for term in telling])
        places = np.unique(np.concatenate([stands + step for step in (0, *NEARBY, *(-step for step in NEARBY))]))
        promise = sum(
            (self._near(term, places) + self._own(term, places, None) for term in telling), np.zeros(len(places))
        )
        order = np.lexsort((-places, -promise))[:limit]
        return places[order]

    def complete(self, session: OrmSession, places: Places) -> None:
        """Look common words up around these places."""
        around = np.unique(np.concatenate([places + step for step in range(-max(NEARBY), max(NEARBY) + 1)]))
        for term in self.terms:
            if term.common:
                found = postings.occurrences_at(session, term.key, around.tolist())
                term.places, term.times = _arrays(found)

    def own(self, places: Places, lengths: Floats | None) -> Floats:
        """What the turns themselves say. Without lengths every turn counts as one of average length."""
        return (
            sum((self._own(term, places, lengths) for term in self.terms), np.zeros(len(places))) / self.best_possible
        )

    def near(self, places: Places) -> Floats:
        """What is said at and around the places."""
        return sum((self._near(term, places) for term in self.terms), np.zeros(len(places))) / self.best_possible

    def session(self, firsts: Places, lasts: Places, lengths: Floats) -> Floats:
        """What the whole sessions say."""
        average = self.collected.terms / max(1, self.collected.sessions) or 1.0
        damping = SESSION_K1 * (1 - SESSION_B + SESSION_B * lengths / average)
        total = np.zeros(len(firsts))
        for term in self.terms:
            times = term.between(firsts, lasts)
            total += term.rarity * times * (K1 + 1) / (times + damping)
        return total / self.best_possible

    def _own(self, term: Term, places: Places, lengths: Floats | None) -> Floats:
        times = term.at(places)
        average = self.collected.terms / max(1, self.collected.documents) or 1.0
        damping = K1 if lengths is None else K1 * (1 - B + B * lengths / average)
        found: Floats = term.rarity * times * (K1 + 1) / (times + damping)
        return found

    def _near(self, term: Term, places: Places) -> Floats:
        times = term.at(places)
        for step, part in NEARBY.items():
            times = times + part * (term.at(places - step) + term.at(places + step))
        found: Floats = term.rarity * times * (K1 + 1) / (times + K1)
        return found


def look_up(
    session: OrmSession, flow_id: UUID, terms: Sequence[str], within: Sequence[tuple[int, int]] | None
) -> Words:
    """The words' places, in the whole flow or within those ranges; rarity is always the flow's."""
    collected = _counts.of(("flow", flow_id), lambda: postings.collected(session, flow_id), lambda c: c.sessions)
    rarest = math.log(2 * collected.documents + 2)
    read: list[Term] = []
    for text in terms:
        key = keywords.term_key(flow_id, text)
        found = postings.occurrences(session, key, limit=TERM_LIMIT, within=within)
        in_messages = len(found.places)
        if found.truncated or within is not None:
            in_messages = _counts.of(("term", key), partial(postings.count, session, key), int)
        rarity = math.log(1 + (collected.documents - in_messages + 0.5) / (in_messages + 0.5)) / rarest
        read.append(Term(key, max(rarity, 0.0), *_arrays(found), found.truncated))
    read.sort(key=lambda term: -term.rarity)
    read = read[:MAX_TERMS]
    best = (K1 + 1) * math.sqrt(sum(term.rarity for term in read)) if read else 1.0
    return Words(read, collected, best or 1.0)


def _arrays(found: Occurrences) -> tuple[Places, Floats]:
    return np.array(found.places, dtype=np.int64), np.array(found.times, dtype=np.float64)


_T = TypeVar("_T")


class _Counts:
    """Large counts, remembered for a few seconds: they change little, and counting them costs with the store."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, object]] = {}

    def of(self, key: Hashable, count: Callable[[], _T], size: Callable[[_T], int]) -> _T:
        known = self._known.get(key)
        if known is not None and time.monotonic() - known[0] < REMEMBER_SECONDS:
            return known[1]  # type: ignore[return-value]  # what `count` gave for this key
        counted = count()
        if size(counted) > REMEMBER_ABOVE:
            if len(self._known) > REMEMBER_ABOVE:
                self._known.clear()
            self._known[key] = (time.monotonic(), counted)
        else:
            self._known.pop(key, None)
        return counted


_counts = _Counts()
