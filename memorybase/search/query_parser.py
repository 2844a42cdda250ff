"""Reads a query: its terms, the speakers and dates that it names, and whether it asks for a time or a number. Pure.

Rules, not a model. They know English and the languages of keyword_index/languages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

from memorybase.keyword_index import analyzer as keywords
from memorybase.keyword_index import scripts
from memorybase.keyword_index.analyzer import Asked, Spoken
from memorybase.keyword_index.languages import Language
from memorybase.keyword_index.languages.definition import UNITS
from memorybase.keyword_index.languages.definition import YEAR as YEAR_PATTERN
from memorybase.keyword_index.scripts import normal

DAY = timedelta(days=1)
LEAP_YEAR = 2000
YEAR = timedelta(days=360)


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a query names; `yearly`: without a year, so every year matches."""

    start: datetime
    end: datetime
    yearly: bool = False

    def nearness(self, moment: datetime) -> float:
        """1 for a message in this period, less for soon after it: people talk about a day on the days that follow."""
        if self.yearly:
            if not MINYEAR + 1 < moment.year < MAXYEAR:
                return 0.0
            return max(self._moved(moment.year).nearness(moment), self._moved(moment.year - 1).nearness(moment))
        if self.start - DAY <= moment < self.end + DAY:
            return 1.0 if self.end - self.start < YEAR else 0.2  # a year is a weak hint
        if self.end - self.start >= YEAR:
            return 0.0
        after = moment - self.end
        return 0.0 if after < timedelta(0) else 0.6 if after <= 8 * DAY else 0.3 if after <= 31 * DAY else 0.0

    def _moved(self, year: int) -> Period:
        length = self.end - self.start
        start = a_day(year, self.start.month, self.start.day) or self.start.replace(year=year, day=28)
        return Period(start, start + length)


def a_month(year: int, month: int, *, yearly: bool) -> Period:
    start = datetime(year, month, 1, tzinfo=UTC)
    return Period(start, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC), yearly=yearly)


def a_day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:  # the 31st of June, the 29th of February
        return None


_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "|".join(_MONTHS)
_YEAR = r"(?:19|20)\d\d"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?:,? ({_YEAR})\b)?")
_MONTH_DAY = re.compile(rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? ({_YEAR})\b)?")
_ISO_DAY = re.compile(rf"\b({_YEAR})-(\d{{2}})-(\d{{2}})\b")
# "may" and "march" are verbs too: they count as months only after a preposition or before a year.
_IN_MONTH = re.compile(
    rf"(?:\b(in|of|since|during|early|late|mid|by|until|last|this)[ -])?\b({_MONTH})\b(?:,? (?:of )?({_YEAR})\b)?"
)
_IN_YEAR = re.compile(rf"\b(?:in|of|during|since) ({_YEAR})\b")
_AGO = re.compile(r"\b(\d{1,3}|a|an|one|two|three|four|five|six|few|couple of) (day|week|month|year)s? ago\b")
_LAST = re.compile(rf"\b(last|this|past) (week|weekend|month|year|{'|'.join(_WEEKDAYS)})\b")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3, "couple of": 2}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_ASKS_TIME = re.compile(
    r"^\W*(?:(?:by|from|since|until|till) )?when\b|\b(?:what|which) (?:date|year|month|day|weekday|time)\b|\bhow long\b"
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|often|old|long)\b")
_IS_QUESTION = re.compile(
    r"^\W*(?:what|when|where|which|whom?|whose|why|how|is|are|was|were|do|does|did|have|has|had|can|could|should|would"
    r"|will)\b|[?\u061f\uff1f]\W*$"
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|we|our)\b")
_ASKS_OTHER_SIDE = re.compile(
    r"\b(?:did|have|had|were) you\b"
    r"|(?<!can )(?<!could )(?<!would )(?<!will )(?<!please )\byou (?:recommend|suggest|said|told|mention|gave|explain"
    r"|list|provid|propos|advis|offer|show|describ|wrote)"
)
_ASKS_HELP = re.compile(
    r"\b(?:(?:can|could|would) you|how (?:should|do|can) (?:i|we)|(?:should|shall) (?:i|we)|what (?:\w+ )?should"
    r"|suggest|recommend|show me|explain|help (?:me|us)|i'm|i am|i need)\b"
    r"|^\W*(?:please|add|book|draft|find|make|plan|write)\b"
)
_ASKS_TO_RECALL = re.compile(
    r"\b(?:summar\w*|order|timeline|conversations?|(?:did|have|had) i|i (?:said|told|mentioned|asked))\b"
)
# The first of several events. "My first sprint" and "the first draft" name one of a series, wherever it was mentioned.
_SERIES = (
    r"(?:sprint|draft|name|half|venue|chapter|aid|article|place|version|phase|step|round|weekend|week|day|night|part"
    r"|choice|language)\b"
)
_ASKS_FIRST = re.compile(
    rf"\b(?:my|his|her|their|our|your|\w+'s) (?:very )?first (?!{_SERIES})|\bfirst (?:time|thing)\b"
    r"|\bfirst (?:start|mention|talk|visit|watch|meet|met|went|go|ask|try|tried|see|saw|hear|read|play|join|use|learn)"
    r"|\b(?:originally|in the beginning|at first)\b"
)
_ASKS_LATEST = re.compile(
    r"\b(?:latest|most recent(?:ly)?|newest)\b|\blast (?:time|thing)\b"
    r"|\b(?:my|his|her|their|our|your|\w+'s) last (?!name|night|week|weekend|month|year|summer|winter|spring|autumn"
    r"|fall|(?:mon|tues|wednes|thurs|fri|satur|sun)day|few|part|chapter|step|one|two|three)\w+"
)
_ASKS_ORDER = re.compile(
    r"\bin (?:what|which) order\b|\bchronolog\w+|\btimeline\b|\bbrought up\b"
    r"|\b(?:list|walk me through|tell me|show me|give me|what is|what was)\b.*\border\b"
)
_WORDS = re.compile(r"[\w\u0900-\u0df3'\u2019-]+")  # Indic vowel signs are no word characters

