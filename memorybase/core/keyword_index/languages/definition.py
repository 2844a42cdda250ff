"""The rules of a language for the analyzer and the query parser, compiled to patterns. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from memorybase.core.keyword_index.languages.date_words import DateWords
from memorybase.core.keyword_index.scripts import normal, without_marks

YEAR = r"(?:19|20)\d\d"
NEVER = re.compile(r"(?!)")
ALWAYS = re.compile("")
UNIT_WORDS = 3
SUPPOSING_CHARS = 6  # before the "if" of a sentence that begins with one: "und wenn"
# Vowel signs of Indic scripts and Arabic marks are no word characters for `re`, so \b would be inside words.
MARKS = "\u064b-\u0652\u0900-\u0963\u0966-\u0df4"
BEFORE, AFTER = rf"(?<![\w{MARKS}])", rf"(?![\w{MARKS}])"


def one_of(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first."""
    return "(?:" + "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) + ")"


class AboutTopic(NamedTuple):
    """A language's way to say "about" something: a pattern before or after the topic, and the words for "about me"."""

    marker: re.Pattern[str]
    is_before: bool
    me: str


def about(form: str, *, has_spaces: bool = True) -> AboutTopic:
    """The topic's pattern from a form such as "about {topic}=about me"."""
    said, me = form.rsplit("=", 1)
    before, after = said.split("{topic}")
    if has_spaces:
        before, after = before and rf"(?:^|(?<= )){before}", after and rf"{after}(?= |$)"
    return AboutTopic(re.compile(before or after), bool(before), me)


