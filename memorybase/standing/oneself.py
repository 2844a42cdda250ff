"""Finds sentences in which users describe themselves: who they are, what they have, what they want. Pure.

The form decides: words of the first person, and forms that tell what lasts ("I am a nurse", "my office is in room 12").
English and the languages of keyword_index/languages. Questions, requests, code, quotations and pasted material are
passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memorybase.keyword_index.analyzer import DETECT, ENGLISH, analyzer
from memorybase.keyword_index.languages import LATIN, Language, detection
from memorybase.keyword_index.scripts import normal
from memorybase.standing.finder import MASK, masked
from memorybase.standing.forms import REQUEST

OWN_CHARS = 1_000  # of a message; a longer one is pasted material, with a remark in its first paragraph
MATERIAL_BYTES = 300  # after a line that introduces them: pasted material, not a list of wishes
MAX_CHARS = 300  # of a sentence that is read
SAME_WORDS = 0.6  # of the words of both, that both have: they say the same, or one value has changed
CHANGED_WORDS = 0.45  # the same, where the later sentence tells a change

_SENTENCE = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|[A-Z])\.(?= )|\d{1,2}\.(?= \w)|[^.!?\n\u0964\u3002\uff01\uff1f\u061f]"
    r"|[.!?](?=[^\s.!?\"')\]]))+[.!?\u0964\u3002\uff01\uff1f\u061f]*"
)
_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$")
_PARAGRAPH = re.compile(r"\n\s*\n")
_INTRODUCES = re.compile(r"[:\uff1a]\s*(?:\n|$)")
_VALUE = re.compile(r"\d")

_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_ADVERBS = r"(?:(?:also|now|currently|still|just|really|actually|usually|normally|always|never|only|mostly|already) )*"
_LASTING = re.compile(
    rf"\b(?:i'm|i am|we're|we are) {_ADVERBS}(?:an? |the |\d|[a-z]+(?:ian|ist|er|or|ed|ic|ant|gan)\b|from\b|based\b"
    r"|in my |on (?:a|the) |responsible\b|studying\b|working\b|living\b|(?-i:[A-Z]))"
    rf"|\b(?:i|we) {_ADVERBS}(?:have|live|work|study|teach|run|own|manage|lead|speak|play|swim|cycle|drive|commute|use"
    r"|report|prefer|hate|love|like|want|need|eat|drink|take|keep|do|go|come|grew|moved|stopped|quit|started|joined"
    r"|switched"
    r"|married|don't|do not|can't|cannot)\b|\b(?:i've|we've) (?:got|had|been|moved|stopped|left|started|joined"
    r"|switched)\b"
    r"|\b(?:my|our) (?:[\w'-]+ ){1,4}?(?:is|are|was|has|have|lives?|works?|goes|likes?|hates?|needs?|comes?)\b"
    r"|\b(?:call me|my name|remember|keep in mind|always|never|from now on|prefer\w*|allergic|allergy)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|instead|new|moved|changed|switched|since|currently|meanwhile|stopped|renamed)\b",
    re.IGNORECASE,
)
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
    language: Language | None

    @cached_property
    def words(self) -> frozenset[str]:
        """Its terms."""
        return frozenset(analyzer(ENGLISH if self.language is None else self.language.name).terms(self.text))

    @cached_property
    def attribute(self) -> tuple[str, ...]:
        """The attribute that it gives a value of, of which a person has one; empty if that cannot be told. English
        only."""
        found = None if self.language is not None else _ATTRIBUTES.search(self.text.replace("\u2019", "'"))
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
        if self.language is None:
            return _CHANGE.search(self.text) is not None
        return self.language.change.search(self.language.folded(normal(self.text))) is not None


def sentences_of(text: str) -> list[Sentence]:
    """The statements of a user's message in its own words, in order."""
    plain = text.replace("\u2019", "'").replace(MASK, " ")
    introduced = _INTRODUCES.search(plain)
    if introduced is not None and len(plain[introduced.end() :].encode()) > MATERIAL_BYTES:
        plain = plain[: introduced.end()]
    if len(plain) > OWN_CHARS:
        plain = _PARAGRAPH.split(plain.lstrip(), maxsplit=1)[0][:OWN_CHARS]
    language = analyzer(DETECT).of(plain).known
    return [_sentence(said, language) for said in _said(plain)]


def _said(plain: str) -> Iterator[str]:
    own = masked(plain)
    for match in _SENTENCE.finditer(own):
        said = " ".join(plain[match.start() : match.end()].split()).strip(" -*\u2022")
        if MASK in match[0] or not said.strip(" .!?") or len(said) > MAX_CHARS:
            continue
        if not (_QUESTION.search(said) or _INTRODUCES.search(said) or REQUEST.match(said)):
            yield said


def _sentence(said: str, language: Language | None) -> Sentence:
    if language is not None:
        folded = language.folded(normal(said))
        lasts = language.lasts.search(folded) is not None
        return Sentence(said, lasts or language.of_speaker.search(folded) is not None, lasts, language)
    lasts = _LASTING.search(said) is not None
    tells = lasts or _FIRST_PERSON.search(said) is not None
    if not tells and not _is_english(said):  # "Vivo en Lima." is too short to show its language
        lasts = tells = any(each.lasts.search(each.folded(normal(said))) is not None for each in LATIN)
    return Sentence(said, tells, lasts, None)


def _is_english(said: str) -> bool:
    words = analyzer(ENGLISH).words(said)
    stopped = len(words) - len(analyzer(ENGLISH).kept(words))
    return stopped > 1 and detection.is_english(words, stopped)  # "a" is a word of many languages


def repeats(newer: Sentence, older: Sentence) -> bool:
    """Whether the later sentence says the same again."""
    return _alike(newer, older) >= SAME_WORDS and newer.values == older.values


def supersedes(newer: Sentence, older: Sentence) -> bool:
    """Whether the later sentence gives another value for what the earlier one tells."""
    alike = _alike(newer, older)
    if newer.attribute and newer.attribute == older.attribute:
        return True
    if alike >= SAME_WORDS:
        return newer.values != older.values
    return newer.tells_change and alike >= CHANGED_WORDS


def _alike(one: Sentence, other: Sentence) -> float:
    return len(one.words & other.words) / max(1, len(one.words | other.words))