# What is said without asking for anything, in the languages of keyword search.
_SMALL_TALK = frozenset(
    "hi hello hey hiya yo thanks thank thx ty ok okay yes yeah yep nope bye goodbye good morning evening afternoon "
    "night great nice cool fine sure perfect awesome wow hm hmm lol haha please welcome sorry alright go continue "
    "lot much "
    "hallo danke ja nein bitte guten gute morgen abend tschüss dank wiedersehen bonjour bonsoir salut merci oui non "
    "au revoir hola gracias sí buenos buenas adiós ciao grazie prego buongiorno buonasera buonanotte arrivederci sì "
    "olá oi obrigado obrigada sim bom boa tchau hoi bedankt nee doei goedemorgen goedemiddag goedenavond cześć "
    "dziękuję dzięki dobry dobranoc tak nie merhaba selam teşekkürler teşekkür günaydın evet привет здравствуйте "  # noqa: RUF001
    "спасибо добрый доброе да нет 你好 您好 你好吗 谢谢 谢谢你 谢谢您 多谢 再见 早上好 晚上好 晚安 好的 こんにちは "
    "こんばんは おはよう おはようございます ありがとう ありがとうございます どうもありがとう "
    "どうもありがとうございます さようなら はい いいえ नमस्ते धन्यवाद शुक्रिया مرحبا أهلا شكرا عليكم الخير".split()
)
# Words beside these: alone they are asked for.
_WITH_SMALL_TALK = frozenset(
    "tag nacht vielen herzlichen schönen beaucoup nuit soirée journée bonne muchas días tardes noches dia tarde noite mille "
    "tante goede middag dzień wieczór ederim iyi akşamlar geceler большое огромное день утро вечер जी السلام "
    "صباح مساء جزيلا وسهلا".split()
)

