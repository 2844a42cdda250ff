"""The part of a message that answers: whole sentences around the place where a question's words are. Pure.

Sentences are found by rule: a line of a list, a table or code stays whole, prose is cut behind `.`, `!`, `?` and their
kin in other scripts. A sentence longer than a passage may be is cut between words, or where there are none, anywhere.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memorybase.keyword_index.analyzer import Analyzer

READ_CHARS = 20_000  # of a longer message only the part with most of the question's words is read closely
PREFIX_CHARS = 4
AGAIN = 0.1  # what a word is worth that is said again
IN_CHUNK = 0.25  # how much more it is worth in the chunk that matched
TIE = 1e-9

_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WHOLE = re.compile(r"\s*(?:[-*+•‣◦|#>]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s")
# Behind a full stop a new sentence begins only after white space; scripts that write no spaces need none.
_END = re.compile(
    r"[.!?\u2026\u061f\u06d4\u0964]+[\"'\u201d\u2019\u00bb)\]*_]*(?=\s)|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09]*"
)
_BEFORE_STOP = re.compile(r"(\w+)\.$")
_NO_END = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "cf", "ca", "approx", "fig", "vol", "jr", "bzw"})


class Span(NamedTuple):
    """From the character `start` up to `end`, which is the first one behind it."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text: `text[start:end]`. `score` is the weight of the question's words in it."""

    start: int
    end: int
    score: float = 0.0

    def of(self, text: str) -> str:
        return text[self.start : self.end]


def rarities(terms: Iterable[str], texts: Sequence[Iterable[str]]) -> dict[str, float]:
    """How much each term tells, by how few of these texts (as their terms) have it."""
    held = Counter(term for text in texts for term in set(text))
    return {term: math.log(1 + (len(texts) - held[term] + 0.5) / (held[term] + 0.5)) for term in dict.fromkeys(terms)}


def sentences(text: str, max_chars: int, within: Span | None = None) -> list[Span]:
    """The sentences and lines of a text in order, none of them blank or longer than max_chars."""
    start, end = within or Span(0, len(text))
    found: list[Span] = []
    in_code = False
    for line in _LINE.finditer(text, start, end):
        is_fence = _FENCE.match(text, line.start(), line.end()) is not None
        in_code ^= is_fence
        is_whole = in_code or is_fence or _WHOLE.match(text, line.start(), line.end()) is not None
        pieces = [Span(*line.span())] if is_whole else _split(text, *line.span())
        for piece in pieces:
            found += _bounded(text, _trimmed(text, *piece), max_chars)
    return found


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """A line's sentences."""
    begin = start
    for match in _END.finditer(text, start, end):
        if _ends(text, match, begin, end):
            yield Span(begin, match.end())
            begin = match.end()
    yield Span(begin, end)


