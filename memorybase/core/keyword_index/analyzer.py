"""Text to terms for keyword search, and the traits of a turn's form. Pure.

Terms are Unicode words, case-folded, without stop words, stemmed by Snowball (Porter, "An algorithm for suffix
stripping", 1980, and its successors). Text of scripts without spaces gives pairs of units: see `scripts`.

`analyzer(name)` analyzes in one language; `analyzer("detect")` in the language of each text. All share one space of
terms, so a name or a number is the same term in every language.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import lru_cache
from itertools import chain, islice, pairwise
from uuid import UUID

import Stemmer

from memorybase.core.keyword_index import figures, identifiers, scripts
from memorybase.core.keyword_index.languages import ENGLISH, LANGUAGES, OF_CODE, Language, detection
from memorybase.core.keyword_index.scripts import MAX_CHARS, normal

Spoken = Callable[[], Collection[str]]
REVISION = 7  # of what the analyzers make of a text
MAX_TERMS = 1_000  # distinct, per message; longer texts are not conversation, and their first terms name the topic
MAX_TERM_CHARS = 40
MAX_COUNT = 255
SHORTEST_NAME = 2

DETECT = "detect"
# Units of a text without spaces that say as much as one English word that is no stop word.
UNITS_A_WORD = 3
# Before the term of a word with accents as written without them. So a question with accents finds texts without, but no
# other word with other accents.
PLAIN = "~"

# Stop words that are names as well. In English, every stop word with a capital between words without is taken for one.
_ALSO_NAMES = {
    "english": ("Will", "Don"),
    "german": ("Will",),
    "dutch": ("Ben",),
    "turkish": ("Ben",),
    "italian": ("Mia",),
}
_INSIDE = r"(?:(?<=[^\W\d_A-Z] )|(?<=, ))"
_AFTER_VERB = "you|we|i|he|she|it|they|this|that|these|those|there|the|a|an|my|your|our|his|her|their|not|do"

# Beside stop words what only makes a question: "how many", "didn't I", "I've". Texts are found by these words.
_ASKING = re.compile(
    r"\b(?:how (?:many|much)|[a-z]+n't|(?:i|you|he|she|it|we|they|that|there|who|what|where|when|how)'[a-z]+)(?!\w)"
)

# A wish that holds beyond its conversation. English.
_STANDING_WISH = re.compile(
    r"\b(?:always|never|whenever|from now on|every time|prefer\w*|i'd rather|make sure (?:to|you)|remember to)\b"
)
_CAPITALIZED_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_ENDS_IN_QUESTION = re.compile(r"[?\uff1f\u061f][\s\"')\]]*(?:\n|$)")


class Traits(IntFlag):
    """Features of a turn's form."""

    ASKS = 1  # contains a question
    ENDS_IN_QUESTION = 2  # its first paragraph does, so an attachment's description does not hide it
    TELLS_TIME = 4
    TELLS_NUMBER = 8
    STATES_WISH = 16  # one that holds from then on; English only


