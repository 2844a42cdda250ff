"""The values that a sentence states: numbers (also of telephones), dates, times, percentages and, in English, names.
Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from memorybase.core.keyword_index.languages import ENGLISH, LANGUAGES, Language
from memorybase.core.keyword_index.languages.definition import MARKS, YEAR, one_of
from memorybase.core.search.corrections import Kind


class Found(NamedTuple):
    """A value in `text[start:end]`. `key` is equal for the same value; `unit` is written together with a number."""

    kind: Kind
    start: int
    end: int
    key: str
    unit: str = ""


PHONE = "phone"  # the unit of a telephone number
_PHONE_DIGITS = range(7, 16)
# Begins with + or 0, or has the groups of a common national form; no date.
_PHONE = re.compile(
    r"(?=[+(\d])(?<![A-Za-z\d.,:/+-])(?!\d{1,2}([./-])\d{1,2}\1\d{2,4}(?![./-]?\d))"
    r"(?:\+\(?\d+(?:[ ./()-]{1,3}\d{2,})*|\(?[0\u0660\u06f0\u0966]\d+(?:[ ./()-]{1,3}\d{2,})*(?:-\d)?"
    r"|(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}|\d{3}[-.]\d{4}|1\d\d([- ])\d{4}\2\d{4}|\d{3} \d{3} \d{3}"
    r"|8[ -]\(?\d{3}\)?[ -]\d{3}-?\d\d-?\d\d)"
    r"(?![A-Za-z\d%:]|[.,/-]\d)"
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_YEAR = r"(?:,? (?:19|20)\d\d\b)?"
_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).replace(" ", "|")
# The first lookahead of a pattern spares most positions the alternatives: ten messages are read in each search.
_ENGLISH: dict[Kind, re.Pattern[str]] = {
    "time": re.compile(
        r"\b\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]\.?m\b|\b\d{1,2} o'clock|\bhalf past \w+"
        r"|\bquarter (?:to|past) \w+"
    ),
    "date": re.compile(
        rf"\b(?=[\dadfjmnostw])(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?!\d){_YEAR}|\d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d\d\b"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b{_YEAR}"
        rf"|\d{{4}}-\d\d-\d\d\b|\d{{1,2}}(?:st|nd|rd|th)\b|(?<!last )(?<!this ){_WEEKDAY}\b)"
    ),
    "percent": re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:%|percent\b)"),
    # No year, and no part of a version, a fraction or an expression. "One" is seldom a number.
    "number": re.compile(
        r"(?=[\d$€£])(?<![\w.,/^])(?P<currency>[$€£])?(?!(?:19|20)\d\d\b)(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![,.]?\d)"
        r"(?![\w/^]*[/^\w.]\d)"
        rf"(?: ?(?P<symbol>ms|s|k|gb|mb|kb|km|kg|h)\b)?(?![%\w])(?!\.\s|\)\s)|\b(?=[efnst])(?:{_WORDS})\b"
    ),
}
_NAME = re.compile(r"(?<=[a-z,0-9] )(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_NO_NAME = re.compile(rf"(?:{_MONTH}|{_WEEKDAY})\b.*", re.IGNORECASE)
_SPACES = re.compile(r"[,\s]")
_ENGLISH_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(?: ?([ap])\.?m)?(?: o'clock)?")
_ENGLISH_DAY = re.compile(r"\d{1,2}(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_DIGITS = r"(?:\d{1,3}(?:[., \u066c]\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}|\d+)(?:[.,\u066b]\d+)?"
_SHARE = r"\d+(?:[.,\u066b]\d+)?"
_TIME = r"(?<![\d.,:])\d{1,2}(?:[:.]\d\d)?(?![\d%])"
_PLAIN_TIME = r"(?<![\d.,:])\d{1,2}:\d\d(?![\d:])"
_CURRENCY = "[$\u20ac\u00a3\u00a5\u20bd\u20ba\u20b9]"
_SYMBOL = rf"{_CURRENCY}|(?:ms|s|k|gb|mb|kb|km|kg|h|tl|z\u0142)(?![\w'])"
# A unit that is not known: the next character, if it is Chinese and no particle.
_ANY_COUNTER = r"(?![\u4e86\u7684\u5417\u5462\u5427\u662f\u548c\u5230\u5728\u53f7\u865f])[\u3400-\u4dbf\u4e00-\u9fff]"
_TENS = "\u5341"
_CJK_DIGITS = "\u4e8c\u4e24\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341"  # without one, which is an article
_HALF = "\u534a"
_TIMES = {"\u767e": 100, "\u5343": 1_000, "\u4e07": 10_000, "\u4ebf": 100_000_000, "\u5104": 100_000_000}
# A comma or point before three digits separates thousands, or two before three in India; others separate decimals.
_THOUSANDS = re.compile(r"[., \u066c](?=(?:\d\d,)*\d{3}(?!\d))")
_ISO = re.compile(rf"(?<![\w-]){YEAR}-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
# The day first. Without a year "3/4" and "3.4" are fractions.
_NUMERIC = re.compile(
    rf"(?<![\w.,/-])(?P<day>\d{{1,2}})(?:(?P<mark>[./-])(?P<month>\d{{1,2}})(?:(?P=mark){YEAR}(?!\d)|(?<=\.\d\d)\.(?!\d))"
    r"|(?<=\d\d)/(?P<slashed>0[1-9]|1[0-2])(?![\d/]))"
)
_DAY_KEY = re.compile(r"(\d*)-(\d+)(?:-(\d+))?")
_TIME_KEY = re.compile(r"(\?)?(\d+):(\d\d)")
_CUT_DAY = re.compile(r"(?<!\d)\d{1,2}\.$")
_FIRST_WORD = re.compile(r"\w+")

_Key = Callable[[re.Match[str], Language], str | None]


def values_in(text: str, language: Language) -> Iterator[Found]:
    """The values of a sentence, in normal form KC unless it is English.

    Keys are equal for the same value: "1.500,50" and "1500,5", "17. Oktober" and "17.10.2024", "14 Uhr" and "14:00". A
    year does not distinguish days, and morning and afternoon do not distinguish hours: too few corrections are found
    rather than wrong ones.
    """
    left = language.folded(text)
    position = _positions(text, left, language)
    for phone in _phones(left):
        left = _without(left, phone.start, phone.end)
        yield phone._replace(start=position[phone.start], end=position[phone.end])
    for kind, pattern, key in _readers(language.name):
        for match in list(pattern.finditer(left)):
            found = key(match, language)
            if found is not None:
                start, end = match.span()
                left = _without(left, start, end)
                yield Found(kind, position[start], position[end], found, _unit(match))
    if language is ENGLISH:
        for match in _NAME.finditer(text):
            if not _NO_NAME.fullmatch(match[0]):
                yield Found("name", *match.span(), _as_written(match, language))


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start]}{' ' * (end - start)}{text[end:]}"


def _phones(text: str) -> list[Found]:
    matches = ((match, _digits(match[0])) for match in _PHONE.finditer(text))
    return [Found("number", *match.span(), key, PHONE) for match, key in matches if len(key) in _PHONE_DIGITS]


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(each)) for each in text if each.isdecimal())


def _as_written(match: re.Match[str], _language: Language) -> str:
    return _SPACES.sub("", match[0].casefold())


def _english_date(match: re.Match[str], _language: Language) -> str:
    """The date in the format of other languages, with the year if it is written."""
    text = match[0]
    iso = _ISO.search(text)
    if iso is not None:
        return f"{int(iso['month'])}-{int(iso['day'])}-{text[:4]}"
    year = re.search(rf"{YEAR}$", text)
    month = next((number for number, name in enumerate(_MONTHS, 1) if re.search(rf"\b{name}", text)), "")
    day = _ENGLISH_DAY.search(text)
    if day is None:
        return f"weekday {text[:3]}"
    if "." in text:
        month = int(text.split(".")[1])
    return f"{month}-{int(day[0])}" + (f"-{year[0]}" if year else "")


def _english_time(match: re.Match[str], language: Language) -> str:
    """The time on a clock of 24 hours; with "?" if morning and afternoon are not told apart."""
    clock = _ENGLISH_CLOCK.fullmatch(match[0])
    if clock is None:
        return _as_written(match, language)
    hour, minute = int(clock[1]), clock[2] or "00"
    if clock[3]:
        return f"{hour % 12 + 12 * (clock[3] == 'p')}:{minute}"
    return f"{hour}:{minute}" if hour > 12 else f"?{hour % 12}:{minute}"


def is_same(one: str, other: str) -> bool:
    """Whether two keys may mean the same value: "the 17th" may be that of any month, "3 May" that of any year."""
    if one == other:
        return True
    one_day, other_day = _DAY_KEY.fullmatch(one), _DAY_KEY.fullmatch(other)
    if one_day and other_day:
        parts = zip(one_day.groups(""), other_day.groups(""), strict=True)
        return all(part == of_other or not (part and of_other) for part, of_other in parts)
    one_time, other_time = _TIME_KEY.fullmatch(one), _TIME_KEY.fullmatch(other)
    if one_time and other_time and (one_time[1] or other_time[1]):
        return (int(one_time[2]) % 12, one_time[3]) == (int(other_time[2]) % 12, other_time[3])
    return False


def is_cut_date(one: str, following: str, language: Language) -> bool:
    """Whether the first text ends in the day of a month that the second one begins with."""
    word = _FIRST_WORD.match(following)
    is_month = word is not None and language.folded(word[0]) in language.month_numbers
    return is_month and _CUT_DAY.search(one) is not None


def _positions(text: str, folded: str, language: Language) -> Sequence[int]:
    """For each character of the folded text its position in the text: folding drops marks and doubles letters."""
    if len(text) == len(folded):
        return range(len(text) + 1)
    found = [number for number, character in enumerate(text) for _ in language.folded(character)]
    return [*found, len(text)]


def _unit(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return next(filter(None, (groups.get(name) for name in ("currency", "symbol", "counter"))), "")


@lru_cache
def _readers(name: str) -> tuple[tuple[Kind, re.Pattern[str], _Key], ...]:
    """The patterns of a language, in this order: what one has found is no value for those after it."""
    language = LANGUAGES[name]
    if language is ENGLISH:
        keys = {"time": _english_time, "date": _english_date, "percent": _as_written, "number": _as_written}
        return tuple((kind, pattern, keys[kind]) for kind, pattern in _ENGLISH.items())
    return (
        ("date", _ISO, _day_of_month),
        ("date", _NUMERIC, _day_of_month),
        ("date", language.day_and_month, _named_day),
        ("percent", _percentages(language), _share),
        ("time", _times(language), _hour),
        ("date", _days_alone(language), _day_alone),
        ("date", language.weekdays_named, _weekday),
        ("number", _numbers(language), _number),
    )


def _percentages(language: Language) -> re.Pattern[str]:
    share = rf"(?<![\w.,]){_SHARE}" if language.has_spaces else rf"(?<![\d.,]){_SHARE}"
    return re.compile(rf"{share} ?[%\u066a]|{language.whole(language.percent.replace('{n}', share))}")


def _times(language: Language) -> re.Pattern[str]:
    return re.compile(rf"{language.whole(language.clock.replace('{t}', _TIME))}|{_PLAIN_TIME}")


def _days_alone(language: Language) -> re.Pattern[str]:
    return re.compile(language.whole(language.day_alone.replace("{d}", r"(?<!\d)\d{1,2}")))


def _numbers(language: Language) -> re.Pattern[str]:
    if not language.has_spaces:
        counters, times = f"(?:{language.counters})", "".join(_TIMES)
        year = rf"(?!{YEAR}(?:\u5e74|(?!\d)(?! ?{counters})))"
        return re.compile(
            rf"(?<![\d.,/^A-Za-z\u7b2c])(?P<currency>{_CURRENCY})?{year}(?P<digits>{_DIGITS})(?![.,:/]?\d)"
            rf"(?! ?[%\u6708])(?P<times>[{times}])?(?: ?(?P<symbol>{counters}|{_SYMBOL}|{_ANY_COUNTER}))?(?![A-Za-z])"
            rf"|(?<![\u7b2c\u4e00{_CJK_DIGITS}{times}])(?P<word>[{_CJK_DIGITS}]{{1,3}})(?P<word_times>[{times}])?"
            rf"(?P<counter>{counters})"
        )
    words = one_of(language.clear_amounts)
    return re.compile(
        rf"(?<![\w.,/^{MARKS}])(?<!\d:)(?P<currency>{_CURRENCY})?(?!{YEAR}(?!\d))(?P<digits>{_DIGITS})(?![.,:/]?\d)"
        rf"(?: ?(?P<symbol>{_SYMBOL}))?(?![%\w])(?!(?<!\d\d\d)\.\s+\w|\)\s)|(?P<word>{language.whole(words)})"
    )


def _day_of_month(match: re.Match[str], _language: Language) -> str | None:
    month = match["month"] or match["slashed"]
    return _date(int(month), int(match["day"]))


def _named_day(match: re.Match[str], language: Language) -> str | None:
    month = language.month_numbers.get(match["month"]) or int(match["month"])
    return _date(month, int(match["day"])) if match["day"] else None


def _date(month: int, day: int) -> str | None:
    return f"{month}-{day}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _day_alone(match: re.Match[str], _language: Language) -> str | None:
    day = _first_number(match[0])
    return f"-{day}" if 1 <= day <= 31 else None


def _weekday(match: re.Match[str], language: Language) -> str | None:
    """None for a day that is over."""
    name = match["weekday"]
    return f"weekday {language.weekday_numbers[name]}" if name else None


def _hour(match: re.Match[str], language: Language) -> str | None:
    numbers = [int(number) for number in re.findall(r"\d+", match[0])]
    numbers = numbers or [_amount_in(match[0], language)]
    minute = 30 if _HALF in match[0] else (numbers[1] if len(numbers) > 1 else 0)
    return f"{numbers[0] % 12}:{minute:02}" if numbers[0] <= 24 and minute < 60 else None


def _share(match: re.Match[str], language: Language) -> str | None:
    digits = re.search(_SHARE, match[0])
    return f"{_plain(digits[0]) if digits else _amount_in(match[0], language)}%"


def _number(match: re.Match[str], language: Language) -> str | None:
    if match["digits"]:
        number = _plain(match["digits"])
    else:
        amount = _amount(match["word"], language)
        if amount < 2:
            return None
        number = str(amount)
    groups = match.groupdict()
    times = _TIMES.get(groups.get("times") or groups.get("word_times") or "", 1)
    return _without_zeros(f"{Decimal(number) * times:f}") + _unit(match)


def _amount(word: str, language: Language) -> int:
    """The number that a word says; two tens and three for Chinese and Japanese."""
    if word in language.amounts or _TENS not in word:
        return language.amounts.get(word, 0)
    tens, _, ones = word.partition(_TENS)
    return language.amounts.get(tens, 1) * 10 + language.amounts.get(ones, 0)


def _amount_in(text: str, language: Language) -> int:
    """The first number written in Chinese or Japanese characters."""
    word = re.search(f"[{''.join(language.amounts)}]+", text)
    return _amount(word[0], language) if word else 0


def _first_number(text: str) -> int:
    digits = re.search(r"\d+", text)
    return int(digits[0]) if digits else 0


def _plain(digits: str) -> str:
    """A written number without its thousands' separators, with a decimal point."""
    ascii_digits = "".join(str(unicodedata.digit(each, each)) for each in digits)
    return _without_zeros(re.sub("[,\u066b]", ".", _THOUSANDS.sub("", ascii_digits)))


def _without_zeros(plain: str) -> str:
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
