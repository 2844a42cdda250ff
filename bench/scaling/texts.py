"""Made turns and answers. Word frequencies follow Zipf's law, and a quarter of the words belong to a topic.

Two people chat in short turns; a user asks an assistant, which answers at length, in a third of its answers with code.
The lengths are lognormal, with medians of 9, 16 and 110 words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorybase.core.keyword_index.languages import ENGLISH

WORDS = 40_000
TOPICS = 200
WORDS_OF_A_TOPIC = 100
TOPICAL = 0.25  # of all words
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
NAMES = [
    first + last
    for first in ("An", "Be", "Jo", "Li", "Mar", "Ro", "Sa", "To")
    for last in ("da", "ko", "la", "mir", "na", "ra", "tan", "vi")
]
SENTENCE = 12  # words
CHAT, QUESTION, ANSWER = (9, 0.7, 90), (16, 0.6, 120), (110, 0.6, 900)  # median, sigma, most
CODE_SHARE = 0.3
CODE = "```python\n{body}\n```"


class Turn(NamedTuple):
    """A message before it has an id."""

    role: str
    sender_name: str | None
    text: str


class Vocabulary:
    """Words by falling frequency: stop words first, as in English, then words of syllables."""

    def __init__(self) -> None:
        stop_words = sorted(ENGLISH.words, key=lambda word: (len(word), word))
        self.words = [*stop_words, *(_word(n) for n in range(WORDS))]
        self._first = len(stop_words)
        self._frequencies = _cumulative(len(self.words))
        self._within_topic = _cumulative(WORDS_OF_A_TOPIC)
        self.topic_of = {
            self.words[self._number(topic, n)]: topic for topic in range(TOPICS) for n in range(WORDS_OF_A_TOPIC)
        }

    def draw(self, rng: np.random.Generator, count: int, topic: int) -> list[str]:
        """So many words of a text about a topic."""
        numbers = np.searchsorted(self._frequencies, rng.random(count))
        topical = np.flatnonzero(rng.random(count) < TOPICAL)
        own = np.searchsorted(self._within_topic, rng.random(len(topical)))
        numbers[topical] = self._number(topic, own)
        return [self.words[number] for number in numbers.tolist()]

    def question(self, rng: np.random.Generator, topic: int) -> str:
        """What somebody would ask about a topic: three of its words among others."""
        own = np.searchsorted(self._within_topic, rng.random(3)).tolist()
        words = [*self.draw(rng, 4, topic), *(self.words[self._number(topic, n)] for n in own)]
        return f"what was it about {' '.join(words)}?"

    def _number(self, topic: int, index: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        # Every topic has frequent and rare words.
        return self._first + 100 + index * TOPICS + topic


def turns(vocabulary: Vocabulary, rng: np.random.Generator, count: int, topic: int, *, long: bool) -> list[Turn]:
    """So many turns of one session: of an assistant with long answers, or of two people."""
    if long:
        return _asked_and_answered(vocabulary, rng, count, topic)
    names = [NAMES[n] for n in rng.choice(len(NAMES), 2, replace=False)]
    lengths = _lengths(rng, count, CHAT)
    words = vocabulary.draw(rng, sum(lengths), topic)
    texts = [_sentences(each) for each in _cut(words, lengths)]
    return [Turn("user", names[n % 2], text) for n, text in enumerate(texts)]


def _asked_and_answered(vocabulary: Vocabulary, rng: np.random.Generator, count: int, topic: int) -> list[Turn]:
    asked, answered = _lengths(rng, count, QUESTION), _lengths(rng, count, ANSWER)
    lengths = [answered[n] if n % 2 else asked[n] for n in range(count)]
    with_code = rng.random(count) < CODE_SHARE
    words = vocabulary.draw(rng, sum(lengths), topic)
    found = []
    for n, each in enumerate(_cut(words, lengths)):
        if n % 2:
            found.append(Turn("assistant", None, _with_code(each) if with_code[n] else _sentences(each)))
        else:
            found.append(Turn("user", None, f"{_sentences(each)[:-1]}?"))
    return found


def _with_code(words: Sequence[str]) -> str:
    """The last third of an answer as assignments."""
    cut = len(words) * 2 // 3
    pairs = zip(words[cut::2], words[cut + 1 :: 2], strict=False)
    lines = "\n".join(f"    {left} = {right}({n})" for n, (left, right) in enumerate(pairs))
    return f"{_sentences(words[:cut])}\n\n{CODE.format(body=lines)}"


def _sentences(words: Sequence[str]) -> str:
    parts = [" ".join(words[n : n + SENTENCE]) for n in range(0, len(words), SENTENCE)]
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def _cut(words: Sequence[str], lengths: Sequence[int]) -> list[Sequence[str]]:
    ends = np.cumsum(lengths).tolist()
    return [words[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _lengths(rng: np.random.Generator, count: int, shape: tuple[int, float, int]) -> list[int]:
    median, sigma, most = shape
    drawn: list[int] = np.clip(median * rng.lognormal(0, sigma, count), 1, most).astype(int).tolist()
    return drawn


def _cumulative(count: int) -> NDArray[np.float64]:
    """Zipf and Mandelbrot: the frequency of a word falls with its rank."""
    weights = 1 / (np.arange(count) + 2.7) ** 1.05
    cumulative: NDArray[np.float64] = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    return cumulative


def _word(number: int) -> str:
    """A word of two to four syllables, a different one for each number."""
    syllables = [SYLLABLES[number % len(SYLLABLES)]]
    while number := number // len(SYLLABLES):
        syllables.append(SYLLABLES[number % len(SYLLABLES)])
    return "".join([*syllables, "n"])
