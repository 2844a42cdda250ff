"""Memory uses: what models were given, by run and node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.upsert import insert
from memorybase.models import MemoryUse, MemoryUseMessage, Message, Run

DELETED = "[deleted]"

Messages = Collection[UUID] | sa.Select[UUID]
ViewItem = Mapping[str, Any]  # a message of a view, or its source


def ids_in(sources: Sequence[ViewItem]) -> set[UUID]:
    """The ids of what a view shows: messages, summaries, executions, and chats for their summaries."""
    ids: set[UUID] = set()
    for source_id in (source_id for source in sources for source_id in source["message_ids"]):
        with suppress(ValueError):  # a predefined message belongs to the configuration and has no UUID
            ids.add(UUID(source_id.partition(":")[0]))  # after the colon: the index in an execution's context
    return ids


def redact_messages(messages: Sequence[ViewItem], sources: Sequence[ViewItem], ids: Collection[UUID]) -> list[Any]:
    """The messages of a view; those with a source in `ids` have their content replaced."""
    return [
        _redacted(message) if ids_in([source]).intersection(ids) else message
        for message, source in zip(messages, sources, strict=True)
    ]


def put_use(db: OrmSession, values: Mapping[str, Any], message_ids: Collection[UUID], *, replace: bool = True) -> bool:
    """Store a use. If its run and node have one, replace it, or keep it and return False."""
    changes = {name: value for name, value in values.items() if name not in {"flow_id", "run_id", "node_id"}}
    statement = insert(db, MemoryUse).values(id=uuid4(), **values)
    unique = ["flow_id", "run_id", "node_id"]
    if replace:
        statement = statement.on_conflict_do_update(index_elements=unique, set_=changes)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=unique)
    use_id = db.execute(statement.returning(MemoryUse.id)).scalar()
    if use_id is None:
        return False
    db.execute(sa.delete(MemoryUseMessage).where(MemoryUseMessage.use_id == use_id))
    if message_ids:
        rows = [
            {"message_id": message_id, "use_id": use_id, "flow_id": values["flow_id"]} for message_id in message_ids
        ]
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
    """The uses of a run that hold a message edited since."""
    return set(
        db.scalars(
            sa.select(MemoryUse.id)
            .join(MemoryUseMessage, MemoryUseMessage.use_id == MemoryUse.id)
            .join(Message, sa.and_(Message.id == MemoryUseMessage.message_id, Message.flow_id == flow_id))
            .where(MemoryUse.flow_id == flow_id, MemoryUse.run_id == run_id, Message.edited_at > MemoryUse.recorded_at)
        )
    )


def uses_with_text(db: OrmSession, flow_id: UUID, session_id: str, text: str | None) -> list[MemoryUse]:
    """A session's uses whose messages or query contain the text, or all."""
    statement = sa.select(MemoryUse).where(*_of_session(flow_id, session_id))
    if text is not None:
        in_messages = sa.cast(MemoryUse.messages, sa.Text).contains(text)
        statement = statement.where(sa.or_(in_messages, MemoryUse.query.contains(text)))
    return list(db.scalars(statement))


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> int:
    """How many uses a session and its runs have."""
    return db.scalar(sa.select(sa.func.count()).where(*_of_session(flow_id, session_id))) or 0


def of_session(flow_id: UUID, session_id: str) -> list[tuple[type[MemoryUse], sa.ColumnElement[bool]]]:
    """The same as conditions, each along an index of its own. They hold until the session's runs are deleted."""
    runs = sa.select(Run.id).where(Run.flow_id == flow_id, Run.session_id == session_id)
    either = (MemoryUse.session_id == session_id, MemoryUse.run_id.in_(runs))
    return [(MemoryUse, sa.and_(MemoryUse.flow_id == flow_id, each)) for each in either]


def _of_session(flow_id: UUID, session_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    runs = sa.select(Run.id).where(Run.flow_id == flow_id, Run.session_id == session_id)
    mine = sa.or_(MemoryUse.session_id == session_id, MemoryUse.run_id.in_(runs))
    return MemoryUse.flow_id == flow_id, mine


def delete_uses_of_node(db: OrmSession, flow_id: UUID, node_id: str) -> None:
    """Delete what a node's models were given, when its memory is deleted."""
    db.execute(sa.delete(MemoryUse).where(MemoryUse.flow_id == flow_id, MemoryUse.node_id == node_id))


def redact_uses(db: OrmSession, flow_id: UUID, message_ids: Messages) -> None:
    """Redact a flow's deleted messages in every use that holds them."""
    condition = sa.and_(MemoryUseMessage.flow_id == flow_id, MemoryUseMessage.message_id.in_(message_ids))
    links = db.execute(sa.select(MemoryUseMessage.use_id, MemoryUseMessage.message_id).where(condition)).all()
    ids_by_use: dict[UUID, set[UUID]] = {}
    for use_id, message_id in links:
        ids_by_use.setdefault(use_id, set()).add(message_id)
    for use_id, ids in ids_by_use.items():
        use = db.get_one(MemoryUse, use_id)
        use.messages = redact_messages(use.messages, use.sources, ids)
        use.memory_use_summary = None
    db.flush()
    db.execute(sa.delete(MemoryUseMessage).where(condition), execution_options={"synchronize_session": False})


def _redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "type") if name in message} | {"content": DELETED}
