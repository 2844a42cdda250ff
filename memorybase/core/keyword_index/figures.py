"""Numbers, dates and codes in every form that they are written in. Pure.

A message has a term besides the parts of such a figure: 1649 for "1,649", the last digits of a telephone number, 12-03
for the third of December. In a question such terms are alternatives of the figure's parts, so it finds the other forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memorybase.core.keyword_index import scripts
from memorybase.core.keyword_index.languages import ENGLISH, LANGUAGES

LAST_DIGITS = 7  # of a long number: telephone numbers are written with and without the codes of country and area
FEWEST_DIGITS = 6  # in groups that are one number
MOST_CHARS_ASKED = 500  # of a question; what is longer is a text or a log, and its figures are parts of it
MOST_OTHERS = 16  # that stand for a word of a question
MOST_CODE_CHARS = 40
MOST_CODE_WORDS = 3
MOST_LETTERS = 5  # of a code before its digits
IP_PARTS, IP_NUMBERS = 4, 256
MONTHS, MOST_DAYS = 12, 31

_ENGLISH_MONTHS = {word: number for name, number in ENGLISH.month_numbers.items() for word in (name, name[:3])}

_START = r"(?<![^\W\u2e80-\uffff])"  # of text without spaces a figure may follow at once
_END = "(?![0-9a-z]|[.,'/-][0-9])"
# What begins with a digit, in the order of precedence; for case-folded text.
_KINDS = {
    "iban": r"(?<=[a-z]{2})(?<![^\W_]..)[0-9]{2}(?:[ -](?:[0-9]{4}|[0-9a-z]{4}(?= [0-9]))){2,7}"
    r"(?:[ -][0-9]{1,3})?(?!\w)",
    "after_letters": r"(?<=[a-z])[0-9]{3,15}(?!\w)",
    "year_first": rf"{_START}[12][0-9]{{3}}(?P<a>[-/.])[0-9]{{1,2}}(?P=a)[0-9]{{1,2}}(?:(?=t[0-9])|{_END})",
    "year_last": rf"{_START}[0-9]{{1,2}}(?P<b>[./-])[0-9]{{1,2}}(?P=b)[12][0-9]{{3}}{_END}",
    "day_first": rf"{_START}(?:[0-9]{{1,2}}\. ?[0-9]{{1,2}}\.(?![0-9])|[0-9]{{2}}\.[0-9]{{2}}\.[0-9]{{2}}{_END})",
    "month_first": r"[0-9]{1,2}[\u6708\uc6d4] ?[0-9]{1,2}(?=[\u65e5\u53f7\uc77c])",
    "grouped": rf"(?<!\+)(?!(?<=\()[0-9 ]+\)){_START}[1-9]"  # in brackets alone it is a code of an area
    rf"(?:[0-9]{{0,2}}(?P<c>[.,'\u066c ])[0-9]{{3}}(?:(?P=c)[0-9]{{3}})*"
    rf"|[0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}})(?:[.,\u066b][0-9]{{1,2}})?{_END}",
    "thousands": rf"{_START}[1-9][0-9]{{0,3}}(?:[.,][0-9]{{1,2}})?k(?!\w)",
    "product": rf"{_START}[0-9]{{1,5}}(?: ?[x\u00d7] ?[0-9]{{1,5}})+{_END}",
    "joined": rf"{_START}[0-9]+(?:[ ./()-]{{1,2}}[0-9]+)+{_END}",
    "long": rf"{_START}[0-9]{{8,15}}(?![^\W\u2e80-\uffff])",
    "before_letters": rf"{_START}[0-9]{{3,15}}(?=[a-z]{{1,5}}(?!\w))",
}
_KIND = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _KINDS.items()))
# What may be one of them: looking for it takes a fraction of the time.
_MAY_BE = re.compile(
    r"[0-9](?<![0-9].)(?:[0-9]*(?:[.,'\u066c /()\u00d7x\u6708\uc6d4-]{1,3}[0-9]|k)"
    r"|[0-9]{2,}(?:[a-z]|(?<=[a-z]...)(?!\w))|[0-9]{7}|[0-9](?<=[a-z]..)[ -][a-z]{4}[ -][0-9])"
)
_DATES = frozenset(("year_first", "year_last", "day_first", "month_first"))
_CENTURIES = ("19", "20")
_DIGITS = re.compile("[0-9]+")
_LETTERS_BEFORE = re.compile(r"(?<![\w-])[^\W\d_]+\Z")
_WORD = re.compile(r"[^\W_]+")
_CODE = re.compile(r"[^\W_]+(?:[ ./_-][^\W_]+)+")
_DAY = re.compile("(0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th|er)?")
_WITH_UNIT = re.compile(r"([^\W\d_]{2,})([0-9]+)|([0-9]+)(?!(?:st|nd|rd|th|er)$)([^\W\d_]{2,})")


class Figure(NamedTuple):
    """The words of a figure as it is written, and the terms that it has in other forms too. `always`: it has them in
    every form, so one of the words alone says little."""

    words: tuple[str, ...]
    terms: tuple[str, ...]
    always: bool = False
    day: str = ""  # of a date: its words for day and month
    month: str = ""


class Alternatives(NamedTuple):
    """Alternatives for the `parts` of a question's words, and those of them that say little by themselves."""

    of: Mapping[str, Mapping[str, None]]
    weak: frozenset[str]


