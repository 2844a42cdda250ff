"""Recognizes a question for everything that is known of the person who asks: "what do you know about me?". Pure.

Rules, not a model. They know English and the languages of keyword_index/languages. A question for one thing, such as
"what do you know about my coffee?", is none of these: it has a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from memorybase.keyword_index.languages import LANGUAGES, Language
from memorybase.keyword_index.languages.definition import AboutTopic, about
from memorybase.keyword_index.scripts import normal

READ_CHARS = 600  # at the end of a longer text
SENTENCES = 3  # the last ones

_SENTENCE_END = re.compile(r"[.!?:;\n\u061f\u061b\u0964\u3002\uff01\uff1f\uff1a\uff1b]+")
_ENDS = " .!?\u061f\u0964\u3002\uff01\uff1f"
_CLAUSE_END = re.compile(r"[,\u060c\u3001\uff0c\u2013\u2014]")
_PUNCTUATION = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb\u2026()*\u00bf\u00a1,\u060c\u3001\uff0c\u2013\u2014]")

_ABOUT = r"(?:about|of|on|regarding) (?:me|myself)"
_ANY = r"(?:\S+ ){0,8}?"
_KNOW = (
    r"(?:know|remember|recall|learn(?:ed|t)?|understand|remembering|tell me|say|picked up|noticed|found out"
    r"|gather(?:ed)?|figured out"
    r"|stored?|saved?|noted?|keep|kept|have|have got|got)"
)
_THINGS = r"(?: (?:any|every|some)thing| all| a lot| much| so far| already| stored| saved| noted| on file| in memory)*"
_PLEASE = (
    r"(?:(?:please|now|so|and|then|hi|hey|ok|just|first|(?:can|could|would|will) you|i(?:'d| would) like you to"
    r"|want you to) )*"
)
_TELL = (
    r"(?:tell|remind|describe|summari[sz]e|show|list|say|give)\b(?: (?:me|us|it|back|what|whatever|that|you|know"
    r"|remember|have|all|more|an?|bit|little|short|brief|quick|full|overview|description|summary|(?:any|every"
    r"|some)thing))*"
)
_INFORMATION = r"(?:information|info|data|facts?|details?|memor(?:y|ies)|knowledge|notes?|things)"
_PREFERENCES = r"(?:preferences|likes and dislikes|likes|dislikes|interests|hobbies|habits|tastes|personality)"
_SO_FAR = (
    r"(?: (?:so far|already|now|again|yet|by now|today|please|then|until now|up to now|at this point|at all|exactly"
    r"|in general|(?:in|from|over|during) (?:the|our|earlier|previous|past)(?: \w+){1,2}))*"
)
_ASKS = (
    rf"{_ANY}(?:you|u|we)(?:'ve)? (?:(?:need|have|ought) to |(?!to )\w+ )?{_KNOW}{_THINGS} {_ABOUT}",
    (
        rf"{_ANY}{_INFORMATION}(?: (?:do |did |have |that |which )?you (?:\w+ ){{0,2}}\w+| (?:is|are) \w+| stored"
        rf"| saved)?"
        rf" {_ABOUT}"
    ),
    rf"{_PLEASE}{_TELL} {_ABOUT}",
    rf"what(?:'s| is| has been) (?:known|stored|saved|noted|recorded) {_ABOUT}",
    rf"{_PLEASE}(?:describe|summari[sz]e) me(?: in \S+ \S+)?",
    (
        rf"(?:what|everything|anything|all|things|which \w+|what \w+) {_ABOUT} (?:that )?(?:(?:do|have|did|can) )?"
        r"(?:you|we)(?:'ve)? (?:\w+ )?(?:know|remember|recall|learned|stored|saved|noted)"
    ),
    (
        rf"(?:what|anything|everything|all)(?: else)? (?:that )?(?:have |did )?i(?:'ve)? (?:\w+ )?(?:told|tell) you"
        rf" {_ABOUT}"
    ),
    (
        r"(?:(?:so|and|then|ok|tell me|remember|(?:do|can|could) you (?:\w+ )?(?:know|remember|tell me|say)) )?"
        r"who (?:am i|i am|do you think i am|am i to you)"
    ),
    (
        r"(?:(?:and|so|list|show|tell|remind|give|me|of|do you know) )*(?:(?:what|which)(?:'s| is"
        r"| are)? )?my (?:personal |own )?"
        rf"{_PREFERENCES}"
    ),
    rf"(?:what|which) {_PREFERENCES} do i have|what do i (?:like|prefer|dislike|hate)(?: to do)?",
    r"(?:(?:show|open|list|give|see|me|the) )*my (?:user |personal )?profile|about me",
    r"what(?:'s| is| does)? (?:in |on )?my (?:user |personal )?profile(?: say| contain| look like)?",
    (
        rf"{_ANY}(?:what (?:kind|sort|type) of (?:person|human|user|man|woman) am i|how (?:would|do"
        rf"|can) you (?:describe"
        r"|see|characteri[sz]e) me|how (?:well|much) do you know me|do you (?:still |even |really |already )?(?:know"
        r"|remember"
        r"|recogni[sz]e) me|what am i like)"
    ),
)
_ENGLISH = re.compile(f"(?:{'|'.join(_ASKS)}){_SO_FAR}")
_ENGLISH_TOPICS = (about("(?:about|of|on|regarding) {topic}=about me"),)
_ENGLISH_AREA = re.compile(
    r"(?:my|our) (?:own |personal |private |professional |family |social |daily |everyday )?(?:job|work|working life"
    r"|occupation|profession|career|family|relatives|home|household|health|diet|food|eating habits|hobby|hobbies"
    r"|free time|leisure|sports?|interests|likes|dislikes|preferences|tastes|habits|routine|studies|education|school"
    r"|finances|money|friends|background|life)"
    r"|what i (?:eat|like|do|do for a living)|(?:where|how) i (?:live|work)"
)
# What the other side said is no topic of the person's: "What did you say about my job?"
_ENGLISH_OTHER_SIDE = re.compile(r"\bdid you\b|\byou (?:say|said|tell|told)\b(?! me what)")
SENTENCE_CHARS = 200  # of a question with a topic: each place where one may start is tried
EDGES = 12  # of a topic: words, or characters of text without spaces, at most


def asks_about_person(query: str, language: str) -> bool:
    """Whether a text asks, in one of its last sentences, for what is known of its writer.

    `language`: the name of the query's; English is understood besides. Other names, such as "detect": any language.
    """
    sentences = _last_sentences(query)
    return any(
        form.about_person.fullmatch(form.folded(each))
        for form in _forms(language)
        for sentence in sentences
        for each in _clauses(sentence)
    )


def topic_of(sentence: str, language: str) -> str | None:
    """The topic that a sentence asks to know about: "my job" of "What do you know about my job?"; None: it asks
    something else.

    The sentence would ask about the person if "me" stood for the topic. `language`: as of a query.
    """
    found = _found_topic(sentence, language)
    return None if found is None else found.text


def asks_about_area(query: str, language: str) -> bool:
    """Whether one of the last sentences asks about what everybody has something to say of: their job, family, health.

    So what a person said about themselves answers it, although it seldom has the word.
    """
    return any(
        found is not None and found.form.area.fullmatch(found.form.folded(found.text)) is not None
        for found in (_found_topic(each, language) for each in _last_sentences(query))
    )


def asked(query: str, language: str) -> Literal["all", "area"] | None:
    """Whether a query asks for all that is known of its writer, or for an area of it."""
    if asks_about_person(query, language):
        return "all"
    return "area" if asks_about_area(query, language) else None


def _last_sentences(query: str) -> list[str]:
    return [*filter(str.strip, _SENTENCE_END.split(normal(query[-READ_CHARS:])))][-SENTENCES:]


class _Form(NamedTuple):
    """A language's form of a question about the person; None: English."""

    language: Language | None
    about_person: re.Pattern[str]
    topics: Sequence[AboutTopic]

    def folded(self, sentence: str) -> str:
        if self.language is None:
            return sentence.casefold()
        return self.language.folded(sentence if self.language.has_spaces else sentence.replace(" ", ""))

    @property
    def area(self) -> re.Pattern[str]:
        return _ENGLISH_AREA if self.language is None else self.language.area

    @property
    def other_side(self) -> re.Pattern[str]:
        return _ENGLISH_OTHER_SIDE if self.language is None else self.language.questions["asks_other_side"]


