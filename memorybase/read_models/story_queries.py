"""SQL for the story of a run and of a message: what models were given, and how far each memory base is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database import batches
from memorybase.database.paging import AnyRow, Found, Keyset, PageRequest, fetch_page
from memorybase.models import (
    Capture,
    DeadLetter,
    Generation,
    IngestionJob,
    JobKind,
    JobState,
    LedgerEntry,
    MemoryBase,
    MemoryUse,
    MemoryUseMessage,
    Message,
    NodeExecution,
    Run,
    Session,
    SessionProgress,
)

Base = MemoryBase
Job = IngestionJob
Progress = SessionProgress
Use = MemoryUse

MOST_JOBS = 1_000  # that overlap one run
MOST_EXECUTIONS = 200
_USES = Keyset("message-uses", (Use.recorded_at, Use.id), descending=True)
_COUNTED = sa.or_(
    sa.and_(Generation.capture == Capture.OUTPUTS, Message.is_output == sa.true()),
    sa.and_(Generation.capture == Capture.ALL, Message.is_dialogue == sa.true()),
)


def ingestion_by_base(
    db: OrmSession, flow_id: UUID, *, run_id: UUID | None = None, message_id: UUID | None = None
) -> list[AnyRow]:
    """For each memory base of the flow, oldest first, how many messages of a run, or which message, it counts, holds
    and could not embed."""
    mine = Message.run_id == run_id if message_id is None else Message.id == message_id
    of_session = sa.and_(
        Progress.memory_base_id == Base.id,
        Progress.generation == Base.serving,
        Progress.session_id == Message.session_id,
    )
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
            sa.func.coalesce(Progress.cursor_seq, 0).label("cursor_seq"),
            sa.func.coalesce(Progress.target_seq, 0).label("target_seq"),
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
        .join(Generation, sa.and_(Generation.memory_base_id == Base.id, Generation.generation == Base.serving))
        .outerjoin(Message, sa.and_(Message.flow_id == flow_id, mine, _COUNTED))
        .outerjoin(Progress, of_session)
        .outerjoin(LedgerEntry, held)
        .outerjoin(DeadLetter, failed)
        .where(Base.flow_id == flow_id, Base.deleting_at.is_(None))
        .group_by(*groups)
        .order_by(Base.created_at, Base.id)
    )
    return list(db.execute(statement))


def jobs_over(db: OrmSession, progress_ids: Collection[UUID], *, first_seq: int, last_seq: int) -> list[Job]:
    """The jobs that ingest, or have ingested, messages between these seqs, oldest first."""
    statement = sa.select(Job).where(
        Job.progress_id.in_(progress_ids),
        Job.kind == JobKind.INGEST,
        Job.state != JobState.CANCELLED,
        Job.from_seq < last_seq,
        Job.to_seq >= first_seq,
    )
    return list(db.scalars(statement.order_by(Job.created_at, Job.id).limit(MOST_JOBS)))


def pending_beyond(db: OrmSession, flow_id: UUID, session_id: str, capture: Capture, seq: int, *, limit: int) -> int:
    """How many counted messages of a session are newer than a seq, up to the limit."""
    counts = Message.is_output if capture == Capture.OUTPUTS else Message.is_dialogue
    newer = sa.select(Message.seq).where(
        Message.flow_id == flow_id, Message.session_id == session_id, counts == sa.true(), Message.seq > seq
    )
    return db.scalar(sa.select(sa.func.count()).select_from(newer.limit(limit).subquery())) or 0


def neighboring_runs(db: OrmSession, run: Run) -> tuple[AnyRow | None, AnyRow | None]:
    """(id, external id) of the runs of the session that were captured before and after a run."""
    key, this = (
        sa.tuple_(Run.created_at, Run.id),
        sa.tuple_(sa.literal(run.created_at, Run.created_at.type), sa.literal(run.id, Run.id.type)),
    )
    beside = sa.select(Run.id, Run.external_id).where(Run.flow_id == run.flow_id, Run.session_id == run.session_id)
    older = beside.where(key < this).order_by(Run.created_at.desc(), Run.id.desc())
    newer = beside.where(key > this).order_by(Run.created_at, Run.id)
    return db.execute(older.limit(1)).one_or_none(), db.execute(newer.limit(1)).one_or_none()


def question_and_answer(db: OrmSession, run_id: UUID) -> tuple[Any, Any]:
    """The content of a run's first user message and of its last assistant message with content."""
    of_run = sa.select(Message.content).where(Message.run_id == run_id, Message.text_bytes > 0)
    question = of_run.where(Message.role == "user").order_by(Message.seq).limit(1)
    answer = of_run.where(Message.role == "assistant").order_by(Message.seq.desc()).limit(1)
    return db.scalar(question), db.scalar(answer)


def messages_of_ids(db: OrmSession, flow_id: UUID, ids: Collection[UUID]) -> list[AnyRow]:
    """The messages among these ids, as `read_models.sessions` shows them, in any order."""
    statement = sa.select(Message, Session.end_user_id, sa.null().label("ingested")).join(
        Session, sa.and_(Session.flow_id == Message.flow_id, Session.session_id == Message.session_id)
    )
    return [
        row
        for some in batches.pages(ids)
        for row in db.execute(statement.where(Message.flow_id == flow_id, Message.id.in_(some)))
    ]


def executions_of_run(db: OrmSession, flow_id: UUID, session_id: str, run_id: UUID) -> list[NodeExecution]:
    """The node executions of a run, oldest first."""
    mine = (NodeExecution.flow_id == flow_id, NodeExecution.session_id == session_id, NodeExecution.run_id == run_id)
    statement = sa.select(NodeExecution).where(*mine).order_by(NodeExecution.created_at, NodeExecution.index)
    return list(db.scalars(statement.limit(MOST_EXECUTIONS)))


def uses_page(db: OrmSession, flow_id: UUID, message_id: UUID, request: PageRequest) -> Found:
    """The memory uses that hold a message, latest first, without the messages of their views."""
    held = sa.and_(MemoryUseMessage.use_id == Use.id, MemoryUseMessage.message_id == message_id)
    statement = (
        sa.select(
            Use.run_id,
            Use.node_id,
            Use.sources,
            Use.report,
            Use.query,
            Use.recorded_at,
            Run.external_id,
            sa.func.coalesce(Run.session_id, Use.session_id).label("session_id"),
        )
        .join(MemoryUseMessage, held)
        .outerjoin(Run, sa.and_(Run.id == Use.run_id, Run.flow_id == Use.flow_id))
        .where(Use.flow_id == flow_id)
    )
    counting = sa.select(Use.id).join(MemoryUseMessage, held).where(Use.flow_id == flow_id)
    return fetch_page(db, statement, counting, _USES, request)


def runs_with(db: OrmSession, flow_id: UUID, message_id: UUID) -> int:
    """In how many runs a model was given the message."""
    held = sa.and_(MemoryUseMessage.use_id == Use.id, MemoryUseMessage.message_id == message_id)
    statement = sa.select(sa.func.count(sa.distinct(Use.run_id))).join(MemoryUseMessage, held)
    return db.scalar(statement.where(Use.flow_id == flow_id)) or 0
