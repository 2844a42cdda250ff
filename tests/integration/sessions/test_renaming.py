"""A rename of a long session: one commit for readers, pages for what follows, whatever is cut off."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.acts import texts
from harness.world import World

from memorybase.core.database.paging import PageRequest
from memorybase.core.errors import NotFound
from memorybase.core.models import MemoryUse, Session
from memorybase.core.queries import memory_uses
from memorybase.core.queries.job_lists import JobFilter
from memorybase.core.read_models import jobs
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.sessions import edits, renaming
from memorybase.core.vectors import indexes

pytestmark = pytest.mark.both_databases
LONG = 10


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of some ten messages take several pages, and searches in them ask the store for them by name."""
    monkeypatch.setattr(renaming, "PAGE", 3)
    monkeypatch.setattr(indexes, "finds_sessions", lambda *_: True)


def rename(world: World, old: str, new: str) -> None:
    edits.update_session(world.services, world.user_id, world.flow_id, old, new_session_id=new)


def cut_off(world: World, old: str, new: str) -> None:
    """Rename it, with a kill after the first commit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renaming, "finish", lambda *_: None)
        rename(world, old, new)


def found(world: World, base: UUID, session_id: str, *, pending: bool = True) -> set[str]:
    """By meaning."""
    request = SearchRequest(
        memory_base_id=base, session_id=session_id, query="text", mode="dense", top_k=50, include_pending=pending
    )
    return {hit.content for hit in search(world.services, world.user_id, request).results}


def is_done(world: World) -> bool:
    return world.scalar(sa.select(sa.func.count()).where(Session.renamed_at.is_not(None))) == 0


def names_in_store(world: World, base: UUID) -> set[str]:
    ids = world.services.vectors.iter_ids
    return {name for name in ("old", "new", "newest") if any(ids(world.ref(base), session_id=name))}


def use(world: World, session_id: str) -> UUID:
    """What a model was given for the session in a run that is not captured."""
    run_id = uuid4()
    values: dict[str, Any] = {"messages": [], "sources": [], "report": {}, "recorded_at": datetime.now(UTC)}
    with world.services.database.transaction() as db:
        memory_uses.put_use(
            db, {"flow_id": world.flow_id, "run_id": run_id, "node_id": "llm", "session_id": session_id, **values}, []
        )
    return run_id


def uses(world: World, session_id: str) -> set[UUID]:
    return set(world.scalars(sa.select(MemoryUse.run_id).where(MemoryUse.session_id == session_id)))


def test_a_rename_that_is_cut_off_is_seen_whole_and_finished(world: World) -> None:
    base = world.new_base(threshold=1)
    said = texts(LONG)
    world.say("old", *said)
    world.settle()
    cut_off(world, "old", "new")
    assert not is_done(world)
    assert [message.session_id for message in world.messages()] == ["new"] * LONG
    assert {job.session_id for job in world.jobs(base)} == {"new"}
    assert (
        jobs.list_jobs(
            world.services, world.user_id, JobFilter(memory_base_id=base, session_id="old"), PageRequest()
        ).items
        == []
    )
    assert found(world, base, "new") == set(said)
    assert len(found(world, base, "new", pending=False)) == LONG - 3  # of the others the version was raised
    with pytest.raises(NotFound):
        edits.delete_session(world.services, world.user_id, world.flow_id, "old")

    world.say("old", "of another session")
    assert found(world, base, "old") == {"of another session"}
    assert found(world, base, "new") == set(said)

    assert world.sweep().done["renames_finished"] == 1
    assert is_done(world)
    assert world.sweep().done["renames_finished"] == 0
    world.assert_settled(base)
    assert found(world, base, "new", pending=False) == set(said)
    assert names_in_store(world, base) == {"old", "new"}
    assert {message.version for message in world.messages("new")} == {2}


def test_the_request_does_every_page(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("old", *texts(LONG))
    world.settle()
    rename(world, "old", "new")
    assert is_done(world)
    world.assert_settled(base)
    assert names_in_store(world, base) == {"new"}


def test_the_next_rename_and_a_deletion_finish_the_one_before(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("old", *texts(LONG))
    world.settle()
    given = {use(world, "old") for _ in range(LONG)}
    cut_off(world, "old", "new")
    rename(world, "new", "newest")
    assert is_done(world)
    assert uses(world, "newest") == given
    world.assert_settled(base)
    assert names_in_store(world, base) == {"newest"}
    cut_off(world, "newest", "last")
    assert edits.delete_session(world.services, world.user_id, world.flow_id, "last").memory_uses == LONG


def test_uses_of_a_session_that_begins_under_the_former_id_stay_its_own(world: World) -> None:
    world.say("old", *texts(LONG))
    given = {use(world, "old") for _ in range(LONG)}
    cut_off(world, "old", "new")
    world.say("old", "of another session")
    later = use(world, "old")
    world.sweep()
    assert (uses(world, "new"), uses(world, "old")) == (given, {later})
