"""Coverage: which messages of a flow its memory bases count, hold, failed on, and find by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, AnySelect
from memorybase.core.models import (
    DeadLetter,
    Generation,
    LedgerEntry,
    MemoryBase,
    Message,
    Run,
    Session,
    SessionProgress,
)
from memorybase.core.models.sessions import shown_id
from memorybase.core.queries.joins import MESSAGE_OF_SESSION, SERVES, key_of, serving_entry, serving_progress
from memorybase.core.queries.pending import (
    CURSOR,
    SESSION_IS_DUE,
    SESSION_IS_EDITED,
    TARGET,
    is_counted,
    is_due,
    is_pending,
)
from memorybase.core.queries.threads import Range

Base = MemoryBase
Progress = SessionProgress
Condition = sa.ColumnElement[bool]


class SearchState(StrEnum):
    """Whether searches by meaning find messages in a memory base; in several of them the worst, which stands last here.

    not_counted: no memory base captures them. skipped: older than the memory base, or discarded. updating: found, and
    edits follow. waiting: below the threshold. ingesting: a job runs or is due. failed: one could not be embedded.
    lost: the memory base has lost vectors, perhaps theirs. Searches by words find them in any state.
    """

    NOT_COUNTED = "not_counted"
    SKIPPED = "skipped"
    SEARCHABLE = "searchable"
    UPDATING = "updating"
    WAITING = "waiting"
    INGESTING = "ingesting"
    FAILED = "failed"
    LOST = "lost"


# In SQL a state is its rank here, so that `max` gives the worst one.
RANKED = tuple(SearchState)
# Few rows can be in these states, and indexes lead to them.
FEW = frozenset({SearchState.LOST, SearchState.FAILED, SearchState.INGESTING, SearchState.UPDATING})


def may_be(state: SearchState, table: type[Session | Run]) -> list[Condition]:
    """A condition that indexes answer: it holds for every row in one of the FEW states, and for some others."""
    if state == SearchState.LOST:
        return [table.flow_id.in_(sa.select(Base.flow_id).where(Base.mismatch.is_(True)))]
    sessions = sa.select(Progress.session_uuid)
    key = _session(table)
    if state == SearchState.FAILED:
        dead = sessions.join(DeadLetter, DeadLetter.progress_id == Progress.id).where(DeadLetter.state == "dead")
        return [key.in_(dead)]
    # Both are the conditions of partial indexes.
    if state == SearchState.UPDATING:
        return [key.in_(sessions.where(SESSION_IS_EDITED))]
    if state == SearchState.INGESTING:
        rebuilt = sa.select(Base.flow_id).where(Base.building.is_not(None))
        return [sa.or_(key.in_(sessions.where(SESSION_IS_DUE)), table.flow_id.in_(rebuilt))]
    return []


def is_awaited() -> Condition:
    """Whether what a memory base lacks waits for it: not if it is off while another one of its flow is on."""
    other = sa.orm.aliased(Base)
    is_on = sa.and_(other.flow_id == Base.flow_id, other.auto_capture.is_(True), other.deleting_at.is_(None))
    return sa.or_(Base.auto_capture.is_(True), ~sa.exists().where(is_on).correlate(Base))


def session_state() -> sa.ColumnElement[int]:
    """The rank of the state of a row of `sessions`."""
    # A session that is not behind costs one look at its progress.
    pending = sa.and_(
        Session.last_seq > CURSOR, _any_message(MESSAGE_OF_SESSION, is_pending(Generation.capture, CURSOR))
    )
    failed = sa.exists().where(DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead")
    return _worst(
        Session,
        counted=_any_message(MESSAGE_OF_SESSION, is_counted(Generation.capture)),
        skipped=Session.last_seq <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress),
        pending=pending,
        due=SESSION_IS_DUE,
        edited=SESSION_IS_EDITED,
    )


def run_state() -> sa.ColumnElement[int]:
    """The rank of the state of a row of `runs`."""
    of_run = Message.run_id == Run.id
    newest = sa.select(sa.func.max(Message.seq)).where(of_run).correlate(Run).scalar_subquery()
    failed = sa.exists().where(
        DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead", DeadLetter.message_id == Message.id, of_run
    )
    edited = sa.exists().where(of_run, serving_entry(), LedgerEntry.version != Message.version)
    return _worst(
        Run,
        counted=_any_message(of_run, is_counted(Generation.capture)),
        skipped=newest <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress, Run),
        pending=_any_message(of_run, is_pending(Generation.capture, CURSOR)),
        due=_any_message(of_run, is_due(Generation.capture, CURSOR, TARGET)),
        edited=sa.and_(SESSION_IS_EDITED, edited.correlate(Run, Base)),
    )


def _worst(
    table: type[Session | Run],
    *,
    counted: Condition,
    skipped: Condition,
    failed: Condition,
    pending: Condition,
    due: Condition,
    edited: Condition,
) -> sa.ColumnElement[int]:
    """The worst state. Messages that a disabled memory base lacks do not count while another one of the flow is
    enabled."""
    rank: dict[SearchState, sa.ColumnElement[int]] = {
        state: sa.literal_column(str(RANKED.index(state)), sa.Integer()) for state in RANKED
    }
    states = sa.case(
        (sa.not_(counted), sa.null()),
        (skipped, rank[SearchState.SKIPPED]),
        (failed, rank[SearchState.FAILED]),
        (sa.and_(sa.not_(pending), Base.mismatch.is_(True)), rank[SearchState.LOST]),
        (sa.and_(sa.not_(pending), edited), rank[SearchState.UPDATING]),
        (sa.not_(pending), rank[SearchState.SEARCHABLE]),
        (sa.or_(due, Base.building.is_not(None)), rank[SearchState.INGESTING]),
        (~is_awaited(), sa.null()),
        else_=rank[SearchState.WAITING],
    )
    worst = (
        sa.select(sa.func.max(states))
        .select_from(Base)
        .join(Generation, SERVES)
        .outerjoin(Progress, serving_progress(_session(table)))
        .where(Base.flow_id == table.flow_id, Base.deleting_at.is_(None))
        .correlate(table)
    )
    return sa.func.coalesce(worst.scalar_subquery(), 0)


def _session(table: type[Session | Run]) -> sa.SQLColumnExpression[UUID]:
    return Session.id if table is Session else Run.session_uuid


def _any_message(*conditions: Condition) -> Condition:
    found = sa.select(Message.id).where(*conditions)
    return found.correlate(Session, Run, Progress, Generation).exists()


def ingestion_by_base(
    db: OrmSession, flow_id: UUID, *, run_id: UUID | None = None, message_id: UUID | None = None
) -> list[AnyRow]:
    """For each memory base of the flow, oldest first, the messages of a run, or the one message, that it counts, holds
    and could not embed, as numbers."""
    mine = Message.run_id == run_id if message_id is None else Message.id == message_id
    is_current = sa.case((LedgerEntry.version == Message.version, 1), else_=0)
    numbers = sa.select(
        Base.id,
        Base.name,
        Base.threshold,
        Base.auto_capture,
        Base.mismatch,
        Base.building,
        Generation.capture,
        shown_id(Message.session_uuid).label("session_id"),
        Progress.id.label("progress_id"),
        CURSOR.label("cursor_seq"),
        TARGET.label("target_seq"),
        sa.func.count(Message.id).label("messages"),
        sa.func.count(LedgerEntry.message_id).label("held"),
        sa.func.coalesce(sa.func.sum(is_current), 0).label("current"),
        sa.func.coalesce(sa.func.sum(LedgerEntry.chunks), 0).label("chunks"),
        sa.func.count(DeadLetter.id).label("failed"),
        sa.func.max(DeadLetter.error).label("error"),
        sa.func.max(LedgerEntry.ingested_at).label("searchable_at"),
        sa.func.max(Message.captured_at).label("captured_at"),
        sa.func.min(Message.seq).label("first_seq"),
        sa.func.max(Message.seq).label("last_seq"),
    )
    statement = _of_counted(numbers, flow_id, sa.and_(Message.flow_id == flow_id, mine), or_none=True)
    # By primary keys, on which the other columns depend.
    keys = (Base.id, Generation.memory_base_id, Generation.generation, Message.session_uuid, Progress.id)
    return list(db.execute(statement.group_by(*keys).order_by(Base.created_at, Base.id)))


def holdings(db: OrmSession, flow_id: UUID, session_id: str, seqs: Range) -> list[AnyRow]:
    """For each message between these seqs that a memory base counts: the number of memory bases that count it, hold its
    version, failed on it and lost vectors. Messages that none counts are left out."""
    is_lost = sa.and_(LedgerEntry.message_id.is_not(None), Base.mismatch == sa.true())
    numbers = sa.select(
        Message.id,
        sa.func.count(Base.id).label("counted"),
        sa.func.count(LedgerEntry.message_id).label("held"),
        sa.func.count(DeadLetter.id).label("failed"),
        sa.func.coalesce(sa.func.sum(sa.case((is_lost, 1), else_=0)), 0).label("lost"),
    )
    mine = sa.and_(Message.session_uuid == key_of(flow_id, session_id), Message.seq.between(*seqs))
    statement = _of_counted(numbers, flow_id, mine, LedgerEntry.version == Message.version)
    return list(db.execute(statement.group_by(Message.id)))


def _of_counted(
    numbers: AnySelect, flow_id: UUID, mine: Condition, *held: Condition, or_none: bool = False
) -> AnySelect:
    """Select over the memory bases of the flow and those of these messages that each counts, with the ledger entry and
    the dead letter of each message. `or_none`: also a memory base that counts none of them."""
    failed = (DeadLetter.message_id == Message.id, DeadLetter.state != "discarded")
    return (
        numbers.select_from(Base)
        .join(Generation, SERVES)
        .join(Message, sa.and_(mine, is_counted(Generation.capture)), isouter=or_none)
        .outerjoin(Progress, serving_progress(Message.session_uuid))
        .outerjoin(
            LedgerEntry,
            sa.and_(LedgerEntry.progress_id == Progress.id, LedgerEntry.message_id == Message.id, *held),
        )
        .outerjoin(DeadLetter, sa.and_(DeadLetter.progress_id == Progress.id, *failed))
        .where(Base.flow_id == flow_id, Base.deleting_at.is_(None))
    )


def waiting_of_runs(db: OrmSession, run_ids: Sequence[UUID]) -> dict[UUID, AnyRow]:
    """For each run, of the memory base that is awaited with most pending messages of its session that no job covers:
    their number, threshold and auto_capture."""
    uncovered = sa.case((TARGET > CURSOR, TARGET), else_=CURSOR)
    statement = (
        sa.select(Run.id, Base.threshold, Base.auto_capture, sa.func.count(Message.id).label("pending"))
        .select_from(Run)
        .join(Base, sa.and_(Base.flow_id == Run.flow_id, Base.deleting_at.is_(None), is_awaited()))
        .join(Generation, SERVES)
        .outerjoin(Progress, serving_progress(Run.session_uuid))
        .join(Message, sa.and_(Message.session_uuid == Run.session_uuid, is_pending(Generation.capture, uncovered)))
        .where(Run.id.in_(run_ids))
        .group_by(Run.id, Base.id, Base.threshold, Base.auto_capture)
    )
    rows = sorted(db.execute(statement), key=lambda row: row.pending)
    return {row.id: row for row in rows}
