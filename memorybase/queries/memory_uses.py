"""What models were given, by run and node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert, rows_affected
from memorybase.models import MemoryUse, MemoryUseMessage, Message, Run

DELETED = "[deleted]"

Messages = Collection[UUID] | sa.Select[UUID]
Shown = Mapping[str, Any]  # a message of a view, or its source


def ids_in(sources: Sequence[Shown]) -> set[UUID]:
    """What is stored by itself and has words in a view: messages, summaries, executions, chats for their summaries."""
    found: set[UUID] = set()
    for named in (each for source in sources for each in source["message_ids"]):
        with suppress(ValueError):  # a predefined message is of the configuration
            found.add(UUID(named.partition(":")[0]))  # behind the colon, the place in an execution
    return found


def without(told: Sequence[Shown], sources: Sequence[Shown], ids: Collection[UUID]) -> list[Any]:
    """The messages of a view, of which some no longer say what they said."""
    return [
        _redacted(message) if ids_in([source]).intersection(ids) else message
        for message, source in zip(told, sources, strict=True)
    ]


def put_use(db: OrmSession, values: Mapping[str, Any], message_ids: Collection[UUID], *, replace: bool = True) -> bool:
    """Keep a use; one of the same run and node is replaced, or stays, and this says False."""
    changes = {name: value for name, value in values.items() if name not in {"flow_id", "run_id", "node_id"}}
    statement = insert(db, MemoryUse).values(id=uuid4(), **values)
    one_a_node = ["flow_id", "run_id", "node_id"]
    if replace:
        statement = statement.on_conflict_do_update(index_elements=one_a_node, set_=changes)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=one_a_node)
    use_id = db.execute(statement.returning(MemoryUse.id)).scalar()
    if use_id is None:
        return False
    db.execute(sa.delete(MemoryUseMessage).where(MemoryUseMessage.use_id == use_id))
    if message_ids:
        rows = [{"message_id": each, "use_id": use_id, "flow_id": values["flow_id"]} for each in message_ids]
        db.execute(sa.insert(MemoryUseMessage), rows)
    return True


def uses_of_run(db: OrmSession, flow_id: UUID, run_id: UUID) -> list[MemoryUse]:
    """Oldest first."""
    return list(
        db.scalars(
            sa.select(MemoryUse)
            .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id)
            .order_by(MemoryUse.recorded_at, MemoryUse.node_id)
        )
    )


def edited_since(db: OrmSession, flow_id: UUID, run_id: UUID) -> set[UUID]:
    """A run's uses of which a message has been edited since."""
    return set(
        db.scalars(
            sa.select(MemoryUse.id)
            .join(MemoryUseMessage, MemoryUseMessage.use_id == MemoryUse.id)
            .join(Message, sa.and_(Message.id == MemoryUseMessage.message_id, Message.flow_id == flow_id))
            .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id, Message.edited_at > MemoryUse.recorded_at)
        )
    )


def holding(db: OrmSession, flow_id: UUID, session_id: str, plain: str | None) -> list[MemoryUse]:
    """A session's uses in whose messages these letters stand, or all."""
    statement = sa.select(MemoryUse).where(*_of_session(flow_id, session_id))
    if plain is not None:
        statement = statement.where(sa.cast(MemoryUse.messages, sa.Text).contains(plain))
    return list(db.scalars(statement))


def delete_uses_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    """The uses of a session's runs, and its messages' words in the uses of others. Before its messages and runs go. How
    many uses went."""
    deleted = rows_affected(db, sa.delete(MemoryUse).where(*_of_session(flow_id, session_id)))
    redact_uses(db, sa.select(Message.id).where(Message.flow_id == flow_id, Message.session_id == session_id))
    return deleted


def _of_session(flow_id: UUID, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    runs = sa.select(Run.id).where(Run.flow_id == flow_id, Run.session_id == session_id)
    mine = sa.or_(MemoryUse.session_id == session_id, MemoryUse.run_id.in_(runs))
    return MemoryUse.flow_id == flow_id, mine


def delete_uses_of_node(db: OrmSession, flow_id: UUID, node_id: str) -> None:
    """What a node's models were given: its memory is deleted."""
    db.execute(sa.delete(MemoryUse).where(MemoryUse.flow_id == flow_id, MemoryUse.node_id == node_id))


def redact_uses(db: OrmSession, message_ids: Messages) -> None:
    """Take what these messages say out of every use that holds it: they are deleted."""
    which = MemoryUseMessage.message_id.in_(message_ids)
    links = db.execute(sa.select(MemoryUseMessage.use_id, MemoryUseMessage.message_id).where(which)).all()
    gone: dict[UUID, set[UUID]] = {}
    for use_id, message_id in links:
        gone.setdefault(use_id, set()).add(message_id)
    for use_id, ids in gone.items():
        use = db.get_one(MemoryUse, use_id)
        use.messages = without(use.messages, use.sources, ids)
        use.memory_use_summary = None
    db.flush()
    db.execute(sa.delete(MemoryUseMessage).where(which), execution_options={"synchronize_session": False})


def _redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "type") if name in message} | {"content": DELETED}