MOST_KEYWORDS = 3
MOST_DECLINED = 50  # words whose other forms are looked up as names; a question is shorter


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed query. `asked` are its stems without speakers' names; `text` is the text to embed.

    A name weighs so much in a sentence vector that every turn of that speaker looks like an answer. So `text` leaves
    names out, and the signal `speaker` counts them.
    """

    asked: Asked
    names: frozenset[str]
    text: str
    asks_time: bool
    asks_number: bool
    asks_other_side: bool  # what the other side said: "What did you suggest?"
    asks_help: bool  # with something now, so that standing wishes matter; not about what was said before
    in_first_person: bool  # true outside English, where the signal is unknown
    is_keywords: bool  # up to three words, each a term or a name: no sentence says what is asked
    is_small_talk: bool  # "hi", "thanks a lot": nothing is asked
    is_question: bool  # by its first word in English, or its mark
    periods: tuple[Period, ...]
    asked_at: datetime
    asks_first: bool = False  # of several events
    asks_latest: bool = False
    asks_order: bool = False  # of what was talked about

    @property
    def terms(self) -> tuple[str, ...]:
        return self.asked.terms


def possible_names(query: str, language: str = keywords.ENGLISH) -> set[str]:
    """The case-folded words that may name a speaker, and what they may be declined from."""
    own = keywords.analyzer(language).of(query)
    found = keywords.name_words(query)
    if own.known is not None:
        words = own.kept(own.words(query))[:MOST_DECLINED]
        found |= {form for word in words for form in keywords.name_forms(word, own.known)}
    return {word for word in found if len(word) > 1}


def parse(query: str, *, language: str, speakers: Collection[str], now: datetime, spoken: Spoken = tuple) -> Question:
    """Parse a query; `speakers` are its words that name a speaker of the flow, `spoken` reads the flow's languages."""
    analyzer = keywords.analyzer(language)
    own = analyzer.of(query)
    names = frozenset(speakers)
    asked = _without_name_terms(analyzer.asked(query, spoken), query, own, names)
    text = _without_names(query, names, own.known)
    if own.known is not None:
        return _foreign(query, own, own.known, asked, names, text, now)
    folded = query.casefold().replace("\u2019", "'")
    asks_other_side = bool(_ASKS_OTHER_SIDE.search(folded))
    periods = tuple(_periods(folded, now))
    return Question(
        asked=asked,
        names=names,
        text=text,
        asks_time=bool(_ASKS_TIME.search(folded)),
        asks_number=bool(_ASKS_NUMBER.search(folded)),
        asks_other_side=asks_other_side,
        asks_help=bool(_ASKS_HELP.search(folded)) and not asks_other_side and not _ASKS_TO_RECALL.search(folded),
        in_first_person=bool(_FIRST_PERSON.search(folded)),
        is_keywords=_is_keywords(query, own),
        is_small_talk=_is_small_talk(query, own),
        is_question=bool(_IS_QUESTION.search(query.casefold())),
        periods=periods,
        asked_at=now,
        asks_first=not periods and bool(_ASKS_FIRST.search(folded)),
        asks_latest=not periods and bool(_ASKS_LATEST.search(folded)),
        asks_order=bool(_ASKS_ORDER.search(folded)),
    )


def is_question(text: str, language: str) -> bool:
    """Whether a sentence asks, by its mark, or by its form in the languages that show it."""
    if _IS_QUESTION.search(text.casefold()):
        return True
    known = keywords.analyzer(language).of(text).known
    return known is not None and known.unmarked_question.search(known.folded(normal(text))) is not None


def is_small_talk(text: str, language: str) -> bool:
    """Whether a sentence asks for nothing: "hi", "thanks a lot"."""
    return _is_small_talk(text, keywords.analyzer(language).of(text))


def asks_order(query: str, language: str) -> bool:
    """Whether the query asks in which order topics came up."""
    known = keywords.analyzer(language).of(query).known
    if known is not None and known.questions["asks_order"].search(known.folded(normal(query))):
        return True
    return _ASKS_ORDER.search(query.casefold()) is not None


def _foreign(
    query: str,
    own: keywords.Analyzer,
    language: Language,
    asked: Asked,
    names: frozenset[str],
    text: str,
    now: datetime,
) -> Question:
    """A question in another language. Its help and first person are not recognized: those signals know English."""
    folded = language.folded(normal(query))
    asks = {name for name, pattern in language.questions.items() if pattern.search(folded)}
    periods = tuple(_foreign_periods(folded, language, now))
    return Question(
        asked=asked,
        names=names,
        text=text,
        asks_time="asks_time" in asks,
        asks_number="asks_number" in asks,
        asks_other_side="asks_other_side" in asks,
        asks_help=False,
        in_first_person=True,
        is_keywords=_is_keywords(query, own),
        is_small_talk=_is_small_talk(query, own),
        is_question=bool(_IS_QUESTION.search(query.casefold())),
        periods=periods,
        asked_at=now,
        asks_first=not periods and "asks_first" in asks,
        asks_latest=not periods and "asks_latest" in asks,
        asks_order="asks_order" in asks,
    )


