"""Words that a word of a question may be a slip of the keyboard for. Pure.

All words within one slip are some hundred. All within two would be a hundred thousand: of those only the usual ones are
made. Any rule here also finds words for one that is right and that nobody said, so the first letter is kept, and short
words have few slips.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

SHORTEST = 4  # letters of a word with letters in the wrong order, doubled or not
SHORTEST_OF_ONE = 5  # with any slip
SHORTEST_OF_TWO = 8
LONGEST = 20
MOST_OF_TWO = 3_000  # words within two slips; those of longer words are more, and take milliseconds

# The letters of a script, and its vowels.
_ALPHABETS = {
    "abcdefghijklmnopqrstuvwxyz": "aeiouy",
    "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u0439\u043a\u043b\u043c\u043d\u043e\u043f\u0440\u0441\u0442"
    "\u0443\u0444\u0445\u0446\u0447\u0448\u0449\u044a\u044b\u044c\u044d\u044e\u044f\u0456\u0457\u0454\u0491": ""
    "\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u0456",
    "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1\u03c3\u03c2"
    "\u03c4\u03c5\u03c6\u03c7\u03c8\u03c9": "\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9",
}
# Consonants that sound alike, and the rows of keyboards.
_ALIKE = ("ck", "cs", "sz", "bp", "dt", "fv", "vw", "mn", "gj", "kq", "\u0441\u0437", "\u0434\u0442", "\u0431\u043f")
_KEYS = (
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "\u0439\u0446\u0443\u043a\u0435\u043d\u0433\u0448\u0449\u0437\u0445\u044a",
    "\u0444\u044b\u0432\u0430\u043f\u0440\u043e\u043b\u0434\u0436\u044d",
    "\u044f\u0447\u0441\u043c\u0438\u0442\u044c\u0431\u044e",
    "\u03c2\u03b5\u03c1\u03c4\u03c5\u03b8\u03b9\u03bf\u03c0",
    "\u03b1\u03c3\u03b4\u03c6\u03b3\u03b7\u03be\u03ba\u03bb",
    "\u03b6\u03c7\u03c8\u03c9\u03b2\u03bd\u03bc",
)


def near(word: str) -> list[list[str]]:
    """The near words in groups, the likeliest first; none for a word that is too short or long, or of no alphabet."""
    alphabet = next((letters for letters in _ALPHABETS if set(word) <= set(letters)), None)
    if alphabet is None or not SHORTEST <= len(word) <= LONGEST:
        return []
    vowels = _ALPHABETS[alphabet]
    if len(word) < SHORTEST_OF_ONE:
        return [list(dict.fromkeys(_misplaced(word)))]
    usual = dict.fromkeys((*_misplaced(word), *_sounding_alike(word, vowels)))
    groups = [list(usual), list(dict.fromkeys(_mistyped(word, alphabet)))]
    if len(word) >= SHORTEST_OF_TWO:
        groups.append(list(islice(dict.fromkeys(_twice(usual, vowels)), MOST_OF_TWO)))
    return groups


def _misplaced(word: str) -> Iterator[str]:
    """Letters in the wrong order, doubled or not."""
    for at, letter in enumerate(word):
        before, after = word[:at], word[at + 1 :]
        if after and after[0] != letter:
            yield f"{before}{after[0]}{letter}{after[1:]}"
        elif after:
            yield before + after
        yield f"{before}{letter}{letter}{after}"


def _sounding_alike(word: str, vowels: str) -> Iterator[str]:
    for at, letter in enumerate(word[1:], 1):
        alike = vowels if letter in vowels else "".join(pair for pair in _ALIKE if letter in pair)
        yield from (f"{word[:at]}{other}{word[at + 1 :]}" for other in alike if other != letter)


def _mistyped(word: str, alphabet: str) -> Iterator[str]:
    """Words with a letter missing or too much, or with a neighbouring letter of the keyboard; in a long word, any
    other."""
    for at in range(1, len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (f"{before}{letter}{after}" for letter in alphabet)
        if after:
            yield before + after[1:]
            others = alphabet if len(word) >= SHORTEST_OF_TWO else _beside(after[0])
            yield from (f"{before}{letter}{after[1:]}" for letter in others)


def _beside(letter: str) -> str:
    return "".join(row[max(0, row.index(letter) - 1) : row.index(letter) + 2] for row in _KEYS if letter in row)


def _twice(usual: dict[str, None], vowels: str) -> Iterator[str]:
    """Two usual slips, or one with a vowel missing or too much."""
    for once in usual:
        yield from _misplaced(once)
        yield from _sounding_alike(once, vowels)
        for at in range(1, len(once) + 1):
            yield from (f"{once[:at]}{vowel}{once[at:]}" for vowel in vowels)
            if once[at : at + 1] in vowels:
                yield once[:at] + once[at + 1 :]
