"""Text to terms for keyword search, and the traits of a turn's form. Pure.

Terms are Unicode words, case-folded, without stop words, stemmed by Snowball (Porter, "An algorithm for suffix
stripping", 1980, and its successors). Chinese, Japanese and Korean text, without spaces, gives pairs of characters.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

import Stemmer

MAX_TERMS = (
    1_000  # distinct terms of a message; longer texts are not conversation, and their first terms name the topic
)
MAX_TERM_CHARS = 40
MAX_COUNT = 255

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:'[^\W_{_CJK}]+)?")
_IS_CJK = re.compile(rf"[{_CJK}]")

# Words without a topic of their own. In other languages only the rarity of a word counts.
STOP_WORDS: Mapping[str, frozenset[str]] = {
    "english": frozenset(
        "a about after also am an and any are as at be because been before being between both but by can could did do "
        "does don down during each few for from further had has have he her here hers him his how i if in into is it "
        "its just like ll m me more most my no nor not now of off on once only or other our out over own re s same she "
        "should so some such t than that the their them then there these they this those to too up ve very was we were "
        "what when where which who whom why will with won would you your d".split()
    )
}

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
    language: str  # of the stemmer
    first_person: int = 0  # words such as I, my, we; 0 outside English
    capitals: int = 0  # capitalized words inside a sentence, most of them names; 0 outside English


class Analyzer:
    """Text to terms in one of Snowball's languages; "none" does not stem."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._stop_words = STOP_WORDS.get(language, frozenset())
        self._local = threading.local()  # a stemmer is not thread-safe

    def words(self, text: str) -> list[str]:
        """The case-folded words, with stop words."""
        folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
        words: list[str] = []
        for match in WORD.finditer(folded):
            word = match[0]
            if _IS_CJK.match(word):
                words += [word] if len(word) == 1 else [left + right for left, right in pairwise(word)]
            else:
                words.append(word.removesuffix("'s").replace("'", "")[:MAX_TERM_CHARS])
        return words

    def terms(self, text: str) -> list[str]:
        """The stems of the words that are no stop words, in order."""
        return self._stems([word for word in self.words(text) if word not in self._stop_words])

    def document(self, text: str) -> Document:
        terms = self.terms(text)
        counts = Counter(terms)
        kept = dict(list(counts.items())[:MAX_TERMS])
        counted = {term: min(count, MAX_COUNT) for term, count in kept.items()}
        traits = traits_of(text)
        if self.language != "english":
            return Document(counted, len(terms), traits, self.language)
        if _STANDING_WISH.search(text.replace("\u2019", "'")):
            traits |= Traits.STATES_WISH
        return Document(
            counted, len(terms), traits, self.language,
            first_person=min(len(_FIRST_PERSON.findall(text)), MAX_COUNT),
            capitals=min(len(_CAPITALIZED_INSIDE.findall(text)), MAX_COUNT),
        )  # fmt: skip

    def _stems(self, words: list[str]) -> list[str]:
        if self.language == "none":
            return words
        stemmer = getattr(self._local, "stemmer", None)
        if stemmer is None:
            stemmer = self._local.stemmer = Stemmer.Stemmer(self.language)
        stems: list[str] = stemmer.stemWords(words)
        return stems


@lru_cache
def analyzer(language: str) -> Analyzer:
    return Analyzer(language)


def traits_of(text: str) -> Traits:
    traits = Traits(0)
    if "?" in text or "\uff1f" in text or "\u061f" in text:
        traits |= Traits.ASKS
    if _ENDS_IN_QUESTION.search(text.partition("\n")[0]):
        traits |= Traits.ENDS_IN_QUESTION
    if _TIME.search(text):
        traits |= Traits.TELLS_TIME
    if _NUMBER.search(text):
        traits |= Traits.TELLS_NUMBER
    return traits


def term_key(flow_id: UUID, term: str) -> int:
    """A term's key in a flow's index, a signed 64-bit hash: different in each flow, and it reveals no text."""
    digest = hashlib.blake2b(flow_id.bytes + term.encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def name_words(name: str | None) -> set[str]:
    """The words of a question or name that may name a speaker."""
    return {word for word in analyzer("none").words(name or "") if len(word) > 1}