def _is_keywords(query: str, own: keywords.Analyzer) -> bool:
    return 0 < len(own.asked_words(query)) == len(own.words(query)) <= MOST_KEYWORDS


def _is_small_talk(query: str, own: keywords.Analyzer) -> bool:
    kept = own.kept(own.words(query))
    if scripts.has_unspaced(query):  # as a whole: pairs of its characters are in other words too
        kept = scripts.WORD.findall(query.casefold())
    return not _SMALL_TALK.isdisjoint(kept) and _SMALL_TALK.union(_WITH_SMALL_TALK).issuperset(kept)


def _without_name_terms(asked: Asked, query: str, own: keywords.Analyzer, names: Collection[str]) -> Asked:
    if not names:
        return asked
    named = [word for word in own.words(query) if keywords.name_forms(word, own.known) & set(names)]
    name_terms = {*own.terms(" ".join(names)), *own.stems(named)}
    return replace(asked, terms=tuple(term for term in asked.terms if term not in name_terms))


def _without_names(query: str, names: Collection[str], language: Language | None) -> str:
    words = _WORDS.findall(query)
    kept = [word for word in words if not _is_name(word, names, language)]
    return " ".join(kept) if 1 < len(kept) < len(words) else query


def _is_name(word: str, names: Collection[str], language: Language | None) -> bool:
    if language is not None:
        return not possible_names(word, language.name).isdisjoint(names)
    return word.casefold().replace("\u2019", "'").removesuffix("'s") in names


def _periods(query: str, now: datetime) -> Iterator[Period]:
    """Every period of the most exact kind that the query names."""
    for kind in (_days, _months, _years, _relative):
        found = [period for period in kind(query, now) if period is not None]
        if found:
            yield from found
            return


def _days(query: str, _now: datetime) -> Iterator[Period | None]:
    dates = [(year, _MONTHS.index(month) + 1, day) for day, month, year in _DAY_MONTH.findall(query)]
    dates += [(year, _MONTHS.index(month) + 1, day) for month, day, year in _MONTH_DAY.findall(query)]
    dates += [(year, int(month), day) for year, month, day in _ISO_DAY.findall(query)]
    for year, month, day in dates:
        start = a_day(int(year or LEAP_YEAR), month, int(day))
        yield Period(start, start + DAY, yearly=not year) if start else None


def _months(query: str, _now: datetime) -> Iterator[Period | None]:
    for before, month, year in _IN_MONTH.findall(query):
        if before or year:
            yield a_month(int(year or LEAP_YEAR), _MONTHS.index(month) + 1, yearly=not year)


