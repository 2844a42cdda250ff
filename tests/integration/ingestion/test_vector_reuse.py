"""A text is not embedded again if another collection has a valid vector of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import consistency, deletion
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.memory_bases.newest_chunks import NewestChunks
from memorybase.core.models import Base
from memorybase.core.queries import ledger
from memorybase.core.sessions import edits
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef, StoredVector

TEXTS = ["the first message", "the second message", "word " * 600, "  ", "the last message"]


@pytest.fixture(autouse=True)
def no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeper's comparison of the newest chunks reads vectors too; here only a job's reads are counted."""
    monkeypatch.setattr(consistency, "compare_newest", lambda *_: NewestChunks(set(), set(), set()))


def filled(world: World, *texts: str) -> UUID:
    base = world.new_base(threshold=1)
    world.say("s", *(texts or TEXTS))
    world.assert_settled(base)
    return base


def regenerate(world: World, base: UUID, **changes: Any) -> list[str]:
    """What was embedded for it."""
    world.embedder.embedded.clear()
    world.vectors.calls.clear()
    regeneration.regenerate(world.services, world.user_id, base, **changes)
    world.assert_settled(base)
    return world.embedder.embedded


def second_base(world: World, **settings: Any) -> tuple[UUID, list[str]]:
    """Another memory base of the flow, with all of its history, and what was embedded for it."""
    world.embedder.embedded.clear()
    world.vectors.calls.clear()
    base = world.new_base(**settings)
    world.flush(base)
    world.assert_settled(base)
    return base, world.embedder.embedded


def stored_texts(world: World, base: UUID) -> list[str]:
    return sorted(record.text for record in world.vectors.records(world.ref(base)).values())


def edit(world: World, position: int, content: str) -> None:
    edits.edit_message(world.services, world.user_id, world.messages()[position].id, {"content": content})


def assert_right_vectors(world: World, base: UUID) -> None:
    """Each chunk is stored with the vector that its text has."""
    for record in world.vectors.records(world.ref(base)).values():
        np.testing.assert_allclose(record.vector, world.embedder._vector(record.text), atol=1e-6)


# What is taken.


def test_a_regenerate_with_the_same_model_embeds_nothing(world: World) -> None:
    base = filled(world)
    before = stored_texts(world, base)
    assert len(before) > len(TEXTS)
    assert regenerate(world, base) == []
    assert world.base(base).serving == 2
    assert stored_texts(world, base) == before
    assert_right_vectors(world, base)


def test_a_second_memory_base_of_the_flow_embeds_nothing(world: World) -> None:
    first = filled(world)
    second, embedded = second_base(world)
    assert embedded == []
    assert world.vectors.calls["fetch"] == 1
    assert_right_vectors(world, second)
    assert world.stored(first).isdisjoint(world.stored(second))
    messages = {str(message.id) for message in world.messages() if message.content.strip()}
    assert {r.metadata["message_id"] for r in world.vectors.records(world.ref(second)).values()} == messages


def test_only_chunks_missing_in_the_other_collection_are_embedded(world: World) -> None:
    filled(world, "one", "two")
    world.say("s", "three")  # of threshold 1, and not worked off: the queue loses it
    world.queue.clear()
    _, embedded = second_base(world)
    assert embedded == ["three"]


def test_of_two_bases_only_one_embeds_new_and_edited_messages(world: World) -> None:
    bases = [world.new_base(threshold=1), world.new_base(threshold=1)]
    world.say("s", "hello", "hello again")
    world.settle()
    assert sorted(world.embedder.embedded) == ["hello", "hello again"]
    edit(world, 0, "changed")
    world.settle()
    assert world.embedder.embedded[2:] == ["changed"]
    for base in bases:
        world.assert_all_ingested(base)
        assert_right_vectors(world, base)


def test_without_another_collection_the_store_is_not_read(world: World) -> None:
    filled(world, "one")
    assert world.vectors.calls["fetch"] == 0


def test_vectors_lost_in_one_source_are_copied_from_another(world: World) -> None:
    first = filled(world, "one", "two")
    second, _ = second_base(world)
    for base, position in ((first, 0), (second, 1)):
        message = world.messages()[position]
        world.vectors.damage(world.ref(base), [chunk_ids.chunk_id(base, message.id, 1, 0)])
    third, embedded = second_base(world)
    assert embedded == []
    assert_right_vectors(world, third)


# What is embedded.


@pytest.mark.slow
def test_a_regenerate_with_another_model_embeds_everything(world: World) -> None:
    base = filled(world)
    assert regenerate(world, base, embedding_model="other") == []
    assert sorted(world.embedders.get("other").embedded) == stored_texts(world, base)
    assert world.vectors.calls["fetch"] == 0


def test_another_revision_backend_or_passage_prompt_is_another_embedder(world: World) -> None:
    base = filled(world, "one")
    for identity in ("fake/fake/2", "another/fake/2", "another/fake/2/passage-0123abcd"):
        world.embedder.identity = identity
        assert regenerate(world, base) == ["one"]


def test_another_chunker_embeds_everything(world: World) -> None:
    base = filled(world)
    settings = world.services.settings.model_copy(update={"chunk_tokens": 100})
    world.services = replace(world.services, settings=settings)
    assert sorted(regenerate(world, base)) == stored_texts(world, base)
    assert world.vectors.calls["fetch"] == 0


