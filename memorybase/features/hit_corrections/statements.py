"""Finds the values in the sentences of a message that a later message can correct. Pure rules, not a model.

A value is a number, date, time or percentage, in English also a name.

`asserts` tells what a sentence says from what it supposes, asks, denies or plans: "if I moved ...", "should I move
...?". "I moved my other boat" and "my brother moved" are about others: see `is_about_another`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.keyword_index.languages import ENGLISH, Language
from memorybase.core.keyword_index.scripts import normal
from memorybase.core.search.corrections import Kind
from memorybase.core.search.passages import Span, sentences
from memorybase.features.hit_corrections.values import is_cut_date, values_in

Terms = Callable[[str], Collection[str]]

_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab](?:[^\"\u201c\u201d\u00bb\s]+\s+){2}[^\"\u201c\u201d\u00bb]*[\"\u201d\u00bb]?"
)
_PEOPLE = (
    r"brother|sister|wife|husband|partner|mother|mum|mom|father|dad|parents|grand(?:mother|father|ma|pa|parents)"
    r"|son|daughter|kids?|children|child|cousin|uncle|aunt|nephew|niece|friends?|neighbou?rs?|boss|colleagues?"
    r"|girlfriend|boyfriend|roommate|flatmate|landlord"
)
_PERSON = re.compile(
    rf"(?:^\W*|[,.;:] |\b(?:and|but|so|that) )(?:my|our|his|her|the) (?:\w+ )?({_PEOPLE})\b(?!['\u2019])", re.IGNORECASE
)
_OF_SPEAKER = re.compile(r"\b(?:i|me|my|we|us|our)\b", re.IGNORECASE)
_THIRD_PERSON = re.compile(r"\b(?:he|she)\b", re.IGNORECASE)
_OWNER_ASKED = re.compile(r"(?<=\w )[A-Z]\w+(?=['\u2019]s)")
_ONE_ASKED = re.compile(r"\b(?:is|does|has|did|was) ([A-Z]\w+)(?!['\u2019])\b")
_OF_ONE = re.compile(r"[A-Z]\w+ \w+s\b")  # "Jonas is", "Carla works"
_OTHER = re.compile(r"\b(?:my|our|the|his|her) (?:other|second) (\w+)", re.IGNORECASE)
_OWNER = re.compile(r"\b(\w+)(?:['\u2019]s|s['\u2019]) (\w+)(?: (\w+))?")
_OF = re.compile(r"\b(?:the|my|our|an?) (?:\w+ )?(\w+) of (?:(?:the|my|our|a) )?(\w+)", re.IGNORECASE)
_AT = re.compile(r"\b(?:the|my|our|an?) (\w+) (?:to|for|at|in|from) (?:(?:the|my|our|a) )?(\w+)", re.IGNORECASE)
_MODIFIED = re.compile(r"(?=\b(?:the|my|our) (\w+) (\w+))", re.IGNORECASE)
# Words next to a thing that do not tell which one it is.
_NEUTRAL = re.compile(
    r"\d.*|\w+(?:ed|ing)|new|newly|recently|old|current|latest|whole|same|first|last|final|total|own|next"
    r"|best|main|overall|good|today|yesterday|week|month|year",
    re.IGNORECASE,
)

SENTENCE_CHARS = 300
SHORT_MESSAGE_CHARS = 120  # stays whole: "Concert's been put off. New date is the 30th of May."
READ_CHARS = 4_000  # of each message, without its code
DENSE_SCRIPT = 3  # characters of other text that say as much as one of text without spaces

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ATTACHMENT = re.compile(r"\s*\[\w+: ")
_VERB_OF_PAST = (
    r"(?<!have )(?<!has )(?:was|were|had)(?! (?:\w+ ){0,2}(?:back(?! then)|again|moved|changed|set|put|\w+ed)\b)"
)
# What was so, though the value is named.
PAST = re.compile(
    rf"\b(?:used to|before|previously|formerly|earlier|than|until|ago|old|former|{_VERB_OF_PAST})\b", re.IGNORECASE
)
_WAS = re.compile(rf"\b(?:used to|previously|formerly|until (?:last|recently)|{_VERB_OF_PAST})\b", re.IGNORECASE)
# Words before the former value in a sentence that names both: "12 again instead of 31".
_INSTEAD = re.compile(r"\b(?:instead of|rather than|no longer|not|from)(?: (?!to\b)\w+){0,3} $", re.IGNORECASE)


def plain(sentence: str) -> str:
    """The sentence with a space for each character of a quotation of three or more words, as long as before."""
    return _QUOTED.sub(lambda match: " " * len(match[0]), sentence)


def asserts(text: str, at: int, rules: Language) -> bool:
    """Whether what stands at this position is said to be so: not supposed, asked, denied or, in English, planned."""
    ends = [match.end() for match in rules.ends_of_sentences.finditer(text)]
    start = max((end for end in ends if end <= at), default=0)
    sentence = text[start : min((end for end in ends if end > at), default=len(text))]
    parts = _split(sentence, rules.part_ends)
    opening = rules.read(parts[0][1])
    part = rules.read(next(part for begin, part in reversed(parts) if begin <= at - start))
    if (
        rules.denial_of_change.search(part)
        or rules.supposition.search(part)
        or rules.supposing_start.search(opening)
        or rules.unmarked_question.search(part)
    ):
        return False
    is_asked = rules.ends_in_question.search(part) is not None and rules.asking_start.search(opening) is not None
    return not is_asked or rules.premise.search(part) is not None


def is_about_another(query: str, older: str, newer: str, terms: Terms) -> bool:
    """Whether the later sentence names another thing or person than the earlier one."""
    known = {*terms(older), *terms(query)}
    if _is_of_another_person(older, query, newer, known, terms):
        return True
    return _is_another_thing(older, newer, known, set(terms(query)), terms)


def _is_of_another_person(older: str, query: str, newer: str, known: Collection[str], terms: Terms) -> bool:
    before = f"{older} {query}".casefold()
    for match in _PERSON.finditer(newer):
        owns = any(term in known for own in re.findall(r"\b(?:my|our) (\w+)", newer) for term in terms(own))
        if match[1].casefold() not in before and not owns:
            return True
    subject = newer.split(maxsplit=1)[0]
    if not subject[:1].isupper() or not _tells(subject, terms) or any(term in known for term in terms(subject)):
        return False
    is_third_person = _THIRD_PERSON.search(newer) and not _OF_SPEAKER.search(newer)
    said = set(terms(newer))
    asked = _OWNER_ASKED.findall(query) + (_ONE_ASKED.findall(query) if _OF_ONE.match(newer) else [])
    return bool(is_third_person) or any(
        term in terms(older) and term not in said for name in asked for term in terms(name)
    )


def _is_another_thing(older: str, newer: str, known: Collection[str], asked: Collection[str], terms: Terms) -> bool:
    """Another word at the place of one that tells things apart: the search project, the rent of the garage."""

    def known_word(word: str) -> bool:
        return any(term in known for term in terms(word))

    if any(known_word(match[1]) for match in _OTHER.finditer(newer)):
        return True
    for owner, *things in _OWNER.findall(newer):
        if _tells(owner, terms) and not known_word(owner) and any(known_word(thing) for thing in things):
            return True
    said = set(terms(newer))
    for pattern, head, mark in ((_OF, 0, 1), (_AT, 0, 1), (_MODIFIED, 1, 0)):
        before = {_stem(groups[head], terms): _stem(groups[mark], terms) for groups in pattern.findall(older)}
        for groups in pattern.findall(newer):
            thing, which = _stem(groups[head], terms), _stem(groups[mark], terms)
            other = before.get(thing)
            is_asked = thing and other in asked and other not in said
            if is_asked and which not in known and _tells(groups[mark], terms):
                return True
    return False


def _tells(word: str, terms: Terms) -> bool:
    """Whether a word tells which thing is meant."""
    return bool(terms(word)) and not _NEUTRAL.fullmatch(word)


def _stem(word: str, terms: Terms) -> str:
    return next(iter(terms(word)), "")


class Value(NamedTuple):
    """A value. `key` compares it with others; `units` are the words after a number, each with its stem. `is_former`:
    another one holds instead, if the sentence names one."""

    kind: Kind
    key: str
    shown: str
    units: tuple[tuple[str, str], ...]
    clause: frozenset[str]  # the terms of the clause around it
    asserted: bool = True  # not supposed, asked, denied or only planned
    is_former: bool = False
    was: bool = False  # in English: its clause tells what was so

    @property
    def unit_stems(self) -> frozenset[str]:
        return frozenset(stem for _, stem in self.units)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its values. `tells_change`: it has a word such as "now" or "instead", `tells_return` one such as
    "again".

    `length` is in characters of scripts with spaces.
    """

    text: str
    terms: frozenset[str]
    values: tuple[Value, ...]
    tells_change: bool
    length: int
    tells_return: bool = False


