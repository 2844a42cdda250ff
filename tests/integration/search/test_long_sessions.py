"""Searches in long sessions with pgvector, whose index finds their chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from harness import PostgresServer
from harness.world import World, build_world

from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.search.vector_search import COMPARED_CHUNKS
from memorybase.core.sessions import edits
from memorybase.core.vectors.pgvector import PgVectorStore

pytestmark = pytest.mark.slow  # thousands of messages

RUN = 60
RUNS = COMPARED_CHUNKS // RUN + 1


@pytest.fixture
def world(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[World]:
    """With its vectors in the same database."""
    name = postgres_server.create_database(template=postgres_server.template)
    url = postgres_server.url(name)
    built = build_world(url, tmp_path)
    with closing(PgVectorStore(url)) as store:
        built.services = replace(built.services, vectors=store)
        yield built
    built.close()
    postgres_server.drop_database(name)


@pytest.fixture
def base(world: World) -> UUID:
    """A session of Ada with more chunks than are compared one by one, and others."""
    base = world.new_base(threshold=1)
    for run in range(RUNS):
        world.say("long", *(f"harbour {run} {n}" for n in range(RUN)), end_user_id="ada")
        world.say("other", *(f"zebra {run} {n}" for n in range(RUN)), end_user_id="bob")
    world.say("short", "a zebra of hers", end_user_id="ada")
    world.settle()
    return base


@pytest.fixture
def filters(base: UUID, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The filter of each query of the store, once the memory base is filled."""
    assert base
    sent: list[Any] = []
    query = PgVectorStore.query

    def noted(self: PgVectorStore, ref: Any, vector: Any, limit: int, where: Any = None, **options: Any) -> Any:
        sent.append(where)
        return query(self, ref, vector, limit, where, **options)

    monkeypatch.setattr(PgVectorStore, "query", noted)
    return sent


def found(world: World, base: UUID, **wanted: Any) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query="zebra 1 1", mode="dense", **wanted)
    return search(world.services, world.user_id, request).results


def test_a_session_is_one_query_of_its_chunks(world: World, base: UUID, filters: list[Any]) -> None:
    hits = found(world, base, session_id="long", top_k=20)
    assert [hit.session_id for hit in hits] == ["long"] * 20
    assert filters == [{"session_id": {"$in": ["long"]}}]


def test_an_end_user_is_one_query_of_the_chunks_of_their_sessions(world: World, base: UUID, filters: list[Any]) -> None:
    hits = found(world, base, end_user_id="ada", top_k=20)
    assert len(hits) == 20
    assert {hit.session_id for hit in hits} <= {"long", "short"}
    ((wanted,),) = [each.values() for each in filters]
    assert sorted(wanted["$in"]) == ["long", "short"]


def test_a_session_is_found_by_its_new_name(world: World, base: UUID) -> None:
    edits.update_session(world.services, world.user_id, world.flow_id, "short", new_session_id="renamed")
    assert [hit.content for hit in found(world, base, session_id="renamed")] == ["a zebra of hers"]
    assert found(world, base, session_id="short") == []
    world.settle()
    assert [hit.content for hit in found(world, base, session_id="renamed")] == ["a zebra of hers"]
    assert found(world, base, session_id="short") == []


def test_a_session_of_another_person_is_not_searched(world: World, base: UUID, filters: list[Any]) -> None:
    assert found(world, base, session_id="other", end_user_id="ada") == []
    assert filters == []
