"""Rows of sessions in the generation that ingestion writes to: which call inserts which rows, with which cursor.

| call            | inserts                                   | cursor      | target             | row that exists |
|-----------------|-------------------------------------------|-------------|--------------------|-----------------|
| `copy_to_build` | copies of the serving rows, in a build    | their start | what they cover    | stays           |
| `ensure_rows`   | then each session's that has none         | the start   | the start          | stays           |
| `set_targets`   | then each session's that has none         | the start   | the last message   | gets the target |
| `move_pending`  | then copies of an abandoned build's rows  | their start | their target       | gets the target |

The three others call `copy_to_build` first. A copy has nothing ingested yet. The start of a new row is `start_seq`, or
the last message that the memory base skips. No target moves back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import records
from memorybase.core.database.paging import AnySelect
from memorybase.core.database.upsert import core, insert_into, new_id
from memorybase.core.models import Message, Preparation, PreparationKind, Session, SessionProgress
from memorybase.core.queries.cursors import write_generation
from memorybase.core.queries.joins import MESSAGE_OF_SESSION
from memorybase.core.queries.memory_bases import BaseRow

Progress = SessionProgress

_COLUMNS = core(Progress).c
_UNIQUE = ["memory_base_id", "session_id", "generation"]
_IN_SESSIONS: sa.BindParameter[str] = sa.bindparam("sessions", expanding=True)
_NEW: dict[str, Any] = {
    "memory_base_id": sa.bindparam("base", type_=_COLUMNS.memory_base_id.type),
    "generation": sa.bindparam("written", type_=_COLUMNS.generation.type),
    **dict.fromkeys(("build_seq", "total_processed", "total_chunks", "epoch", "dirty", "repaired"), sa.literal(0)),
}


def copy_to_build(db: OrmSession, base: BaseRow, session_ids: Sequence[str]) -> None:
    """Copy the serving generation's rows of these sessions to a build that has none of them, with the cursor at the
    start and the target at what is covered.

    What a running job is about to cover must be in the new generation too before that serves.
    """
    if base.building is not None:
        _write(db, _copied_rows(_dialect(db), pending=False), base, session_ids, source=base.serving)


def ensure_rows(db: OrmSession, base: BaseRow, session_ids: Sequence[str], *, start_seq: int = 0) -> None:
    """Create missing progress rows in the generation being written. During a build they copy the serving generation's
    position; otherwise the cursor starts at `start_seq`, or after the messages that the memory base skips."""
    copy_to_build(db, base, session_ids)
    _write(db, _new_rows(_dialect(db), is_due=False), base, session_ids, start=start_seq, idle_at=None)


def set_targets(
    db: OrmSession,
    base: BaseRow,
    session_ids: Sequence[str],
    *,
    idle_due_at: datetime | None = None,
    skipped_before: datetime | None = None,
) -> None:
    """Move the targets of these sessions to their last messages. The caller has locked the sessions. New rows start
    after what was captured until `skipped_before`."""
    copy_to_build(db, base, session_ids)
    new = _new_rows(_dialect(db), is_due=True, skips=skipped_before is not None)
    _write(db, new, base, session_ids, start=0, idle_at=idle_due_at, skipped_before=skipped_before)


def move_pending(db: OrmSession, base: BaseRow, abandoned: int, session_ids: Sequence[str]) -> None:
    """Move the pending work of these sessions from an abandoned build to the generation that is written to."""
    copy_to_build(db, base, session_ids)
    _write(db, _copied_rows(_dialect(db), pending=True), base, session_ids, source=abandoned)


def _write(
    db: OrmSession, statement: sa.Executable, base: BaseRow, session_ids: Sequence[str], **parameters: Any
) -> None:
    # A parameter of an INSERT that is named like a column would be a value of it.
    of_base = {"base": base.id, "flow": base.flow_id, "sessions": session_ids, "written": write_generation(base)}
    records.execute(db, statement, of_base | parameters)


def _dialect(db: OrmSession) -> str:
    return db.get_bind().dialect.name


@lru_cache
def _new_rows(dialect: str, *, is_due: bool, skips: bool = False) -> sa.Executable:
    """An INSERT of rows for sessions; with `is_due` with the target at the last message, also of existing rows."""
    starts = [
        sa.select(sa.func.max(Message.seq)).where(
            Preparation.memory_base_id == sa.bindparam("base"),
            Preparation.kind == PreparationKind.SKIP,
            Message.captured_at <= Preparation.started_at,
        )
    ]
    if skips:
        starts.append(sa.select(sa.func.max(Message.seq)).where(Message.captured_at <= sa.bindparam("skipped_before")))
    start: sa.SQLColumnExpression[int] = sa.bindparam("start", type_=_COLUMNS.start_seq.type)
    for each in starts:
        last = sa.func.coalesce(each.where(MESSAGE_OF_SESSION).correlate(Session).scalar_subquery(), 0)
        start = sa.case((last > start, last), else_=start)
    wanted = (Session.flow_id == sa.bindparam("flow"), Session.session_id.in_(_IN_SESSIONS))
    columns = (Session.id, Session.flow_id, Session.session_id, Session.last_seq)
    rows: AnySelect = sa.select(*columns, start.label("start"))
    found = rows.where(*wanted).subquery().c
    values = _NEW | {
        "id": new_id(dialect),
        "flow_id": found.flow_id,
        "session_id": found.session_id,
        "session_uuid": found.id,
        "start_seq": found.start,
        "cursor_seq": found.start,
        "target_seq": found.last_seq if is_due else found.start,
        "idle_due_at": sa.bindparam("idle_at", type_=_COLUMNS.idle_due_at.type),
    }
    selected = sa.select(*values.values()).where(sa.true())
    new = insert_into(dialect, core(Progress)).from_select(list(values), selected)
    if not is_due:
        return new.on_conflict_do_nothing(index_elements=_UNIQUE)
    target_seq = new.excluded.target_seq
    changes = {
        "target_seq": sa.case((target_seq > Progress.target_seq, target_seq), else_=Progress.target_seq),
        "idle_due_at": new.excluded.idle_due_at,
    }
    return new.on_conflict_do_update(index_elements=_UNIQUE, set_=changes)


@lru_cache
def _copied_rows(dialect: str, *, pending: bool) -> sa.Executable:
    """An INSERT that copies rows of one generation to another, with nothing ingested: of what is covered, or of what
    is `pending`, also to existing rows."""
    covered = sa.case((Progress.target_seq > Progress.cursor_seq, Progress.target_seq), else_=Progress.cursor_seq)
    values = _NEW | {
        "id": new_id(dialect),
        "flow_id": Progress.flow_id,
        "session_id": Progress.session_id,
        "session_uuid": Progress.session_uuid,
        "start_seq": Progress.start_seq,
        "cursor_seq": Progress.start_seq,
        "target_seq": Progress.target_seq if pending else covered,
        "build_seq": sa.literal(0) if pending else covered,
        "idle_due_at": Progress.idle_due_at,
    }
    rows = sa.select(*values.values()).where(
        Progress.memory_base_id == sa.bindparam("base"),
        Progress.generation == sa.bindparam("source"),
        Progress.session_id.in_(_IN_SESSIONS),
    )
    new = insert_into(dialect, core(Progress)).from_select(list(values), rows)
    if not pending:
        return new.on_conflict_do_nothing(index_elements=_UNIQUE)
    target_seq, idle_due_at = new.excluded.target_seq, new.excluded.idle_due_at
    is_later = target_seq > Progress.target_seq
    return new.on_conflict_do_update(
        index_elements=_UNIQUE,
        set_={
            "target_seq": sa.case((is_later, target_seq), else_=Progress.target_seq),
            "idle_due_at": sa.func.coalesce(Progress.idle_due_at, idle_due_at),
        },
        where=sa.or_(is_later, sa.and_(Progress.idle_due_at.is_(None), idle_due_at.is_not(None))),
    )
