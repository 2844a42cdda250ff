"""Finds later messages that say something else about the same fact: "was 300 ms, now 250 ms". Pure.

Compared are alike sentences of one speaker's messages: those that state a value of the kind that the question asks for,
or that claim or deny what it asks about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import permutations
from typing import Literal, NamedTuple

from memorybase.core.comparison import DENIALS, VALUES
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.keyword_index.languages import ENGLISH
from memorybase.core.search.corrections import Kind
from memorybase.features.hit_corrections import chains
from memorybase.features.hit_corrections.chains import Known, Link
from memorybase.features.hit_corrections.changes import change
from memorybase.features.hit_corrections.claims import Claim, asks_whether, claim_of
from memorybase.features.hit_corrections.replacements import (
    REPLACEMENT_ASKED,
    Asked,
    Sentence,
    replaces,
    restates,
    sentences_to_compare,
    shortened,
)
from memorybase.features.hit_corrections.statements import Statement, Value, is_about_another, statements
from memorybase.features.hit_corrections.values import is_same

Likeness = Callable[[str, str], float]

COMPARED = 10  # of the best messages
STATEMENTS_PER_MESSAGE = 2
ASKED = 0.37  # likeness of each sentence and the question
SHORT_STATEMENT = 140  # characters: need not share a word with the question if it tells a change

# What is so now, rather than what happened.
_ASKS_NOW = re.compile(
    r"^(?!.*\b(?:did|was|were|had|ever)\b).*\b(?:what|which|who|whose|where|how|when)\b", re.IGNORECASE
)
_ASKS_WHETHER_NOW = re.compile(r"^\W*(?:do|does|am|is|are) (?!.*\bever\b)", re.IGNORECASE)


class Said(NamedTuple):
    """A message as far as corrections need it; messages of different speakers are not compared."""

    speaker: Hashable
    at: tuple[datetime, int]
    text: str


class Stated(NamedTuple):
    """A statement or claim of the message with this number."""

    message: int
    said: Statement | Claim | Sentence

    @property
    def text(self) -> str:
        return self.said.text


@dataclass(frozen=True, slots=True)
class Sought:
    """The part of a question's answer that a later message can correct."""

    kinds: frozenset[Kind]  # of values
    whether: bool = False  # something was done
    sentences: bool = False  # which a later one replaces, without a value
    counted: frozenset[str] = frozenset()  # "how many problems": terms, of which a number with a unit must have one

    def __bool__(self) -> bool:
        return bool(self.kinds) or self.whether or self.sentences


@dataclass(frozen=True, slots=True)
class Correction:
    """The message `newer` says `now` where the message `older` said `was`; both are numbers of messages.

    kind "denial": one denies what the other claims, without values. kind "statement": `was` and `now` are sentences.
    """

    older: int
    newer: int
    kind: Kind | Literal["statement", "denial"]
    was: str | None = None
    now: str | None = None
    link: Link | None = field(default=None, compare=False)  # of a value
    is_return: bool = False  # the newer message states the older one's value again, after others between them


def sought_by(query: str, analyzer: Analyzer) -> Sought:
    """The values to compare for this question; none if it compares, or asks about the past or for advice."""
    own = analyzer.of(query)
    if asks_whether(query, analyzer):
        return Sought(frozenset(), whether=True, sentences=_ASKS_WHETHER_NOW.search(query) is not None)
    seeks = own.rules.sought_kinds(query)
    counted = own.rules.counts.search(own.rules.read(query))
    is_sentence = own.rules is ENGLISH and "otherwise" not in seeks and _ASKS_NOW.search(query) is not None
    counted_terms = frozenset(own.terms(counted[1]) if counted else ())
    return Sought(_kinds(seeks), sentences=is_sentence, counted=counted_terms)


def _kinds(seeks: Collection[str]) -> frozenset[Kind]:
    if "otherwise" in seeks:
        return frozenset()
    if "percent" in seeks:
        return frozenset(("percent",))
    found: set[Kind] = set()
    if "date" in seeks:
        found |= {"date", "time"}
    if "amount" in seeks:
        found |= {"number", "percent"}
    if not found and "name" in seeks:
        found |= {"name", "number", "date"}
    if not found and "any" in seeks:
        found |= {"number", "date", "percent", "time"}
    return frozenset(found)


