"""Sentences that tell a change without a value: "I no longer drink coffee, I have green tea". English. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memorybase.core.comparison import SENTENCES
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.keyword_index.languages import ENGLISH
from memorybase.features.hit_corrections.statements import PAST, READ_CHARS, Terms, asserts, plain, prose_sentences

REPLACEMENT_CHARS = 160  # a longer one says more than one thing
SENTENCES_PER_MESSAGE = 2
SHARED_TERMS = 2  # terms, if none of them is of the question or a name
REPLACEMENT_ASKED = 0.35  # likeness of each sentence and the question

# The words of a question that say which thing: after an article, possessive or preposition, and names.
_NAMING = re.compile(
    r"\b(?:the|my|our|a|an|his|her|their|of|to|for|at|in|from) (?:the |my |our )?((?:\w+ ?){1,2})|(?<=\w )([A-Z]\w+)"
)
_PARTICIPLE = re.compile(r"\w+ed|kept|held|made|put|found|sold|taken|given|written", re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:now(?! (?:i want|i'm|let)\b)|no longer|any ?more|these days|from now on|instead|moved|relocated|switched"
    r"|changed|replaced|renamed|swapped|bec(?:a|o)me|quit|left|sold|took over|taken over|went over to|stopped"
    r"|(?<!never )g(?:a|i)ve(?:n)? up|promoted|hired|new job|cancel+ed|dropped|(?:went|gone) back to"
    r"|(?:am|are|is|['\u2019](?:m|re|s)) back (?:on|with|to|in|at))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|no longer|any ?more|instead)\b|n['\u2019]t\b", re.IGNORECASE)


class _Relation(NamedTuple):
    """The speaker's question, earlier statement and present one, in words that may differ."""

    asked: re.Pattern[str]
    stated: re.Pattern[str]
    changed: re.Pattern[str]


_I = r"\b(?:i|we)(?:['\u2019]ve| have| just| recently| finally| both)*"
_RELATIONS = {
    "home": _Relation(
        re.compile(r"\bwhere\b.*\b(?:i|we) (?:live|living)\b|\bmy (?:home|address)\b", re.IGNORECASE),
        re.compile(rf"{_I} (?:live|moved to|settled in)\b|\b(?:i['\u2019]m|we['\u2019]re) living\b", re.IGNORECASE),
        re.compile(
            rf"{_I} (?:moved (?:house|from|(?:back )?to (?-i:[A-Z]))|relocated)|{_I} now live\b|{_I} live .*\bnow\b",
            re.IGNORECASE,
        ),
    ),
    "work": _Relation(
        re.compile(r"\b(?:where|who)\b.*\b(?:i|we) work\b|\bmy (?:employer|company|job)\b", re.IGNORECASE),
        re.compile(rf"{_I} work (?:at|for|in)\b|{_I} (?:started|joined)\b|\bmy job (?:at|is)\b", re.IGNORECASE),
        re.compile(
            rf"{_I} (?:started|took|got|began|accepted) (?:a|my) new (?:job|position)\b|\bchanged jobs\b"
            rf"|{_I}(?: was| were| got| been) hired\b"
            rf"|{_I} (?:now )?work (?:at|for) .*|{_I} left [A-Z]\w+ (?:for|and joined)\b|\bmy new job (?:at|is)\b",
            re.IGNORECASE,
        ),
    ),
}


def naming_terms(query: str, terms: Terms) -> frozenset[str]:
    """The terms by which a question names a thing; a later sentence about it has those that the earlier one has."""
    words = (word for match in _NAMING.findall(query) for group in match for word in group.split())
    return frozenset(term for word in words if not _PARTICIPLE.fullmatch(word) for term in terms(word))


@dataclass(frozen=True, slots=True)
class Sentence:
    """`has_relation`: it says of its speaker what the question asks for, in words that need not be alike."""

    text: str
    terms: frozenset[str]
    tells_change: bool
    has_relation: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's terms, those that name the thing, and the relation that it asks for."""

    terms: frozenset[str]
    naming: frozenset[str]
    relation: str

    @classmethod
    def of(cls, query: str, analyzer: Analyzer) -> Asked:
        relation = next((name for name, each in _RELATIONS.items() if each.asked.search(query)), "")
        return cls(frozenset(analyzer.terms(query)), naming_terms(query, analyzer.terms), relation)