def test_an_edited_message_is_embedded(world: World) -> None:
    first = filled(world, "one", "two", "three")
    edit(world, 1, "changed")
    world.queue.clear()  # the first base does not follow yet
    assert world.active_jobs(first)
    second = world.new_base()
    world.embedder.embedded.clear()
    world.flush(second)
    world.drain()
    assert world.embedder.embedded == ["changed"]
    assert stored_texts(world, second) == ["changed", "one", "three"]
    assert_right_vectors(world, second)


def test_another_flow_is_no_source(world: World) -> None:
    filled(world, "one")
    world.flow_id = world.new_flow()
    world.embedder.embedded.clear()
    filled(world, "one")
    assert world.embedder.embedded == ["one"]
    assert world.vectors.calls["fetch"] == 0


def test_a_regenerate_replaces_lost_and_damaged_vectors(world: World) -> None:
    base = filled(world, "one", "two", "three", "four")
    lost, damaged = (chunk_ids.chunk_id(base, world.messages()[position].id, 1, 0) for position in (1, 2))
    world.vectors.lose(world.ref(base), [lost])
    world.vectors.damage(world.ref(base), [damaged])
    assert sorted(regenerate(world, base)) == ["three", "two"]
    assert_right_vectors(world, base)


# What is not believed.

Spoil = Callable[[StoredVector], StoredVector]


@pytest.mark.slow
@each_row(
    "spoil",
    [
        lambda one: StoredVector(one.vector, one.text + " "),
        lambda one: StoredVector(one.vector, ""),
        lambda one: StoredVector(one.vector[:-1], one.text),
        lambda one: StoredVector(one.vector.reshape(1, -1), one.text),
        lambda one: StoredVector(np.full_like(one.vector, np.nan), one.text),
        lambda one: StoredVector(np.full_like(one.vector, np.inf), one.text),
        lambda one: StoredVector(np.zeros_like(one.vector), one.text),
    ],
    ids=["another text", "no text", "dimension", "shape", "nan", "inf", "zeros"],
)
def test_a_vector_of_other_text_is_not_copied(world: World, monkeypatch: pytest.MonkeyPatch, spoil: Spoil) -> None:
    world = world.for_new_user()
    filled(world, "one", "two")
    fetch = world.vectors.fetch

    def spoiled(ref: CollectionRef, ids: Sequence[str]) -> Mapping[str, StoredVector]:
        first, *others = sorted(fetch(ref, ids).items(), key=lambda item: item[1].text)
        return {first[0]: spoil(first[1]), **dict(others)}

    monkeypatch.setattr(world.vectors, "fetch", spoiled)
    second, embedded = second_base(world)
    assert embedded == ["one"]
    assert_right_vectors(world, second)


# Sources that fail.


def test_an_unavailable_store_costs_one_call(world: World) -> None:
    first = filled(world)
    second_base(world)
    world.vectors.fail_next(errors.VectorStoreUnavailable(), on="fetch")
    third, embedded = second_base(world)
    assert sorted(embedded) == stored_texts(world, third) == stored_texts(world, first)
    assert world.vectors.calls["fetch"] == 1
    assert [job.outages for job in world.jobs(third)] == [0]


def test_a_missing_collection_is_no_source(world: World) -> None:
    first = filled(world)
    second, _ = second_base(world)
    for gone, expected in ((first, 0), (second, len(world.stored(second)))):
        world.vectors.delete_collection(world.ref(gone).name)
        third, embedded = second_base(world)
        assert len(embedded) == expected
        deletion.delete_memory_base(world.services, world.user_id, third)
        world.settle()


def test_a_failing_message_does_not_repeat_the_reads_of_the_others(world: World) -> None:
    filled(world, *(f"number {n}" for n in range(20)))
    world.embedder.reject("poison")
    world.say("s", "poison")
    world.queue.clear()
    world.embedder.embedded.clear()
    world.vectors.calls.clear()
    second = world.new_base()
    world.flush(second)
    world.drain()
    assert [letter.error_code for letter in world.dead_letters(second)] == ["text_rejected"]
    assert len(world.stored(second)) == 20
    assert not any(text.startswith("number") for text in world.embedder.embedded)
    assert world.vectors.calls["fetch"] == 1


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_sources_are_found_with_indexes(world: World) -> None:
    base = filled(world)
    second_base(world)
    plans: list[str] = []

    def explain(connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "generations.chunker" in statement and statement.startswith("SELECT"):
            cursor = connection.connection.cursor()
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[3] for row in cursor.fetchall())
            cursor.close()

    engine = world.services.database.engine
    versions = {message.id: message.version for message in world.messages()}
    sa.event.listen(engine, "before_cursor_execute", explain)
    with world.services.database.reading() as db:
        (source,) = ledger.sources(
            db,
            progress_id=world.row(base, "s").id,
            embedder=world.embedder.identity,
            chunker="sentence-tokens/254/32",
            versions=versions,
            limit=3,
        )
    sa.event.remove(engine, "before_cursor_execute", explain)
    assert source.chunks.keys() == versions.keys()
    assert plans
    assert not [step for step in plans if step.startswith("SCAN") and step.split()[1] in Base.metadata.tables]
