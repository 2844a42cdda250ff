"""Which facts of a model's answer are accepted, and why the others are refused. Pure.

A model may make up sources, facts and instructions. An accepted fact rests on messages that it was shown, and its
words, names and numbers are in them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.analyzer import Analyzer
from memorybase.core.keyword_index.languages import ENGLISH, Language
from memorybase.features.facts.prompt import MAX_FACTS, MAX_WHAT_CHARS, MAX_WHEN_CHARS, MAX_WHO_CHARS, Known, Quoted

MIN_SUPPORT = 0.6  # the share of a fact's words that its sources must contain: models choose some other words
FIELDS = {"who", "what", "when", "sources", "corrects"}

_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD_INSIDE = re.compile(r"(?<=[^\s.!?:][ \u00a0])[^\W\d_]+")  # a word that begins no sentence
_MARKUP = re.compile(r"[<>{}`\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]|\[/?INST|\]\(")
# English alone. What decides is that facts are shown to a model as data; this refuses the plain attempts.
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines|previous)\b"
    r"|\bsystem (?:prompt|message)\b|\byou are now\b|\byou (?:must|shall)\b|\bfrom now on,? you\b"
    r"|\b(?:assistant|ai|model|llm)s? (?:must|should|shall|has to|needs to)\b|\bdo not tell the user\b",
    re.IGNORECASE,
)
# What models call the two sides, whatever the messages call them.
_SIDES = frozenset({"user", "assistant"})
_NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS)}


class Refusal(StrEnum):
    """Why a fact, or a whole answer, is refused."""

    INVALID_JSON = "invalid_json"
    WRONG_SHAPE = "wrong_shape"
    CUT_OFF = "cut_off"
    TOO_MANY = "too_many"
    TOO_LONG = "too_long"
    UNKNOWN_SOURCE = "unknown_source"
    NO_NEW_SOURCE = "no_new_source"
    UNKNOWN_FACT = "unknown_fact"
    MARKUP = "markup"
    INSTRUCTION = "instruction"
    UNSUPPORTED = "unsupported"


class AnswerRefused(Exception):
    """The whole answer is unusable."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Accepted:
    """A fact that passed the checks."""

    who: str
    what: str
    when: str | None
    sources: tuple[Quoted, ...]
    corrects: Known | None = None


@dataclass(slots=True)
class Checked:
    accepted: list[Accepted] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def check_answer(
    text: str, quoted: Sequence[Quoted], known: Sequence[Known], analyzer: Analyzer, *, is_complete: bool = True
) -> Checked:
    """The accepted facts of an answer; raises AnswerRefused if it is none at all."""
    if not is_complete:
        raise AnswerRefused(Refusal.CUT_OFF)
    checked = Checked()
    messages, facts = {each.label: each for each in quoted}, {each.label: each for each in known}
    stated = _facts(text)
    if len(stated) > MAX_FACTS:
        checked.refused[Refusal.TOO_MANY.value] = len(stated) - MAX_FACTS
    for each in stated[:MAX_FACTS]:
        try:
            checked.accepted.append(_checked(each, messages, facts, analyzer))
        except AnswerRefused as refused:
            checked.refused[refused.reason.value] += 1
    return checked


def _facts(text: str) -> list[Any]:
    text = text.strip()
    fenced = _FENCE.match(text)
    try:
        answer = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise AnswerRefused(Refusal.INVALID_JSON) from None
    if not isinstance(answer, dict) or answer.keys() != {"worth_remembering", "facts"}:
        raise AnswerRefused(Refusal.WRONG_SHAPE)
    worth, facts = answer["worth_remembering"], answer["facts"]
    if not isinstance(worth, bool) or not isinstance(facts, list) or (facts and not worth):
        raise AnswerRefused(Refusal.WRONG_SHAPE)
    return facts


