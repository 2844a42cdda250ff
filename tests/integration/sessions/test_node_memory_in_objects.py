"""Deletions of sessions, end users and flows reach node memory in objects."""

from __future__ import annotations

from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.conversation.node_object_memory import NodeObjectMemory, erasure, objects_of
from memorybase.models import Flow
from memorybase.sessions import deletion as session_deletion
from memorybase.sessions import edits


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
        outage.setattr(erasure, "objects_of", unreachable)
        edits.delete_session(world.services, world.user_id, world.flow_id, "s")
        world.sweep()
        assert node_object_folders(world)
    assert world.sweep().done["sessions_removed"] == 1
    assert node_object_folders(world) == set()
