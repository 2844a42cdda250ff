"""Text to terms for keyword search, and the traits of a turn's form. Pure.

Terms are Unicode words, case-folded, without stop words, stemmed by Snowball (Porter, "An algorithm for suffix
stripping", 1980, and its successors). Chinese, Japanese and Korean text, without spaces, gives pairs of characters.

`analyzer(name)` analyzes in one language; `analyzer("detect")` in the language of each text. All share one space of
terms, so a name or a number is the same term in every language.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

import Stemmer

from memorybase.keyword_index.languages import LANGUAGES, OF_CODE, Language, detection

ENGLISH = "english"
Spoken = Callable[[], Collection[str]]
REVISION = 2  # of what languages other than English make of a text
MAX_TERMS = 1_000  # distinct, per message; longer texts are not conversation, and their first terms name the topic
MAX_TERM_CHARS = 40
MAX_COUNT = 255
SHORTEST_NAME = 2

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# Vowel signs of Indic scripts are no word characters for `re`, and would split every word. Without their full stops.
_INDIC = "\u0900-\u0963\u0966-\u0df3"
WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}{_INDIC}]+(?:'[^\W_{_CJK}{_INDIC}]+)?|[{_INDIC}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")

DETECT = "detect"
# Characters of Chinese or Japanese that say as much as one English word that is no stop word.
CHARACTERS_A_WORD = 3

# Words without a topic of their own.
ENGLISH_STOP_WORDS = frozenset(
    "a about after also am an and any are as at be because been before being between both but by can could did do "
    "does don down during each few for from further had has have he her here hers him his how i if in into is it "
    "its just like ll m me more most my no nor not now of off on once only or other our out over own re s same she "
    "should so some such t than that the their them then there these they this those to too up ve very was we were "
    "what when where which who whom why will with won would you your d".split()
)

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|weekend"
    r"|(?:last|next|this|past|few|couple of) (?:night|morning|days?|weeks?|weekends?|months?|years?|spring|summer"
    r"|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|for \w+ years"
    r"|january|february|march|april|june|july|august|september|october|november|december|may \d"
    r"|\d{1,2}(?:st|nd|rd|th)|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|once|twice|few|several|many|couple)\b", re.IGNORECASE
)
# A wish that holds beyond its conversation. English.
_STANDING_WISH = re.compile(
    r"\b(?:always|never|whenever|from now on|every time|prefer\w*|i'd rather|make sure (?:to|you)|remember to)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|we|our|ours|us)\b", re.IGNORECASE)
_CAPITALIZED_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_ENDS_IN_QUESTION = re.compile(r"[?\uff1f\u061f][\s\"')\]]*(?:\n|$)")


class Traits(IntFlag):
    """What the form of a turn shows."""

    ASKS = 1  # contains a question
    ENDS_IN_QUESTION = 2  # its first paragraph does, so an attachment's description does not hide it
    TELLS_TIME = 4
    TELLS_NUMBER = 8
    STATES_WISH = 16  # one that holds from then on; English only


@dataclass(frozen=True, slots=True)
class Document:
    """A message as it is indexed. `length` counts all terms, also those beyond MAX_TERMS."""

    counts: dict[str, int]
    length: int
    traits: Traits
    label: str  # of the analyzer
    first_person: int = 0  # words such as I, my, we; 0 outside English
    capitals: int = 0  # capitalized words inside a sentence, most of them names; 0 outside English
    spoken: str = ""  # the code of its language, if one word alone does not show that language


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's terms in its language. `others`: stems of the same words in other languages that messages may be
    indexed in; none for English."""

    terms: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]]
    language: str


