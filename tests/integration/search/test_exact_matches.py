"""People who search for the text of a message find it first, the reply behind it; what recalls for a model does not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from harness.statements import recorded
from harness.world import World

from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.messages import message_text
from memorybase.core.queries.message_changes import Attribution
from memorybase.core.search import exact_matches
from memorybase.core.search import search as answer
from memorybase.core.search.bands import MIN_SCORE
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import edits

FACT = "My boat Aurora lies at berth 12."
QUESTION = "Where does my boat Aurora lie?"
REPLY = "I would have to look that up."
MAIL = f"Hello Ada, I was at the harbour. {QUESTION} The boats sail at noon. When does the bakery open on Sunday?"
LONG = " ".join(
    f"Point {number}: the harbour master wrote down number {number * 7} of the list." for number in range(60)
)


@pytest.fixture
def world(sqlite_world: World) -> World:
    """On SQLite only: no statement of these tests is new."""
    return sqlite_world


def turn(each: str) -> dict[str, Any]:
    role, text = each.split(": ", 1)
    return {"role": role, "content": text}


def flow_of(world: World, *sessions: Sequence[str], settled: bool = True, **changes: Any) -> UUID:
    """A memory base of sessions, each of messages "role: text"."""
    base = world.new_base(threshold=1 if settled else 1000, **changes)
    for number, said in enumerate(sessions):
        world.say(f"s{number}", *map(turn, said))
    if settled:
        world.settle()
    return base


def search(world: World, base: UUID, query: str, **wanted: Any) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query=query, explain=True, **wanted)
    return answer.search(world.services, world.user_id, request).results


def texts(hits: Sequence[Hit]) -> list[str]:
    return [message_text(hit.content) for hit in hits]


def marks(hits: Sequence[Hit]) -> list[str | None]:
    return [hit.exact_match for hit in hits]


BOTH = ("hybrid", "keyword")
OTHERS = ([f"user: {FACT}"], *([f"user: The boat Aurora is number {number}."] for number in range(50)))


def test_a_question_that_was_asked_is_first_and_its_answer_second(world: World) -> None:
    base = flow_of(world, *OTHERS, ["user: Good morning.", f"user: {QUESTION}", f"assistant: {REPLY}"])
    for mode in BOTH:
        for pasted in (QUESTION, "  where does my boat\nAurora lie "):
            for top_k in (2, 10):
                asked, reply, *others = search(world, base, pasted, mode=mode, top_k=top_k)
                assert texts([asked, reply]) == [QUESTION, REPLY], mode
                assert (asked.exact_match, reply.exact_match) == ("whole", None)
                assert (asked.reply_to, reply.reply_to) == (None, asked.message_id)
                assert pasted != QUESTION or asked.score < MIN_SCORE, "it answers nothing"
                assert set(marks(others)) | {hit.reply_to for hit in others} <= {None}
        assert texts(search(world, base, QUESTION, mode=mode, top_k=1)) == [QUESTION]


def test_what_recalls_for_a_model_has_the_answer_first(world: World) -> None:
    base = flow_of(world, [f"user: {FACT}"], [f"user: {QUESTION}", f"assistant: {REPLY}"])
    for mode in BOTH:
        for min_score in (0.0, MIN_SCORE):
            hits = search(world, base, QUESTION, mode=mode, min_score=min_score)
            assert QUESTION not in texts(hits)[:2]
            assert not any(hit.exact_match or hit.reply_to for hit in hits)


def test_a_context_looks_for_no_exact_match(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    flow_of(world, [f"user: {FACT}"], [f"user: {QUESTION}", f"assistant: {REPLY}"])
    monkeypatch.setattr(exact_matches, "marked", lambda *_: pytest.fail("it is for people alone"))
    asked = ContextRequest(flow_id=world.flow_id, session_id="new", token_budget=500, query=QUESTION)
    view = build_context(world.services, world.user_id, asked)
    assert any(FACT in str(message.get("content")) for message in view.messages)


def test_of_several_with_this_text_the_three_newest_lead(world: World) -> None:
    base = world.new_base(threshold=1)
    for day in range(5):
        said = datetime(2026, 3, 1 + day, tzinfo=UTC)
        messages = [turn(f"user: {QUESTION}"), turn(f"assistant: Answer {day}.")]
        world.say(
            f"s{day}",
            *({**each, "timestamp": (said + timedelta(minutes=at)).isoformat()} for at, each in enumerate(messages)),
        )
    world.say("fact", turn(f"user: {FACT}"))
    world.settle()
    for mode in BOTH:
        hits = search(world, base, QUESTION, mode=mode)
        assert texts(hits[:6]) == [text for day in (4, 3, 2) for text in (QUESTION, f"Answer {day}.")]
        assert sum(hit.exact_match is not None for hit in hits) == 3


def test_a_part_counts_from_three_words_on_as_whole_words_and_behind_the_whole(world: World) -> None:
    said = "Aurora lies at berth 12 again, says the harbour master."
    base = flow_of(
        world, [f"user: {FACT}"], [f"user: {said}"], ["user: aurora lies at berth"], ["user: The gate is green."]
    )
    for mode in BOTH:
        first, *others = search(world, base, "Aurora lies at berth", mode=mode)
        assert (first.content, first.exact_match) == ("aurora lies at berth", "whole")
        assert marks(others)[:2] == ["part", "part"]
        assert not any(marks(search(world, base, "at berth", mode=mode))), "of two words"
        assert not any(marks(search(world, base, "rora lies at berth 1", mode=mode))), "inside of a word"
    hits = search(world, base, f"Hi. {FACT} Is that still so?")
    assert texts(hits)[0] == FACT, "the query holds the message"
    assert hits[0].exact_match == "part"


def test_what_is_said_politely_beside_a_question_does_not_lead(world: World) -> None:
    base = flow_of(world, [f"user: {FACT}"], ["user: Thanks a lot!", "assistant: You are welcome."])
    hits = search(world, base, f"Thanks a lot! {QUESTION}")
    assert hits[0].content == FACT
    assert not any(marks(hits))


def test_a_text_of_several_sentences_leads_as_a_whole_and_over_memory_bases(world: World) -> None:
    base = flow_of(
        world, [f"user: {FACT}"], [f"user: {MAIL}", f"assistant: {REPLY}"], ["user: The bakery opens at 7 on Sunday."]
    )
    second = world.new_base(threshold=1)
    world.settle()
    for mode in BOTH:
        request = SearchRequest(query=MAIL, mode=mode)
        several = answer.search_several(world.services, world.user_id, request, [base, second]).results
        for hits in (search(world, base, MAIL, mode=mode), several):
            assert texts(hits)[:2] == [MAIL, REPLY]
            assert (hits[0].exact_match, hits[1].reply_to) == ("whole", hits[0].message_id)
            assert len({hit.message_id for hit in hits}) == len(hits)


def test_long_texts_are_found_whole_and_beyond_the_bound_of_a_query(world: World) -> None:
    very_long = " ".join([LONG, LONG.replace("Point", "Line"), LONG.replace("harbour", "lock")])
    base = flow_of(world, [f"user: {LONG}", f"assistant: {REPLY}"], [f"user: {very_long}"], *OTHERS)
    assert len(LONG) > 3_000
    assert len(very_long) > 8_000
    for mode in BOTH:
        for pasted in (LONG, very_long):
            first, *_ = search(world, base, pasted, mode=mode)
            assert (first.content, first.exact_match) == (pasted, "whole"), mode


def test_a_pending_message_leads_unless_it_is_left_out(world: World) -> None:
    base = flow_of(world, [f"user: {FACT}"], [f"user: {QUESTION}", f"assistant: {REPLY}"], settled=False)
    for mode in BOTH:
        asked, reply, *_ = search(world, base, QUESTION, mode=mode)
        assert texts([asked, reply]) == [QUESTION, REPLY]
        assert asked.pending
        assert search(world, base, QUESTION, mode=mode, include_pending=False) == []


def test_the_reply_passes_the_filters_and_is_by_somebody_else(world: World) -> None:
    said = [f"user: {QUESTION}", "user: It is blue.", f"assistant: {REPLY}"]
    base = flow_of(world, [f"user: {FACT}"], said, [f"assistant: {QUESTION}"])
    for mode in BOTH:
        hits = search(world, base, QUESTION, mode=mode, session_id="s1")
        assert texts(hits)[:2] == [QUESTION, REPLY]
        hits = search(world, base, QUESTION, mode=mode, roles=["user"])
        assert texts(hits)[0] == QUESTION
        assert REPLY not in texts(hits)


def test_a_search_without_such_a_message_reads_nothing_more(world: World) -> None:
    base = flow_of(world, [f"user: {FACT}", f"assistant: {REPLY}"], ["user: Boats sail at noon."])
    for query in ("Which boat has power at night?", "Who paints the Aurora on Monday?"):
        sent = []
        for min_score in (None, 0.0):
            with recorded(world.services.database.engine) as statements:
                search(world, base, query, mode="keyword", min_score=min_score)
            sent.append(len(statements))
        assert sent[0] == sent[1], query


def test_an_exact_match_is_before_a_pinned_message(world: World) -> None:
    base = flow_of(world, [f"user: {QUESTION}", f"assistant: {REPLY}"], [f"user: {FACT}"])
    (fact,) = (hit.message_id for hit in search(world, base, "Aurora berth") if hit.content == FACT)
    edits.edit_message(world.services, world.user_id, fact, {"pinned": True}, Attribution("test"))
    for mode in BOTH:
        assert texts(search(world, base, QUESTION, mode=mode)) == [QUESTION, REPLY, FACT]
        assert texts(search(world, base, QUESTION, mode=mode, min_score=0.0))[0] == FACT


def test_a_question_about_a_time_alone_leads_though_it_was_asked_at_another_time(world: World) -> None:
    asked = "What did we do yesterday?"
    base, now = world.new_base(threshold=1), datetime.now(UTC)
    for days, said in ((40, [f"user: {asked}", f"assistant: {REPLY}"]), (1, ["user: We sailed to the island."])):
        at = (now - timedelta(days=days)).isoformat()
        world.say(f"s{days}", *({**turn(each), "timestamp": at} for each in said))
    world.settle()
    hits = search(world, base, asked, neighbors=1)
    assert texts(hits) == [asked, REPLY, "We sailed to the island."]
    assert [message_text(each["content"]) for each in hits[0].after] == [REPLY]
    assert texts(search(world, base, asked, min_score=0.0)) == ["We sailed to the island."]
    assert texts(search(world, base, asked, since=now - timedelta(days=3))) == ["We sailed to the island."]
