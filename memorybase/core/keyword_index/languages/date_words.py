"""The words by which a question names a time in one language, for `search.periods`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FEW = 0  # the number that words such as "a few" stand for in `numbers`


@dataclass(frozen=True, kw_only=True)
class DateWords:
    """Patterns for whole words of folded text. An adjective may stand before or after its noun in any language."""

    today: str
    yesterday: str
    day_before: str  # the day before yesterday
    units: Mapping[str, str]  # hour, day, week, weekend, month, quarter, year
    seasons: tuple[str, str, str, str]  # from spring to winter
    last: str
    this: str
    following: str  # next, every: a word next to it names no time in the past
    since: str
    between: str
    to: str
    both: str  # and
    ago: str
    early: str
    middle: str
    late: str
    on: str  # prepositions of days
    within: str  # prepositions of months and years
    ordinals: tuple[str, str, str, str]  # from first to fourth
    past: str  # shows that a question is about the past: else its weekdays set no date
    generic: str  # what a question says that asks about a time alone: talk, happen, conversation
    not_times: str = "(?!)"  # what has such a word and is no time: "may be"
    ordinal_mark: str = ""  # besides the ordinal of Language: suffixes of the number of a day
    after_year: str = "(?!)"  # a word that may follow the number of a year
    fillers: str = ""  # words between the others, such as articles
    before_last: str = "(?!)"
    since_after: str = "(?!)"  # since, where it stands after its time
    yesterday_or_tomorrow: str = "(?!)"  # yesterday if the question is about the past
    day_before_or_after: str = "(?!)"
    plurals: str = "(?!)"  # units that "last" without a number makes several of
    duals: str = "(?!)"  # units whose form says that there are two
    numbers: str = ""  # "elf=11|ein paar=0": besides those of the language
    ending: str = ""  # what may follow the name of a month or a weekday
    short_months: str = ""  # with a day or a year only
    fortnight: str = "(?!)"
    until_now: str = "(?!)"  # "the past year" is none of the calendar
    months_need_preposition: bool = False
    years_need_preposition: bool = False
    fraction_marks: str = "./"  # between day and month: the point is that of decimal numbers in English
    bare_days: bool = False  # weekdays and seasons need no preposition
    weekday_of_week: bool = False  # "last Tuesday" is that of last week, not the latest one
