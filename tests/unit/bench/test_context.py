"""The arithmetic of the benchmark of contexts, and the naive way that it compares with."""

from __future__ import annotations

import context
from harness.rows import each_row
from recalling.corpora import Conversation, Corpus, Question

MESSAGES = [
    {"id": "a", "role": "user", "content": "zebra " + "word " * 300},
    {"id": "b", "role": "user", "content": "A zebra and a berth."},
    {"id": "c", "role": "user", "content": "Nothing."},
]
QUESTIONS = [
    Question("zebra berth", "fact", frozenset({"a", "b"})),
    Question("Nothing", "fact", frozenset({"c"})),
    Question("unanswered", "abstention", frozenset()),
]
CORPUS = Corpus("made", [Conversation("made", "one", [{"messages": MESSAGES}], QUESTIONS)])


def test_a_question_counts_by_the_share_of_its_answers_that_was_brought() -> None:
    measured = context.Measured()
    measured.add(QUESTIONS[0], ["b", "c", "b"], 0.5, 20.0)
    measured.add(QUESTIONS[1], [], 0.7, 40.0)
    assert measured.as_dict() == {
        "questions": 2, "brought": 0.25, "used": 0.6, "messages": 1.0, "took_ms_p50": 30.0, "took_ms_p95": 39.0
    }  # fmt: skip


def test_questions_that_nothing_answers_are_not_asked() -> None:
    assert [len(questions) for _, questions in context.questions_of(CORPUS, 1)] == [2]
    assert [len(questions) for _, questions in context.questions_of(CORPUS, 2)] == [1]


@each_row(("budget", "brought", "messages"), [(10, 0.75, 1), (400, 1.0, 1.5)])
def test_the_naive_way_takes_the_first_words_of_what_fits(budget: int, brought: float, messages: float) -> None:
    measured = context.measure_naive(CORPUS, [budget], 1)[budget].as_dict()
    assert (measured["brought"], measured["messages"]) == (brought, messages)
    assert measured["used"] <= 1
    assert 200 <= context._cost(MESSAGES[0]) <= 250  # its first 200 words, about a token each
