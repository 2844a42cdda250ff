"""What models were given, by run and node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.models import MemoryUse, MemoryUseMessage, Message, Run
from memorybase.queries.writes import insert

DELETED = "[deleted]"

Messages = Collection[UUID] | sa.Select[UUID]


def put_use(session: OrmSession, values: Mapping[str, Any], message_ids: Collection[UUID]) -> None:
    """Keep a use; one of the same run and node is replaced."""
    changes = {name: value for name, value in values.items() if name not in {"flow_id", "run_id", "node_id"}}
    use_id = session.execute(
        insert(session, MemoryUse)
        .values(id=uuid4(), **values)
        .on_conflict_do_update(index_elements=["flow_id", "run_id", "node_id"], set_=changes)
        .returning(MemoryUse.id)
    ).scalar_one()
    session.execute(sa.delete(MemoryUseMessage).where(MemoryUseMessage.use_id == use_id))
    if message_ids:
        rows = [{"message_id": each, "use_id": use_id, "flow_id": values["flow_id"]} for each in message_ids]
        session.execute(sa.insert(MemoryUseMessage), rows)


def uses_of_run(session: OrmSession, flow_id: UUID, run_id: UUID) -> list[MemoryUse]:
    """Oldest first."""
    return list(
        session.scalars(
            sa.select(MemoryUse)
            .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id)
            .order_by(MemoryUse.recorded_at, MemoryUse.node_id)
        )
    )


def delete_uses_of_session(session: OrmSession, flow_id: UUID, session_id: str) -> None:
    """The uses of a session's runs, and its messages' words in the uses of others. Before its messages and runs go."""
    runs = sa.select(Run.id).where(Run.flow_id == flow_id, Run.session_id == session_id)
    mine = sa.or_(MemoryUse.session_id == session_id, MemoryUse.run_id.in_(runs))
    session.execute(sa.delete(MemoryUse).where(MemoryUse.flow_id == flow_id, mine))
    redact_uses(session, sa.select(Message.id).where(Message.flow_id == flow_id, Message.session_id == session_id))


def delete_uses_of_node(session: OrmSession, flow_id: UUID, node_id: str) -> None:
    """What a node's models were given: its memory is deleted."""
    session.execute(sa.delete(MemoryUse).where(MemoryUse.flow_id == flow_id, MemoryUse.node_id == node_id))


def redact_uses(session: OrmSession, message_ids: Messages) -> None:
    """Take what these messages say out of every use that holds it: they are deleted."""
    which = MemoryUseMessage.message_id.in_(message_ids)
    links = session.execute(sa.select(MemoryUseMessage.use_id, MemoryUseMessage.message_id).where(which)).all()
    gone: dict[UUID, set[str]] = {}
    for use_id, message_id in links:
        gone.setdefault(use_id, set()).add(str(message_id))
    for use_id, ids in gone.items():
        use = session.get_one(MemoryUse, use_id)
        use.messages = [
            _redacted(message) if ids.intersection(source["message_ids"]) else message
            for message, source in zip(use.messages, use.sources, strict=True)
        ]
        use.memory_use_summary = None
    session.flush()
    session.execute(sa.delete(MemoryUseMessage).where(which), execution_options={"synchronize_session": False})


def _redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "type") if name in message} | {"content": DELETED}
