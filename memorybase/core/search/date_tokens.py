"""Cuts a query into the words that name a time, each a token of one letter. `periods` has the grammar. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from memorybase.core.keyword_index.languages import LANGUAGES, Language
from memorybase.core.keyword_index.languages.definition import AFTER, BEFORE, MARKS, YEAR, one_of

READ_CHARS = 2_000  # of a query
MONTHS = 12
LEAP_YEAR = 2000  # of a date without a year

# The letter of each kind of token. Units have lower case.
UNITS = {"hour": "h", "day": "d", "week": "w", "weekend": "e", "month": "m", "quarter": "k", "year": "y"}
OTHER, STOP = "x", "."
FILLER = "_"
_MONTH_FOLLOWS = re.compile("[in_]*M")
ONE = "u"  # "a week": hardly a day or a quarter

_DIGITS = str.maketrans(
    {chr(start + digit): str(digit) for start in (0x660, 0x6F0, 0x966, 0xFF10) for digit in range(10)}
)
_CHINESE = {each: number for number, each in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_CHINESE_NUMBER = r"[二三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九]"
_NUMERIC_DATES = (
    rf"(?P<iso>(?<!\d){YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))",
    r"(?P<dmy>(?<![\d.])\d{1,2}[./-]\d{1,2}[./-](?:(?:19|20)\d\d|\d\d)(?![\d/]|\.\d))",
    r"(?P<dm>(?<![\d.])\d{1,2}\.\d{1,2}\.(?!\d))",
)
_DATES = frozenset(("iso", "dmy", "dm", "fraction"))
_NUMBERS = {"N": "N", "N1": "N", "CM": "M", "CD": "N", "Y": "Y", "Q": "Q"}
_CLOCK_OR_AMOUNT = r"[$€£#]\s?\d[\d.,]*|\d+[:.,/]\d[\d:.,/]*\S*|\d+ ?(?:[%€$£]|[ap]\.?m\b|°)|\d{4,}|\d+(?=[^\W\d_])"


class Token(NamedTuple):
    """A word of a query. `value` is its number, for a unit how many it is, for a date the digits of YYYYMMDD."""

    letter: str
    value: int
    start: int
    end: int
    is_plural: bool = False


def folded(query: str, language: Language) -> str:
    """The beginning of a query in normal form C as its tokens are compared."""
    text = query[:READ_CHARS].translate(_DIGITS).replace("\u2019", "'")
    return language.folded(text)


def tokens(text: str, language: Language) -> list[Token]:
    """The tokens of a folded text."""
    found = list(_words_of(language.name).tokens(text))
    for number, token in enumerate(found):  # "the month of October" is October
        is_counted = number > 0 and found[number - 1].letter in "LTPNu"
        if (
            token.letter == "m"
            and not is_counted
            and _MONTH_FOLLOWS.match("".join(each.letter for each in found[number + 1 : number + 4]))
        ):
            found[number] = token._replace(letter=FILLER)
    return found


def is_past(text: str, language: Language) -> bool:
    return _words_of(language.name).past.search(text) is not None


def specific(words: list[str], language: Language) -> list[str]:
    """The words without those that only ask for what was said: know, tell, mention."""
    own = _words_of(language.name)
    return [word for word in words if not own.generic.fullmatch(word)]


def says_more(text: str, language: Language, words: list[str]) -> bool:
    """Whether a rest of a folded query, without its stop words `words`, has other words than talk and happen."""
    own = _words_of(language.name)
    if not language.has_spaces:
        text = language.function_strings.sub(" ", own.generic.sub(" ", text))
        return re.search(r"\w", text) is not None
    return bool(specific(words, language))


class _Words:
    """The date words of a language, as one pattern whose groups are letters with numbers."""

    def __init__(self, language: Language) -> None:
        self._words = words = language.dates
        self._language = language
        self._before, self._after = (BEFORE, AFTER) if language.has_spaces else ("", "")
        self._tables = {
            "M": ("M", language.month_numbers),
            "W": ("W", language.weekday_numbers),
            "short": ("s", _numbered(words.short_months)),
        }
        pairs = (pair.split("=") for pair in words.numbers.split("|") if pair)
        self._numbers = {self._folded(word): int(number) for word, number in pairs}
        self._numbers |= language.amounts
        self._dual = re.compile(self._folded(words.duals))
        self._plural = re.compile(self._folded(words.plurals))
        self.past = re.compile(f"{self._before}(?:{self._folded(words.past)}){self._after}")
        self.generic = re.compile(self._folded(words.generic))
        self._pattern = re.compile("|".join(self._alternatives(has_spaces=language.has_spaces)))

    def tokens(self, text: str) -> Iterator[Token]:
        for match in self._pattern.finditer(text):
            name = match.lastgroup or ""
            yield from self._read(match, name, match[name] if name else "")

    def _read(self, match: re.Match[str], name: str, text: str) -> Iterator[Token]:
        start, end = match.span()
        if name in _DATES:
            yield _date(text, name, start, end)
        elif name == "stop":
            yield Token(STOP, 0, start, end)
        elif name == "fortnight":
            yield Token("w", 2, start, end)
        elif name in UNITS:
            count = 2 if self._dual.fullmatch(text) else 1
            yield Token(UNITS[name], count, start, end, self._plural.fullmatch(text) is not None)
        elif name in self._tables:
            letter, table = self._tables[name]
            yield Token(letter, table[text], start, end)
        elif name in _NUMBERS:
            letter, number = _NUMBERS[name], self._number(text)
            if letter == "M" and not 1 <= number <= MONTHS:
                letter = OTHER
            if name == "N1" and number == 1 and self._before:
                letter = ONE
            yield Token(letter, number, start, end)
        elif name:
            yield Token(name[0], int(name[1:] or 0), start, end)

    def _number(self, text: str) -> int:
        if (number := self._numbers.get(text)) is not None:
            return number
        if (digits := re.search(r"\d+", text)) is not None:
            return int(digits[0])
        tens, ten, ones = text.rstrip("月份日号號").rpartition("十")
        return (_CHINESE.get(tens, 1) if ten else 0) * 10 + _CHINESE.get(ones, 0)

    def _folded(self, pattern: str) -> str:
        return self._language.in_pattern(pattern)

    def _alternatives(self, *, has_spaces: bool) -> Iterator[str]:
        """The patterns of all tokens: numbers first, then words, then any other word."""
        yield r"(?P<Z1>(?<=[\d.日号號月])\s?[-\u2013\u2014~\uff5e\u301c]\s?(?=\d)|\s?[\u2013\u2014]\s?)"
        yield r"[\s,()\"'-]+"
        yield from _NUMERIC_DATES
        between = self._words.fraction_marks
        yield rf"(?P<fraction>(?<![\d./$€£])\d{{1,2}}[{between}]\d{{1,2}}(?![\d./%:]|[^\W\d_]))"
        yield rf"(?P<Y>(?<![\d$€£.,]){YEAR}(?![\d%€]|[.,:]\d)(?:\s?(?:{self._folded(self._words.after_year)}))?)"
        if not has_spaces:
            yield rf"(?P<CM>(?<![\d十])(?:\d{{1,2}}|{_CHINESE_NUMBER})月份?(?![前間间]))"
            yield rf"(?P<CD>(?<![\d十])(?:\d{{1,2}}|{_CHINESE_NUMBER})[日号號](?![間间前楼樓线線]|以|ぶり))"
        marks = (r"\.(?!\d)", self._words.ordinal_mark, self._language.ordinal)
        ordinal = "|".join(filter(None, marks))
        after = r"(?![^\W\d_])" if has_spaces else ""
        yield rf"(?P<N>(?<![\d.,:/$€£#])\d{{1,3}}(?:{ordinal})?(?![\d%€$£]|[.,:/]\d|\s?[ap]\.?m\b){after})"
        yield f"(?P<x>{_CLOCK_OR_AMOUNT})"
        yield f"{self._before}(?:{'|'.join(self._named())}){self._after}"
        yield "(?P<stop>[.;:!?\u061f\u3002\uff01\uff1f\uff1b])"
        yield rf"(?P<x0>[\w{MARKS}]+|.)" if has_spaces else "(?P<x0>[a-z0-9]+|.)"

    def _named(self) -> Iterator[str]:
        words = self._words
        patterns = {
            "x1": words.not_times,
            "R2": words.day_before,
            "R1": words.yesterday,
            "R0": words.today,
            "r2": words.day_before_or_after,
            "r1": words.yesterday_or_tomorrow,
            "Q": "q[1-4]|[1-4]q",
            "W": self._names("W"),
            "M": self._names("M"),
            "short": self._names("short"),
            "fortnight": words.fortnight,
            "weekend": words.units["weekend"],
            "n0": words.on,
            "i0": words.within,
            "P1": words.until_now,
            "L2": words.before_last,
            "L1": words.last,
            "T0": words.this,
            "F0": words.following,
            "I0": words.since,
            "J0": words.since_after,
            "E0": words.early,
            "E1": words.middle,
            "E2": words.late,
            **{f"O{number}": each for number, each in enumerate(words.ordinals, 1)},
            "G0": words.ago,
            "B0": words.between,
            "Z0": words.to,
            "A0": words.both,
        }
        patterns |= {f"S{number}": each for number, each in enumerate(words.seasons)}
        patterns |= {name: each for name, each in words.units.items() if name not in patterns}
        patterns["N1"] = self._number_words()
        for name, pattern in patterns.items():
            ending = words.ending if name in ("W", "M") else r"\.?" if name == "short" else ""
            yield f"(?P<{name}>{self._folded(pattern)}){ending}"
        yield f"(?P<_>{self._folded(words.fillers or '(?!)')})"

    def _names(self, name: str) -> str:
        table = self._tables[name][1]
        return one_of(table) if table else "(?!)"

    def _number_words(self) -> str:
        return one_of(self._numbers) if self._before else f"{_CHINESE_NUMBER}|{one_of(self._numbers)}"


@lru_cache(maxsize=len(LANGUAGES))
def _words_of(name: str) -> _Words:
    return _Words(LANGUAGES[name])


def _date(text: str, name: str, start: int, end: int) -> Token:
    """A date in numbers, the day first unless only the month can be; an impossible one is its year, if it has one."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    day, month, year = numbers[::-1] if name == "iso" else (*numbers, 0)[:3]
    if name != "iso" and month > MONTHS >= day:
        day, month = month, day
    if 0 < year < 100:
        year += 2000
    try:
        date(year or LEAP_YEAR, month, day)
    except ValueError:
        return Token("Y" if year else OTHER, year, start, end)
    return Token("f" if name == "fraction" else "D", year * 10_000 + month * 100 + day, start, end)


def _numbered(names: str, first: int = 1) -> dict[str, int]:
    return {name: number for number, group in enumerate(names.split(), first) for name in group.split("/")}
