"""Finds the question inside a longer text: a mail, a log, polite sentences before or after a question. Pure.

A sentence asks by its mark or its form; without one the last sentence that is no greeting does. The text around it may
name what is meant ("Could you give me the number?"), but is not asked itself. So several texts are searched, each as a
query, and of each message the best result counts: each question alone, the last one with the sentence before it, and
the whole. Of a question such as "what do you know about my job?" the topic alone is the query.
"""

from __future__ import annotations

import re

from memorybase.core.caveats import MAX_QUERY_CHARS
from memorybase.core.keyword_index import analyzer as keywords
from memorybase.core.search import query_parser
from memorybase.core.search.about_person import topic_of
from memorybase.core.search.passages import sentences
from memorybase.core.vectors.search import cut_query

MOST_QUESTIONS = 3
SENTENCE_CHARS = 400
# Words that end a letter; whoever signs it follows.
_CLOSING = re.compile(
    r"\b(?:regards|sincerely|cheers|yours|grüße|grüßen|gruß|cordialement|salutations|saludos|saluti|groet|groeten"
    r"|atenciosamente|abraços|pozdrawiam|pozdrowienia|sayg\w*|selamlar|уважением|приветом|敬具|此致|順頌)\b",
    re.IGNORECASE,
)
SIGNED_CHARS = 60  # of the longest closing with its name
QUOTES = " \t\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u300c\u300d()[]"


def searches_of(query: str, language: str) -> tuple[str, ...]:
    """The queries to search for, of which the best results count. A query of one sentence is its own question."""
    whole = cut_query(query)
    parts = _sentences(query)
    if len(parts) < 2:
        return (_sought(whole, language),)
    questions = [number for number, part in enumerate(parts) if _asks(part, language)]
    if not questions:
        said = [number for number, part in enumerate(parts) if _says_something(part, language)]
        questions = said[-1:]
    if not questions:
        return (whole,)
    # The first and the last ones: somebody's question stands before or after what was pasted, seldom inside of it.
    chosen = questions if len(questions) <= MOST_QUESTIONS else [questions[0], *questions[1 - MOST_QUESTIONS :]]
    alone = [_sought(parts[number], language) for number in chosen]
    last = chosen[-1]
    with_sentence_before = " ".join(parts[max(0, last - 1) : last + 1])
    return tuple(dict.fromkeys((*alone, with_sentence_before, whole)))


def _sought(question: str, language: str) -> str:
    """The text to look for: the topic alone of "What do you know about my job?", whose other words every text has."""
    return topic_of(question, language) or question


def _sentences(query: str) -> list[str]:
    """The sentences of a text, of a very long one those of its beginning and its end."""
    if len(query) > 2 * MAX_QUERY_CHARS:
        query = f"{query[:MAX_QUERY_CHARS]}\n{query[-MAX_QUERY_CHARS:]}"
    return [query[start:end] for start, end in sentences(query, SENTENCE_CHARS)]


def _says_something(sentence: str, language: str) -> bool:
    """Whether a sentence is more than a greeting, thanks or a signature."""
    is_signed = len(sentence) <= SIGNED_CHARS and _CLOSING.search(sentence) is not None
    return not is_signed and not query_parser.is_small_talk(sentence, language)


def _asks(sentence: str, language: str) -> bool:
    """Whether a sentence asks for something: "How are you?" and "Right?" do not."""
    sentence = sentence.strip(QUOTES)
    if not query_parser.is_question(sentence, language):
        return False
    return bool(keywords.analyzer(language).asked(sentence).terms) and not query_parser.is_small_talk(
        sentence, language
    )
