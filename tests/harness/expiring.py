"""What tests of retention begin with: a rule, sweeps until nothing is left, and something of each kind to delete."""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from harness.world import World
from memorybase.core.conversation import Record, build_view
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.memory_use import record as uses
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.database import clock
from memorybase.core.database.paging import PageRequest
from memorybase.core.models import Flow
from memorybase.core.sessions import flows
from memorybase.features.retention import receipts
from memorybase.features.retention.receipts import RetentionPassView
from memorybase.features.splox import memories, message_log
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import ChatSelector, MemoryKey

S = "s"
NODE = "node"


def keep(world: World, retain_days: int | None) -> None:
    flows.update_flow(world.services, world.user_id, world.flow_id, {"retain_days": retain_days})


def sweep_all(world: World) -> None:
    """Look at every rule until nothing is left to delete, then repair the stores."""
    for _ in range(60):
        with world.services.database.transaction() as db:
            rule = sa.update(Flow).where(Flow.retain_days.is_not(None))
            db.execute(rule.values(retention_due_at=clock.now(db)))
        report = world.sweep()
        assert report.failed_steps == []
        world.settle()
        if not report.done["expired"]:
            return
    raise AssertionError("never at rest")


def receipts_of(world: World) -> list[RetentionPassView]:
    return receipts.list_passes(world.services, world.user_id, PageRequest()).items


def key_of(world: World) -> MemoryKey:
    return MemoryKey(world.user_id, world.flow_id, NODE)


def chat(world: World, text: str, chat_id: str = "chat", end_user_id: str | None = None) -> None:
    memories.put_memory(world.services, key_of(world), ChatMemoryConfig(name="memory", chat_id=chat_id))
    message_log.post_messages(
        world.services,
        key_of(world),
        ChatSelector(chat_id),
        [{"role": "user", "content": text}],
        end_user_id=end_user_id,
    )


def execute(world: World, session_id: str, run_id: UUID, text: str) -> UUID:
    context = [{"role": "user", "content": text}]
    raw = {"node_id": "llm", "index": 0, "status": "succeeded", "outputs": {"text": text, "context": context}}
    new = node_executions.new_execution(world.user_id, raw)
    stored, _ = node_executions.put_execution(world.services, world.user_id, world.flow_id, session_id, run_id, new)
    return stored.id


def use(world: World, session_id: str | None, run_id: UUID, message_id: UUID, text: str) -> None:
    view = build_view([Record(id=str(message_id), seq=1, role="user", content=text)])
    given = uses.NewUse(run_id=run_id, node_id="llm", view=view, origin=ViewOrigin(session_id=session_id))
    uses.record_use(world.services, world.user_id, world.flow_id, given)