def _ends(text: str, match: re.Match[str], begin: int, end: int) -> bool:
    """Whether a sentence ends here, and not an abbreviation."""
    if match[0][0] != ".":
        return True
    following = text[match.end() : min(match.end() + 8, end)].lstrip()[:1]
    word = _BEFORE_STOP.search(text, max(begin, match.start() - 12), match.start() + 1)
    is_short = word is not None and (len(word[1]) == 1 or word[1].casefold() in _NO_END) and not word[1].isdigit()
    return not following.islower() and not is_short


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def _bounded(text: str, span: Span, max_chars: int) -> Iterator[Span]:
    """The span in parts of at most so many characters, cut between words where there are any."""
    start, end = span
    while end - start > max_chars:
        space = max(
            text.rfind(" ", start + max_chars // 2, start + max_chars + 1), text.rfind("\t", start, start + max_chars)
        )
        cut = space if space > start else start + max_chars
        yield _trimmed(text, start, cut)
        start = _trimmed(text, cut, end).start
    if end > start:
        yield Span(start, end)


def best_passage(
    text: str, weights: Mapping[str, float], analyzer: Analyzer, *, max_chars: int, near: Span | None = None
) -> Passage | None:
    """The passage that tells most of the question's terms; None of a blank text.

    `weights` says what each term tells; `near` is the place of the chunk that matched. A text that is short enough is
    one passage. Without any term in sight the passage is the beginning of that chunk, or of the text.
    """
    return Reader(text, list(weights), analyzer, max_chars=max_chars, near=near, weights=weights).take(weights)


class Reader:
    """A text's sentences with the question's terms in each; what is taken once is not taken again."""

    def __init__(
        self,
        text: str,
        terms: Collection[str],
        analyzer: Analyzer,
        *,
        max_chars: int,
        near: Span | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        whole = _trimmed(text, 0, len(text))
        wanted = set(terms)
        self._near, self._max_chars = near, max_chars
        if whole.end - whole.start <= max_chars:
            self._units = [whole] if whole.end > whole.start else []
        else:
            region = _region(text, weights or dict.fromkeys(wanted, 1.0), max_chars, near)
            self._units = sentences(text, max_chars, region)
        self._terms = [sorted(wanted.intersection(analyzer.terms(text[start:end]))) for start, end in self._units]
        self._free = [True] * len(self._units)

    @property
    def terms(self) -> set[str]:
        """Those of the question's terms that stand in it."""
        return {term for told in self._terms for term in told}

    def take(self, weights: Mapping[str, float], *, rest: bool = False) -> Passage | None:
        """The best run of free sentences, filled up with those around it. After the first one it tells something of the
        question, or there is none; with `rest`, what tells nothing comes too, from the beginning on."""
        first, last, score = self._best_run(weights)
        if score <= 0:
            position = self._beginning()
            if position is None or not (rest or all(self._free)):
                return None
            first = last = position
        first, last = self._filled(first, last)
        self._free[first : last + 1] = [False] * (last + 1 - first)
        return Passage(self._units[first].start, self._units[last].end, max(0.0, round(score, 9)))

    def _best_run(self, weights: Mapping[str, float]) -> tuple[int, int, float]:
        """The shortest run that tells as much as any: a term counts in full once, and a little more if said again."""
        best = (0, -1, 0.0)
        held: Counter[str] = Counter()
        score, first = 0.0, 0
        for last, unit in enumerate(self._units):
            if not self._free[last]:
                held, score, first = Counter(), 0.0, last + 1
                continue
            score += self._worth(last, held, weights, 1)
            while unit.end - self._units[first].start > self._max_chars or (first < last and not self._terms[first]):
                score -= self._worth(first, held, weights, -1)
                first += 1
            if score > best[2] + TIE:
                best = (first, last, score)
        return best

    def _worth(self, position: int, held: Counter[str], weights: Mapping[str, float], step: int) -> float:
        """What a sentence adds to those whose terms are held, or took from them; held is kept."""
        total = 0.0
        for term in self._terms[position]:
            others = held[term] if step > 0 else held[term] - 1
            total += weights[term] * ((AGAIN if others else 1.0) + (IN_CHUNK if self._is_near(position) else 0.0))
            held[term] += step
        return total

    def _is_near(self, position: int) -> bool:
        return self._near is not None and self._near.start <= self._units[position].start < self._near.end

    def _beginning(self) -> int | None:
        """The first free sentence of the chunk that matched, or of the text."""
        free = [position for position, is_free in enumerate(self._free) if is_free]
        return next((position for position in free if self._is_near(position)), free[0] if free else None)

    def _filled(self, first: int, last: int) -> tuple[int, int]:
        """By turns one sentence behind, where an answer goes on, and one before."""
        grows = True
        while grows:
            grows = False
            if self._fits(last + 1, self._units[first].start):
                last += 1
                grows = True
            if first and self._fits(first - 1, self._units[last].end):
                first -= 1
                grows = True
        return first, last

    def _fits(self, position: int, other_end: int) -> bool:
        if not 0 <= position < len(self._units) or not self._free[position]:
            return False
        return (
            max(self._units[position].end, other_end) - min(self._units[position].start, other_end) <= self._max_chars
        )


def _region(text: str, weights: Mapping[str, float], max_chars: int, near: Span | None) -> Span:
    """What is read of a very long text: the part with most of the terms, the one that matched before its equals."""
    if len(text) <= READ_CHARS:
        return Span(0, len(text))
    # A stem is nearly a prefix of its words: near enough to choose by.
    stems = [(stem[:-1] if len(stem) > PREFIX_CHARS else stem, weight) for stem, weight in weights.items()]
    best, chosen = -1.0, 0
    for start in range(0, len(text), READ_CHARS):
        part = text[start : start + READ_CHARS].casefold()
        is_near = near is not None and start <= near.start < start + READ_CHARS
        told = sum(weight for stem, weight in stems if stem in part) + (IN_CHUNK if is_near else 0.0)
        if told > best:
            best, chosen = told, start
    return Span(max(0, chosen - max_chars), min(len(text), chosen + READ_CHARS + max_chars))
