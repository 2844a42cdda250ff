"""Results as they are shown: words that match are marked, a score has a band and a walk from its start. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import Any
from uuid import UUID

from api.web.corrections import Note, is_outdated, notes
from api.web.playground.decided import Decision, Refusal, decision, refusal
from api.web.rendering import score as rounded
from api.web.rendering import speaker
from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.messages import message_text
from memorybase.core.search.bands import WEAK, Band, band_of
from memorybase.core.search.exact_matches import text_of
from memorybase.core.search.hits import Hit
from memorybase.core.search.part_weights import PARTS, shares_by_part

MAX_CHARS = 600  # of a message; longer ones are shown from their matching passage on
NEIGHBOR_CHARS = 160
NO_TEXT = "(no text)"

# The axis of every walk, in logits: a share of one half is at 0.
LOW, HIGH = -24.0, 6.0
COSINE = Band("cosine", 0.0)  # in mode dense: not comparable with the bands

_STEPS = {
    "meaning": ("Says what you ask", "Says something else"),
    "words": ("Its words, or those beside it, are yours", "Its words are others"),
    "around": ("The conversation around it is about this", "The conversation around it is about something else"),
    "kind": ("Is of the kind that you ask for", "Is long or of another kind: such messages match by chance"),
}
_ANSWERS: dict[Refusal | None, str] = {
    None: "yes, so its best results are recalled in this order",
    "no_answer": "no, so nothing is recalled",
    "not_known": "yes, but this result says nothing",
    "asks_again": "yes, but this result says nothing",
    "lacks_name": "yes, by a rare name alone, which this result lacks",
    "behind": "yes, but this result is too far behind the best one in the order",
}
_NOT_KNOWN = "Says only that something is not known"
_ASKED_BEFORE = "Only asks the question again"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; marked if it is a word of the question."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk: what it adds, and where it begins and ends on the axis, in percent."""

    part: str  # start, a part of the score, age, reranker, order, answers, own, or score
    text: str
    amount: str
    left: float = 0.0
    width: float = 0.0
    against: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A result. `is_given`: its score reaches the limit."""

    hit: Hit
    text: list[Piece]
    before: str
    after: str
    band: Band
    is_given: bool
    parts: list[tuple[str, float]]  # for a bar: the score, divided among what raises it, and what was lent to it
    steps: list[Step]
    decision: Decision | None
    notes: list[Note]  # of corrections
    why_first: str  # whatever its score; empty for most

    @property
    def is_outdated(self) -> bool:
        return is_outdated(self.hit)

    @property
    def speaker(self) -> str:
        return speaker(self.hit.sender_name or self.hit.role)

    @property
    def own_score(self) -> float | None:
        """The score before another message lent or took the place; None if it is the score."""
        own = (self.hit.parts or {}).get("own_score")
        return None if own == self.hit.score else own


def show(hits: Sequence[Hit], query: str, analyzer: Analyzer, *, limit: float, is_dense: bool) -> list[Shown]:
    terms = frozenset(analyzer.asked(query).terms)
    listed = {hit.message_id: hit for hit in hits}
    return [_shown(hit, terms, analyzer, listed, limit=limit, is_dense=is_dense) for hit in hits]


def marked(text: str, terms: frozenset[str], analyzer: Analyzer) -> list[Piece]:
    """The text in pieces, its words with a stem among the terms marked."""
    pieces: list[Piece] = []
    end = 0
    for start, stop in _matches(text, terms, analyzer):
        pieces += [Piece(text[end:start]), Piece(text[start:stop], marked=True)]
        end = stop
    return [piece for piece in [*pieces, Piece(text[end:])] if piece.text]


def _matches(text: str, terms: frozenset[str], analyzer: Analyzer) -> Iterator[tuple[int, int]]:
    """Where the words begin and end that have one of the terms; in text without spaces, the units that have."""
    for word in scripts.WORD.finditer(text):
        if not scripts.is_unspaced(word[0]):
            if terms & _terms(word[0], analyzer):
                yield word.span()
            continue
        ends = list(accumulate(map(len, scripts.units(word[0])), initial=word.start()))
        is_found = [False] * (len(ends) - 1)
        for size in (1, 2):
            for first in range(len(ends) - size):
                if not terms.isdisjoint(analyzer.terms(text[ends[first] : ends[first + size]])):
                    is_found[first : first + size] = [True] * size
        for found, numbers in groupby(range(len(is_found)), is_found.__getitem__):
            some = list(numbers)
            if found:
                yield ends[some[0]], ends[some[-1] + 1]


@lru_cache(maxsize=4_096)
def _terms(word: str, analyzer: Analyzer) -> frozenset[str]:
    return frozenset(analyzer.found_by(word))


def _shown(
    hit: Hit, terms: frozenset[str], analyzer: Analyzer, listed: Mapping[UUID, Hit], *, limit: float, is_dense: bool
) -> Shown:
    pieces = marked(excerpt(hit), terms, analyzer)
    words = list(dict.fromkeys(piece.text.casefold() for piece in pieces if piece.marked))
    steps = walk(hit.parts or {}, hit.score, words)
    return Shown(
        hit=hit,
        text=pieces,
        before=_turn(hit.before[-1]) if hit.before else "",
        after=_turn(hit.after[0]) if hit.after else "",
        band=COSINE if is_dense else band_of(hit.score),
        is_given=hit.score >= limit,
        parts=divided(hit.parts or {}, hit.score),
        steps=steps,
        decision=decision(hit, steps, listed),
        notes=notes(hit, listed),
        why_first=text_of(hit.exact_match, hit.reply_to),
    )


def divided(parts: dict[str, Any], score: float) -> list[tuple[str, float]]:
    """The score divided among the parts that raise it, then what another message lent: a lower score is never longer.

    Empty if the score is a cosine alone.
    """
    if "signals" not in parts:
        return []
    own = min(parts.get("own_score", score), score)
    raises = {part: share for part, share in _shares(parts).items() if share > 0}
    whole = sum(raises.values())
    found = [(part, own * share / whole) for part, share in raises.items()] or [("start", own)]
    return [*found, ("lent", score - own)] if score > own else found


def excerpt(hit: Hit) -> str:
    text = message_text(hit.content) or NO_TEXT
    if len(text) <= MAX_CHARS:
        return text
    start = max(0, min(hit.snippet_start, len(text) - MAX_CHARS))
    end = start + MAX_CHARS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def walk(parts: dict[str, Any], score: float, words: Sequence[str]) -> list[Step]:
    """Both decisions: the message's place in the order, over what each part adds, and whether the store answers at all.

    Empty if the score is a cosine alone.
    """
    if "signals" not in parts:
        return []
    at = float(parts["bias"])
    steps = [Step("start", "Every message starts low: most do not answer a question", signed(at), *_span(LOW, at))]
    for part, share in _shares(parts).items():
        if not share:
            continue
        text = _STEPS[part][share < 0]
        if part == "words" and words:
            text = f"Shares {', '.join(f'“{word}”' for word in words[:4])}"
        if part == "kind" and parts["signals"].get("says_nothing", {}).get("value"):
            text = _NOT_KNOWN if parts.get("non_answer") else _ASKED_BEFORE
        steps.append(Step(part, text, signed(share), *_span(at, at + share), against=share < 0))
        at += share
    if (parts.get("recency") or 1) != 1:
        steps.append(Step("age", "Is older: part of its share fades", f"\N{MULTIPLICATION SIGN}{parts['recency']:.2f}"))
    if "reranker" in parts:
        steps.append(Step("reranker", "The reranker's score replaces it", f"{parts['reranker']:.2f}"))
    elif parts.get("evidence") is not None:
        steps += _decisions(parts, at, score)
    if parts.get("own_score", score) != score:
        steps.append(Step("own", f"Its own score, {_why_moved(parts)}", rounded(parts["own_score"])))
    return [*steps, Step("score", "Score", rounded(score))]


def _why_moved(parts: dict[str, Any]) -> str:
    if parts.get("echo_of"):
        return "lowered since it repeats an earlier message"
    return "before it took the place of another message"


def _decisions(parts: dict[str, Any], logit: float, score: float) -> list[Step]:
    """The message's share in the order, whether the store answers, and which of the two decided."""
    decided = _ANSWERS[refusal(parts, score)]
    share = (parts.get("recency") or 1) / (1 + math.exp(-logit))
    return [
        Step("order", "Order: its share among all results", percent(share)),
        Step("answers", f"Whether the store answers: {decided}", percent(parts["evidence"])),
    ]


