"""Estimates tokens without a vocabulary, for texts of any kind.

The text is cut as o200k_base cuts it: words (at a change from lower to upper case), groups of three digits,
punctuation, white space. Only words and punctuation may be several tokens; their cost is fitted. A word that looks
random costs more, because its pairs of letters are rare. Characters of other scripts have a cost by block.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from memorybase.core.conversation.view.token_weights import CUTS, FREQUENT_WORDS

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_PUNCTUATION = r"!-/:-@\[-`{-~"
# Bounded repetitions, so that pieces stay small and a long run costs no backtracking.
_PIECE = re.compile(
    rf"[\t {_PUNCTUATION}]?(?:[{_UPPER}]{{0,40}}[{_LOWER}]{{1,40}}|[{_UPPER}]{{1,40}})"
    r"|[0-9]{1,3}"
    rf"| ?[{_PUNCTUATION}]{{1,80}}[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s(?![^\x00-\x7f])"  # a single space belongs to a character of another script
)
_OTHER_SCRIPT = re.compile(rf"[^\x00-\x7f{_UPPER}{_LOWER}]")

# What a word costs beyond one token.
_AFTER_PUNCTUATION = 0.24
_FREQUENT_AFTER_PUNCTUATION = 0.14
_WITHOUT_SPACE = 0.04
_EACH_CAPITAL = 0.08  # after the first
_EACH_ACCENT = 0.2
_EACH_LETTER = 0.015  # from the fifth to the ninth
_EACH_FURTHER_LETTER = 0.2
# What punctuation costs beyond one token, which two different marks are.
_THIRD_AND_FOURTH_MARK = 0.4
_EACH_FURTHER_MARK = 0.75
_EACH_RULE = 0.6  # three or more of one mark, among others
_JSON_JOINTS = frozenset({'":"', '","', '":{"', '":["', '"},{"'})  # one token each

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_TENTHS = {
    first + second: int(CUTS[row][column])
    for row, first in enumerate(_ALPHABET)
    for column, second in enumerate(_ALPHABET)
}

# Tokens of a character from each code point on.
_BLOCKS: tuple[tuple[int, float], ...] = (
    (0x0000, 1.0),
    (0x0080, 2.0),
    (0x00A0, 1.0),
    (0x0250, 2.0),
    (0x0370, 0.45),
    (0x0400, 1.3),  # phonetic, combining; Greek; Cyrillic but Russian
    (0x0410, 0.32),
    (0x0452, 1.3),
    (0x0530, 0.5),
    (0x0590, 0.47),  # Russian; Armenian; Hebrew
    (0x0600, 0.39),
    (0x064B, 1.1),
    (0x0660, 0.6),  # Arabic: letters, vowel signs, others
    (0x0700, 2.4),
    (0x0900, 0.36),
    (0x0980, 0.42),
    (0x0A00, 0.62),
    (0x0A80, 0.45),
    (0x0B00, 1.0),
    (0x0B80, 0.34),
    (0x0C00, 0.46),
    (0x0C80, 0.44),
    (0x0D00, 0.35),
    (0x0D80, 0.74),
    (0x0E00, 0.44),
    (0x0E80, 2.0),
    (0x1000, 0.58),
    (0x10A0, 0.38),
    (0x1100, 2.4),
    (0x1780, 0.62),
    (0x1800, 2.4),
    (0x2000, 1.3),
    (0x2070, 2.0),
    (0x2500, 1.5),
    (0x25A0, 2.0),  # Khmer to box drawing
    (0x3000, 0.8),
    (0x3040, 0.64),
    (0x3100, 2.0),
    (0x4E00, 1.45),
    (0xA000, 2.4),  # Japanese and Chinese
    (0xAC00, 0.7),
    (0xD7A4, 2.5),
    (0xFE00, 1.2),
    (0xFE10, 1.4),
    (0xFE70, 2.0),
    (0xFF00, 1.0),
    (0xFFF0, 1.5),
    (0x10000, 4.0),
    (0x1D400, 2.9),
    (0x1E000, 2.1),
    (0x1FB00, 4.0),  # rare scripts; mathematical letters; emoji
)
_STARTS = [start for start, _ in _BLOCKS]
_FREQUENT_HAN = 0.73


def estimated_tokens(text: str) -> int:
    """The approximate number of tokens that o200k_base makes of the text; at least 1 for a text that is not empty."""
    if not text:
        return 0
    tokens = sum(count * _piece_tokens(piece) for piece, count in Counter(_PIECE.findall(text)).items())
    if not text.isascii():
        characters = Counter(_OTHER_SCRIPT.findall(text))
        tokens += sum(count * _character_tokens(character) for character, count in characters.items())
    return max(1, round(tokens))


@lru_cache(maxsize=32_768)
def _piece_tokens(piece: str) -> float:
    first, last = piece[0], piece[-1]
    if last.isalpha():
        return _word_tokens(piece if first.isalpha() else piece[1:], first)
    if first.isdigit() or piece.isspace():
        return 1.0
    if piece in _JSON_JOINTS:
        return 1.0
    return _punctuation_tokens([len(list(run)) for _, run in groupby(piece.strip())])


def _punctuation_tokens(runs: Sequence[int]) -> float:
    """`runs`: how often each mark is repeated."""
    if len(runs) < 3:
        return 1.0 + max(runs) // 40
    further = max(0, len(runs) - 4)
    tokens = 1.0 + _THIRD_AND_FOURTH_MARK * (len(runs) - further - 2) + _EACH_FURTHER_MARK * further
    return tokens + _EACH_RULE * sum(length > 2 for length in runs)


def _word_tokens(word: str, before: str) -> float:
    """`before`: the character before the word; its first letter if there is none."""
    lower = word.lower()
    is_after_punctuation = not (before == " " or before.isalpha())
    if lower in FREQUENT_WORDS:
        return 1.0 + _FREQUENT_AFTER_PUNCTUATION * is_after_punctuation
    tenths = sum(_TENTHS.get(first + second, 2) for first, second in pairwise(lower))
    tokens = 1.0 + tenths / 10 + _AFTER_PUNCTUATION * is_after_punctuation + _WITHOUT_SPACE * before.isalpha()
    tokens += _EACH_LETTER * min(5, max(0, len(word) - 4)) + _EACH_FURTHER_LETTER * max(0, len(word) - 9)
    if not word.islower():
        tokens += _EACH_CAPITAL * max(0, sum(map(str.isupper, word)) - 1)
    if not word.isascii():
        tokens += _EACH_ACCENT * sum(not letter.isascii() for letter in word)
    return tokens


@lru_cache(maxsize=32_768)
def _character_tokens(character: str) -> float:
    if "\u4e00" <= character <= "\u9fff" and _is_frequent_han(character):
        return _FREQUENT_HAN
    return _BLOCKS[bisect_right(_STARTS, ord(character)) - 1][1]


def _is_frequent_han(character: str) -> bool:
    """Whether GB 2312 has it in its first level, of the 3,755 most frequent characters."""
    encoded = character.encode("gb2312", "ignore")
    return encoded != b"" and encoded[0] < 0xD8
