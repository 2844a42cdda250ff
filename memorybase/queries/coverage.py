"""How far messages are in the memory bases of their flow: counted, held, failed, found by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow
from memorybase.models import (
    DeadLetter,
    Generation,
    LedgerEntry,
    MemoryBase,
    Message,
    Run,
    Session,
    SessionProgress,
    UtcDateTime,
)
from memorybase.queries.joins import MESSAGE_OF_SESSION, SERVES, serving_entry, serving_progress
from memorybase.queries.pending import CURSOR, SESSION_IS_DUE, TARGET, is_counted, is_due, is_pending
from memorybase.queries.threads import Range

Base = MemoryBase
Progress = SessionProgress
Condition = sa.ColumnElement[bool]


class SearchState(StrEnum):
    """Whether searches by meaning find the messages of a session or a run: the worst state in any memory base.

    lost: the memory base has lost vectors, perhaps theirs. failed: one could not be embedded. ingesting: ingestion runs
    or is due. waiting: below the threshold. no_memory: no memory base counts them. What a memory base that is off lacks
    does not count while another one of the flow is on. Searches by words find them in any state.
    """

    NO_MEMORY = "no_memory"
    SEARCHABLE = "searchable"
    WAITING = "waiting"
    INGESTING = "ingesting"
    FAILED = "failed"
    LOST = "lost"


# In SQL a state is its rank here, so that `max` gives the worst one.
RANKED = tuple(SearchState)
# Few rows can be in these states, and indexes lead to them.
FEW = frozenset({SearchState.LOST, SearchState.FAILED, SearchState.INGESTING})


def may_be(state: SearchState, table: type[Session | Run]) -> list[Condition]:
    """A condition that indexes answer: it holds for every row in one of the FEW states, and for some others."""
    if state == SearchState.LOST:
        return [table.flow_id.in_(sa.select(Base.flow_id).where(Base.mismatch.is_(True)))]
    sessions = sa.select(Progress.flow_id, Progress.session_id)
    key = sa.tuple_(table.flow_id, table.session_id)
    if state == SearchState.FAILED:
        dead = sessions.join(DeadLetter, DeadLetter.progress_id == Progress.id).where(DeadLetter.state == "dead")
        return [key.in_(dead)]
    if state == SearchState.INGESTING:
        # Each is the condition of a partial index.
        due = sessions.where(SESSION_IS_DUE)
        edited = sessions.where(Progress.dirty > Progress.repaired)
        rebuilt = sa.select(Base.flow_id).where(Base.building.is_not(None))
        return [sa.or_(key.in_(due), key.in_(edited), table.flow_id.in_(rebuilt))]
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
        excluded=Session.last_seq <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress),
        pending=pending,
        due=SESSION_IS_DUE,
    )


def run_state() -> sa.ColumnElement[int]:
    """The rank of the state of a row of `runs`."""
    of_run = Message.run_id == Run.id
    newest = sa.select(sa.func.max(Message.seq)).where(of_run).correlate(Run).scalar_subquery()
    failed = sa.exists().where(
        DeadLetter.progress_id == Progress.id, DeadLetter.state == "dead", DeadLetter.message_id == Message.id, of_run
    )
    return _worst(
        Run,
        excluded=newest <= sa.func.coalesce(Progress.start_seq, 0),
        failed=failed.correlate(Progress, Run),
        pending=_any_message(of_run, is_pending(Generation.capture, CURSOR)),
        due=_any_message(of_run, is_due(Generation.capture, CURSOR, TARGET)),
    )


def _worst(
    table: type[Session | Run], *, excluded: Condition, failed: Condition, pending: Condition, due: Condition
) -> sa.ColumnElement[int]:
    """`excluded`: a memory base that starts later."""
    rank: dict[SearchState, sa.ColumnElement[int]] = {
        state: sa.literal_column(str(RANKED.index(state)), sa.Integer()) for state in RANKED
    }
    states = sa.case(
        (excluded, sa.null()),
        (failed, rank[SearchState.FAILED]),
        (Progress.dirty > Progress.repaired, rank[SearchState.INGESTING]),
        (sa.and_(sa.not_(pending), Base.mismatch.is_(True)), rank[SearchState.LOST]),
        (sa.not_(pending), rank[SearchState.SEARCHABLE]),
        (sa.or_(due, Base.building.is_not(None)), rank[SearchState.INGESTING]),
        (~is_awaited(), sa.null()),
        else_=rank[SearchState.WAITING],
    )
    worst = (
        sa.select(sa.func.max(states))
        .select_from(Base)
        .join(Generation, SERVES)
        .outerjoin(Progress, serving_progress(table.session_id))
        .where(Base.flow_id == table.flow_id, Base.deleting_at.is_(None))
        .correlate(table)
    )
    return sa.func.coalesce(worst.scalar_subquery(), 0)


def _any_message(*conditions: Condition) -> Condition:
    found = sa.select(Message.id).where(*conditions)
    return found.correlate(Session, Run, Progress, Generation).exists()


def ingestion_by_base(
    db: OrmSession, flow_id: UUID, *, run_id: UUID | None = None, message_id: UUID | None = None
) -> list[AnyRow]:
    """For each memory base of the flow, oldest first, how many messages of a run, or which message, it counts, holds
    and could not embed."""
    mine = Message.run_id == run_id if message_id is None else Message.id == message_id
    held = sa.and_(LedgerEntry.progress_id == Progress.id, LedgerEntry.message_id == Message.id)
    failed = sa.and_(
        DeadLetter.progress_id == Progress.id, DeadLetter.message_id == Message.id, DeadLetter.state != "discarded"
    )
    is_current = sa.case((LedgerEntry.version == Message.version, 1), else_=0)
    groups = (
        Base.id,
        Base.name,
        Base.threshold,
        Base.auto_capture,
        Base.mismatch,
        Base.created_at,
        Generation.capture,
        Message.session_id,
        Progress.id,
        Progress.cursor_seq,
        Progress.target_seq,
    )
    statement = (
        sa.select(
            Base.id,
            Base.name,
            Base.threshold,
            Base.auto_capture,
            Base.mismatch,
            Generation.capture,
            Message.session_id,
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
        .select_from(Base)
        .join(Generation, SERVES)
        .outerjoin(Message, sa.and_(Message.flow_id == flow_id, mine, is_counted(Generation.capture)))
        .outerjoin(Progress, serving_progress(Message.session_id))
        .outerjoin(LedgerEntry, held)
        .outerjoin(DeadLetter, failed)
        .where(Base.flow_id == flow_id, Base.deleting_at.is_(None))
        .group_by(*groups)
        .order_by(Base.created_at, Base.id)
    )
    return list(db.execute(statement))


def holdings(db: OrmSession, flow_id: UUID, session_id: str, seqs: Range) -> list[AnyRow]:
    """For each message between these seqs that a memory base counts: how many count it, hold its version, failed on it
    and lost vectors. Messages that none counts are left out."""
    counts = is_counted(Generation.capture)
    held = sa.and_(
        LedgerEntry.progress_id == Progress.id,
        LedgerEntry.message_id == Message.id,
        LedgerEntry.version == Message.version,
    )
    failed = sa.and_(
        DeadLetter.progress_id == Progress.id, DeadLetter.message_id == Message.id, DeadLetter.state != "discarded"
    )
    is_lost = sa.and_(LedgerEntry.message_id.is_not(None), Base.mismatch == sa.true())
    statement = (
        sa.select(
            Message.id,
            sa.func.count(Base.id).label("counted"),
            sa.func.count(LedgerEntry.message_id).label("held"),
            sa.func.count(DeadLetter.id).label("failed"),
            sa.func.coalesce(sa.func.sum(sa.case((is_lost, 1), else_=0)), 0).label("lost"),
        )
        .select_from(Base)
        .join(Generation, SERVES)
        .join(Message, sa.and_(Message.flow_id == Base.flow_id, Message.session_id == session_id, counts))
        .outerjoin(Progress, serving_progress(Message.session_id))
        .outerjoin(LedgerEntry, held)
        .outerjoin(DeadLetter, failed)
        .where(Base.flow_id == flow_id, Base.deleting_at.is_(None), Message.seq.between(*seqs))
        .group_by(Message.id)
    )
    return list(db.execute(statement))


def ingestion_of_runs(db: OrmSession, run_ids: Sequence[UUID]) -> Sequence[AnyRow]:
    """For each run and memory base that is awaited: what it counts, holds, failed at, and how far the session is."""
    of_run = sa.and_(Message.run_id == Run.id, is_counted(Generation.capture))
    dead = sa.and_(
        DeadLetter.memory_base_id == Base.id,
        DeadLetter.generation == Base.serving,
        DeadLetter.message_id == Message.id,
        DeadLetter.state != "discarded",
    )
    statement = (
        sa.select(
            Run.id,
            Base.threshold,
            Base.auto_capture,
            Base.mismatch,
            Progress.target_seq,
            sa.func.count(Message.id).label("counted"),
            sa.func.count(LedgerEntry.message_id).label("held"),
            sa.func.count(DeadLetter.id).label("failed"),
            sa.func.max(Message.seq).label("last_seq"),
            sa.func.max(LedgerEntry.ingested_at, type_=UtcDateTime()).label("ingested_at"),
            _pending_of_session().label("pending"),
        )
        .select_from(Run)
        .join(Base, sa.and_(Base.flow_id == Run.flow_id, Base.deleting_at.is_(None), is_awaited()))
        .join(Generation, SERVES)
        .outerjoin(Progress, serving_progress(Run.session_id))
        .join(Message, of_run)
        .outerjoin(LedgerEntry, serving_entry())
        .outerjoin(DeadLetter, dead)
        .where(Run.id.in_(run_ids))
        .group_by(
            Run.id,
            Run.flow_id,
            Run.session_id,
            Base.id,
            Base.threshold,
            Base.auto_capture,
            Base.mismatch,
            Generation.capture,
            Progress.target_seq,
            Progress.cursor_seq,
        )
    )
    return db.execute(statement).all()


def _pending_of_session() -> sa.ColumnElement[int]:
    message = sa.orm.aliased(Message)
    statement = sa.select(sa.func.count()).select_from(message)
    statement = statement.where(
        message.flow_id == Run.flow_id,
        message.session_id == Run.session_id,
        is_pending(Generation.capture, CURSOR, message),
    )
    return statement.correlate(Run, Progress, Generation).scalar_subquery()
