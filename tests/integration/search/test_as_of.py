"""A search and a context as of a date: nothing that was said later, and no correction that came later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from harness.rows import each_row
from harness.world import World, build_world

from memorybase.core import errors
from memorybase.core.conversation import View
from memorybase.core.conversation.context import ContextRequest, RecallOptions, build_context
from memorybase.core.conversation.context_report import ContextReport
from memorybase.core.conversation.session_memory.presets import FLOWX_5
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.conversation.session_memory.summary_job import make_summary
from memorybase.core.database import clock
from memorybase.core.embedding import Embedders
from memorybase.core.search import search
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import edits
from memorybase.core.settings import Settings

QUERY = "How many connections does the database plan allow?"
CHANGES = (  # when it was said, what, and the value that holds from then on
    ("2026-01-05", "The database plan allows 20 connections in total.", "20"),
    ("2026-02-10", "The database plan now has 40 connections.", "40"),
    ("2026-03-15", "The database plan now has 60 connections.", "60"),
    ("2026-05-01", "The database plan now has 80 connections.", "80"),
)
VALUES = tuple(value for _, _, value in CHANGES)
# The value that holds on a date, and how many of the statements exist by then.
HOLDS = {
    "before": ("2026-01-01", None, 0),
    "first": ("2026-01-31", "20", 1),
    "second": ("2026-02-28", "40", 2),
    "third": ("2026-04-01", "60", 3),
    "last": ("2026-06-01", "80", 4),
    "today": (None, "80", 4),
}


def on(day: str | None) -> datetime | None:
    return None if day is None else datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)


def user(content: str, day: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "timestamp": f"{day}T08:00:00Z", **fields}


def find(world: World, base: UUID, query: str = QUERY, **wanted: Any) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query=query, **wanted)
    return search.search(world.services, world.user_id, request).results


def context(world: World, session_id: str = "now", **fields: Any) -> View:
    request = {"flow_id": world.flow_id, "session_id": session_id, "token_budget": 2_000, "end_user_id": "ada"} | fields
    return build_context(world.services, world.user_id, ContextRequest(**request))


def report(view: View) -> ContextReport:
    assert isinstance(view.report, ContextReport)
    return view.report


def now(world: World) -> datetime:
    """A time after all that was done so far, and before all that follows."""
    with world.services.database.reading() as db:
        return clock.now(db)


@pytest.fixture(params=[True, False], ids=["ingested", "pending"])
def base(world: World, request: pytest.FixtureRequest) -> UUID:
    """A memory base with a fact that changed three times, in sessions among other things."""
    base = world.new_base(threshold=100)
    for number, (day, text, _) in enumerate(CHANGES):
        others = (user("The cat sleeps on the roof.", day), user("Soup with leeks again.", day))
        world.say(f"s{number}", others[0], user(text, day), others[1], end_user_id="ada")
    if request.param:
        world.flush(base)
        world.drain()
    return base


@each_row("row", HOLDS)
def test_a_search_gives_the_value_that_held_on_the_date(world: World, base: UUID, row: str) -> None:
    day, value, said = HOLDS[row]
    hits = [hit for hit in find(world, base, as_of=on(day)) if "connections" in hit.content]
    assert len(hits) == said
    if value is None:
        return
    assert value in hits[0].content
    assert hits[0].superseded_by is None
    assert all(hit.superseded_by is not None for hit in hits[1:])


@each_row("row", HOLDS)
def test_a_context_has_the_value_that_held_on_the_date(world: World, base: UUID, row: str) -> None:
    day, value, said = HOLDS[row]
    text = context(world, query=QUERY, as_of=on(day)).text
    assert base
    assert sum(f"{each} connections" in text for each in VALUES) == said
    assert value is None or f"{value} connections" in text


@each_row("mode", ["hybrid", "keyword", "dense"])
def test_no_mode_finds_what_was_said_later(world: World, base: UUID, mode: str) -> None:
    world.say("s1", user("A gull took the sandwich.", "2026-06-01"), end_user_id="ada")
    hits = find(world, base, mode=mode, as_of=on("2026-02-28"), neighbors=5)
    assert {hit.timestamp.month for hit in hits} == {1, 2}
    around = [turn for hit in hits for turn in (*hit.before, *hit.after)]
    assert around
    assert {turn["timestamp"].month for turn in around} <= {1, 2}


def test_times_and_ages_of_a_question_count_from_the_date(world: World, base: UUID) -> None:
    asked = {"query": "What did I say last month?", "as_of": on("2026-03-20")}
    assert {hit.timestamp.month for hit in find(world, base, **asked)} == {2}
    scores = [find(world, base, as_of=on(day), half_life_days=10)[0].score for day in ("2026-01-06", "2026-02-09")]
    assert scores[0] > scores[1]


def test_messages_of_another_time_with_the_words_hide_none(world: World) -> None:
    base = world.new_base(threshold=10_000)
    for session, day in (("early", "2026-01-05"), ("late", "2026-04-01")):
        world.say(session, user("Where does the anchor of the boat lie after the storm?", day))
    others = [user("The anchor of the boat.", "2026-03-01") for _ in range(600)]
    world.say("others", *others)

    def found(**bounds: datetime | None) -> list[str]:
        return [hit.session_id for hit in find(world, base, "anchor boat", mode="keyword", **bounds)]

    assert found(as_of=on("2026-02-01")) == ["early"]
    assert found(until=on("2026-02-01")) == ["early"]
    assert found(since=on("2026-03-02")) == ["late"]


def test_an_edit_since_is_taken_back_and_one_before_is_not(world: World, base: UUID) -> None:
    first, second = sorted(find(world, base, as_of=on("2026-02-28")), key=lambda hit: "connections" not in hit.content)[
        :2
    ]
    edited = {first.message_id: "The plan has 99 connections.", second.message_id: "The plan has 98 connections."}
    between = now(world)
    for message_id, text in edited.items():
        edits.edit_message(world.services, world.user_id, message_id, {"content": text})

    before = {hit.message_id: hit for hit in find(world, base, as_of=between, neighbors=2)}
    after = {hit.message_id: hit for hit in find(world, base, as_of=now(world))}
    for hit in (first, second):
        assert before[hit.message_id].content == hit.content
        assert before[hit.message_id].snippet in hit.content
        assert after[hit.message_id].content == edited[hit.message_id]
    around = [turn["content"] for hit in before.values() for turn in (*hit.before, *hit.after)]
    assert around
    assert not set(around) & set(edited.values())
    shown = context(world, first.session_id, query=QUERY, as_of=between).text
    assert first.content in shown
    assert "99 connections" not in shown
    assert "99 connections" in context(world, first.session_id, query=QUERY, as_of=now(world)).text


def test_what_was_deleted_or_redacted_since_stays_so(world: World, base: UUID) -> None:
    first, second = [hit for hit in find(world, base, as_of=on("2026-02-28")) if "connections" in hit.content]
    between = now(world)
    edits.delete_message(world.services, world.user_id, first.message_id)
    edits.redact_message(
        world.services, world.user_id, second.message_id, lambda fields: {**fields, "content": "[gone]"}
    )
    assert not [hit for hit in find(world, base, as_of=between) if "20" in hit.content or "40" in hit.content]
    assert [hit.content for hit in find(world, base, "gone", as_of=between, top_k=1)] == ["[gone]"]


def test_a_history_ends_at_the_date(world: World) -> None:
    months = ("01", "02", "03", "04")
    said = [
        world.say("talk", user(f"question {month}", f"2026-{month}-01"), answer(month), end_user_id="ada")
        for month in months
    ]

    def shown(**asked: Any) -> list[str]:
        return [record.text for record in context(world, "talk", **asked).records]

    assert shown(as_of=on("2026-02-15")) == ["question 01", "answer 01", "question 02", "answer 02"]
    assert shown(as_of=on("2026-02-01")) == ["question 01", "answer 01", "question 02"]
    assert shown(as_of=on("2025-12-31")) == []
    assert shown(as_of=on("2026-12-31")) == shown()
    assert shown(as_of=on("2026-02-15"), leaf_id=said[3].messages[1].id) == shown(as_of=on("2026-02-15"))
    assert shown(as_of=on("2026-02-15"), leaf_id=said[0].messages[1].id) == ["question 01", "answer 01"]


def answer(month: str) -> dict[str, Any]:
    return {"role": "assistant", "content": f"answer {month}", "timestamp": f"2026-{month}-02T08:00:00Z"}


def test_a_summary_of_later_is_not_shown_and_none_is_requested(world: World) -> None:
    for month in range(1, 9):
        world.say("talk", user(f"question {month}", f"2026-0{month}-01"), answer(f"0{month}"), end_user_id="ada")
    asked: dict[str, Any] = {"session_id": "talk", "preset": FLOWX_5}
    context(world, **asked, as_of=on("2026-08-02"))
    assert world.queue.drain_task(SUMMARIZE, lambda each: make_summary(world.services, each)) == 0
    context(world, **asked)
    assert world.queue.drain_task(SUMMARIZE, lambda each: make_summary(world.services, each)) == 1

    def has_summary(**fields: Any) -> bool:
        return report(context(world, **asked, **fields)).summary is not None

    assert has_summary()
    assert has_summary(as_of=now(world))
    assert not has_summary(as_of=on("2026-08-02"))


def test_a_profile_is_of_today(world: World, base: UUID) -> None:
    assert base
    with pytest.raises(errors.InvalidRequest, match="profile must be null or false with as_of") as error:
        context(world, query="boat", as_of=on("2026-02-28"), profile=True)
    assert error.value.field == "profile"
    assert context(world, query="What do you know about me?", as_of=on("2026-02-28")).report


def test_a_date_needs_a_time_zone(world: World, base: UUID) -> None:
    for ask in (lambda **fields: find(world, base, **fields), lambda **fields: context(world, **fields)):
        with pytest.raises(errors.InvalidRequest, match="as_of must have a time zone") as error:
            ask(as_of=datetime(2026, 2, 1))  # noqa: DTZ001 - that is what is refused
        assert error.value.field == "as_of"


# A fact that changed three times as people tell and ask it, beside what else they say.
MOVES = (
    ("2026-01-05", "I finally have the keys, from today I live in Antwerp.", "Antwerp"),
    ("2026-02-10", "We moved to Bruges last weekend, the new job is there.", "Bruges"),
    ("2026-03-15", "New start: I live in Ghent now, the flat in Bruges is sold.", "Ghent"),
    ("2026-05-01", "I have moved again and live in Leuven now.", "Leuven"),
)
SMALL_TALK = (
    "The pump in the cellar needs a new seal.",
    "My sister's birthday is in June, I still need a present.",
    "Please remind me of the dentist on Friday.",
    "The soup with leeks was better than last time.",
)
QUESTIONS = ("Where do I live?", "Which city is my home now?", "What town have I moved to?")
LIVED = {"2026-01-01": None, "2026-01-31": "Antwerp", "2026-02-28": "Bruges", "2026-04-01": "Ghent", None: "Leuven"}


@pytest.fixture
def asked_by_people(model_cache: Path, tmp_path: Path) -> Iterator[tuple[World, UUID]]:
    """A memory base of the default model."""
    world = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
    settings = Settings(data_dir=tmp_path, model_dir=model_cache)
    model: Any = Embedders(settings)
    world = replace(world, services=replace(world.services, settings=settings, embedders=model), embedders=model)
    base = world.new_base(threshold=100)
    for day, text, _ in MOVES:
        said = [user(each, day) for each in (*SMALL_TALK[:2], text, *SMALL_TALK[2:])]
        world.say(day, *said, end_user_id="ada")
    world.flush(base)
    world.drain()
    yield world, base
    world.close()


@pytest.mark.slow
def test_questions_as_people_ask_them_get_the_value_of_the_date(asked_by_people: tuple[World, UUID]) -> None:
    world, base = asked_by_people
    right: list[bool] = []
    for day, city in LIVED.items():
        later = [each for when, _, each in MOVES if day is not None and when > day]
        for question in QUESTIONS:
            found = find(world, base, question, as_of=on(day))
            told = context(world, query=question, as_of=on(day), recall=RecallOptions(min_score=0.0)).text
            right.append(city is None or city in found[0].content)
            assert not [each for each in later if each in told or any(each in hit.content for hit in found)]
            assert city is None or city in told
    assert all(right)
