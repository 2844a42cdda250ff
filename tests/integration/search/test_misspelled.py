"""Misspelled words of a question are read as the nearest words of the flow."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from harness.rows import each_row
from harness.statements import recorded
from harness.world import World

from memorybase.core.keyword_index import packing
from memorybase.core.queries import keyword_index as postings
from memorybase.core.search import keyword_search, misspelled
from memorybase.core.search import search as answer
from memorybase.core.search.request import SearchRequest

TEXTS = (
    "The doctor gave me an antibiotic on Monday",
    "I am allergic to walnuts",
    "We had dinner in a restaurant by the harbour",
    "Did you receive the parcel from Zofia?",
    "Elle garde le vélo dans le garage et les clés chez sa sœur",
    "We walk along the river in the evening",
)
IS_LOOKUP = "LIMIT"


@pytest.fixture
def base(world: World) -> UUID:
    base = world.new_base()
    for number, text in enumerate(TEXTS):
        world.say(f"s{number}", text)
    return base


def found(world: World, base: UUID, query: str, mode: Any = "keyword") -> list[str]:
    request = SearchRequest(memory_base_id=base, query=query, mode=mode)
    return [each.content for each in answer.search(world.services, world.user_id, request).results]


@each_row(
    ("query", "number"),
    [
        *(("antibiotik", 0), ("what am I alergic to", 1), ("resturant", 2), ("recieve", 3)),
        *(("harbuor restarant", 2), ("veol", 4), ("gaarge", 4)),
    ],
)
def test_a_misspelled_word_finds_what_was_meant(world: World, base: UUID, query: str, number: int) -> None:
    assert found(world, base, query)[:1] == [TEXTS[number]]


@each_row("query", ["talk", "Sofia", "kettle", "b12", "4711", "\u732b"])
def test_other_words_and_short_ones_find_nothing(world: World, base: UUID, query: str) -> None:
    assert found(world, base, query) == []


def test_a_message_with_the_word_itself_comes_first(world: World) -> None:
    base = world.new_base()
    world.say("a", "the marble statue")
    assert found(world, base, "marbel statue") == ["the marble statue"]
    world.say("b", "the marbel statue")
    assert found(world, base, "marbel") == ["the marbel statue"]  # a word of the flow is read as no other


def test_words_that_the_flow_knows_cost_nothing(world: World, base: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: Any) -> list[int]:
        raise AssertionError("looked up")

    monkeypatch.setattr(misspelled, "meant", unexpected)
    assert found(world, base, "antibiotics from the doctor") == [TEXTS[0]]


@pytest.mark.usefixtures("base")
def test_words_of_another_flow_are_not_read(world: World) -> None:
    with world.services.database.reading() as db:
        assert misspelled.meant(db, world.flow_id, "antibiotik", ("english",))
        assert misspelled.meant(db, UUID(int=1), "antibiotik", ("english",)) == {}


def test_packed_postings_are_known_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base()
    world.say("a", "the lighthouse is far", "the lighthouse is near")
    monkeypatch.setattr(packing, "IDLE_SECONDS", -60.0)
    packing.pack(world.services)
    assert len(found(world, base, "lihgthouse")) == 2


@pytest.mark.both_databases
@pytest.mark.usefixtures("base")
def test_each_near_word_that_is_known_is_one_row_read(world: World) -> None:
    world.say("often", *["an accommodation"] * 60)
    terms = list(range(400)) + list(misspelled._keys(world.flow_id, ["accommodation"], ("english",)))
    with world.services.database.reading() as db, recorded(world.services.database.engine) as sent:
        assert len(postings.known(db, terms)) == 1
    ((statement, parameters),) = [each for each in sent if IS_LOOKUP in each[0]]
    with world.services.database.engine.connect() as connection:
        if world.services.database.is_sqlite:
            plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            assert any("SEARCH postings USING PRIMARY KEY (term=?)" in step for step in plan), plan
        else:
            connection.exec_driver_sql("SET enable_seqscan = off")  # a table this small is read as a whole
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
            (explained,) = connection.exec_driver_sql(explain, parameters).scalar_one()
            assert _rows(explained["Plan"]) <= 1


def _rows(node: dict[str, Any]) -> float:
    own = node["Actual Rows"] * node["Actual Loops"] if node.get("Relation Name") == "postings" else 0.0
    return own + sum(map(_rows, node.get("Plans", [])))


def test_few_words_of_a_question_are_looked_up(world: World, base: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []

    def meant(_db: Any, _flow: UUID, word: str, _languages: Any) -> list[int]:
        looked_up.append(word)
        return []

    monkeypatch.setattr(misspelled, "meant", meant)
    found(world, base, "zebra yodel xylophone quilt pumpkin ostrich")
    assert len(looked_up) == keyword_search.MISSPELLED
