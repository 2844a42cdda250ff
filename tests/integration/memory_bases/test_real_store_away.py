"""A real Chroma server that is killed or frozen: the memory bases in pgvector do not notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from harness import ChromaServer
from harness.acts import run_batch
from harness.waiting import wait_until
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import consistency, orphans, reconcile, regenerate
from memorybase.core.operations import health, heartbeats, store_check
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.core.vector_stores import VectorStoreName
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.pgvector import PgVectorStore
from memorybase.core.vectors.stores import VectorStores

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("world", ["sqlite"], indirect=True),  # about the store, not the database
]

TEXTS = ("wine and cheese", "a long walk", "the hills of Tuscany")
STOPPED: dict[str, Callable[[ChromaServer], object]] = {"killed": ChromaServer.kill, "frozen": ChromaServer.freeze}


@pytest.fixture
def two(world: World, own_chroma: ChromaServer, pgvector_url: str) -> Iterator[World]:
    """`chroma` is this test's own server."""
    chroma, pgvector = ChromaStore(own_chroma.url, timeout_seconds=5.0), PgVectorStore(pgvector_url, pool_size=2)
    vectors = VectorStores({"chroma": chroma, "pgvector": pgvector}, ("chroma", "pgvector"))
    settings = world.services.settings.model_copy(update={"chroma_url": own_chroma.url, "pgvector_url": pgvector_url})
    world.services = replace(world.services, vectors=vectors, settings=settings)
    yield world
    vectors.close()


def filled(world: World, store: VectorStoreName) -> UUID:
    base = world.new_base(threshold=1, flow_id=world.new_flow(), vector_store=store)
    say(world, base, *TEXTS)
    world.settle()
    return base


def say(world: World, base: UUID, *texts: str) -> None:
    world.say("s", *texts, flow_id=world.base(base).flow_id)


def found(world: World, base: UUID) -> set[str]:
    wanted = SearchRequest(query=TEXTS[0], memory_base_id=base, mode="dense", top_k=9, include_pending=False)
    return {hit.content for hit in search.search(world.services, world.user_id, wanted).results}


@pytest.mark.parametrize("stopped", STOPPED)
def test_a_stopped_store_harms_only_its_memory_bases(two: World, own_chroma: ChromaServer, stopped: str) -> None:
    here, there = filled(two, "pgvector"), filled(two, "chroma")
    heartbeats.beat(two.services, "worker@1", "worker")
    heartbeats.beat(two.services, "sweeper@1", "sweeper")
    STOPPED[stopped](own_chroma)

    for base in (there, here):
        say(two, base, "one more")
    run_batch(two)

    assert found(two, here) == {*TEXTS, "one more"}
    with pytest.raises(errors.VectorStoreUnavailable, match="chroma"):
        found(two, there)
    assert [job.outages for job in two.active_jobs(there)] == [1]
    regenerate.regenerate(two.services, two.user_id, here)
    run_batch(two)
    assert found(two, here) == {*TEXTS, "one more"}
    assert not store_check.check_store(two.services)
    assert {part.name for part in health.check_parts(two.services) if not part.ok} == {"chroma"}
    done = {base: reconcile.reconcile_base(two.services, base, repair=True) for base in (here, there)}
    assert [each and each.state for each in done.values()] == ["ok", "unavailable"]
    assert not [orphan for orphan in orphans.find_orphans_in(two.services, "pgvector") if orphan.ours]

    if stopped == "killed":
        own_chroma.start()
    else:
        own_chroma.thaw()
    wait_until(lambda: answers(two, there), 30, "Chroma counts as back")
    two.pass_time(60)
    two.settle()
    assert found(two, there) == {*TEXTS, "one more"}
    assert consistency.check_mismatch(two.services, two.user_id, there).state == "ok"


def answers(world: World, base: UUID) -> bool:
    try:
        return bool(found(world, base))
    except errors.VectorStoreUnavailable:
        return False
