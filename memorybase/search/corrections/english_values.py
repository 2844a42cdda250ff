"""The values that an English sentence states: numbers, dates, times, percentages and names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorybase.search.corrections.values import Found, Kind

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
# In this order: what one pattern has found is no number for those after it. The first lookahead of a pattern spares
# most positions the alternatives: ten messages are read in each search.
_PATTERNS: dict[Kind, re.Pattern[str]] = {
    "time": re.compile(
        r"\b\d{1,2}:\d\d(?: ?[ap]\.?m\b)?|\b\d{1,2} ?[ap]\.?m\b|\b\d{1,2} o'clock|\bhalf past \w+"
        r"|\bquarter (?:to|past) \w+",
        re.IGNORECASE,
    ),
    "date": re.compile(
        rf"\b(?=[\dadfjmnostw])(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?!\d){_YEAR}"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b{_YEAR}"
        rf"|\d{{4}}-\d\d-\d\d\b|\d{{1,2}}(?:st|nd|rd|th)\b|(?<!last )(?<!this ){_WEEKDAY}\b)",
        re.IGNORECASE,
    ),
    "percent": re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:%|percent\b)"),
    # No year, and no part of a version, a fraction or an expression. "One" is seldom a number.
    "number": re.compile(
        r"(?=[\d$€£])(?<![\w.,/^])[$€£]?(?!(?:19|20)\d\d\b)(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![,.]?\d)"
        r"(?![\w/^]*[/^\w.]\d)"
        rf"(?: ?(?:ms|s|k|gb|mb|kb|km|kg|h)\b)?(?![%\w])(?!\.\s|\)\s)|\b(?=[efnst])(?:{_WORDS})\b",
        re.IGNORECASE,
    ),
}
_NAME = re.compile(r"(?<=[a-z,0-9] )(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_NO_NAME = re.compile(rf"(?:{_MONTH}|{_WEEKDAY})\b.*", re.IGNORECASE)
_SYMBOL = re.compile(r"^[$€£]|(?<=\d) ?[a-z]+$", re.IGNORECASE)


def values(text: str) -> Iterator[Found]:
    """The values of a sentence."""
    left = text
    for kind, pattern in _PATTERNS.items():
        matches = list(pattern.finditer(left))
        for match in matches:
            symbol = _SYMBOL.search(match[0]) if kind == "number" else None
            yield _found(kind, match, symbol[0].strip().casefold() if symbol else "")
        for match in matches:
            left = f"{left[: match.start()]}{' ' * len(match[0])}{left[match.end() :]}"
    for match in _NAME.finditer(text):
        if not _NO_NAME.fullmatch(match[0]):
            yield _found("name", match)


def _found(kind: Kind, match: re.Match[str], unit: str = "") -> Found:
    return Found(kind, *match.span(), re.sub(r"[,\s]", "", match[0].casefold()), unit)