def _years(query: str, _now: datetime) -> Iterator[Period | None]:
    for year in map(int, _IN_YEAR.findall(query)):
        yield Period(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _relative(query: str, now: datetime) -> Iterator[Period | None]:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if re.search(r"\btoday\b|\bthis morning\b|\btonight\b", query):
        yield Period(today, today + DAY)
    if re.search(r"\byesterday\b|\blast night\b", query):
        yield Period(today - DAY, today)
    for amount, unit in _AGO.findall(query):
        length = timedelta(days=_UNIT_DAYS[unit])
        middle = today - (_NUMBERS.get(amount) or int(amount)) * length
        yield Period(middle - length / 2, middle + length / 2)
    for which, unit in _LAST.findall(query):
        yield _last(today, which, unit)


def _last(today: datetime, which: str, unit: str) -> Period:
    monday = today - today.weekday() * DAY
    back = 0 if which == "this" else 1
    if unit in _WEEKDAYS:
        day = monday + _WEEKDAYS.index(unit) * DAY
        day -= 7 * DAY if day >= today else timedelta(0)
        return Period(day, day + DAY)
    if unit == "week":
        return Period(monday - 7 * back * DAY, monday + (7 - 7 * back) * DAY)
    if unit == "weekend":
        saturday = monday + (5 - 7 * back) * DAY
        return Period(saturday, saturday + 2 * DAY)
    if unit == "month":
        return a_month(
            (today.replace(day=1) - back * DAY).year, (today.replace(day=1) - back * DAY).month, yearly=False
        )
    start = datetime(today.year - back, 1, 1, tzinfo=UTC)
    return Period(start, start + YEAR - DAY)


# Numbers alone: the day first, as in all of these languages; or ISO 8601.
_NUMERIC_DAY = re.compile(rf"(?<!\d)(\d{{1,2}})[./](\d{{1,2}})[./]({YEAR_PATTERN})(?!\d)")
_FOREIGN_ISO_DAY = re.compile(rf"(?<!\d)({YEAR_PATTERN})-(\d{{2}})-(\d{{2}})(?!\d)")
_FOREIGN_YEAR = re.compile(rf"(?<!\d){YEAR_PATTERN}(?!\d)")
_FOREIGN_UNIT_DAYS = dict(zip(UNITS, (1, 7, 30, 365), strict=True))


def _foreign_periods(query: str, language: Language, now: datetime) -> Iterator[Period]:
    """Every period of the most exact kind that the folded query names."""
    found = (
        [*_foreign_days(query, language)]
        or [*_foreign_months(query, language)]
        or [*_foreign_relative(query, language, now)]
    )
    yield from found or _foreign_years(query)


def _foreign_days(query: str, language: Language) -> Iterator[Period]:
    dates = [(year, int(month), day) for day, month, year in _NUMERIC_DAY.findall(query)]
    dates += [(year, int(month), day) for year, month, day in _FOREIGN_ISO_DAY.findall(query)]
    dates += [
        (found["year"], _month_of(found, language), found["day"]) for found in _named_dates(query, language, day=True)
    ]
    for year, month, day in dates:
        start = a_day(int(year or LEAP_YEAR), month, int(day))
        if start is not None:
            yield Period(start, start + DAY, yearly=not year)


def _foreign_months(query: str, language: Language) -> Iterator[Period]:
    for found in _named_dates(query, language, day=False):
        month, year = _month_of(found, language), found["year"]
        if 1 <= month <= len(language.months.split() or range(12)):
            yield a_month(int(year or LEAP_YEAR), month, yearly=not year)


def _named_dates(query: str, language: Language, *, day: bool) -> list[re.Match[str]]:
    return [found for found in language.day_and_month.finditer(query) if bool(found["day"]) == day]


def _month_of(found: re.Match[str], language: Language) -> int:
    return language.month_numbers.get(found["month"]) or int(found["month"])


def _foreign_years(query: str) -> Iterator[Period]:
    for year in map(int, _FOREIGN_YEAR.findall(query)):
        yield Period(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _foreign_relative(query: str, language: Language, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    asks = {name for name, pattern in language.questions.items() if pattern.search(query)}
    for name, day in (("today", today), ("yesterday", today - DAY)):
        if name in asks:
            yield Period(day, day + DAY)
    yield from _foreign_weeks(query, language, today, asks)
    for which, unit in (("last", "month"), ("this", "month"), ("last", "year"), ("this", "year")):
        if f"{which}_{unit}" in asks:
            yield _last(today, which, unit)
    yield from _foreign_ago(query, language, today)


def _foreign_weeks(query: str, language: Language, today: datetime, asks: Collection[str]) -> Iterator[Period]:
    """Weeks, their weekdays ("Tuesday of last week"), and else weekdays that are over ("last Tuesday")."""
    monday = today - today.weekday() * DAY
    weeks = [monday - back * DAY for name, back in (("last_week", 7), ("this_week", 0)) if name in asks]
    named = [*language.weekdays_named.finditer(query)]
    for found in named:
        number = language.weekday_numbers[found["past"] or found["passed"] or found["weekday"]]
        yield from (Period(week + number * DAY, week + (number + 1) * DAY) for week in weeks)
        if not weeks and not found["weekday"]:
            yield _last(today, "last", _WEEKDAYS[number])
    if not named:
        yield from (Period(week, week + 7 * DAY) for week in weeks)


def _foreign_ago(query: str, language: Language, today: datetime) -> Iterator[Period]:
    for found in language.time_ago.finditer(query):
        number = found["n"]
        amount = language.amounts_of_units.get(found["unit"])
        if number:
            amount = language.amounts.get(number) or int(number)
        if amount is not None:
            length = timedelta(days=next(days for name, days in _FOREIGN_UNIT_DAYS.items() if found[name]))
            middle = today - amount * length
            yield Period(middle - length / 2, middle + length / 2)