def percent(share: float) -> str:
    """Rounded down: what is below a half never shows as 50 %."""
    return f"{math.floor(round(100 * share, 4))} %"


def signed(share: float) -> str:
    return f"{share:+.1f}".replace("-", "\N{MINUS SIGN}")


def nothing_fits(rows: Sequence[Shown]) -> bool:
    """Whether every result is weak, or below the limit where scores are cosines."""
    return all(row.band is WEAK or (row.band is COSINE and not row.is_given) for row in rows)


def _shares(parts: dict[str, Any]) -> dict[str, float]:
    signals = parts.get("signals", {})
    shares = shares_by_part({name: float(each["share"]) for name, each in signals.items()})
    return {part: round(shares[part], 3) for part in PARTS}


def _span(start: float, end: float) -> tuple[float, float]:
    """Where a step lies on the axis, in percent: from the left, and its width."""
    low, high = (100 * (min(max(each, LOW), HIGH) - LOW) / (HIGH - LOW) for each in sorted((start, end)))
    return round(low, 2), round(max(high - low, 0.6), 2)


def _turn(turn: dict[str, Any]) -> str:
    text = " ".join((message_text(turn["content"]) or NO_TEXT).split())
    return text if len(text) <= NEIGHBOR_CHARS else f"{text[:NEIGHBOR_CHARS]}…"


def message_ids(rows: Sequence[Shown]) -> list[UUID]:
    return [row.hit.message_id for row in rows]
