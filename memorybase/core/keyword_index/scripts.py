"""The parts of words in each script, and the spellings that count as one word. Pure.

Marks that make another word belong to it (vowel signs of India, tones of Thai, accents of Latin). Marks that writers
may leave out are removed (points of Arabic and Hebrew, accents of Greek and Cyrillic, joiners). Text without spaces is
cut into units: a character of Chinese, Japanese or Korean, elsewhere a consonant with its marks, about a syllable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain, pairwise

MAX_CHARS = 100_000  # of a text that is analyzed; what is longer is no conversation
MAX_MARKS = 30  # of a letter, as in Unicode's format for streams

# Blocks without spaces between words, of Unicode's line breaking class SA: Thai, Lao, Myanmar, Khmer, Tai Le, New Tai
# Lue, Tai Tham, extensions of Myanmar, Tai Viet, Ahom.
_SYLLABIC = (
    (0x0E00, 0x0F00),
    (0x1000, 0x10A0),
    (0x1780, 0x17E0),
    (0x1950, 0x19E0),
    (0x1A20, 0x1AB0),
    (0xA9E0, 0xAA00),
    (0xAA60, 0xAAE0),
    (0x11700, 0x11750),
)
_WITH_MARKS = (
    (0x300, 0x2000),
    (0x2DE0, 0x2E00),
    (0x3099, 0x309B),
    (0xA66F, 0xAC00),
    (0x10A00, 0x12000),
    (0x1E000, 0x1E950),
)


def _ranges(blocks: Iterable[tuple[int, int]], *categories: str) -> str:
    """The characters of these blocks and categories, for a class of a regular expression."""
    found: list[list[int]] = []
    for code in chain.from_iterable(range(*block) for block in blocks):
        if unicodedata.category(chr(code)) in categories:
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


MARKS = _ranges(_WITH_MARKS, "Mn", "Mc")  # no word characters for `re`
_CJK = (
    "\u3005-\u3007\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTERS = _ranges(_SYLLABIC, "Lo")
_SIGNS = _ranges(_SYLLABIC, "Mn", "Mc")
_UNSPACED = f"{_CJK}{_LETTERS}{_SIGNS}"

# A word in any text. Numbers, and words of other scripts inside of text without spaces, are separate words.
_SPACED = rf"[^\W_{_UNSPACED}]+(?:[{MARKS}\u200c\u200d]+[^\W_{_UNSPACED}]*)*"
WORD = re.compile(rf"[{_UNSPACED}]+|{_SPACED}(?:'{_SPACED})?")
# The same for text without unspaced characters and underscores, in a third of the time.
_SPACED_WORD = re.compile(rf"\w+(?:[{MARKS}]+\w*)*(?:'\w+(?:[{MARKS}]+\w*)*)?")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_HAS_SIGNS = re.compile(f"[{_LETTERS}{_SIGNS}\u3099\u309a]")

# Vowels that stand before their consonant, and those that stand after it but are letters.
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4\u19b5-\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"
_AFTER = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
_JOINS = "\u1039\u17d2\u1a60"  # the next consonant stands below
_ENDS = r"[\u1000-\u1021](?=\u1037?\u103a)"  # of Myanmar: a consonant without a vowel
_UNIT = re.compile(
    rf"[{_CJK}][\u3099\u309a]*"
    rf"|[{_BEFORE}]?[{_LETTERS}](?:[{_SIGNS}{_AFTER}]|(?<=[{_JOINS}])[{_LETTERS}]|{_ENDS})*|[{_SIGNS}]+"
)


# Never part of a spelling: hyphens and joiners that are not seen, directions, selectors of a glyph, and marks across or
# around a letter.
_UNSEEN = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef"
)
_ACROSS = "\u0334-\u0338\u0488\u0489\u20d0-\u20f0"
# Points and accents of scripts whose writers leave them out: Arabic with its tatweel, Hebrew, Syriac, old Cyrillic; and
# the vowels of Khmer that are not seen.
_POINTS = (
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08ca-\u08e1\u08e3-\u08ff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0711\u0730-\u074a\u0483-\u0487\u17b4\u17b5"
)
_GREEK = ((0x370, 0x400), (0x1F00, 0x2000))


def _without_accent(letter: str) -> str:
    return "".join(part for part in unicodedata.normalize("NFD", letter) if not unicodedata.combining(part))


def _characters(ranges: str) -> list[str]:
    """The characters of a class of a regular expression."""
    return [
        chr(code)
        for first, last in re.findall("(.)(?:-(.))?", ranges)
        for code in range(ord(first), ord(last or first) + 1)
    ]


_ACCENTED = {
    letter: plain
    for letter in map(chr, chain.from_iterable(range(*block) for block in _GREEK))
    if letter.isalpha() and (plain := _without_accent(letter)) != letter
}
_OF_TEXT = str.maketrans(dict.fromkeys(_characters(_UNSEEN + _ACROSS + _POINTS), "") | _ACCENTED | {"\u0130": "i"})
# Accents that no letter is composed with: those of Greek, the stress of Cyrillic, and the dot of a Turkish capital in
# lower case. And spaces without width between units, which only some writers set.
_ACCENT = re.compile(
    "(?<=[\u0370-\u03ff\u1f00-\u1fff])[\u0300-\u036f]+|(?<=[\u0400-\u052f])[\u0300\u0301]+|(?<=i)\u0307"
    rf"|(?<=[{_UNSPACED}])\u200b+(?=[{_UNSPACED}])"
)
_IS_FOLDED = re.compile(f"[{_UNSEEN}{_ACROSS}{_POINTS}{''.join(_ACCENTED)}\u0130\u0300-\u036f\u200b]")
_MANY_MARKS = re.compile(rf"[^\0-\u02ff][{MARKS}]{{{MAX_MARKS},}}")

# Letters of a word that are written in several ways. Turkish dotless i is one of them because few texts show that they
# are Turkish, and in all others the capital I is i. Two of the Cyrillic letters show the stress of a Bulgarian word.
_SPELLINGS = {
    "\u0622\u0623\u0625\u0671": "\u0627",  # alef with hamza
    "\u0649\u06cc": "\u064a",  # yeh without dots, and of Persian
    "\u06a9": "\u0643",  # kaf of Persian
    "\u0629\u06c0\u06c1\u06c2\u06c3": "\u0647",  # teh marbuta, and heh of Persian and Urdu
    "\u0450\u0451": "\u0435",
    "\u045d": "\u0438",
    "\u0131": "i",
    "\u02bb\u02bc": "",  # apostrophes that are letters
    "\u0d7a": "\u0d23\u0d4d",
    "\u0d7b": "\u0d28\u0d4d",
    "\u0d7c": "\u0d30\u0d4d",
    "\u0d7d": "\u0d32\u0d4d",
    "\u0d7e": "\u0d33\u0d4d",
    "\u0d7f": "\u0d15\u0d4d",  # final consonants of Malayalam
}
_OF_WORD = str.maketrans({letter: one for several, one in _SPELLINGS.items() for letter in several})
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_HAS_SPELLINGS = re.compile(f"[{''.join(map(chr, _OF_WORD))}]")


_LATIN = ((0xDF, 0x250), (0x1E00, 0x1F00))
_PLAIN_LETTERS = {
    "\u00e6": "ae",
    "\u00f0": "d",
    "\u00f8": "o",
    "\u00fe": "th",
    "\u0111": "d",
    "\u0127": "h",
    "\u0142": "l",
    "\u014b": "n",
    "\u0153": "oe",
    "\u0167": "t",
    "\u01dd": "e",
    "\u0259": "e",
}
_ACCENTED_LATIN = {
    letter: plain
    for letter in map(chr, chain.from_iterable(range(*block) for block in _LATIN))
    if (plain := _without_accent(letter)).isascii() and plain.islower()
} | _PLAIN_LETTERS
_PLAIN_LATIN = str.maketrans(_ACCENTED_LATIN | {chr(mark): "" for mark in range(0x300, 0x370)})
_TRANSLITERATED = str.maketrans({"\u00e4": "ae", "\u00f6": "oe", "\u00f8": "oe", "\u00fc": "ue", "\u00e5": "aa"})
_HAS_ACCENTS = re.compile(f"[{''.join(_ACCENTED_LATIN)}]|(?<=[a-z])[\u0300-\u036f]")


def normal(text: str) -> str:
    """The beginning of a text in normal form KC, with straight apostrophes: "l'été" is written with either."""
    text = text[:MAX_CHARS]
    if text.isascii():
        return text
    if _MANY_MARKS.search(text):  # it takes quadratic time to sort them
        text = _MANY_MARKS.sub(lambda marks: marks[0][:MAX_MARKS], text)
    return unicodedata.normalize("NFKC", text)[:MAX_CHARS].replace("\u2019", "'")  # one may become eighteen


def with_western_digits(text: str) -> str:
    """A text with 0 to 9 for the digits of other scripts."""
    return text if text.isascii() else _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def without_marks(text: str) -> str:
    """A text in normal form without the marks that writers may leave out."""
    if text.isascii() or _IS_FOLDED.search(text) is None:
        return text
    return _ACCENT.sub("", text.translate(_OF_TEXT))


def spelled(words: list[str]) -> list[str]:
    """Case-folded words with one letter for those that are written in several ways."""
    if _HAS_SPELLINGS.search("".join(words)) is None:
        return words
    return [word if word.isascii() else word.translate(_OF_WORD) or word for word in words]


def without_accents(word: str) -> str:
    """A folded word with plain Latin letters, as people type it without their keyboard: "soren", "phở" is "pho"."""
    return word.translate(_PLAIN_LATIN)


def transliterated(word: str) -> str:
    """A folded word as those write it who have no umlauts: "mueller"."""
    return word.translate(_TRANSLITERATED)


def has_accents(text: str) -> bool:
    """Whether a folded text has Latin letters that are written without accents too."""
    return not text.isascii() and _HAS_ACCENTS.search(text) is not None


def words_of(folded: str, *, is_unspaced: bool) -> list[str]:
    """The words of a text that is normalized and case-folded; a run of characters without spaces is one."""
    if folded.isascii():
        return _ASCII_WORD.findall(folded)
    if is_unspaced:
        return WORD.findall(folded)
    return _SPACED_WORD.findall(folded.replace("_", " "))


def is_unspaced(word: str) -> bool:
    """Whether the word is of a script without spaces."""
    return _IS_UNSPACED.match(word) is not None


def is_word(unit: str) -> bool:
    """Whether a unit may be a word: hardly any of kana is one."""
    return not "\u3041" <= unit <= "\u30ff"


def has_unspaced(text: str) -> bool:
    return not text.isascii() and _IS_UNSPACED.search(text) is not None


def units(run: str) -> list[str]:
    """The units of a run of characters without spaces."""
    return _UNIT.findall(run) if _HAS_SIGNS.search(run) else list(run)


def pairs(run: str) -> list[str]:
    """The pairs of neighboring units of a run; one unit is alone."""
    found = units(run)
    return found if len(found) < 2 else [left + right for left, right in pairwise(found)]