def stated(messages: Sequence[Said], query: str, sought: Sought, analyzer: Analyzer) -> list[Stated]:
    """Statements worth comparing, at most two sentences of a message; empty if all are of one message."""
    asked = frozenset(analyzer.terms(query))
    speakers = [message.speaker for message in messages]
    found: list[Stated] = []
    for number, message in enumerate(messages):
        if speakers.count(message.speaker) < 2:
            continue
        if sought.whether:
            claim = claim_of(message.text, query, analyzer)
            found += [Stated(number, claim)] if claim else []
        else:
            relevant = list(_relevant(message.text, asked, sought, analyzer))
            relevant.sort(key=lambda each: (-len(each.terms & asked), not (each.tells_change or each.tells_return)))
            found += [Stated(number, each) for each in relevant[:STATEMENTS_PER_MESSAGE]]
    if sought.sentences and analyzer.of(query).rules is ENGLISH:
        of_several = [(n, each.text) for n, each in enumerate(messages) if speakers.count(each.speaker) > 1]
        found += [Stated(*each) for each in sentences_to_compare(of_several, query, analyzer)]
    return found if len({each.message for each in found}) > 1 else []


def _relevant(text: str, asked: frozenset[str], sought: Sought, analyzer: Analyzer) -> Iterator[Statement]:
    """The statements with values that the question may ask for."""
    for each in statements(text, analyzer, sought.kinds):
        values = tuple(value for value in each.values if _counts(value, sought.counted))
        is_short_change = (each.tells_change or each.tells_return) and each.length < SHORT_STATEMENT
        if values and (is_short_change or any(value.clause & asked for value in values)):
            yield replace(each, values=values)


def _counts(value: Value, counted: frozenset[str]) -> bool:
    return not (counted and value.units) or not counted.isdisjoint(value.unit_stems)


def find(
    messages: Sequence[Said], found: Sequence[Stated], query: str, likeness: Likeness, analyzer: Analyzer
) -> list[Correction]:
    """The corrections among these sentences, of each pair of messages that of the most alike ones; sentences with
    values before those without."""
    near = [each for each in found if _is_near(each.said, likeness(each.text, query))]
    returning = _returning(found, near, messages, likeness)
    near += [each for each in found if each.text in returning and each not in near]
    asked = Asked.of(query, analyzer)
    is_english = analyzer.rules is ENGLISH

    def is_other(older: str, newer: str) -> bool:
        return is_english and is_about_another(query, older, newer, analyzer.terms)

    valued = {each.text: each.said for each in found if isinstance(each.said, Statement)}
    best: dict[tuple[int, int], tuple[bool, float, Correction]] = {}
    known: dict[int, Known] = {}
    # In the order of the newer ones: what a message replaced is known before the next one is compared.
    for older, newer in sorted(permutations(near, 2), key=lambda pair: messages[pair[1].message].at):
        before, after = messages[older.message], messages[newer.message]
        if before.speaker != after.speaker or before.at >= after.at:
            continue
        if older.message not in known:
            known[older.message] = _known_at(before, messages, found, [each for *_, each in best.values()])
        alike = max(likeness(older.text, newer.text), returning.get(newer.text, 0.0))
        correction = _compared(older, newer, alike, known[older.message], asked)
        if correction is None or (correction.kind != "denial" and is_other(older.text, newer.text)):
            continue
        if correction.kind == "statement" and _differ(valued.get(older.text), valued.get(newer.text)):
            continue  # their values were compared
        pair, rank = (older.message, newer.message), (correction.kind != "statement", alike)
        if pair not in best or rank > best[pair][:2]:
            best[pair] = (*rank, correction)
    corrections = [correction for *_, correction in best.values()]
    sentences = [(each.message, each.said) for each in found if isinstance(each.said, Sentence)]
    return _with_ends([*corrections, *_restated(corrections, sentences, messages, likeness)], messages)


def _restated(
    corrections: Sequence[Correction],
    sentences: Sequence[tuple[int, Sentence]],
    messages: Sequence[Said],
    likeness: Likeness,
) -> Iterator[Correction]:
    """Corrections of replaced sentences by those that say the same again afterwards."""
    pairs = {(each.older, each.newer) for each in corrections}
    for each in corrections:
        replaced = next(
            (said for number, said in sentences if (number, shortened(said.text)) == (each.older, each.was)), None
        )
        if each.kind != "statement" or replaced is None:
            continue
        for number, said in sentences:
            is_later = (
                messages[number].speaker == messages[each.newer].speaker
                and messages[number].at > messages[each.newer].at
            )
            if is_later and restates(replaced, said) and VALUES.are_met(likeness(replaced.text, said.text)):
                now = shortened(said.text)
                if (each.newer, number) not in pairs:
                    yield Correction(each.newer, number, "statement", each.now, now)
                yield Correction(each.older, number, "statement", each.was, now, is_return=True)