def _checked(stated: Any, messages: Mapping[str, Quoted], facts: Mapping[str, Known], analyzer: Analyzer) -> Accepted:
    if not isinstance(stated, dict) or stated.keys() != FIELDS or not _has_types(stated):
        raise AnswerRefused(Refusal.WRONG_SHAPE)
    who, what = stated["who"].strip(), stated["what"].strip()
    when = (stated["when"] or "").strip() or None
    _check_words(who, what, when)
    sources = _sources(stated["sources"], messages)
    if stated["corrects"] is not None and stated["corrects"] not in facts:
        raise AnswerRefused(Refusal.UNKNOWN_FACT)
    if not is_supported(who, what, when, sources, analyzer):
        raise AnswerRefused(Refusal.UNSUPPORTED)
    return Accepted(who, what, when, sources, facts.get(stated["corrects"] or ""))


def _check_words(who: str, what: str, when: str | None) -> None:
    if not who or not what:
        raise AnswerRefused(Refusal.WRONG_SHAPE)
    if len(who) > MAX_WHO_CHARS or len(what) > MAX_WHAT_CHARS or len(when or "") > MAX_WHEN_CHARS:
        raise AnswerRefused(Refusal.TOO_LONG)
    for part in (who, what, when or ""):
        if _MARKUP.search(part):
            raise AnswerRefused(Refusal.MARKUP)
        if _INSTRUCTION.search(part):
            raise AnswerRefused(Refusal.INSTRUCTION)


def _sources(labels: Sequence[str], messages: Mapping[str, Quoted]) -> tuple[Quoted, ...]:
    if not labels or any(label not in messages for label in labels):
        raise AnswerRefused(Refusal.UNKNOWN_SOURCE)
    sources = tuple(messages[label] for label in dict.fromkeys(labels))
    if not any(source.is_new for source in sources):
        raise AnswerRefused(Refusal.NO_NEW_SOURCE)
    return sources


def _has_types(stated: Mapping[str, Any]) -> bool:
    return (
        isinstance(stated["who"], str)
        and isinstance(stated["what"], str)
        and isinstance(stated["when"], str | None)
        and isinstance(stated["corrects"], str | None)
        and isinstance(stated["sources"], list)
        and all(isinstance(label, str) for label in stated["sources"])
    )


def is_supported(who: str, what: str, when: str | None, sources: Sequence[Quoted], analyzer: Analyzer) -> bool:
    """Whether the sources contain most of the fact's words, all its names and numbers, and all of who and when."""
    said = " ".join(f"{source.speaker} {source.text}" for source in sources)
    analyzer = analyzer.of(said)  # of all parts: a name alone shows no language
    dates = " ".join(f"{day:%Y-%m-%d %d %m %B %A} {day.day} {day.month}" for day in (each.said_at for each in sources))
    terms = {*analyzer.terms(said), *analyzer.terms(" ".join(_SIDES))}
    numbers = numbers_of(said, analyzer.rules)
    own = set(analyzer.terms(what))
    if not own:
        return False
    names = {term for word in _WORD_INSIDE.findall(what) if word[0].isupper() for term in analyzer.terms(word)}
    return (
        len(own & terms) >= MIN_SUPPORT * len(own)
        and names <= terms
        and numbers_of(what, analyzer.rules) <= numbers
        and set(analyzer.terms(who)) <= terms
        and set(analyzer.terms(when or "")) <= {*terms, *analyzer.terms(dates), *numbers}
    )


def numbers_of(text: str, language: Language = ENGLISH) -> set[str]:
    """The numbers in a text, those up to twelve also if they are written as words; up to ten in another language."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = {_DIGITS[word] for word in re.findall(r"[a-z]+", folded) if word in _DIGITS}
    if language.has_spaces:
        said = scripts.WORD.findall(language.folded(scripts.normal(text)))
        words |= {str(language.clear_amounts[word]) for word in said if word in language.clear_amounts}
    return {number.replace(",", "") for number in _NUMBER.findall(folded)} | words