def terms(folded: str) -> list[str]:
    """The further terms of a message."""
    return [term for figure in _figures(folded, asks=False) for term in figure.terms]


def parts(words: Iterable[str]) -> list[str]:
    """The words, with numbers apart from the letters written together with them: 500 and mbit."""
    return [part for word in words for part in _parts(word)]


def _parts(word: str) -> list[str]:
    found = _WITH_UNIT.fullmatch(word)
    return [word] if found is None else [part for part in found.groups() if part]


def alternatives(folded: str, languages: tuple[str, ...]) -> Alternatives:
    """`languages`: in which months may be named, besides English."""
    found: dict[str, dict[str, None]] = {}
    weak: set[str] = set()
    for figure in _asked(folded[:MOST_CHARS_ASKED], _months(languages)):
        for word in figure.words:
            others = found.setdefault(word, {})
            if len(others) < MOST_OTHERS:
                others.update(dict.fromkeys(term for term in figure.terms if term != word))
        if figure.always and len(figure.words) > 1:
            weak.update(figure.words)
    return Alternatives(found, frozenset(weak))


@lru_cache
def _months(languages: tuple[str, ...]) -> Mapping[str, int]:
    """The numbers of months by their names."""
    known = [LANGUAGES[name].month_numbers for name in languages if name in LANGUAGES]
    return {name: number for names in (_ENGLISH_MONTHS, *known) for name, number in names.items()}


def _asked(folded: str, months: Mapping[str, int]) -> Iterator[Figure]:
    for figure in _figures(folded, asks=True):
        yield figure
        if figure.day:
            yield from _forms_of_day(figure.day, int(figure.day), figure.month, int(figure.month), months)
    words = scripts.words_of(folded, is_unspaced=False)
    yield from (Figure(tuple(own), (word,)) for word in words if len(own := _parts(word)) > 1)
    yield from _named_days(words, months)
    yield from _codes(folded)


def _named_days(words: Sequence[str], months: Mapping[str, int]) -> Iterator[Figure]:
    """Days of named months: "3. Dezember", "December 3rd", "3 de diciembre"."""
    for at, word in enumerate(words):
        for near in (at - 1, at + 1, at - 2, at + 2) if word in months else ():
            if 0 <= near < len(words) and (day := _DAY.fullmatch(words[near])):
                yield from _forms_of_day(words[near], int(day[1]), word, months[word], months)
                break


def _forms_of_day(day: str, day_number: int, month: str, number: int, months: Mapping[str, int]) -> Iterator[Figure]:
    """`day` and `month`: the words of the question."""
    ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day_number % 10 if day_number // 10 != 1 else 0, "th")
    term = _date_term(number, day_number)
    yield Figure((day,), (term, f"{day_number}", f"{day_number:02}", f"{day_number}{ordinal}"))
    yield Figure((month,), (term, *(name for name, of_month in months.items() if of_month == number)))