@dataclass(frozen=True)
class Language:
    """One language. All words are case-folded; patterns are regular expressions for folded text.

    Words between white space stand for one another if a slash joins them: "januar/jänner" is one month.
    """

    name: str  # Snowball's, or the language's where text has no spaces
    code: str  # ISO 639-1
    stop_words: str
    months: str  # twelve
    weekdays: str
    numbers: str  # "zwei=2"; those that can be counted back from a day
    times: str  # a pattern for further words that tell a time: yesterday, last week
    asks_time: str
    asks_number: str
    asks_about_person: str  # a whole sentence that asks for all that is known of the speaker; {any}: words before it
    about_topics: tuple[str, ...]  # "about {topic}" in such a sentence, and after "=" how "about me" is said there
    area_of_life: str  # a topic that everybody has something to say of: "my job", "my family", not "my boat"
    lasting: str  # the speaker tells of what lasts: I am, I live, my office is, always
    first_person: str  # words such as I, my, we; verbs too where they say it
    asks_other_side: str  # what the other side said: "what did you suggest"
    asks_first: str  # of several events
    asks_latest: str
    asks_order: str  # of what was talked about
    asks_what: str  # "what is the budget": for any value
    asks_otherwise: str  # about the past, for a comparison or for advice, so that a later value is no correction
    tells_change: str  # words such as now or instead
    tells_return: str  # words such as again or back
    denies: str  # in a clause: not, never, no
    supposes: str  # in a clause: if, whether, would, perhaps
    conjunctions: str  # that begin a clause
    percent: str  # with {n} for the number; "%" is known
    day_alone: str  # with {d} for the day of a month that is not named
    past_day: str  # before or after a weekday that is over: it sets no date
    clock: str  # with {t} for the time; "14:30" is known
    dates: DateWords
    weak: str = ""  # stop words that other languages use too: they hardly show the language
    hints: str = ""  # words for times and the like that no other language has: short questions have few stop words
    letters: str = ""  # that few languages have
    ordinal: str = ""  # a pattern after the number of a day
    of: str = ""  # a pattern between day, month and year
    elided: str = ""  # words before an apostrophe that are no part of the word after it
    folds: Mapping[str, str] = field(default_factory=dict)  # characters written in several ways
    is_word_before_apostrophe: bool = False  # what follows it is an ending
    has_spaces: bool = True
    has_own_script: bool = False  # so even one word shows the language
    name_endings: Mapping[str, str] = field(default_factory=dict)  # of a declined name, to the ending of its basic form
    asks: str = ""  # a pattern for questions that have no question mark
    weekday_forms: str = ""  # seven, in the order of the weekdays: further ones, which statements have
    unclear: str = ""  # numbers and weekdays that are more often other words
    counted: str = ""  # in a question; its group is what is counted
    counters: str = ""  # a pattern for what is written together with a number, where text has no spaces
    # What only some languages tell apart. Without a pattern nothing is recognized, or the field named here counts.
    asks_help: str = ""
    asks_to_recall: str = ""
    other_side_of_topic: str = ""  # asks_other_side, of a question about a topic
    seeks_date: str = ""  # asks_time, of a value that a later one may correct
    seeks_amount: str = ""  # asks_number, likewise
    seeks_percent: str = ""
    seeks_name: str = ""
    corrects_other_side: bool = False  # a question for what the other side said may be for a value of the speaker's
    denies_change: str = ""  # denies, of a change: "did not move", "plan to move"
    begins_supposing: str = ""  # supposes, at the beginning of a sentence
    begins_asking: str = ""  # of sentences whose question mark makes them questions; without it all are
    given: str = ""  # in a question: what it says is so, as in "since"
    joining: str = ""  # conjunctions between what is said or supposed as one
    capital_begins_clause: bool = True  # a conjunction with a capital begins a clause too
    compounds_are_words: bool = False  # a word with hyphens is no name though a part of it is one: "self-care"
    sentence_ends: str = r"(?<!\d)\.\s+|[;!?\u061f]\s*|[\u3002\u0964]\s*"
    question_end: str = r"[?\u061f]\W*$"
    denies_by_words: bool = False  # texts that deny by other words say other things
    omits_quotations: bool = False  # quotations state nothing, and values are shown as they were written
    lasting_names: str = ""  # lasting, where a capital shows it: for text that is not folded
    tells_own_change: str = ""  # tells_change, of what a person says about themselves
    not_alone: str = ""  # names of months and days that tell no time by themselves
    year_alone: str = rf"(?<!\d){YEAR}(?!\d)"
    digits_alone: str = r"\d"
    # After a number, in any script: vowel signs of Indic scripts are no word characters.
    unit: str = r"[^\s\d!-/:-@\[-`{-~\u00ab\u00bb\u060c\u061b\u061f\u0964\u201c-\u201e]{2,}"
    further_numbers: str = ""  # a pattern for words that tell a number and are none

    def folded(self, text: str) -> str:
        """A text in normal form C as the words of this language are compared: lower case, one spelling."""
        text = without_marks(text)
        if self.folds:
            text = text.translate(self._translation)
        return text.casefold()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.folded(self.stop_words).split())

    @cached_property
    def _translation(self) -> dict[int, str]:
        return str.maketrans(dict(self.folds))

    @cached_property
    def elisions(self) -> frozenset[str]:
        return frozenset(self.elided.split())

    @cached_property
    def month_numbers(self) -> dict[str, int]:
        return {
            name: number
            for number, month in enumerate(self.months.split(), 1)
            for name in self.folded(month).split("/")
        }

    @cached_property
    def weekday_numbers(self) -> dict[str, int]:
        groups = [*enumerate(self.weekdays.split()), *enumerate(self.weekday_forms.split())]
        return {name: number for number, names in groups for name in self.folded(names).split("/")}

    @cached_property
    def amounts(self) -> dict[str, int]:
        return self._numbers_of(self.numbers)

    @cached_property
    def clear_amounts(self) -> dict[str, int]:
        """The amounts without words that mostly mean something else, such as articles."""
        return {
            word: amount for word, amount in self.amounts.items() if amount > 1 and word not in self.unclear.split()
        }

    def _numbers_of(self, pairs: str) -> dict[str, int]:
        return {word: int(value) for word, value in (pair.split("=") for pair in self.folded(pairs).split())}

    @cached_property
    def tells_time(self) -> re.Pattern[str]:
        names = {*self.month_numbers, *self.weekdays.replace("/", " ").split()}.difference(self.not_alone.split())
        start = r"\b" if self.has_spaces else ""  # every message is searched for it, and \b alone spares most positions
        return re.compile(rf"{start}{self.whole(self.times, *sorted(names))}|{self.year_alone}")

    @cached_property
    def tells_number(self) -> re.Pattern[str]:
        return re.compile(rf"{self.digits_alone}|{self.whole(*self.amounts, self.further_numbers)}")

    @cached_property
    def questions(self) -> Mapping[str, re.Pattern[str]]:
        """Patterns by what they recognize in a question."""
        names = (
            "asks_time",
            "asks_number",
            "asks_other_side",
            "asks_help",
            "asks_to_recall",
            "asks_first",
            "asks_latest",
            "asks_order",
        )
        return {name: self._pattern(getattr(self, name)) for name in names}

    @cached_property
    def seeking(self) -> Mapping[str, re.Pattern[str]]:
        """Patterns by the values that a question seeks, and of questions whose answer no later value corrects."""
        other_side = "" if self.corrects_other_side else self.asks_other_side
        return {
            "otherwise": re.compile(self.whole(self.asks_otherwise, other_side)),
            "percent": self._pattern(self.seeks_percent),
            "date": self._pattern(self.seeks_date or self.asks_time),
            "amount": self._pattern(self.seeks_amount or self.asks_number),
            "name": self._pattern(self.seeks_name),
            "any": self._pattern(self.asks_what),
        }

    def question_kinds(self, query: str) -> set[str]:
        """The kinds of questions that a query is, by name."""
        return self._found(self.questions, query)

    def sought_kinds(self, query: str) -> set[str]:
        """What a query seeks, by name."""
        return self._found(self.seeking, query)

    def _found(self, patterns: Mapping[str, re.Pattern[str]], query: str) -> set[str]:
        read = self.read(query)
        return {name for name, pattern in patterns.items() if pattern.search(read)}

    def read(self, text: str) -> str:
        """Any text as the patterns read it."""
        return self.folded(normal(text))

    def _pattern(self, pattern: str, otherwise: re.Pattern[str] = NEVER) -> re.Pattern[str]:
        return re.compile(self.whole(pattern)) if pattern else otherwise

    @cached_property
    def about_person(self) -> re.Pattern[str]:
        words = r"(?:\S+ ){0,8}?" if self.has_spaces else r".{0,8}?"
        return re.compile(self.in_pattern(self.asks_about_person).replace("{any}", words))

    @cached_property
    def about_topic(self) -> tuple[AboutTopic, ...]:
        return tuple(about(self.in_pattern(form), has_spaces=self.has_spaces) for form in self.about_topics)

    @cached_property
    def area(self) -> re.Pattern[str]:
        return re.compile(self.in_pattern(self.area_of_life))

    @cached_property
    def lasts(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.lasting))

    @cached_property
    def of_speaker(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.first_person))

    @cached_property
    def change(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.tells_change))

    @cached_property
    def return_(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.tells_return))

    @cached_property
    def units(self) -> re.Pattern[str]:
        """The words after a number: "12 conditional probability problems"."""
        return re.compile(rf"[\s-]+({self.unit})" + rf"(?:\s+({self.unit}))?" * (UNIT_WORDS - 1))

    @cached_property
    def own_change(self) -> re.Pattern[str]:
        return self._pattern(self.tells_own_change or self.tells_change)

    @cached_property
    def names_that_last(self) -> re.Pattern[str]:
        return self._pattern(self.lasting_names)

    @cached_property
    def side_of_topic(self) -> re.Pattern[str]:
        return self._pattern(self.other_side_of_topic or self.asks_other_side)

    @cached_property
    def _denial(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.denies))

    def denials(self, text: str) -> frozenset[str]:
        """By what words a text denies, or that it does, where the forms of one word differ."""
        found = frozenset(match[0] for match in self._denial.finditer(self.read(text).replace("_", " ")))
        return found if self.denies_by_words or not found else frozenset(("",))

    @cached_property
    def denial_of_change(self) -> re.Pattern[str]:
        return self._pattern(self.denies_change or self.denies)

    @cached_property
    def supposition(self) -> re.Pattern[str]:
        return re.compile(self.whole(self.supposes))

    @cached_property
    def supposing_start(self) -> re.Pattern[str]:
        """A sentence that supposes, though it may begin with a word such as "and"."""
        if self.begins_supposing:
            return re.compile(self.whole(self.begins_supposing))
        return re.compile(rf"^.{{0,{SUPPOSING_CHARS}}}?{self.whole(self.supposes)}", re.DOTALL)

    @cached_property
    def asking_start(self) -> re.Pattern[str]:
        return self._pattern(self.begins_asking, ALWAYS)

    @cached_property
    def premise(self) -> re.Pattern[str]:
        return self._pattern(self.given)

    @cached_property
    def ends_of_sentences(self) -> re.Pattern[str]:
        return re.compile(self.sentence_ends)

    @cached_property
    def ends_in_question(self) -> re.Pattern[str]:
        return re.compile(self.question_end)

    @cached_property
    def counts(self) -> re.Pattern[str]:
        return self._pattern(self.counted)

    @cached_property
    def clause_ends(self) -> re.Pattern[str]:
        return self._ends_at(self.conjunctions.split())

    @cached_property
    def part_ends(self) -> re.Pattern[str]:
        """Ends of what is said, supposed or asked as one: clauses, with those that a word such as "and" joins."""
        return self._ends_at([word for word in self.conjunctions.split() if word not in self.joining.split()])

    def _ends_at(self, conjunctions: Sequence[str]) -> re.Pattern[str]:
        joins = "|".join(conjunctions)
        if not self.has_spaces:
            return re.compile(rf"[;()\u3001\u3002]|[,:](?!\d)|(?={joins})")
        flags = re.IGNORECASE if self.capital_begins_clause else re.NOFLAG
        return re.compile(rf"[,;:()\u2013\u2014\u060c\u061b]\s+|\s(?=(?:{joins})\s)", flags)

    @cached_property
    def unmarked_question(self) -> re.Pattern[str]:
        return re.compile(self.asks) if self.asks else NEVER

    @cached_property
    def day_and_month(self) -> re.Pattern[str]:
        """A month with the day before it and the year after it, both optional."""
        if not self.has_spaces:
            return re.compile(rf"(?:(?P<year>{YEAR})年)?(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})[日号號])?")
        names = one_of(self.month_numbers)
        of = rf"(?:{self.of})?" if self.of else ""
        day = rf"(?<!\d)(?:(?P<day>\d{{1,2}})(?:{self.ordinal})? ?{of})?"
        return re.compile(rf"{day}{BEFORE}(?P<month>{names}){AFTER}(?:,? ?{of}(?P<year>{YEAR})(?!\d))?")

    @cached_property
    def weekdays_named(self) -> re.Pattern[str]:
        """Weekdays: one that is over is `past`, or `passed` before its word; any other is `weekday`."""
        clear = one_of(set(self.weekday_numbers) - set(self.unclear.split()))
        past, names = f"(?:{self.past_day})", one_of(self.weekday_numbers)
        return re.compile(
            self.whole(rf"(?:{past} ?(?P<past>{clear})|(?P<passed>{names}) ?{past}|(?P<weekday>{clear}))")
        )

    @cached_property
    def function_strings(self) -> re.Pattern[str]:
        """The stop words of a text without spaces, the longest first."""
        return re.compile(one_of(self.words))

    def whole(self, *alternatives: str) -> str:
        """Any of these, as whole words where the script separates words."""
        pattern = "(?:" + "|".join(self.in_pattern(each) for each in alternatives if each) + ")"
        return f"{BEFORE}{pattern}{AFTER}" if self.has_spaces else pattern

    def in_pattern(self, pattern: str) -> str:
        """The pattern for folded text."""
        return pattern.translate(self._translation) if self.folds else pattern
