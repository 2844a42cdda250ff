"""Messages that say nothing of their own rank below what they repeat: earlier questions, and answers that quote."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from harness.world import World

from memorybase.core.search import search as answer
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest

FACT = "My boat Aurora lies at berth 12."
QUESTION = "Where does my boat Aurora lie?"


@pytest.fixture
def world(sqlite_world: World) -> World:
    """On SQLite only: no statement of these tests is new."""
    return sqlite_world


def flow_of(world: World, *said: str) -> UUID:
    """A memory base of messages "role: text", each in a session of its own."""
    base = world.new_base(threshold=1)
    for number, each in enumerate(said):
        role, text = each.split(": ", 1)
        world.say(f"s{number}", {"role": role, "content": text})
    world.settle()
    return base


def search(world: World, base: UUID, query: str, **wanted: Any) -> list[Hit]:
    """As for a model: people find the question itself first."""
    request = SearchRequest(memory_base_id=base, query=query, explain=True, **{"min_score": 0.0} | wanted)
    return answer.search(world.services, world.user_id, request).results


def test_a_question_that_was_asked_before_is_weak_and_lowers_nothing(world: World) -> None:
    alone = flow_of(world, f"user: {FACT}", "user: It needs fuel.")
    asked = flow_of(world, f"user: {FACT}", "user: It needs fuel.", f"user: {QUESTION}", "user: where does Aurora lie?")
    for mode in ("hybrid", "keyword"):
        (best, *_), (found, *others) = (search(world, base, QUESTION, mode=mode) for base in (alone, asked))
        assert found.content == best.content == FACT, mode
        assert found.score > 0.8 * best.score, mode
        assert all(hit.score < MIN_SCORE for hit in others if hit.content.endswith("?")), mode


def test_what_has_the_same_words_but_states_something_is_no_repetition(world: World) -> None:
    base = flow_of(
        world, "user: I am allergic to peanuts.", "user: Does the plan allow 40 connections?", "user: Hello."
    )
    for query, content in (
        ("allergic peanuts", "I am allergic to peanuts."),
        ("How many connections does the plan allow?", "Does the plan allow 40 connections?"),
    ):
        best, *_ = search(world, base, query)
        assert (best.content, best.score > MIN_SCORE) == (content, True)


def test_an_answer_ranks_below_the_message_that_it_repeats(world: World) -> None:
    told = "assistant: You told me: my boat Aurora lies at berth 12. Where does my boat Aurora lie? At berth 12."
    base = flow_of(world, f"user: {FACT}", told, "user: Berths are let from May on.")
    for top_k in (1, 10):
        first, *others = search(world, base, QUESTION, top_k=top_k)
        assert first.content == FACT
        if others:
            assert others[0].content == told.removeprefix("assistant: ")
            assert others[0].parts is not None
            assert others[0].parts["echo_of"] == first.message_id
            assert others[0].score < first.score < others[0].parts["own_score"]


def test_what_an_answer_repeats_does_not_get_its_score(world: World) -> None:
    original, answer = "My order 4711 never arrived.", "It was sent to Basel."
    echo = "Order 4711, you say? My order 4711 never arrived. Your order 4711 is my order of books, order 4711."
    base = flow_of(world, f"user: {original}", "user: The gate is green.", f"user: {answer}", f"assistant: {echo}")
    hits = search(world, base, "Where was my order 4711 sent to?")
    parts = {hit.content: hit.parts or {} for hit in hits}
    assert list(parts)[:3] in ([answer, original, echo], [original, echo, answer])
    assert "own_score" not in parts[original], "an answer that repeats it moves it nowhere"
    assert parts[echo]["echo_of"] == next(hit.message_id for hit in hits if hit.content == original)


def test_a_minimum_does_not_spare_an_answer_whose_original_is_below_it(world: World) -> None:
    told = "assistant: You told me: my boat Aurora lies at berth 12. Where does my boat Aurora lie? At berth 12."
    base = flow_of(world, f"user: {FACT}", told, "user: Berths are let from May on.")
    original, answer = search(world, base, QUESTION)[:2]
    between = search(world, base, QUESTION, min_score=original.score)
    assert [hit.content for hit in between] == [FACT]
    assert answer.score < original.score


NON_ANSWER = "I do not know where your boat lies."


def test_a_non_answer_is_weak_and_takes_nothing_from_the_answer(world: World) -> None:
    fact, asked = "user: My boat Aurora lies at berth 12.", "user: Where does my boat lie?"
    base = flow_of(world, fact, "user: It needs fuel.", asked, f"assistant: {NON_ANSWER}", "user: The gate is green.")
    for mode in ("hybrid", "keyword"):
        best, *others = search(world, base, "Where does my boat lie?", mode=mode)
        assert best.content == FACT, mode
        (lowered,) = (hit for hit in others if hit.content == NON_ANSWER)
        assert lowered.score < MIN_SCORE, mode
        assert lowered.parts is not None
        assert lowered.parts["non_answer"] is True
        assert lowered.parts["signals"]["says_nothing"]["value"] == 1.0


def test_a_question_asked_before_and_its_non_answer_are_no_evidence(world: World) -> None:
    others = ["user: The gate is green.", "user: It needs fuel."]
    never = evidence(search(world, flow_of(world, *others), "Where does my boat lie?"))
    again = flow_of(world, *others, "user: Where does my boat lie?", f"assistant: {NON_ANSWER}")
    assert evidence(search(world, again, "Where does my boat lie?")) == pytest.approx(never, abs=0.05)
    known = flow_of(world, *others, f"user: {FACT}")
    assert evidence(search(world, known, "Where does my boat lie?")) > never + 0.3


def evidence(hits: list[Hit]) -> float:
    assert hits[0].parts is not None
    found: float = hits[0].parts["evidence"]
    return found


def test_many_non_answers_hide_nothing(world: World) -> None:
    told = [f"assistant: Sorry, I do not know where your boat lies, {number} times." for number in range(1, 3)]
    base = flow_of(world, f"user: {FACT}", *([f"assistant: {NON_ANSWER}"] * 40), *told)
    for top_k in (1, 5):
        hits = search(world, base, "Where does my boat lie?", top_k=top_k, fold_alike=True)
        assert hits[0].content == FACT


def test_only_an_assistant_says_non_answers(world: World) -> None:
    base = flow_of(world, f"user: {NON_ANSWER}", "user: The gate is green.")
    best, *_ = search(world, base, "Who does not know where my boat lies?")
    assert best.content == NON_ANSWER
    assert best.parts is not None
    assert "non_answer" not in best.parts


def test_an_answer_that_was_first_or_says_it_alone_keeps_its_place(world: World) -> None:
    known = "assistant: The boat Aurora lies at berth 12, next to the crane."
    base = flow_of(world, known, "user: The boat Aurora lies at berth 12.", "user: The crane is red.")
    hits = search(world, base, "Where is the boat Aurora and the crane?")
    assert hits[0].content == known.removeprefix("assistant: ")
    assert all(hit.parts is not None and "own_score" not in hit.parts for hit in hits)
