"""Which language a text is in: by its script, else by function words and letters. Deterministic, and short texts count.

A text is taken for English, the default, unless it shows another language: a wrong guess costs more than none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memorybase.core.keyword_index.languages import ENGLISH, LATIN

# A text with this share of English stop words is English. Other languages share "in", "was" and "is" with English.
ENGLISH_SHARE = 0.3
SHORT_WORDS = 12  # up to this number of words every one counts, as "was" may be half of a German question
READ_WORDS = 200  # at the beginning
LETTERS_READ = 2_000
# Points: a word of one language, one that others write too, and a letter; shared by as many languages as have it.
# Letters count for languages that a word shows too: others that are not known here have the same.
WORD, WEAK_WORD, LETTER = 12, 6, 6
# A language needs the points of one word that only it has, and more than any other; in a long text more.
POINTS = 12
POINTS_A_WORD = 1.2
WEAK_WORDS = 4  # this many show a language too

_OTHER_SCRIPTS = re.compile(
    "(?P<cyrillic>[\u0400-\u04ff]+)|(?P<arabic>[\u0620-\u06ff]+)|(?P<devanagari>[\u0900-\u0963\u0966-\u097f]+)"
    "|(?P<kana>[\u3040-\u30ff]+)|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff]+)"
    "|(?P<other>[\u0370-\u03ff\u0530-\u05ff\u0980-\u0dff\u0e00-\u0fff\u10a0-\u11ff\uac00-\ud7af]+)"
)
_LATIN_LETTERS = re.compile("[A-Za-z\u00c0-\u024f]+")
# Letters of other languages in the script: Ukrainian, Belarusian and Serbian; Persian and Urdu; Marathi.
_FOREIGN = {
    "russian": re.compile(
        "[\u0404\u0406\u0407\u0490\u0454\u0456\u0457\u0491\u040e\u045e\u0402\u0452\u0408-\u040b\u0458-\u045b]"
    ),
    "arabic": re.compile("[\u067e\u0686\u0698\u06a9\u06af\u06cc\u0679\u0688\u0691\u06ba\u06d2]"),
    "hindi": re.compile("\u0933"),
}
_CHARACTER = 2  # a character of Chinese or Japanese says as much as two letters


class _Hint(NamedTuple):
    language: str
    points: float
    is_weak: bool


_Hints = Mapping[str, tuple[_Hint, ...]]

# Of months and days: also English, or other words and names there.
_ENGLISH_NAMES = {
    "april",
    "august",
    "september",
    "november",
    "december",
    "mars",
    "mart",
    "mayo",
    "maj",
    "mei",
    "mai",
    "domingo",
    "sabato",
    "quinta",
    "sexta",
}
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")  # alone they are variables and marks of lists


def language_of(text: str, words: Sequence[str], stopped: int) -> str | None:
    """The name of the text's language; None: English, or not to be told.

    `words` are the text's folded words, of which `stopped` are stop words of English.
    """
    if not text.isascii():
        name = _by_script(text[:LETTERS_READ])
        if name is not None:
            return name or None
    if len(words) > SHORT_WORDS and stopped >= ENGLISH_SHARE * len(words):
        return None
    return _by_words([*dict.fromkeys(words[:READ_WORDS])], text[:LETTERS_READ])


def is_english(words: Sequence[str], stopped: int) -> bool:
    """Whether the words show that they are English, `stopped` of which are its stop words."""
    return 0 < stopped >= ENGLISH_SHARE * len(words)


def _by_script(text: str) -> str | None:
    """The language that most letters show; empty: one that is not known; None: the letters are Latin."""
    if _OTHER_SCRIPTS.search(text) is None:
        return None
    letters: dict[str, int] = defaultdict(int)
    for match in _OTHER_SCRIPTS.finditer(text):
        letters[match.lastgroup or ""] += len(match[0])
    letters["han"] *= _CHARACTER
    letters["kana"] *= _CHARACTER
    if sum(letters.values()) <= sum(map(len, _LATIN_LETTERS.findall(text))):
        return None
    script = max(letters, key=lambda name: letters[name])
    if script in ("han", "kana"):
        return "japanese" if letters["kana"] else "chinese"
    name = {"cyrillic": "russian", "arabic": "arabic", "devanagari": "hindi"}.get(script, "")
    return "" if name and _FOREIGN[name].search(text) else name


def _by_words(words: Sequence[str], text: str) -> str | None:
    points, shown = _points(words, text)
    if not shown:
        return None
    first, *others = sorted(points, key=lambda name: (-points[name], name))
    enough = max(POINTS, POINTS_A_WORD * len(words))
    if first not in shown or points[first] < enough or (others and points[others[0]] >= points[first]):
        return None
    return first


def _points(words: Sequence[str], text: str) -> tuple[dict[str, float], set[str]]:
    """Points for each language, and the languages that more than a few weak words show."""
    points: dict[str, float] = defaultdict(float)
    hints = [hint for word in words if word in _HINTS for hint in _HINTS[word]]
    if "'" in text or "\u2019" in text:
        hints += [hint for match in _ELIDED.finditer(text) for hint in _ELISION_HINTS[match[1].casefold()]]
    if not hints:
        return {}, set()
    weak = Counter(hint.language for hint in hints if hint.is_weak)
    shown = {hint.language for hint in hints if not hint.is_weak or weak[hint.language] >= WEAK_WORDS}
    for hint in hints:
        points[hint.language] += hint.points
    points[ENGLISH.name] = sum(
        WEAK_WORD if word in _HINTS or word in _LETTERS else WORD for word in words if word in ENGLISH.words
    )
    letters = () if text.isascii() else _LETTER_HINTS.keys() & set(text.casefold())
    for hint in (hint for letter in letters for hint in _LETTER_HINTS[letter] if hint.language in points):
        points[hint.language] += hint.points
        if hint.points == LETTER:  # of no other language
            shown.add(hint.language)
    return points, shown


def _shared(held: Mapping[str, Mapping[str, int]]) -> _Hints:
    """For each word or letter its languages with their points, divided by their number."""
    return {
        each: tuple(_Hint(name, value / len(of), value == WEAK_WORD) for name, value in of.items())
        for each, of in held.items()
    }


def _hints() -> tuple[_Hints, _Hints, _Hints]:
    """Hints by words, by letters, and by words before an apostrophe."""
    words: dict[str, dict[str, int]] = defaultdict(dict)
    letters: dict[str, dict[str, int]] = defaultdict(dict)
    elisions: dict[str, dict[str, int]] = defaultdict(dict)
    for language in LATIN:
        weak = set(language.weak.split())
        for word in language.words - _LETTERS:
            words[word][language.name] = WEAK_WORD if word in weak else WORD
        names = {*language.month_numbers, *language.weekdays.replace("/", " ").split()} - _ENGLISH_NAMES
        for name in names.union(language.hints.split()):
            words[name].setdefault(language.name, WORD)
        for letter in language.letters:
            letters[letter][language.name] = LETTER
        for word in language.elisions:
            elisions[word][language.name] = WORD
    return _shared(words), _shared(letters), _shared(elisions)


_HINTS, _LETTER_HINTS, _ELISION_HINTS = _hints()
_ELIDED = re.compile(
    rf"\b({'|'.join(sorted(_ELISION_HINTS, key=len, reverse=True))})['\u2019](?=[^\W\d_]{{2}})", re.IGNORECASE
)