class _Topic(NamedTuple):
    text: str
    form: _Form


def _forms(language: str) -> Iterator[_Form]:
    yield _Form(None, _ENGLISH, _ENGLISH_TOPICS)
    named = LANGUAGES.get(language)
    others = () if language == "english" else LANGUAGES.values() if named is None else (named,)
    for other in others:
        yield _Form(other, other.about_person, other.about_topic)


def _found_topic(sentence: str, language: str) -> _Topic | None:
    if len(sentence) > SENTENCE_CHARS:
        return None
    for form in _forms(language):
        for clause in _clauses(normal(sentence).strip(_ENDS)):
            folded = form.folded(clause)
            for start, end, about_me in _possible_topics(folded, form.topics):
                if not form.about_person.fullmatch(about_me) or form.other_side.search(folded):
                    continue
                if asks_about_person(sentence, language):
                    return None
                said = clause if len(clause) == len(folded) else folded
                return _Topic(said[start:end].strip(), form)
    return None


def _possible_topics(folded: str, topics: Iterable[AboutTopic]) -> Iterator[tuple[int, int, str]]:
    """Where a topic may start and end, the shortest first, with the sentence that asks about the person instead."""
    space = " " if " " in folded else ""
    edges = [0, *(match.end() for match in re.finditer(space or ".", folded)), len(folded)]
    for marker, is_before, me in topics:
        for found in marker.finditer(folded):
            first, last = found.span()
            if is_before:
                spans = [(last, edge) for edge in edges if edge > last][:EDGES]
            else:
                spans = [(edge, first) for edge in reversed(edges) if edge < first][:EDGES]
            for start, end in spans:
                around = (folded[: min(first, start)].strip(), me, folded[max(last, end) :].strip())
                if around[0] or around[2]:  # "about Oslo" alone may be anything
                    yield start, end, space.join(filter(None, around))


def _clauses(sentence: str) -> Iterator[str]:
    """The sentence as a whole and each of its clauses, without punctuation."""
    for each in dict.fromkeys((sentence, *_CLAUSE_END.split(sentence))):
        yield " ".join(_PUNCTUATION.sub(" ", each).split())
