"""Distillation of sessions: requested by ingestion, outdated by edits and deletions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.upsert import core, insert, new_id
from memorybase.core.models import MemoryBase, Message, SessionProgress
from memorybase.core.queries import leased_work, preparations
from memorybase.core.queries.joins import key_of
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.features.facts.models import Distillation, DistillKind, Fact, FactSource
from memorybase.features.facts.queries.fact_deletion import delete_facts

MAX_REDO = 200  # edited messages of a session that wait to be distilled again; beyond, the cursor moves back

Row = Distillation

# The sessions that workers distil.
IS_ENABLED = sa.exists().where(
    MemoryBase.id == Row.memory_base_id,
    MemoryBase.deleting_at.is_(None),
    MemoryBase.distill == sa.true(),
    ~preparations.is_pending(MemoryBase.id, list(DistillKind)),
)


def request(
    db: OrmSession, base_id: UUID, flow_id: UUID, session_id: str, to_seq: int, now: datetime, *, notify_at: datetime
) -> bool:
    """Let a session be distilled up to this seq; False if it is already. A pending page keeps its time."""
    statement = insert(db, Row).values(
        id=uuid4(),
        memory_base_id=base_id,
        flow_id=flow_id,
        session_id=session_id,
        cursor_seq=0,
        target_seq=to_seq,
        version=0,
        notify_at=notify_at,
        attempts=0,
        skipped=0,
        updated_at=now,
    )
    return (
        db.execute(
            statement.on_conflict_do_update(
                index_elements=["memory_base_id", "flow_id", "session_id"],
                set_={"target_seq": to_seq, "notify_at": sa.func.coalesce(Row.notify_at, notify_at)},
                where=Row.target_seq < to_seq,
            ).returning(core(Row).c.id)
        ).scalar()
        is not None
    )


def if_more_requested(cursor_seq: int, now: datetime) -> sa.ColumnElement[datetime | None]:
    """Now, if messages after this seq are requested by the time of the statement; else null."""
    return sa.case((Row.target_seq > cursor_seq, sa.literal(now, Row.notify_at.type)), else_=sa.null())


def begin(db: OrmSession, base: BaseRow, now: datetime, session_ids: Sequence[str], *, skip: bool) -> None:
    """Give each of these sessions that is ingested its row: with `skip` what is ingested so far counts as distilled."""
    progress = SessionProgress
    values: dict[str, Any] = {
        "id": new_id(db.get_bind().dialect.name),
        "memory_base_id": sa.literal(base.id, Row.memory_base_id.type),
        "flow_id": progress.flow_id,
        "session_id": progress.session_id,
        "cursor_seq": progress.cursor_seq if skip else sa.literal(0),
        "target_seq": progress.cursor_seq,
        **dict.fromkeys(("version", "attempts", "skipped"), sa.literal(0)),
        "notify_at": sa.literal(None if skip else now, Row.notify_at.type),
        "updated_at": sa.literal(now, Row.updated_at.type),
    }
    held = sa.select(*values.values()).where(
        progress.memory_base_id == base.id,
        progress.generation == base.serving,
        progress.cursor_seq > 0,
        progress.session_id.in_(session_ids),
    )
    statement = insert(db, Row).from_select(list(values), held)
    new = statement.excluded
    changes: dict[str, Any] = {
        "cursor_seq": new.cursor_seq,
        "target_seq": new.target_seq,
        "notify_at": new.notify_at,
        "redo": None,
        "version": Row.version + 1,
        "lease_until": None,
        "attempts": 0,
        "error_code": None,
    }
    db.execute(
        statement.on_conflict_do_update(
            index_elements=["memory_base_id", "flow_id", "session_id"],
            set_=changes,
            where=Row.target_seq <= new.target_seq,
        )
    )


def stop(db: OrmSession, base: BaseRow, _now: datetime, session_ids: Sequence[str]) -> None:
    """Nothing of these sessions is pending any more, and no running page is stored."""
    db.execute(
        sa.update(Row)
        .where(Row.memory_base_id == base.id, Row.flow_id == base.flow_id, Row.session_id.in_(session_ids))
        .values(version=Row.version + 1, notify_at=None, lease_until=None, redo=None, attempts=0, error_code=None)
        .execution_options(synchronize_session=False)
    )


def mark_changed(
    db: OrmSession, base_ids: Collection[UUID], session_id: str, seq: int | None, now: datetime, *, to_seq: int | None
) -> int:
    """After messages were edited or deleted: delete the facts that rest on what they said, store no running page, and
    distil an edited message again. `seq` None: the whole session has changed. Returns the number of facts deleted."""
    rows = db.scalars(
        sa.select(Row)
        .where(Row.memory_base_id.in_(base_ids), Row.session_id == session_id)
        .order_by(Row.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    if not rows:  # nothing was ever distilled
        return 0
    enabled = set(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.id.in_(base_ids), MemoryBase.distill)))
    for row in rows:
        leased_work.outdate(row)
        if seq is not None and to_seq is None and seq <= row.cursor_seq and row.memory_base_id in enabled:
            redo = sorted({*(row.redo or ()), seq})
            if len(redo) > MAX_REDO:
                row.cursor_seq, redo = min(row.cursor_seq, redo[0] - 1), []
            row.redo = redo or None
        if row.redo or (row.target_seq > row.cursor_seq and row.notify_at is None and row.memory_base_id in enabled):
            row.notify_at, row.attempts = now, 0
    db.flush()
    of_session = (Fact.memory_base_id.in_(base_ids), Fact.session_uuid == key_of(rows[0].flow_id, session_id))
    return delete_facts(db, sa.and_(*of_session, ~is_supported()))


def is_supported(*, muted_counts: bool = True) -> sa.ColumnElement[bool]:
    """Whether every source of a fact exists in the version that was read; else no answer may contain the fact."""
    sources = (
        sa.select(sa.func.count())
        .select_from(FactSource)
        .join(Message, sa.and_(Message.id == FactSource.message_id, Message.version == FactSource.version))
        .where(FactSource.fact_id == Fact.id)
    )
    if not muted_counts:
        sources = sources.where(Message.muted == sa.false())
    return Fact.source_count == sources.correlate(Fact).scalar_subquery()


def raise_versions(db: OrmSession, session: SessionRow, after: int, to_seq: int) -> None:
    """The messages of a part of a session have a higher version and the same text: their facts still hold."""
    part = (Message.session_uuid == session.id, Message.is_dialogue == sa.true())
    of_part = sa.select(Message.id).where(*part, Message.seq > after, Message.seq <= to_seq)
    db.execute(
        sa.update(FactSource)
        .where(FactSource.message_id.in_(of_part))
        .values(version=FactSource.version + 1)
        .execution_options(synchronize_session=False)
    )


def forget(db: OrmSession, base_id: UUID, flow_id: UUID, session_id: str, start_seq: int) -> int:
    """The memory base forgets the messages up to this seq: delete the facts that rest on them. Returns the number
    deleted."""
    row = db.scalar(
        sa.select(Row)
        .where(Row.memory_base_id == base_id, Row.flow_id == flow_id, Row.session_id == session_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is not None:
        leased_work.outdate(row)
        row.cursor_seq, row.target_seq = max(row.cursor_seq, start_seq), max(row.target_seq, start_seq)
        row.redo = [seq for seq in row.redo or () if seq > start_seq] or None
        db.flush()
    old = sa.exists().where(
        FactSource.fact_id == Fact.id, Message.id == FactSource.message_id, Message.seq <= start_seq
    )
    of_session = (Fact.memory_base_id == base_id, Fact.session_uuid == key_of(flow_id, session_id))
    return delete_facts(db, sa.and_(*of_session, old))


def delete_of_session(db: OrmSession, session: SessionRow, limit: int) -> int:
    """Delete up to `limit` facts and then rows of progress of a session that is deleted. Returns the number deleted."""
    deleted = delete_facts(db, Fact.session_uuid == session.id, limit=limit)
    if deleted < limit:
        of_session = sa.and_(Row.flow_id == session.flow_id, Row.session_id == session.session_id)
        deleted += batches.delete_page(db, Row, of_session, limit=limit - deleted)
    return deleted