_NONE = Correction(-1, -1, "statement")


def _with_ends(found: Sequence[Correction], messages: Sequence[Said]) -> list[Correction]:
    """The corrections, and of each chain those from its earlier messages to its last one."""
    by_pair = {(each.older, each.newer): each for each in found}
    links = [each.link for each in found if each.link is not None]
    places = sorted(range(len(messages)), key=lambda number: messages[number].at)
    for end in chains.ends(links, {number: place for place, number in enumerate(places)}).values():
        first = next(each for each in found if each.older == end.older and each.link and each.link.was == end.was)
        last = next(each for each in found if each.newer == end.newer and each.link and each.link.now == end.now)
        added = replace(first, newer=end.newer, now=last.now, link=end, is_return=is_same(end.was, end.now))
        if by_pair.get((end.older, end.newer), _NONE).kind == "statement":
            by_pair[end.older, end.newer] = added
    return list(by_pair.values())


def _differ(older: Statement | None, newer: Statement | None) -> bool:
    """Whether both state a value of one kind, and not the same one. Of names only those inside of a sentence count."""
    if older is None or newer is None:
        return False
    keys = {value.key for value in older.values}
    kinds = {value.kind for value in older.values} - {"name"}
    return any(value.kind in kinds and value.key not in keys for value in newer.values)


def _is_near(said: Statement | Claim | Sentence, to_question: float) -> bool:
    if isinstance(said, Sentence):
        return said.has_relation or to_question >= REPLACEMENT_ASKED
    return to_question >= ASKED


def _returning(
    found: Sequence[Stated], near: Sequence[Stated], messages: Sequence[Said], likeness: Likeness
) -> dict[str, float]:
    """The texts that tell a return to a value that was stated before, each with its likeness to that statement.

    "I went back to Dr. Albers" is like the sentence that named him first, and little like the question.
    """
    best: dict[str, float] = {}
    for newer in found:
        if not isinstance(newer.said, Statement) or not newer.said.tells_return:
            continue
        for older in near:
            before, after = messages[older.message], messages[newer.message]
            if isinstance(older.said, Statement) and before.speaker == after.speaker and before.at < after.at:
                alike = likeness(older.text, newer.text)
                if VALUES.are_met(alike, tells_change=True) and _share_a_value(older.said, newer.said):
                    best[newer.text] = max(alike, best.get(newer.text, 0.0))
    return best


def _share_a_value(one: Statement, other: Statement) -> bool:
    return any(
        each.kind == value.kind and is_same(each.key, value.key) for each in one.values for value in other.values
    )


def _known_at(
    message: Said, messages: Sequence[Said], found: Sequence[Stated], corrections: Sequence[Correction]
) -> Known:
    """The statements of the message's speaker up to it."""
    before = [
        (each.message, each.said)
        for each in sorted(found, key=lambda each: messages[each.message].at)
        if messages[each.message].speaker == message.speaker and messages[each.message].at <= message.at
        if isinstance(each.said, Statement)
    ]
    return chains.known_at(before, [each.link for each in corrections if each.link is not None])


def _compared(older: Stated, newer: Stated, alike: float, known: Known, asked: Asked) -> Correction | None:
    match older.said, newer.said:
        case Statement(), Statement():
            changed = change(older.said, newer.said, alike, known)
            if changed is not None:
                link = Link(older.message, newer.message, changed.was_key, changed.now_key)
                return Correction(older.message, newer.message, changed.kind, changed.was, changed.now, link)
        case Sentence(), Sentence() if replaces(older.said, newer.said, alike, asked):
            was, now = shortened(older.text), shortened(newer.text)
            return Correction(older.message, newer.message, "statement", was, now)
        case Claim(), Claim() if older.said.denies != newer.said.denies and DENIALS.are_met(alike):
            return Correction(older.message, newer.message, "denial")
    return None
