"""Deletions of sessions, end users and flows reach node memory in objects; a worker deletes what is old."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.models import Flow, Heartbeat
from memorybase.core.operations import sweeper
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits
from memorybase.features.dify import deletion
from memorybase.features.dify.deletion import CLEAN_UP, CLEAN_UP_TASK
from memorybase.features.dify.node_objects import NodeObjectMemory, objects_of


def write_node_object(world: World, app_id: str, conversation_id: str = "s") -> None:
    memory = NodeObjectMemory(app_id, conversation_id, "n", objects=objects_of(world.services.settings))
    memory.add_messages("m1", None, "secret", [], "answer")
    memory.flush()


def node_object_folders(world: World) -> set[str]:
    root = world.services.settings.data_dir / "node_memory"
    return {str(path.parent.relative_to(root)) for path in root.rglob("*.json")}


def name_flow(world: World, flow_id: UUID, external_id: str) -> None:
    with world.services.database.transaction() as db:
        db.execute(sa.update(Flow).where(Flow.id == flow_id).values(external_id=external_id))


def unreachable(_: object) -> None:
    raise OSError


@pytest.mark.parametrize("by", ["session", "end user", "flow"])
def test_a_deletion_reaches_node_memory_in_objects(world: World, by: str) -> None:
    name_flow(world, world.flow_id, "support")
    world.say("s", "a question", end_user_id="anna")
    world.say("other", "another")
    for app_id in (str(world.flow_id), "support", "unrelated"):
        write_node_object(world, app_id)
    write_node_object(world, "support", "other")
    if by == "session":
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    elif by == "end user":
        edits.erase_end_user(world.services, world.user_id, "anna")
    else:
        session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
    assert node_object_folders(world) == {"unrelated/s"} | (set() if by == "flow" else {"support/other"})


def test_a_deletion_spares_node_memory_that_may_be_another_users(world: World) -> None:
    name_flow(world, world.flow_id, "support")
    name_flow(world, world.new_flow(world.new_user()), "support")
    world.say("s", "a question")
    write_node_object(world, "support")
    write_node_object(world, str(world.flow_id))
    edits.delete_session(world.services, world.user_id, world.flow_id, "s")
    assert node_object_folders(world) == {"support/s"}


def test_node_memory_is_deleted_once_its_store_answers_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say("s", "a question")
    write_node_object(world, str(world.flow_id))
    with monkeypatch.context() as outage:
        outage.setattr(deletion, "objects_of", unreachable)
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        world.sweep()
        assert node_object_folders(world)
    assert world.sweep().done["sessions_removed"] == 1
    assert node_object_folders(world) == set()


def test_node_memory_in_objects_is_cleaned_up_once_a_day_by_a_worker(world: World) -> None:
    """The sweeper enqueues it once a day, however many sweepers run, and again if the notification was lost."""
    assert world.sweep().done["node_memory"] == 0, "never, unless the settings say after how long"
    services = replace(world.services, settings=world.services.settings.model_copy(update={"node_memory_days": 30}))
    world.queue.away = True
    assert sweeper.sweep(services).done["node_memory"] == 0
    world.queue.away = False
    assert [sweeper.sweep(services).done["node_memory"] for _ in range(3)] == [1, 0, 0]
    with world.services.database.transaction() as db:
        db.get_one(Heartbeat, CLEAN_UP).beat_at -= timedelta(days=1)
    assert sweeper.sweep(services).done["node_memory"] == 1
    assert len(world.queue.notified[CLEAN_UP_TASK.name]) == 2