class Analyzer:
    """Text to terms in one language; "none" does not stem."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._known = LANGUAGES.get(language)
        self._stop_words = self._known.words if self._known else frozenset()
        if language == ENGLISH:
            self._stop_words = ENGLISH_STOP_WORDS
        self._has_stemmer = language in Stemmer.algorithms()
        self._local = threading.local()  # a stemmer is not thread-safe

    @property
    def known(self) -> Language | None:
        """What is known of the language; None for English and for those that are only stemmed."""
        return self._known

    @property
    def label(self) -> str:
        """Names what the postings of a session are made with: it changes when the terms of a language do."""
        return f"{self.language} {REVISION}" if self._known else self.language

    def of(self, _text: str) -> Analyzer:
        """The analyzer of one language for this text."""
        return self

    def words(self, text: str) -> list[str]:
        """The case-folded words, with stop words."""
        normal = unicodedata.normalize("NFKC", text)
        folded = (self._known.folded(normal) if self._known else normal.casefold()).replace("\u2019", "'")
        words: list[str] = []
        for match in WORD.finditer(folded):
            word = match[0]
            if _IS_CJK.match(word):
                words += [word] if len(word) == 1 else [left + right for left, right in pairwise(word)]
            elif "'" in word:
                words.append(self._without_apostrophe(word)[:MAX_TERM_CHARS])
            else:
                words.append(word[:MAX_TERM_CHARS])
        return words

    def kept(self, words: Sequence[str]) -> list[str]:
        """Without stop words."""
        return [word for word in words if word not in self._stop_words]

    def terms(self, text: str) -> list[str]:
        """The stems of the words that are no stop words, in order."""
        return self.stems(self.kept(self.words(text)))

    def asked_words(self, text: str) -> list[str]:
        """The words of a question that are no stop words; of text without spaces, those pairs of characters that have
        no part in one."""
        if self._known is None or self._known.has_spaces:
            return self.kept(self.words(text))
        normal = self._known.folded(unicodedata.normalize("NFKC", text))
        found = [word for run in WORD.findall(normal) for word in self._asked_in(run)]
        return found or self.words(text)

    def asked(self, text: str, _spoken: Spoken = tuple) -> Asked:
        """A question's terms; `_spoken` reads the codes of the flow's languages."""
        return Asked(tuple(dict.fromkeys(self.stems(self.asked_words(text)))), {}, self.language)

    def document(self, text: str) -> Document:
        return self.document_of(text, self.kept(self.words(text)))

    def document_of(self, text: str, words: list[str]) -> Document:
        """The document of a text with these words, stop words left out."""
        terms = self.stems(words)
        counts = Counter(terms)
        kept = dict(list(counts.items())[:MAX_TERMS])
        counted = {term: min(count, MAX_COUNT) for term, count in kept.items()}
        if self.language != ENGLISH:
            traits = traits_of(text, self._known)
            return Document(counted, self._length(terms), traits, self.label, spoken=self._spoken)
        traits = traits_of(text)
        if _STANDING_WISH.search(text.replace("\u2019", "'")):
            traits |= Traits.STATES_WISH
        return Document(
            counted, len(terms), traits, self.label,
            first_person=min(len(_FIRST_PERSON.findall(text)), MAX_COUNT),
            capitals=min(len(_CAPITALIZED_INSIDE.findall(text)), MAX_COUNT),
        )  # fmt: skip

    def stems(self, words: list[str]) -> list[str]:
        if not self._has_stemmer:
            return words
        stemmer = getattr(self._local, "stemmer", None)
        if stemmer is None:
            stemmer = self._local.stemmer = Stemmer.Stemmer(self.language)
        stems: list[str] = stemmer.stemWords(words)
        return stems

    def _without_apostrophe(self, word: str) -> str:
        if self._known is not None:
            before, _, after = word.partition("'")
            if self._known.is_word_before_apostrophe:
                return before
            if before in self._known.elisions:
                return after
        return word.removesuffix("'s").replace("'", "")

    def _length(self, terms: Sequence[str]) -> int:
        """The number of terms; pairs of characters count as the words that they are a part of."""
        if self._known is None or self._known.has_spaces:
            return len(terms)
        pairs = sum(_IS_CJK.match(term) is not None for term in terms)
        return len(terms) - pairs + -(-pairs // CHARACTERS_A_WORD)

    def _asked_in(self, run: str) -> list[str]:
        """A word, or the pairs of a run of characters that no function string covers; next to one, a single character
        counts with its neighbors."""
        if self._known is None or not _IS_CJK.match(run):
            return [] if run in self._stop_words else [run[:MAX_TERM_CHARS]]
        is_free = [True] * len(run)
        for match in self._known.function_strings.finditer(run):
            is_free[match.start() : match.end()] = [False] * len(match[0])
        if len(run) == 1:
            return [run] if is_free[0] else []
        alone = [
            free and not any(is_free[max(0, at - 1) : at] + is_free[at + 1 : at + 2]) for at, free in enumerate(is_free)
        ]
        return [
            left + right
            for at, (left, right) in enumerate(pairwise(run))
            if (is_free[at] and is_free[at + 1]) or alone[at] or alone[at + 1]
        ]

    @property
    def _spoken(self) -> str:
        return self._known.code if self._known and not self._known.has_own_script else ""


class DetectingAnalyzer(Analyzer):
    """Text to terms in the language of each text; English where none shows."""

    def __init__(self) -> None:
        super().__init__(ENGLISH)

    @property
    def label(self) -> str:
        return DETECT

    def of(self, text: str) -> Analyzer:
        words = self.words(text)
        name = self._detected(text, words, self.kept(words))
        return analyzer(name or ENGLISH)

    def terms(self, text: str) -> list[str]:
        return self.of(text).terms(text)

    def asked(self, text: str, spoken: Spoken = tuple) -> Asked:
        """A question's terms, with their English stems: messages too short to show their language have these, and so
        have those indexed before languages were detected. A question that is too short itself is looked up in every
        language of the flow."""
        words = self.words(text)
        kept = self.kept(words)
        name = self._detected(text, words, kept)
        if name is None:
            is_english = detection.is_english(words, len(words) - len(kept))
            others = [] if is_english else [analyzer(OF_CODE[code].name) for code in sorted(spoken())]
            own, asked = analyzer(ENGLISH), kept
            for other in others:  # their messages are indexed without these words
                asked = other.kept(asked) or asked
        else:
            own, others = analyzer(name), [analyzer(ENGLISH)]
            asked = own.asked_words(text)
        stems = own.stems(asked)
        alternatives: dict[str, dict[str, None]] = {stem: {} for stem in stems}
        for other in others:
            for stem, also in zip(stems, other.stems(asked), strict=True):
                if also != stem:
                    alternatives[stem][also] = None
        return Asked(
            tuple(alternatives), {stem: tuple(also) for stem, also in alternatives.items() if also}, own.language
        )

    def document(self, text: str) -> Document:
        words = self.words(text)
        kept = self.kept(words)
        name = self._detected(text, words, kept)
        document = analyzer(name).document(text) if name else self.document_of(text, kept)
        return document if name is None else replace(document, label=DETECT)

    def _detected(self, text: str, words: Sequence[str], kept: Sequence[str]) -> str | None:
        return detection.language_of(text, words, len(words) - len(kept), ENGLISH_STOP_WORDS)


@lru_cache
def analyzer(language: str) -> Analyzer:
    return DetectingAnalyzer() if language == DETECT else Analyzer(language)


def traits_of(text: str, language: Language | None = None) -> Traits:
    """The traits of a text in this language; without one, in English."""
    traits = Traits(0)
    if "?" in text or "\uff1f" in text or "\u061f" in text:
        traits |= Traits.ASKS
    if _ENDS_IN_QUESTION.search(text.partition("\n")[0]):
        traits |= Traits.ENDS_IN_QUESTION
    tells_time, tells_number = _TIME, _NUMBER
    if language is not None:
        text = language.folded(unicodedata.normalize("NFKC", text))
        tells_time, tells_number = language.tells_time, language.tells_number
        if language.unmarked_question.search(text):
            traits |= Traits.ASKS
        if language.unmarked_question.search(text.partition("\n")[0]):
            traits |= Traits.ENDS_IN_QUESTION
    if tells_time.search(text):
        traits |= Traits.TELLS_TIME
    if tells_number.search(text):
        traits |= Traits.TELLS_NUMBER
    return traits


def term_key(flow_id: UUID, term: str) -> int:
    """A term's key in a flow's index, a signed 64-bit hash: different in each flow, and it reveals no text."""
    digest = hashlib.blake2b(flow_id.bytes + term.encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def term_keys(flow_id: UUID, term: str, asked: Asked) -> tuple[int, ...]:
    """The keys of a question's term in every language that it is looked up in."""
    return tuple(dict.fromkeys(term_key(flow_id, each) for each in (term, *asked.others.get(term, ()))))


def name_words(name: str | None) -> set[str]:
    """The words of a question or name that may name a speaker."""
    folded = (name or "").replace("\u0130", "i")  # otherwise folded to two characters, of which one ends a word
    return {word for word in analyzer("none").words(folded) if len(word) > 1}


def name_forms(word: str, language: Language | None) -> set[str]:
    """A folded word and what it may be declined from."""
    endings = language.name_endings.items() if language else ()
    return {word} | {
        word[: -len(ending)] + basic
        for ending, basic in endings
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_NAME
    }
