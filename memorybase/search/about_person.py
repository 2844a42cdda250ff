"""Recognizes a question for everything that is known of the person who asks: "what do you know about me?". Pure.

Rules, not a model. They know English and the languages of keyword_index/languages. A question for one thing, such as
"what do you know about my coffee?", is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorybase.keyword_index.languages import LANGUAGES
from memorybase.keyword_index.scripts import normal

READ_CHARS = 600  # at the end of a longer text
SENTENCES = 3  # the last ones

_SENTENCE_END = re.compile(r"[.!?:;\n\u061f\u061b\u0964\u3002\uff01\uff1f\uff1a\uff1b]+")
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


def asks_about_person(query: str, language: str) -> bool:
    """Whether a text asks, in one of its last sentences, for what is known of its writer.

    `language`: the name of the query's; English is understood besides. Other names, such as "detect": any language.
    """
    sentences = [*filter(str.strip, _SENTENCE_END.split(normal(query[-READ_CHARS:])))][-SENTENCES:]
    if any(_ENGLISH.fullmatch(each.casefold()) for sentence in sentences for each in _clauses(sentence)):
        return True
    named = LANGUAGES.get(language)
    others = () if language == "english" else LANGUAGES.values() if named is None else (named,)
    return any(
        other.about_person.fullmatch(other.folded(each if other.has_spaces else each.replace(" ", "")))
        for other in others
        for sentence in sentences
        for each in _clauses(sentence)
    )


def _clauses(sentence: str) -> Iterator[str]:
    """The sentence as a whole and each of its clauses, without punctuation."""
    for each in dict.fromkeys((sentence, *_CLAUSE_END.split(sentence))):
        yield " ".join(_PUNCTUATION.sub(" ", each).split())
