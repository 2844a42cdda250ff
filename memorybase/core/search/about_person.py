"""Recognizes a question for everything that is known of the person who asks: "what do you know about me?". Pure.

Rules, not a model, in the languages of keyword_index/languages. A question for one thing, such as
"what do you know about my coffee?", is none of these: it has a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from memorybase.core.keyword_index.languages import ENGLISH, LANGUAGES, Language
from memorybase.core.keyword_index.languages.definition import AboutTopic
from memorybase.core.keyword_index.scripts import normal

READ_CHARS = 600  # at the end of a longer text
SENTENCES = 3  # the last ones

_SENTENCE_END = re.compile(r"[.!?:;\n\u061f\u061b\u0964\u3002\uff01\uff1f\uff1a\uff1b]+")
_ENDS = " .!?\u061f\u0964\u3002\uff01\uff1f"
_CLAUSE_END = re.compile(r"[,\u060c\u3001\uff0c\u2013\u2014]")
_PUNCTUATION = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb\u2026()*\u00bf\u00a1,\u060c\u3001\uff0c\u2013\u2014]")

SENTENCE_CHARS = 200  # of a question with a topic: each place where one may start is tried
EDGES = 12  # of a topic: words, or characters of text without spaces, at most


def asks_about_person(query: str, language: str) -> bool:
    """Whether a text asks, in one of its last sentences, for what is known of its writer.

    `language`: the name of the query's; English is understood besides. Other names, such as "detect": any language.
    """
    sentences = _last_sentences(query)
    return any(
        form.about_person.fullmatch(_folded(each, form))
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
        found is not None and found.form.area.fullmatch(_folded(found.text, found.form)) is not None
        for found in (_found_topic(each, language) for each in _last_sentences(query))
    )


def asked(query: str, language: str) -> Literal["all", "area"] | None:
    """Whether a query asks for all that is known of its writer, or for an area of it."""
    if asks_about_person(query, language):
        return "all"
    return "area" if asks_about_area(query, language) else None


def _last_sentences(query: str) -> list[str]:
    return [*filter(str.strip, _SENTENCE_END.split(normal(query[-READ_CHARS:])))][-SENTENCES:]


def _folded(sentence: str, form: Language) -> str:
    return form.folded(sentence if form.has_spaces else sentence.replace(" ", ""))


class _Topic(NamedTuple):
    text: str
    form: Language


def _forms(language: str) -> Iterator[Language]:
    yield ENGLISH
    named = LANGUAGES.get(language)
    yield from (each for each in (LANGUAGES.values() if named is None else (named,)) if each is not ENGLISH)


def _found_topic(sentence: str, language: str) -> _Topic | None:
    if len(sentence) > SENTENCE_CHARS:
        return None
    for form in _forms(language):
        for clause in _clauses(normal(sentence).strip(_ENDS)):
            folded = _folded(clause, form)
            for start, end, about_me in _possible_topics(folded, form.about_topic):
                if not form.about_person.fullmatch(about_me) or form.side_of_topic.search(folded):
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
