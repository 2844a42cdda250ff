"""Finds sentences in which users describe themselves: who they are, what they have, what they want. Pure.

The form decides: words of the first person, and forms that tell what lasts ("I am a nurse", "my office is in room 12").
Questions, requests, code, quotations and pasted material are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memorybase.core.comparison import ONESELF, Relation, Said, compare
from memorybase.core.keyword_index.analyzer import DETECT, analyzer
from memorybase.core.keyword_index.languages import ENGLISH, LATIN, Language, detection
from memorybase.features.standing_statements.finder import MASK, masked
from memorybase.features.standing_statements.forms import REQUEST

OWN_CHARS = 1_000  # of a message; a longer one is pasted material, with a remark in its first paragraph
MATERIAL_BYTES = 300  # after a line that introduces them: pasted material, not a list of wishes
MAX_CHARS = 300  # of a sentence that is read

_SENTENCE = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|[A-Z])\.(?= )|\d{1,2}\.(?= \w)|[^.!?\n\u0964\u3002\uff01\uff1f\u061f]"
    r"|[.!?](?=[^\s.!?\"')\]]))+[.!?\u0964\u3002\uff01\uff1f\u061f]*"
)
_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
_PARAGRAPH = re.compile(r"\n\s*\n")
_INTRODUCES = re.compile(r"[:\uff1a]\s*(?:\n|$)")
_VALUE = re.compile(r"\d")

# What a person has one of at a time: a later sentence of this form replaces an earlier one.
_ATTRIBUTES = re.compile(
    r"\b(?:my|our) (?:new |current )?((?:\w+ )?\w+?)(?:'s| is| are) (?:now |currently )?(in|at|on|called|named)\b"
    r"|\b(?:i|we)(?:'m| am|'re| are)? (?:now |currently )?(liv(?:e|ing)|work(?:ing)?|study(?:ing)?|report) "
    r"(?:now )?(in|at|for|to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence that is neither a question nor a request. `tells`: something of the writer; `lasts`: what lasts."""

    text: str
    tells: bool
    lasts: bool
    rules: Language

    @cached_property
    def words(self) -> frozenset[str]:
        """Its terms."""
        return frozenset(analyzer(self.rules.name).terms(self.text))

    @cached_property
    def attribute(self) -> tuple[str, ...]:
        """The attribute that it gives a value of, of which a person has one; empty if that cannot be told. English
        only."""
        found = None if self.rules is not ENGLISH else _ATTRIBUTES.search(self.text.replace("\u2019", "'"))
        if found is None:
            return ()
        noun, at, verb, to = (part and part.casefold() for part in found.groups())
        return (noun, at) if noun else (verb[:3], "in" if verb.startswith("liv") else to)

    @cached_property
    def values(self) -> frozenset[str]:
        """Its words with digits."""
        return frozenset(word for word in self.words if _VALUE.search(word))

    @cached_property
    def tells_change(self) -> bool:
        return self.rules.own_change.search(self.rules.read(self.text)) is not None


def sentences_of(text: str) -> list[Sentence]:
    """The statements of a user's message in its own words, in order."""
    plain = text.replace("\u2019", "'").replace(MASK, " ")
    introduced = _INTRODUCES.search(plain)
    if introduced is not None and len(plain[introduced.end() :].encode()) > MATERIAL_BYTES:
        plain = plain[: introduced.end()]
    if len(plain) > OWN_CHARS:
        plain = _PARAGRAPH.split(plain.lstrip(), maxsplit=1)[0][:OWN_CHARS]
    rules = analyzer(DETECT).of(plain).rules
    return [_sentence(said, rules) for said in _said(plain)]


def _said(plain: str) -> Iterator[str]:
    own = masked(plain)
    for match in _SENTENCE.finditer(own):
        said = " ".join(plain[match.start() : match.end()].split()).strip(" -*\u2022")
        if MASK in match[0] or not said.strip(" .!?") or len(said) > MAX_CHARS:
            continue
        if not (_QUESTION.search(said) or _INTRODUCES.search(said) or REQUEST.match(said)):
            yield said


def _sentence(said: str, rules: Language) -> Sentence:
    read = rules.read(said)
    lasts = rules.lasts.search(read) is not None or rules.names_that_last.search(said) is not None
    tells = lasts or rules.of_speaker.search(read) is not None
    if not tells and rules is ENGLISH and not _is_english(said):  # "Vivo en Lima." is too short to show its language
        lasts = tells = any(each.lasts.search(each.read(said)) is not None for each in LATIN)
    return Sentence(said, tells, lasts, rules)


def _is_english(said: str) -> bool:
    english = analyzer(ENGLISH.name)
    words = english.words(said)
    stopped = len(words) - len(english.kept(words))
    return stopped > 1 and detection.is_english(words, stopped)  # "a" is a word of many languages


def relation(newer: Sentence, older: Sentence) -> Relation:
    """Whether the later sentence says the same again, or gives another value for what the earlier one tells."""
    return compare(_compared(newer), _compared(older), ONESELF)


def _compared(said: Sentence) -> Said:
    return Said(said.words, said.values, subject=said.attribute or None, tells_change=said.tells_change)