def _codes(folded: str) -> Iterator[Figure]:
    """Neighboring words that may be one code, with a digit: FIN-3391, 500 Mbit."""
    for run in _CODE.findall(folded):
        words = _WORD.findall(run)
        for length in range(2, MOST_CODE_WORDS + 1):
            for start in range(len(words) - length + 1):
                code = words[start : start + length]
                together = "".join(code)
                if len(together) <= MOST_CODE_CHARS and _DIGITS.search(together) and not together.isdecimal():
                    yield Figure(tuple(parts(code)), (together,))


def _figures(folded: str, *, asks: bool) -> Iterator[Figure]:
    """`asks`: of a question, which may have terms that hardly any message has."""
    end = 0
    for candidate in _MAY_BE.finditer(folded):
        if candidate.start() >= end and (found := _KIND.match(folded, candidate.start())):
            end = found.end()
            yield from _read(found, asks=asks)


def _read(found: re.Match[str], *, asks: bool) -> Iterator[Figure]:
    kind, written = str(found.lastgroup), found[0]
    groups = _DIGITS.findall(written)
    digits = "".join(groups)
    if kind in _DATES:
        yield from _date(kind, groups, written)
    elif kind == "iban":
        words = _WORD.findall(found.string[found.start() - 2 : found.end()])
        yield Figure(tuple(parts(words)), ("".join(words),), always=True)
    elif kind == "grouped":
        whole = digits if len(groups[-1]) == 3 else "".join(groups[:-1])
        if not _is_address(written):
            yield Figure(tuple(groups), (whole, whole[-LAST_DIGITS:]) if " " in written else (whole,), always=True)
    elif kind == "thousands":
        yield Figure((*groups[:-1], f"{groups[-1]}k"), (f"{float(written[:-1].replace(',', '.')) * 1_000:.0f}",))
    elif kind == "product":
        yield Figure(tuple(parts(_WORD.findall(written))), ("x".join(groups),), always=True)
    elif kind == "before_letters" or (kind == "after_letters" and _are_all_letters_before(found)):
        yield Figure((digits,), (digits[-LAST_DIGITS:] if asks else digits,))
    elif kind in ("joined", "long"):
        is_one = _is_one_number(found, groups)
        if asks or is_one:
            last = digits[-LAST_DIGITS:]
            yield Figure(tuple(groups), (digits, last) if asks else (last,), always=is_one)


def _are_all_letters_before(found: re.Match[str]) -> bool:
    return _LETTERS_BEFORE.search(found.string, max(0, found.start() - MOST_LETTERS), found.start()) is not None


def _is_address(written: str) -> bool:
    """Whether it is an IP address."""
    parts = written.split(".")
    return len(parts) == IP_PARTS and max(map(int, parts)) < IP_NUMBERS


def _is_one_number(found: re.Match[str], groups: Sequence[str]) -> bool:
    """Whether groups of digits are a telephone number, an account or an order rather than a list, a range or an
    address."""
    if len("".join(groups)) < FEWEST_DIGITS:
        return False
    if groups[0][0] == "0" or found.string[max(0, found.start() - 1) : found.start()] in ("+", "("):
        return True
    if len(groups) == 1 or any(len(group) == 4 and group[:2] in _CENTURIES for group in groups):
        return False
    if set(_DIGITS.sub("", found[0])) == {"-"}:
        return True
    return len({*map(len, groups)}) == 1 and len(groups[0]) > 2 and "." not in found[0]


def _of_year_last(groups: Sequence[str], written: str) -> tuple[str, str]:
    """A date with the year last. With slashes and hyphens some write the month first: only a number above 12 is surely
    a day."""
    first, second, _ = groups
    if "." in written or int(first) > MONTHS:
        return first, second
    return (second, first) if int(second) > MONTHS or int(first) == int(second) else ("", "")


def _date(kind: str, groups: Sequence[str], written: str) -> Iterator[Figure]:
    if kind == "year_last":
        day, month = _of_year_last(groups, written)
    elif kind == "day_first":
        day, month = groups[:2]
    else:
        month, day = groups[-2:]
    if day and 0 < int(day) <= MOST_DAYS and 0 < int(month) <= MONTHS:
        yield Figure((day, month), (_date_term(int(month), int(day)),), day=day, month=month)


def _date_term(month: int, day: int) -> str:
    return f"{month:02}-{day:02}"  # no word has a hyphen
