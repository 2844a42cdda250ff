"""Memory bases and knowledge bases in two vector stores, moved from one to the other by a regenerate."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from harness.doubles import InMemoryVectors
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import consistency, orphans, regenerate
from memorybase.core.memory_bases.deletion import delete_memory_base
from memorybase.core.operations import health, heartbeats
from memorybase.core.read_models import memory_bases
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.stores import VectorStores
from memorybase.features.documents import knowledge
from memorybase.features.documents.documents import NewDocument
from memorybase.features.documents.knowledge import DocumentQuery

TEXTS = ("wine and cheese", "a long walk", "the hills of Tuscany")


@pytest.fixture
def pgvector() -> InMemoryVectors:
    return InMemoryVectors()


@pytest.fixture
def both(world: World, pgvector: InMemoryVectors) -> World:
    """New collections are in Chroma's double; the other store is configured too."""
    vectors = VectorStores({"chroma": world.vectors, "pgvector": pgvector}, ("chroma", "pgvector"))
    world.services = replace(world.services, vectors=vectors)
    choose(world, "chroma")
    return world


def choose(world: World, store: VectorStoreName, **urls: str) -> None:
    """Set the store of new collections."""
    changes = {"vector_store": store, "chroma_url": "http://chroma", "pgvector_url": "postgresql://pgvector"} | urls
    world.services = replace(world.services, settings=world.services.settings.model_copy(update=changes))


def filled(world: World) -> UUID:
    base = world.new_base(threshold=1)
    world.say("s", *TEXTS)
    world.settle()
    return base


def found(world: World, base: UUID) -> set[str]:
    wanted = SearchRequest(query=TEXTS[0], memory_base_id=base, mode="dense", top_k=3, include_pending=False)
    return {hit.content for hit in search.search(world.services, world.user_id, wanted).results}


def test_a_regenerate_moves_the_vectors_and_embeds_nothing(both: World, pgvector: InMemoryVectors) -> None:
    base = filled(both)
    old = both.ref(base)
    choose(both, "pgvector")
    assert found(both, base) == set(TEXTS)
    both.embedder.embedded.clear()

    regenerate.regenerate(both.services, both.user_id, base, vector_store="pgvector")
    both.settle()

    both.assert_exact(base)
    assert (len(pgvector.names()), both.embedder.embedded) == (1, [])
    assert memory_bases.get_memory_base(both.services, both.user_id, base).vector_store == "pgvector"
    assert found(both, base) == set(TEXTS)
    both.pass_time(3_600)
    both.settle()
    assert old.name not in both.vectors.names()
    assert orphans.find_orphans(both.services) == []


def test_a_memory_base_stays_in_its_store_unless_another_is_named(both: World, pgvector: InMemoryVectors) -> None:
    base = filled(both)
    choose(both, "pgvector")
    both.say("s", "one more")
    both.settle()
    regenerate.regenerate(both.services, both.user_id, base)
    both.settle()

    both.assert_exact(base)
    assert pgvector.names() == []
    assert consistency.check_mismatch(both.services, both.user_id, base).state == "ok"


def test_without_its_url_a_store_is_lost_and_rebuilt_by_regenerate(both: World, pgvector: InMemoryVectors) -> None:
    base = filled(both)
    choose(both, "pgvector", chroma_url="")
    both.services = replace(both.services, vectors=VectorStores({"pgvector": pgvector}, ("pgvector",)))
    with pytest.raises(errors.CollectionMissing, match="chroma"):
        found(both, base)

    regenerate.regenerate(both.services, both.user_id, base)
    both.settle()

    both.assert_exact(base)
    assert found(both, base) == set(TEXTS)
    delete_memory_base(both.services, both.user_id, base)
    both.settle()
    assert pgvector.names() == []


def test_jobs_that_one_store_fails_do_not_fail_the_other(both: World, pgvector: InMemoryVectors) -> None:
    for kind in ("worker", "sweeper"):
        heartbeats.beat(both.services, f"{kind}@1", kind)  # type: ignore[arg-type]
    both.new_base(threshold=1, vector_store="pgvector")
    both.say("s", *TEXTS)
    pgvector.read_only = True
    for _ in range(3):
        both.drain()
        both.pass_time(60)
        both.sweep()

    problems = {part.name: part.problem for part in health.check_parts(both.services) if not part.ok}

    assert problems.keys() == {"pgvector"}
    assert "it fails 1 job repeatedly" in (problems["pgvector"] or "")


def test_an_ordinary_knowledge_base_is_moved_by_a_rebuild(both: World, pgvector: InMemoryVectors) -> None:
    knowledge.create(both.services, both.user_id, name="notes")
    knowledge.add_documents(both.services, both.user_id, "notes", [NewDocument(text) for text in TEXTS])
    choose(both, "pgvector")

    def nearest() -> set[str]:
        query = DocumentQuery(query=TEXTS[0], top_k=3)
        return {hit.snippet for hit in knowledge.search(both.services, both.user_id, "notes", query).results}

    assert nearest() == set(TEXTS)
    assert pgvector.names() == []
    knowledge.rebuild(both.services, both.user_id, "notes")

    assert nearest() == set(TEXTS)
    assert (len(pgvector.names()), both.vectors.names()) == (1, [])


def test_a_memory_base_may_name_its_store(both: World, pgvector: InMemoryVectors) -> None:
    base = both.new_base(vector_store="pgvector")
    both.new_base()

    assert len(pgvector.names()) == len(both.vectors.names()) == 1
    assert memory_bases.get_memory_base(both.services, both.user_id, base).vector_store == "pgvector"


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)  # without a URL pgvector is in a main PostgreSQL
def test_a_store_without_a_url_is_refused_by_name(both: World) -> None:
    base = both.new_base()
    choose(both, "chroma", pgvector_url="")

    with pytest.raises(errors.InvalidRequest, match=r"in the settings, chroma \(got 'pgvector'\)") as raised:
        both.new_base(vector_store="pgvector")
    assert (raised.value.field, raised.value.limit) == ("vector_store", ["chroma"])
    with pytest.raises(errors.InvalidRequest):
        regenerate.regenerate(both.services, both.user_id, base, vector_store="pgvector")
    assert len(both.vectors.names()) == 1