def statements(text: str, analyzer: Analyzer, kinds: Collection[Kind]) -> list[Statement]:
    """The sentences of a message, outside of code, that state values of these kinds."""
    own = analyzer.of(text)
    rules = own.rules
    found: list[Statement] = []
    for sentence in prose_sentences(text, rules):
        values = tuple(_values(sentence, own, kinds))
        if values:
            terms = frozenset(own.terms(sentence))
            read = rules.read(sentence)
            tells_change, tells_return = rules.change.search(read), rules.return_.search(read)
            told = tells_change is not None, length(sentence, rules), tells_return is not None
            found.append(Statement(sentence, terms, values, *told))
    return found


def length(text: str, language: Language) -> int:
    """The characters of a text, as many as it would have in a script with spaces."""
    return len(text) if language.has_spaces else len(text) * DENSE_SCRIPT


def prose_sentences(text: str, language: Language) -> list[str]:
    """The sentences of a message's first part, without code and descriptions of attachments."""
    text = _CODE.sub(" ", text)[:READ_CHARS]
    if length(text, language) <= SHORT_MESSAGE_CHARS:
        return [text]
    spans = _with_whole_dates(text, sentences(text, SENTENCE_CHARS), language)
    pieces = (text[start:end] for start, end in spans)
    return [piece for piece in pieces if not _ATTACHMENT.match(piece)]