def sentences_to_compare(
    texts: Sequence[tuple[int, str]], query: str, analyzer: Analyzer
) -> list[tuple[int, Sentence]]:
    """The sentences of messages with their numbers that a later one may replace, or that may replace an earlier one."""
    telling = [number for number, text in texts if _REPLACES.search(text[:READ_CHARS])]
    if not telling:
        return []
    asked = Asked.of(query, analyzer)
    read = [(number, each) for number, text in texts for each in _written(text)]
    changing = [
        (number, _sentence(each, asked, analyzer))
        for number, each in read
        if number in telling and _REPLACES.search(each)
    ]
    changing = [(number, each) for number, each in changing if each.tells_change]
    if not changing:
        return []
    sentences = [(number, _sentence(each, asked, analyzer)) for number, each in read]
    found: dict[tuple[int, str], Sentence] = {}
    for number, newer in changing:
        for other, older in sentences:
            if other != number and may_replace(older, newer, asked):
                found |= {(number, newer.text): newer, (other, older.text): older}
    ranked = sorted(found.items(), key=lambda each: (-len(each[1].terms & asked.terms), not each[1].tells_change))
    counts: Counter[int] = Counter()
    kept: list[tuple[int, Sentence]] = []
    for (number, _), each in ranked:
        counts[number] += 1
        if counts[number] <= SENTENCES_PER_MESSAGE:
            kept.append((number, each))
    return kept


def may_replace(older: Sentence, newer: Sentence, asked: Asked) -> bool:
    """Whether the later sentence tells a change of what the earlier one says, by their words."""
    if not newer.tells_change or newer.terms <= older.terms or not asked.naming & older.terms <= newer.terms:
        return False
    if older.has_relation and newer.has_relation:
        return True
    shared = older.terms & newer.terms
    return len(shared) >= SHARED_TERMS or not shared.isdisjoint(asked.terms)


def replaces(older: Sentence, newer: Sentence, alike: float, asked: Asked) -> bool:
    """`may_replace`, given how alike both sentences are."""
    is_alike = SENTENCES.are_met(alike, tells_change=True) or (older.has_relation and newer.has_relation)
    return is_alike and may_replace(older, newer, asked)


def restates(older: Sentence, newer: Sentence) -> bool:
    """Whether the later sentence says the same as the earlier one: "Ines is on call", "Ines is on call again"."""
    is_denied = _DENIED.search(newer.text) is not None or PAST.search(newer.text) is not None
    tells_other = newer.tells_change and not ENGLISH.return_.search(ENGLISH.read(newer.text))
    return older.terms <= newer.terms and not is_denied and not tells_other


def _written(text: str) -> Iterator[str]:
    """The statements of a message that are short enough, without what they quote."""
    for sentence in prose_sentences(text, ENGLISH):
        if len(sentence) <= REPLACEMENT_CHARS and not sentence.rstrip().endswith((":", "?")):
            yield plain(sentence)


def _sentence(text: str, asked: Asked, analyzer: Analyzer) -> Sentence:
    relation = _RELATIONS.get(asked.relation)
    has_relation = relation is not None and any(
        match is not None and asserts(text, match.start(), ENGLISH)
        for match in (relation.stated.search(text), relation.changed.search(text))
    )
    change = _REPLACES.search(text)
    tells_change = change is not None and asserts(text, change.start(), ENGLISH)
    return Sentence(text, frozenset(analyzer.terms(text)), tells_change, has_relation)


def shortened(sentence: str) -> str:
    """The sentence on one line, as people and models read it next to the other message."""
    text = " ".join(sentence.split()).removesuffix(".")
    return text if len(text) <= REPLACEMENT_CHARS else f"{text[: REPLACEMENT_CHARS - 1]}\u2026"