@dataclass(frozen=True, slots=True)
class Document:
    """A message as it is indexed. `length` counts all terms, also those beyond MAX_TERMS; 0 if nothing finds it."""

    counts: dict[str, int]
    length: int
    traits: Traits
    label: str  # of the analyzer
    spoken: str = ""  # the code of its language, if one word alone does not show that language


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's terms in its language.

    `others`: what else stands for a term: stems in other languages that messages may be indexed in, its word without
    accents, other forms of a number or a date, the end of a path. `weak`: those of all these that are less likely
    meant. `words`: of the terms but for paths. `languages`: of the analyzers, its own first. `names`: the terms that
    look like names or codes. `is_foreign`: no message of the flow is in its language.
    """

    terms: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]]
    language: str
    weak: frozenset[str]
    words: Mapping[str, str]
    languages: tuple[str, ...]
    names: frozenset[str] = frozenset()
    is_foreign: bool = False


class Analyzer:
    """Text to terms in one language; "none" does not stem."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.rules = LANGUAGES.get(language, ENGLISH)  # those of English read a language that is only stemmed
        self._is_english = language == ENGLISH.name
        self._stop_words = self.rules.words if language in LANGUAGES else frozenset[str]()
        self._has_stemmer = language in Stemmer.algorithms()
        self._local = threading.local()  # a stemmer is not thread-safe

    @property
    def label(self) -> str:
        """Names what the postings of a session are made with: it changes when the terms of a language do."""
        return f"{self.language} {REVISION}"

    def of(self, _text: str) -> Analyzer:
        """The analyzer of one language for this text."""
        return self

    def words(self, text: str) -> list[str]:
        """The case-folded words, with stop words."""
        return self._words(self._folded(normal(text)))

    def _words(self, folded: str) -> list[str]:
        is_unspaced = scripts.has_unspaced(folded)
        words = scripts.words_of(folded, is_unspaced=is_unspaced)
        if "'" in folded:
            words = [self._without_apostrophe(word) if "'" in word else word for word in words]
        if is_unspaced:
            words = [part for word in words for part in (scripts.pairs(word) if scripts.is_unspaced(word) else (word,))]
        return [word[:MAX_TERM_CHARS] for word in words]

    def kept(self, words: Sequence[str]) -> list[str]:
        """The words without stop words."""
        return [word for word in words if word not in self._stop_words]

    def terms(self, text: str) -> list[str]:
        """The stems of the words that are no stop words, in order."""
        return self.stems(self.kept(self.words(text)))

    def asked_words(self, text: str) -> list[str]:
        """The words of a question that are no stop words, or names; of text without spaces, those pairs of units that
        have no part in a stop word."""
        folded = self._folded(normal(text))
        if self._is_english:
            folded = _ASKING.sub(" ", folded).strip(" ?") or folded
        if self.rules.has_spaces:
            return self.kept(self._words(folded)) + self.names(text)
        return [word for run in scripts.WORD.findall(folded) for word in self._asked_in(run)] or self._words(folded)

    def names(self, text: str) -> list[str]:
        """The stop words that are names in this text: Will, Don."""
        if (word := text.strip().capitalize()) in _ALSO_NAMES.get(self.language, ()):
            return [word.casefold()]
        return self._names(text)

    def asked(self, text: str, _spoken: Spoken = tuple) -> Asked:
        """A question's terms; `_spoken` reads the codes of the flow's languages."""
        return _asked(text, self.asked_words(text), [self], {})

    def found_by(self, text: str) -> set[str]:
        """Every term that finds this text: `terms`, and what `document` adds to them, without its marks."""
        folded = self._folded(normal(text))
        words = self.kept(self._words(folded))
        plain = (term.removeprefix(PLAIN) for term in self._plain(folded, words))
        paths = (each for forms in identifiers.paths(text) for each in forms)
        return {*self.stems([*words, *self._parts(text, folded), *self.names(text)]), *plain, *paths}

    def document(self, text: str) -> Document:
        """The message as it is indexed."""
        text = text[:MAX_CHARS]
        folded = self._folded(normal(text))
        return self._document(text, folded, self.kept(self._words(folded)))

    def _document(self, text: str, folded: str, words: list[str]) -> Document:
        """`folded`: the text in normal form, folded; `words`: those of it that are no stop words."""
        terms = self.stems(words)
        counts = Counter(terms)
        counted = {term: min(count, MAX_COUNT) for term, count in islice(counts.items(), MAX_TERMS)}
        paths = (each for forms in identifiers.paths(text) for each in forms)
        for term in chain(self.stems([*self._parts(text, folded), *self._names(text)]), paths):
            if len(counted) < MAX_TERMS:
                counted.setdefault(term, 1)
        for term, count in self._plain(folded, words).items():
            if len(counted) < MAX_TERMS:
                counted[term] = min(count, MAX_COUNT)
        # Names that are stop words are no terms: a message of such a name alone has the length of what finds it.
        length = self._length(folded, terms) or len(counted)
        spoken = "" if self._is_english else self._spoken
        return Document(counted, length, self._traits(text, folded), self.label, spoken)

    def stems(self, words: list[str]) -> list[str]:
        """The terms of words."""
        is_ascii = "".join(words).isascii()
        if not is_ascii:
            words = self._spelled(words)
        if not self._has_stemmer:
            return words
        stemmer = getattr(self._local, "stemmer", None)
        if stemmer is None:
            stemmer = self._local.stemmer = Stemmer.Stemmer(self.language)
        stems: list[str] = stemmer.stemWords(words)
        return stems if is_ascii else scripts.spelled(stems)

    def _spelled(self, words: list[str]) -> list[str]:
        """Words as the stemmer knows them: that of Turkish needs both i, that of Arabic the teh marbuta."""
        if self.language == "turkish":
            return words
        words = scripts.spelled(words)
        if self.language == "arabic":
            words = [word[:-1] + "\u0629" if len(word) > 3 and word[-1] == "\u0647" else word for word in words]
        return words

    def folded(self, text: str) -> str:
        """A text as its words are compared."""
        return self._folded(normal(text))

    def _folded(self, text: str) -> str:
        """A text in normal form as its words are compared."""
        text = scripts.with_western_digits(text)
        return self.rules.folded(text)

    def _traits(self, text: str, folded: str) -> Traits:
        traits = Traits(0)
        if "?" in text or "\uff1f" in text or "\u061f" in text or self.rules.unmarked_question.search(folded):
            traits |= Traits.ASKS
        first = self.rules.unmarked_question.search(folded.partition("\n")[0])
        if first or _ENDS_IN_QUESTION.search(text.partition("\n")[0]):
            traits |= Traits.ENDS_IN_QUESTION
        if self.rules.tells_time.search(folded):
            traits |= Traits.TELLS_TIME
        if self.rules.tells_number.search(folded):
            traits |= Traits.TELLS_NUMBER
        if self._is_english and _STANDING_WISH.search(folded):
            traits |= Traits.STATES_WISH
        return traits

    def _names(self, text: str) -> list[str]:
        inside = _CAPITALIZED_INSIDE.findall(text) if self._is_english else ()
        also = _ALSO_NAMES.get(self.language, ())
        found = [word for word in dict.fromkeys(inside) if word not in also and word.casefold() in self._stop_words]
        found += [word for word in also if word in text]
        return [word.casefold() for word in found if _as_name(word, self.language).search(text)]

    def _parts(self, text: str, folded: str) -> list[str]:
        """Terms that find the text besides its words: units of text without spaces, parts of identifiers, and the terms
        of numbers and dates."""
        found = figures.terms(folded)
        found += [self._folded(normal(part)) for part in identifiers.parts(text)]
        if scripts.has_unspaced(folded):
            runs = filter(scripts.is_unspaced, scripts.WORD.findall(folded))
            units = dict.fromkeys(unit[:MAX_TERM_CHARS] for run in runs for unit in scripts.units(run))
            found += filter(scripts.is_word, units)
        return self.kept([word for word in found if word])

    def _plain(self, folded: str, words: Sequence[str]) -> Mapping[str, int]:
        """The terms of the words with accents, as written without them, and how often each occurs."""
        if not scripts.has_accents(folded):
            return {}
        accented = [word for word in words if scripts.has_accents(word)]
        plain = self.stems(list(map(scripts.without_accents, accented)))
        return Counter(PLAIN + term for term, same in zip(plain, self.stems(accented), strict=True) if term != same)

    def _without_apostrophe(self, word: str) -> str:
        before, _, after = word.partition("'")
        if self.rules.is_word_before_apostrophe:
            return before
        if before in self.rules.elisions:
            return after
        return word.removesuffix("'s").replace("'", "")

    def _length(self, folded: str, terms: Sequence[str]) -> int:
        """The number of terms; pairs of units count as the words that they are a part of."""
        if not scripts.has_unspaced(folded):
            return len(terms)
        pairs = sum(map(scripts.is_unspaced, terms))
        return len(terms) - pairs + -(-pairs // UNITS_A_WORD)

    def _asked_in(self, run: str) -> list[str]:
        """A word, or the pairs of a run of characters that no function string covers; next to one, a single character
        counts alone and with its neighbors."""
        if not scripts.is_unspaced(run):
            return [] if run in self._stop_words else [run[:MAX_TERM_CHARS]]
        is_free = [True] * len(run)
        for match in self.rules.function_strings.finditer(run):
            is_free[match.start() : match.end()] = [False] * len(match[0])
        if len(run) == 1:
            return [run] if is_free[0] else []
        alone = [
            free and not any(is_free[max(0, at - 1) : at] + is_free[at + 1 : at + 2]) for at, free in enumerate(is_free)
        ]
        found = [
            left + right
            for at, (left, right) in enumerate(pairwise(run))
            if (is_free[at] and is_free[at + 1]) or alone[at] or alone[at + 1]
        ]
        return found + [character for at, character in enumerate(run) if alone[at] and scripts.is_word(character)]

    @property
    def _spoken(self) -> str:
        is_shown = self.rules.has_own_script or self._is_english or self.language not in LANGUAGES
        return "" if is_shown else self.rules.code


class DetectingAnalyzer(Analyzer):
    """Text to terms in the language of each text; English where none shows."""

    def __init__(self) -> None:
        super().__init__(ENGLISH.name)

    @property
    def label(self) -> str:
        return f"{DETECT} {REVISION}"

    def of(self, text: str) -> Analyzer:
        words = self.words(text)
        name = self._detected(text, words, self.kept(words))
        return analyzer(name or ENGLISH.name)

    def terms(self, text: str) -> list[str]:
        return self.of(text).terms(text)

    def asked(self, text: str, spoken: Spoken = tuple) -> Asked:
        """A question's terms, with their English stems: messages too short to show their language have these, and so
        have those indexed before languages were detected. A question that is too short itself is looked up in every
        language of the flow."""
        words = self.words(text)
        kept = self.kept(words)
        name = self._detected(text, words, kept)
        own = analyzer(name or ENGLISH.name)
        asked = own.asked_words(text)
        if name is None:
            is_english = detection.is_english(words, len(words) - len(kept))
            others = [] if is_english else [analyzer(OF_CODE[code].name) for code in sorted(spoken())]
            for other in others:  # their messages are indexed without these words
                asked = other.kept(asked) or asked
        else:
            others = [analyzer(ENGLISH.name)]
        names = _names_in(text).intersection(asked)
        codes = spoken() if names or name is not None else ()
        further = [analyzer(OF_CODE[code].name) for code in sorted(codes)]
        found = _asked(text, asked, [own, *others], dict.fromkeys(names, further))
        return replace(found, is_foreign=name is not None and own.rules.code not in codes)

    def found_by(self, text: str) -> set[str]:
        return self.of(text).found_by(text)

    def document(self, text: str) -> Document:
        text = text[:MAX_CHARS]
        folded = self._folded(normal(text))
        words = self._words(folded)
        kept = self.kept(words)
        name = self._detected(text, words, kept)
        return (
            self._document(text, folded, kept)
            if name is None
            else replace(analyzer(name).document(text), label=self.label)
        )

    def _detected(self, text: str, words: Sequence[str], kept: Sequence[str]) -> str | None:
        return detection.language_of(text, words, len(words) - len(kept))


# What stands before the first word of a sentence; "Dr." ends none.
_BEFORE_SENTENCE = re.compile(
    r"(?:^|[!?:;\n\u2026*#>-]|(?<!\b\w)(?<!\b\w\w)(?<!\b\w\w\w)\.)[\s\"'\u201c\u201e\u00ab\u00bf\u00a1(\[]*"
)
FEWEST_DIGITS_OF_CODE = 3  # anything may have a smaller number


@lru_cache
def analyzer(language: str) -> Analyzer:
    return DetectingAnalyzer() if language == DETECT else Analyzer(language)


def _asked(
    text: str, words: Sequence[str], analyzers: Sequence[Analyzer], further: Mapping[str, Sequence[Analyzer]]
) -> Asked:
    """The terms of a question's words in the language of the first analyzer, and their alternatives.

    `further`: more languages that a word is looked up in. A name is the same word in all of them, each with its own
    stem.
    """
    languages = tuple(each.language for each in analyzers)
    forms = figures.alternatives(analyzers[0].folded(text), languages)
    words = list(dict.fromkeys(figures.parts(words)))
    stems, *in_others = (each.stems(words) for each in analyzers)
    others: dict[str, dict[str, None]] = {}
    weak = set(forms.weak)
    for word, stem, *found in zip(words, stems, *in_others, strict=True):
        of_word = [*analyzers, *further.get(word, ())]
        also = dict.fromkeys(found)
        if word in forms.of or word in further:
            also |= _stems([word, *forms.of.get(word, ())], of_word)
        if scripts.has_accents(word):
            plain = _stems([scripts.without_accents(word), scripts.transliterated(word)], of_word)
            weak |= plain.keys() - also.keys() - set(stems)
            also |= plain
        others.setdefault(stem, {}).update({term: None for term in also if term != stem})
    alternatives = {stem: tuple(also) for stem, also in others.items() if also}
    names = _names_in(text)
    paths = {path: ends for path, *ends in identifiers.paths(text)}
    return Asked(
        terms=(*others, *paths),
        others=alternatives | {path: tuple(ends) for path, ends in paths.items() if ends},
        language=languages[0],
        weak=frozenset(weak.union(*paths.values())),
        words=dict(zip(stems, words, strict=True)),
        languages=languages,
        names=frozenset(stem for word, stem in zip(words, stems, strict=True) if word in names).union(paths),
    )


def _stems(words: list[str], analyzers: Sequence[Analyzer]) -> dict[str, None]:
    return dict.fromkeys(term for each in analyzers for term in each.stems(words))


@lru_cache(maxsize=256)
def _as_name(word: str, language: str) -> re.Pattern[str]:
    """A stop word with a capital where it is a name: inside of a sentence, and in English where it begins one that does
    not ask."""
    if word not in _ALSO_NAMES.get(language, ()):
        return re.compile(rf"(?<![\w'\u2019])[a-z]+,? {word}(?!['\u2019\w]| [A-Z])")  # in no title
    pattern = rf"{_INSIDE}{word}(?!\w|['\u2019](?!s\b))"
    if language == ENGLISH.name:
        pattern += (
            rf"|\b{word}['\u2019]s\b|(?<![\w'\u2019]){word}(?!['\u2019\w]| (?:{_AFTER_VERB})\b|[^.!?\n]{{0,200}}\?)"
        )
    return re.compile(pattern)


def term_key(flow_id: UUID, term: str) -> int:
    """A term's key in a flow's index, a signed 64-bit hash: different in each flow, and it reveals no text."""
    digest = hashlib.blake2b(flow_id.bytes + term.encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def term_keys(flow_id: UUID, term: str, asked: Asked) -> tuple[int, ...]:
    """The keys of a question's term and of what stands for it; without accents, also those of words that have some."""
    terms = (term, *asked.others.get(term, ()))
    accented = (PLAIN + each for each in terms if each.isascii() and each.isalpha() and each not in asked.weak)
    return tuple(dict.fromkeys(term_key(flow_id, each) for each in (*terms, *accented)))


def _names_in(text: str) -> set[str]:
    """The folded words that look like names or codes: of several digits, of digits and letters, or with a capital that
    does not begin a sentence."""
    first = {match.end() for match in _BEFORE_SENTENCE.finditer(text)}
    found = set[str]()
    for match in scripts.WORD.finditer(text):
        word = match[0]
        is_number = word.isdecimal() and len(word) < FEWEST_DIGITS_OF_CODE
        is_capital = any(map(str.isupper, word[1:] if match.start() in first else word))
        if is_capital or (any(map(str.isdigit, word)) and not is_number):
            found.add(word.casefold())
    return found


def name_words(name: str | None) -> set[str]:
    """The words of a question or name that may name a speaker."""
    return {word for word in analyzer("none").words(name or "") if len(word) > 1}


def name_forms(word: str, language: Language) -> set[str]:
    """A folded word and what it may be declined from."""
    return {word} | {
        word[: -len(ending)] + basic
        for ending, basic in language.name_endings.items()
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_NAME
    }