def _with_whole_dates(text: str, spans: Sequence[Span], language: Language) -> Sequence[Span]:
    """The sentences, joined again where one ends inside of a date: "am 17. Oktober"."""
    if not language.ordinal:
        return spans
    joined: list[Span] = []
    for span in spans:
        if joined and is_cut_date(text[slice(*joined[-1])], text[slice(*span)], language):
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _values(sentence: str, own: Analyzer, kinds: Collection[Kind]) -> Iterator[Value]:
    rules = own.rules
    text = plain(sentence) if rules.omits_quotations else normal(sentence)
    around = clauses(text, rules)
    for each in values_in(text, rules):
        if each.kind in kinds:
            clause = next(clause for start, clause in reversed(around) if start <= each.start)
            units = [("", each.unit)] if each.unit else []
            if each.kind == "number" and rules.has_spaces:
                units += _stems(rules.units.match(text, each.end), own)
            shown = text[each.start : each.end].strip()
            asserted = asserts(text, each.start, rules)
            is_former = _INSTEAD.search(text[: each.start]) is not None
            was = rules is ENGLISH and _WAS.search(clause) is not None
            terms = frozenset(own.terms(clause))
            yield Value(each.kind, each.key, shown, tuple(units), terms, asserted, is_former, was)


def _stems(words: re.Match[str] | None, analyzer: Analyzer) -> Iterator[tuple[str, str]]:
    for word in filter(None, words.groups() if words else ()):
        for stem in analyzer.terms(word):
            yield word, stem


def clauses(sentence: str, language: Language) -> list[tuple[int, str]]:
    """The clauses of a sentence, each with its start."""
    return _split(sentence, language.clause_ends)


def _split(sentence: str, ends: re.Pattern[str]) -> list[tuple[int, str]]:
    starts = [0, *(match.end() for match in ends.finditer(sentence))]
    return [(start, sentence[start:end]) for start, end in zip(starts, [*starts[1:], len(sentence)], strict=True)]
