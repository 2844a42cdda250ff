"""Passages: the whole sentences of a text that contain a question's terms. Pure.

Rules find the sentences: a line of a list, a table or code stays whole; prose is cut after `.`, `!`, `?` and their
equivalents in other scripts. A sentence longer than a passage is cut between words, or anywhere if it has no spaces.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memorybase.core.keyword_index.analyzer import Analyzer

READ_CHARS = 20_000  # of a longer message only the part with most of the question's terms is read
PREFIX_CHARS = 4
REPEATED = 0.1  # the share of its weight that a repeated term adds
IN_CHUNK = 0.25  # the share that a term adds in the chunk that matched
TIE = 1e-9

_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WHOLE_LINE = re.compile(r"\s*(?:[-*+•‣◦|#>]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s")
# After a full stop a new sentence starts only after white space; scripts without spaces need none.
_END = re.compile(
    r"[.!?\u2026\u061f\u06d4\u0964]+[\"'\u201d\u2019\u00bb)\]*_]*(?=\s)|[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09]*"
)
_BEFORE_STOP = re.compile(r"(\w+)\.$")
_ABBREVIATED = frozenset(["mr", "mrs", "ms", "dr", "prof", "st", "vs", "cf", "ca", "approx", "fig", "vol", "jr", "bzw"])


class Span(NamedTuple):
    """The characters `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text: `text[start:end]`. `score` is the weight of the question's terms in it."""

    start: int
    end: int
    score: float = 0.0

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class PassageTerms(NamedTuple):
    """The terms that passages are searched for: a question's terms, alternatives for each, and the analyzer of
    texts."""

    terms: Collection[str]
    others: Mapping[str, Collection[str]]
    analyzer: Analyzer


def joined(sought: Sequence[PassageTerms]) -> PassageTerms | None:
    """Terms for passages that may answer any of several questions."""
    if not sought:
        return None
    others = {term: also for each in reversed(sought) for term, also in each.others.items()}
    return PassageTerms(dict.fromkeys(term for each in sought for term in each.terms), others, sought[0].analyzer)


def rarities(terms: Iterable[str], texts: Sequence[Iterable[str]]) -> dict[str, float]:
    """Each term's weight by how few of these texts, given as terms, contain it."""
    held = Counter(term for text in texts for term in set(text))
    return {term: math.log(1 + (len(texts) - held[term] + 0.5) / (held[term] + 0.5)) for term in dict.fromkeys(terms)}


def sentences(text: str, max_chars: int, within: Span | None = None) -> list[Span]:
    """The sentences and lines of a text in order; none is blank or longer than max_chars."""
    start, end = within or Span(0, len(text))
    found: list[Span] = []
    in_code = False
    for line in _LINE.finditer(text, start, end):
        is_fence = _FENCE.match(text, line.start(), line.end()) is not None
        in_code ^= is_fence
        is_whole = in_code or is_fence or _WHOLE_LINE.match(text, line.start(), line.end()) is not None
        pieces = [Span(*line.span())] if is_whole else _split(text, *line.span())
        for piece in pieces:
            found += _bounded(text, _trimmed(text, *piece), max_chars)
    return found


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of a line."""
    begin = start
    for match in _END.finditer(text, start, end):
        if _ends(text, match, begin, end):
            yield Span(begin, match.end())
            begin = match.end()
    yield Span(begin, end)


def _ends(text: str, match: re.Match[str], begin: int, end: int) -> bool:
    """Whether this ends a sentence and not an abbreviation."""
    if match[0][0] != ".":
        return True
    following = text[match.end() : min(match.end() + 8, end)].lstrip()[:1]
    word = _BEFORE_STOP.search(text, max(begin, match.start() - 12), match.start() + 1)
    is_short = word is not None and not word[1].isdigit() and (len(word[1]) == 1 or word[1].casefold() in _ABBREVIATED)
    return not following.islower() and not is_short


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def _bounded(text: str, span: Span, max_chars: int) -> Iterator[Span]:
    """The span in parts of at most max_chars, cut between words if possible."""
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
    text: str, weights: Mapping[str, float], sought: PassageTerms, *, max_chars: int, matched: Span | None = None
) -> Passage | None:
    """The passage with the most weight of the question's terms; None for a blank text.

    `matched` is the position of the chunk that matched. A short text is one passage. Without any term the passage is
    the beginning of that chunk, or of the text.
    """
    reader = Reader(text, sought, max_chars=max_chars, matched=matched, weights=weights)
    return reader.next_passage(weights)


class Reader:
    """A text's sentences with the question's terms in each. Each sentence is in at most one passage."""

    def __init__(
        self,
        text: str,
        sought: PassageTerms,
        *,
        max_chars: int,
        matched: Span | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        trimmed = _trimmed(text, 0, len(text))
        wanted = set(sought.terms)
        self._matched, self._max_chars = matched, max_chars
        if trimmed.end - trimmed.start <= max_chars:
            self._units = [trimmed] if trimmed.end > trimmed.start else []
        else:
            region = _region(text, weights or dict.fromkeys(wanted, 1.0), max_chars, matched)
            self._units = sentences(text, max_chars, region)
        found = [sought.analyzer.found_by(text[start:end]) for start, end in self._units]
        forms = {term: {term, *sought.others.get(term, ())} for term in wanted}
        self._terms = [sorted(term for term in wanted if not forms[term].isdisjoint(each)) for each in found]
        # A contract says "contract" everywhere: within it, its other words tell where the answer is.
        self._within = rarities(wanted, self._terms)
        self._unused = [True] * len(self._units)

    @property
    def terms(self) -> set[str]:
        """The question's terms that occur in the text."""
        return {term for terms in self._terms for term in terms}

    def terms_in(self, passage: Passage) -> set[str]:
        """The question's terms that occur in a passage of the text."""
        return {
            term
            for (start, end), terms in zip(self._units, self._terms, strict=True)
            if passage.start <= start and end <= passage.end
            for term in terms
        }

    def next_passage(self, weights: Mapping[str, float], *, rest: bool = False) -> Passage | None:
        """The best run of unused sentences, extended by those around it.

        After the first passage, None if no unused sentence has a term; with `rest`, then the next sentences in order.
        """
        first, last, score = self._best_run(weights)
        if score <= 0:
            position = self._first_unused()
            if position is None or not (rest or all(self._unused)):
                return None
            first = last = position
        first, last = self._extended(first, last)
        self._unused[first : last + 1] = [False] * (last + 1 - first)
        return Passage(self._units[first].start, self._units[last].end, max(0.0, round(score, 9)))

    def _best_run(self, weights: Mapping[str, float]) -> tuple[int, int, float]:
        """The shortest run with the best score: a term counts fully once, and a little more if repeated."""
        best = (0, -1, 0.0)
        counts: Counter[str] = Counter()
        score, first = 0.0, 0
        for last in range(len(self._units)):
            if not self._unused[last]:
                counts, score, first = Counter(), 0.0, last + 1
                continue
            score += self._gain(last, counts, weights, 1)
            while self._is_too_long(first, last) or (first < last and not self._terms[first]):
                score -= self._gain(first, counts, weights, -1)
                first += 1
            if score > best[2] + TIE:
                best = (first, last, score)
        return best

    def _gain(self, position: int, counts: Counter[str], weights: Mapping[str, float], step: int) -> float:
        """The change of a run's score when a sentence is added (step 1) or removed (step -1); updates `counts`."""
        total = 0.0
        for term in self._terms[position]:
            others = counts[term] if step > 0 else counts[term] - 1
            total += (
                weights[term]
                * self._within[term]
                * ((REPEATED if others else 1.0) + (IN_CHUNK if self._is_matched(position) else 0.0))
            )
            counts[term] += step
        return total

    def _is_too_long(self, first: int, last: int) -> bool:
        """Whether a run leaves no room for what stands around it: terms far from one another say less together."""
        length = self._units[last].end - self._units[first].start
        return length > self._max_chars or (first < last and length > self._max_chars // 2)

    def _is_matched(self, position: int) -> bool:
        return self._matched is not None and self._matched.start <= self._units[position].start < self._matched.end

    def _first_unused(self) -> int | None:
        """The first unused sentence of the chunk that matched, else of the text."""
        unused = [position for position, is_unused in enumerate(self._unused) if is_unused]
        return next((position for position in unused if self._is_matched(position)), unused[0] if unused else None)

    def _extended(self, first: int, last: int) -> tuple[int, int]:
        """Extend the run by turns: one sentence after it, where an answer continues, and one before."""
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
        if not 0 <= position < len(self._units) or not self._unused[position]:
            return False
        return (
            max(self._units[position].end, other_end) - min(self._units[position].start, other_end) <= self._max_chars
        )


def _region(text: str, weights: Mapping[str, float], max_chars: int, matched: Span | None) -> Span:
    """The part of a very long text with most of the terms; on ties the part that matched."""
    if len(text) <= READ_CHARS:
        return Span(0, len(text))
    # A stem is nearly a prefix of its words, which is exact enough here.
    stems = [(stem[:-1] if len(stem) > PREFIX_CHARS else stem, weight) for stem, weight in weights.items()]
    best, chosen = -1.0, 0
    for start in range(0, len(text), READ_CHARS):
        part = text[start : start + READ_CHARS].casefold()
        is_matched = matched is not None and start <= matched.start < start + READ_CHARS
        covered = sum(weight for stem, weight in stems if stem in part) + (IN_CHUNK if is_matched else 0.0)
        if covered > best:
            best, chosen = covered, start
    return Span(max(0, chosen - max_chars), min(len(text), chosen + READ_CHARS + max_chars))
