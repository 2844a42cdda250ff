"""The sentences of a message that state a value: a number, date, time, percentage or name. Pure.

Rules, not a model. They know English and the languages of keyword_index/languages; names are found in English only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memorybase.keyword_index.analyzer import Analyzer
from memorybase.keyword_index.languages import Language
from memorybase.keyword_index.scripts import normal
from memorybase.search.corrections import english_values, foreign_values
from memorybase.search.corrections.assertions import asserts, plain
from memorybase.search.corrections.values import Kind
from memorybase.search.passages import Span, sentences

SENTENCE_CHARS = 300
SHORT_MESSAGE_CHARS = 120  # stays whole: "Concert's been put off. New date is the 30th of May."
READ_CHARS = 4_000  # of each message, without its code
UNIT_WORDS = 3  # after a number: "12 conditional probability problems"
DENSE_SCRIPT = 3  # a character of text without spaces says as much as so many others

_UNIT = re.compile(r"[\s-]+([^\W\d_]{2,})" + r"(?:\s+([^\W\d_]{2,}))?" * (UNIT_WORDS - 1))
# Any script: vowel signs of Indic scripts are no word characters.
_FOREIGN_WORD = r"[^\s\d!-/:-@\[-`{-~\u00ab\u00bb\u060c\u061b\u061f\u0964\u201c-\u201e]{2,}"
_FOREIGN_UNIT = re.compile(rf"[\s-]+({_FOREIGN_WORD})" + rf"(?:\s+({_FOREIGN_WORD}))?" * (UNIT_WORDS - 1))
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ATTACHMENT = re.compile(r"\s*\[\w+: ")
_CLAUSE_ENDS = re.compile(r"[,;:()\u2013\u2014]\s+|\s(?=(?:and|but|so|because|while|whereas|although)\s)")
_CHANGE = re.compile(
    r"\b(?:now|instead|no longer|any ?more|changed|mov(?:ed|ing)|switch(?:ed|ing)|replaced|updat(?:e|ed|es)|upgraded"
    r"|new|newly|increased|decreased|raised|reduced|extended|rescheduled|postponed|put off|pushed (?:back|to)"
    r"|correct(?:ion|ed)|actually|after all|these days|by now|revis\w+|recently|improved|reached|since last"
    r"|takes? over|took over|goes up|went up|gone up|down to|up to|news|meanwhile|not what i said|delayed"
    r"|earlier than|later than)\b",
    re.IGNORECASE,
)


class Value(NamedTuple):
    """A value. `key` compares it with others; `units` are the words after a number, each with its stem."""

    kind: Kind
    key: str
    shown: str
    units: tuple[tuple[str, str], ...]
    clause: frozenset[str]  # the terms of the clause around it
    asserted: bool = True  # not supposed, asked, denied or only planned

    @property
    def unit_stems(self) -> frozenset[str]:
        return frozenset(stem for _, stem in self.units)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its values. `tells_change`: it has a word such as "now" or "instead".

    `length` is in characters of scripts with spaces.
    """

    text: str
    terms: frozenset[str]
    values: tuple[Value, ...]
    tells_change: bool
    length: int


def statements(text: str, analyzer: Analyzer, kinds: Collection[Kind]) -> list[Statement]:
    """The sentences of a message, outside of code, that state values of these kinds."""
    own = analyzer.of(text)
    language = own.known
    found: list[Statement] = []
    for sentence in prose_sentences(text, language):
        values = tuple(_values(sentence, own, kinds))
        if values:
            terms = frozenset(own.terms(sentence))
            tells_change = _tells_change(sentence, language)
            found.append(Statement(sentence, terms, values, tells_change, length(sentence, language)))
    return found


def length(text: str, language: Language | None) -> int:
    """The characters of a text, as many as it would have in a script with spaces."""
    return len(text) if language is None or language.has_spaces else len(text) * DENSE_SCRIPT


def prose_sentences(text: str, language: Language | None = None) -> list[str]:
    """The sentences of a message's first part, without code and descriptions of attachments."""
    text = _CODE.sub(" ", text)[:READ_CHARS]
    if length(text, language) <= SHORT_MESSAGE_CHARS:
        return [text]
    spans = _with_whole_dates(text, sentences(text, SENTENCE_CHARS), language)
    pieces = (text[start:end] for start, end in spans)
    return [piece for piece in pieces if not _ATTACHMENT.match(piece)]


def _with_whole_dates(text: str, spans: Sequence[Span], language: Language | None) -> Sequence[Span]:
    """The sentences, joined again where one ends inside of a date: "am 17. Oktober"."""
    if language is None or not language.ordinal:
        return spans
    joined: list[Span] = []
    for span in spans:
        if joined and foreign_values.is_cut_date(text[slice(*joined[-1])], text[slice(*span)], language):
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _tells_change(sentence: str, language: Language | None) -> bool:
    if language is None:
        return _CHANGE.search(sentence) is not None
    return language.change.search(language.folded(normal(sentence))) is not None


def _values(sentence: str, own: Analyzer, kinds: Collection[Kind]) -> Iterator[Value]:
    language = own.known
    text = plain(sentence) if language is None else normal(sentence)
    around = clauses(text, language)
    found = english_values.values(text) if language is None else foreign_values.values(text, language)
    for each in found:
        if each.kind in kinds:
            clause = next(clause for start, clause in reversed(around) if start <= each.start)
            units = [("", each.unit)] if each.unit else []
            if each.kind == "number" and (language is None or language.has_spaces):
                unit = _UNIT if language is None else _FOREIGN_UNIT
                units += _stems(unit.match(text, each.end), own)
            shown = text[each.start : each.end].strip()
            asserted = language is not None or asserts(text, each.start)
            yield Value(each.kind, each.key, shown, tuple(units), frozenset(own.terms(clause)), asserted)


def _stems(words: re.Match[str] | None, analyzer: Analyzer) -> Iterator[tuple[str, str]]:
    for word in filter(None, words.groups() if words else ()):
        for stem in analyzer.terms(word):
            yield word, stem


def clauses(sentence: str, language: Language | None = None) -> list[tuple[int, str]]:
    """The clauses of a sentence, each with its start."""
    ends = _CLAUSE_ENDS if language is None else language.clause_ends
    starts = [0, *(match.end() for match in ends.finditer(sentence))]
    return [(start, sentence[start:end]) for start, end in zip(starts, [*starts[1:], len(sentence)], strict=True)]
