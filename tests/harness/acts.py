"""What many tests begin with: a session with so many messages, ingested, and an edit of one."""

from __future__ import annotations

from uuid import UUID

from harness.world import World
from memorybase.sessions import edits


def texts(count: int, start: int = 0) -> list[str]:
    return [f"message number {n}" for n in range(start, start + count)]


def filled(world: World, count: int = 5, session_id: str = "s") -> UUID:
    base = world.new_base(threshold=1)
    world.say(session_id, *texts(count))
    world.settle()
    world.assert_all_ingested(base)
    return base


def edit(world: World, message_id: UUID, content: str) -> list[UUID]:
    return edits.edit_message(world.services, world.user_id, message_id, {"content": content})
