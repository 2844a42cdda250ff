"""A search ranks a later statement before the earlier one and says what changed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import View, context
from memorybase.core.conversation.context import ContextRequest, RecallOptions
from memorybase.core.search import ranking
from memorybase.core.search import search as answer
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import edits
from memorybase.features.hit_corrections import marking as corrected_hits

QUERY = "How many connections does the database plan allow?"
OLDER = "The database plan allows 20 connections in total, which is how many the plan will allow, connections and all."
NEWER = "The database plan now has 40 connections."


def search(world: World, base: UUID, query: str = QUERY, **wanted: Any) -> list[Hit]:
    return answer.search(
        world.services, world.user_id, SearchRequest(memory_base_id=base, query=query, **wanted)
    ).results


def statements(hits: list[Hit]) -> list[Hit]:
    """The hits without those about other things."""
    return [hit for hit in hits if hit.content in {OLDER, NEWER}]


def user(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **fields}


@pytest.fixture
def base(world: World) -> UUID:
    """A memory base with both statements, and turns about other things between them."""
    base = world.new_base(threshold=100)
    world.say("s", user("The cat sleeps on the roof."), user(OLDER), user("Soup with leeks again."), end_user_id="ada")
    world.say("t", user("Boats sail at dawn."), user(NEWER), user("The gate is painted green."), end_user_id="ada")
    return base


def test_without_corrections_the_earlier_statement_is_first(world: World, base: UUID) -> None:
    hits = statements(search(world, base, corrections=False))
    assert [hit.content for hit in hits] == [OLDER, NEWER]
    assert all(hit.corrects is hit.corrected_by is hit.superseded_by is None for hit in hits)


def test_the_later_statement_is_first_and_both_say_what_changed(world: World, base: UUID) -> None:
    newer, older = search(world, base)[:2]
    assert (newer.content, older.content) == (NEWER, OLDER)
    assert newer.score == older.score
    assert newer.corrects is not None
    assert older.corrected_by is not None
    assert (newer.corrects.message_id, older.corrected_by.message_id) == (older.message_id, newer.message_id)
    assert (newer.superseded_by, older.superseded_by) == (None, newer.message_id)
    for change in (newer.corrects, older.corrected_by):
        assert (change.kind, change.was, change.now) == ("number", "20 connections", "40 connections")


def test_a_search_for_one_result_brings_the_later_one(world: World, base: UUID) -> None:
    assert [hit.content for hit in search(world, base, top_k=1)] == [NEWER]


def test_min_score_does_not_hide_what_corrects_a_result(world: World, base: UUID) -> None:
    older, newer = statements(search(world, base, corrections=False))
    assert older.score > newer.score
    hits = search(world, base, min_score=older.score)
    assert [hit.content for hit in hits] == [NEWER, OLDER]


def test_a_pinned_statement_stays_first_and_names_its_correction(world: World, base: UUID) -> None:
    older = statements(search(world, base))[1]
    edits.edit_message(world.services, world.user_id, older.message_id, {"pinned": True})
    hits = statements(search(world, base))
    assert [hit.content for hit in hits] == [OLDER, NEWER]
    assert hits[0].corrected_by is not None


def test_an_explanation_keeps_the_score_of_its_own(world: World, base: UUID) -> None:
    own = statements(search(world, base, corrections=False))[1].score
    newer, older = search(world, base, explain=True)[:2]
    assert newer.parts is not None
    assert newer.parts["own_score"] == own < newer.score
    assert newer.parts["place_of"] == older.message_id


@each_row("mode", ["keyword", "dense"])
def test_other_modes_compare_nothing(world: World, base: UUID, mode: str) -> None:
    assert all(hit.corrects is None for hit in search(world, base, mode=mode))


def test_an_assistant_corrects_nobody(world: World) -> None:
    base = world.new_base(capture="all")
    world.say("s", {"role": "assistant", "content": OLDER}, {"role": "assistant", "content": NEWER})
    assert all(hit.corrects is None for hit in search(world, base))


def test_two_people_do_not_correct_each_other(world: World) -> None:
    base = world.new_base()
    world.say("s", user(OLDER, sender_name="Ada"), user(NEWER, sender_name="Bob"))
    assert all(hit.corrects is None for hit in search(world, base))


def test_two_end_users_do_not_correct_each_other(world: World) -> None:
    base = world.new_base()
    world.say("s", user(OLDER), end_user_id="ada")
    world.say("t", user(NEWER), end_user_id="bob")
    assert all(hit.corrects is None for hit in search(world, base))


def test_a_question_without_a_value_embeds_nothing_more(world: World, base: UUID) -> None:
    embedder = world.embedder
    search(world, base, query="Please explain the database plan")
    before = embedder.calls
    search(world, base, query="Please explain the whole database plan")
    plain = embedder.calls - before
    search(world, base, query=QUERY, corrections=False)
    assert embedder.calls - before == 2 * plain


def test_if_the_model_fails_at_the_comparison_the_results_stay(world: World, base: UUID) -> None:
    search(world, base)
    embedder = world.embedder

    def fail(texts: Any) -> None:
        if OLDER in texts:
            raise errors.EmbeddingFailed

    embedder.before_embed = fail
    hits = statements(search(world, base))
    assert [hit.content for hit in hits] == [OLDER, NEWER]
    assert all(hit.corrects is None for hit in hits)


def test_a_model_behind_an_endpoint_is_asked_only_if_the_request_says_so(
    world: World, base: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrected_hits, "AT_AN_ENDPOINT", world.embedder.model)
    assert all(hit.corrects is None for hit in search(world, base))
    assert search(world, base, corrections=True)[0].corrects is not None


@pytest.mark.usefixtures("base")
def test_a_context_says_what_was_corrected_unless_it_is_turned_off(world: World) -> None:
    noted = f"{OLDER} (corrected later: was 20 connections, now 40 connections)\n"
    assert noted in recalled(world)
    assert f"{NEWER}\n" in recalled(world)
    without = recalled(world, corrections=False)
    assert noted not in without
    assert f"{OLDER}\n" in without


@pytest.mark.usefixtures("base")
def test_a_context_names_the_later_message_of_a_recalled_one(world: World) -> None:
    memories = view(world).report.recalled
    (superseded,) = [each for each in memories if each.superseded_by]
    assert superseded.superseded_by in {each.message_id for each in memories}


def test_a_later_sentence_without_a_value_is_first_from_any_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = world.new_base(threshold=100)
    newer = "I no longer drink coffee in the morning."
    world.say("s", user("In the morning I drink coffee, I drink it in the morning."), user(newer))
    monkeypatch.setattr(corrected_hits, "PLACES", 0)
    older, later = search(world, base, "What do I drink in the morning?", min_score=0.0)[::-1]
    assert (later.content, later.score, older.superseded_by) == (newer, older.score, later.message_id)


def recalled(world: World, **options: Any) -> str:
    return "\n".join([*(str(each["content"]) for each in view(world, **options).messages), ""])


def view(world: World, **options: Any) -> View:
    request = ContextRequest(
        flow_id=world.flow_id,
        session_id="new",
        end_user_id="ada",
        query=QUERY,
        token_budget=1_000,
        recall=RecallOptions(**options),
    )
    return context.build_context(world.services, world.user_id, request)


class TestOrderInTime:
    @pytest.fixture
    def visits(self, world: World) -> UUID:
        base = world.new_base(threshold=100)
        for number, town in enumerate(("Lindau", "Bregenz", "Konstanz", "Meersburg")):
            world.say(f"s{number}", user(f"I visited the castle of {town}."), user(f"It rained {number} times."))
        return base

    @each_row(
        ("query", "town"),
        [
            ("Which castle did I visit on my first visit?", "Lindau"),
            ("What was the latest castle that I visited?", "Meersburg"),
            ("Which castle did I visit the last time?", "Meersburg"),
        ],
    )
    def test_first_and_latest_are_those_in_time(self, world: World, visits: UUID, query: str, town: str) -> None:
        assert search(world, visits, query=query)[0].content == f"I visited the castle of {town}."

    def test_a_question_for_the_order_spreads_over_sessions(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = world.new_base(threshold=100, capture="all")
        for number in range(3):
            world.say(f"s{number}", *(user(f"More of castle {number}, {turn}.") for turn in range(12)))
        query = "In which order did I bring up castle 1 and castles?"
        monkeypatch.setattr(ranking, "SAME_SESSION_COST", 0.0)
        assert {hit.session_id for hit in search(world, base, query=query, top_k=3)} != {"s0", "s1", "s2"}
        monkeypatch.setattr(ranking, "SAME_SESSION_COST", 5.0)
        assert {hit.session_id for hit in search(world, base, query=query, top_k=3)} == {"s0", "s1", "s2"}

    def test_the_openings_of_sessions_are_preferred(self, world: World) -> None:
        base = world.new_base(threshold=100, capture="all")
        world.say("s", *(user(f"More of the castle, {turn}.") for turn in range(60)))
        hits = search(world, base, query="In which order did I bring up castles?", top_k=3)
        assert max(hit.seq for hit in hits) < 20


def test_a_value_that_returned_is_first_and_supersedes_its_first_statement(world: World) -> None:
    base = world.new_base(threshold=100)
    amounts = (20, 40, 20)
    for number, amount in enumerate(amounts):
        now = "now " if number else ""
        world.say(f"s{number}", user(f"The database plan {now}has {amount} connections."), end_user_id="ada")
    newest, *others = search(world, base)
    assert newest.content == "The database plan now has 20 connections."
    assert (newest.corrected_by, newest.superseded_by) == (None, None)
    assert newest.corrects is not None
    assert (newest.corrects.was, newest.corrects.now) == ("40 connections", "20 connections")
    by_content = {hit.content: hit for hit in others}
    between, first = (by_content[f"The database plan {text} connections."] for text in ("now has 40", "has 20"))
    assert between.superseded_by == first.superseded_by == newest.message_id
    assert between.corrected_by is not None
    assert (between.corrected_by.was, between.corrected_by.now) == ("40 connections", "20 connections")
    assert first.corrected_by is None, "its value holds again"
