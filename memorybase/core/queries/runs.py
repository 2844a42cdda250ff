"""Runs: of a capture, and their lists, with questions and answers, their state, and what models got."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import lookup, records
from memorybase.core.database.paging import AnyRow, AnySelect, Found, Keyset, Listing, PageRequest, given, within
from memorybase.core.database.upsert import core, insert_if_absent
from memorybase.core.models import Flow, LedgerEntry, MemoryBase, MemoryUse, Message, NodeExecution, Run, Session
from memorybase.core.queries.coverage import RANKED, SearchState, may_be, run_state
from memorybase.core.queries.joins import own_flow, serving_entry
from memorybase.core.queries.session_lists import chunks_for
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.queries.text_filter import TextFilter

_RUNS = Listing(
    sa.select(Run.id).join(Flow, Flow.id == Run.flow_id),
    Keyset("runs", (Run.created_at, Run.id), descending=True),
)


class KnownRun(NamedTuple):
    """The data of a stored run that a repeated capture needs."""

    id: UUID
    flow_id: UUID
    session_uuid: UUID
    fingerprint: bytes | None


_COLUMNS = core(Run).c
_KNOWN_RUNS = sa.select(*records.columns(Run, KnownRun)).where(_COLUMNS.id.in_(bindparam("ids", expanding=True)))
_SET_FINGERPRINT = sa.update(core(Run)).where(_COLUMNS.id == bindparam("run_id"))


def fetch_run(db: OrmSession, run_id: UUID) -> Run | None:
    return lookup.get(db, Run, run_id)


def fetch_run_of_user(db: OrmSession, user_id: UUID, run_id: UUID) -> Run | None:
    """The run, if its flow is the user's and not being deleted."""
    in_flow = sa.and_(Flow.id == Run.flow_id, own_flow(user_id))
    return db.scalar(sa.select(Run).join(Flow, in_flow).where(Run.id == run_id))


def known_runs(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, KnownRun]:
    """The stored runs among these ids, of any flow."""
    return {run.id: run for run in records.fetch_all(db, KnownRun, _KNOWN_RUNS, {"ids": list(ids)})}


def set_run_fingerprint(db: OrmSession, run_id: UUID, fingerprint: bytes) -> None:
    records.execute(db, _SET_FINGERPRINT, {"run_id": run_id, "fingerprint": fingerprint})


def add_run(db: OrmSession, values: dict[str, Any]) -> bool:
    """Insert a run; False if it exists."""
    return insert_if_absent(db, Run, values, "id")


def rename_run(db: OrmSession, session: SessionRow, old_id: UUID, run_id: UUID) -> None:
    """A run got another id than the one under which its node executions and memory uses were stored before."""
    in_session = NodeExecution.session_uuid == session.id
    db.execute(sa.update(NodeExecution).where(in_session, NodeExecution.run_id == old_id).values(run_id=run_id))
    in_flow = (MemoryUse.flow_id == session.flow_id, MemoryUse.run_id == old_id)
    db.execute(sa.update(MemoryUse).where(*in_flow).values(run_id=run_id))


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs: those that match every field that is not None. `since` and `until`, of the first capture, are
    inclusive. `text`: see TextFilter."""

    flow_id: UUID | None = None
    session_id: str | None = None
    end_user_id: str | None = None
    text: str | None = None
    state: SearchState | None = None
    since: datetime | None = None
    until: datetime | None = None


def runs_page(db: OrmSession, user_id: UUID, wanted: RunFilter, text: TextFilter | None, request: PageRequest) -> Found:
    """The ids of a page of runs, newest first."""
    conditions = [
        own_flow(user_id),
        *given(wanted.flow_id, Run.flow_id),
        *given(wanted.session_id, lambda name: _of_session(Session.session_id == name, wanted.flow_id)),
        *given(wanted.end_user_id, lambda name: _of_session(Session.end_user_id == name, wanted.flow_id)),
        *within(Run.created_at, wanted.since, wanted.until),
    ]
    keep = [] if text is None else [text.for_runs(db)]
    if wanted.state is not None:
        conditions += may_be(wanted.state, Run)
        keep.append(run_state() == RANKED.index(wanted.state))
    return _RUNS.page(db, request, *conditions, keep=keep, chunks=chunks_for(text, wanted.state))


def fetch_run_view(db: OrmSession, user_id: UUID, run_id: UUID) -> AnyRow | None:
    statement = _runs().join(Flow, Flow.id == Run.flow_id).where(Run.id == run_id, own_flow(user_id))
    return db.execute(statement).one_or_none()


def runs_of_ids(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, AnyRow]:
    """One page of runs: Run, end_user_id, messages, question, answer, state."""
    return {row.Run.id: row for row in db.execute(_runs().where(Run.id.in_(ids)))}


def searchable_since(db: OrmSession, run_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """When the last message of each run was first ingested, over the memory bases of its flow."""
    statement = (
        sa.select(Message.run_id, sa.func.max(LedgerEntry.ingested_at))
        .join(MemoryBase, sa.and_(MemoryBase.flow_id == Message.flow_id, MemoryBase.deleting_at.is_(None)))
        .join(LedgerEntry, serving_entry())
        .where(Message.run_id.in_(run_ids))
        .group_by(Message.run_id)
    )
    return {run_id: at for run_id, at in db.execute(statement) if at is not None}


def _of_session(condition: sa.ColumnElement[bool], flow_id: UUID | None) -> sa.ColumnElement[bool]:
    """The run's session matches. Not by an EXISTS: the database goes from the person's few sessions to their runs."""
    found = sa.select(Session.id).where(condition)
    return Run.session_uuid.in_(found if flow_id is None else found.where(Session.flow_id == flow_id))


def _runs() -> AnySelect:
    of_run = Message.run_id == Run.id
    messages = sa.select(sa.func.count()).select_from(Message).where(of_run).correlate(Run).scalar_subquery()
    return sa.select(
        Run,
        Session.end_user_id,
        messages.label("messages"),
        _last("user").label("question"),
        _last("assistant").label("answer"),
        run_state().label("state"),
    ).join(Session, Session.id == Run.session_uuid)


def _last(role: str) -> sa.ScalarSelect[Any]:
    """The content of the run's last message of this role with text."""
    return (
        sa.select(Message.content)
        .where(Message.run_id == Run.id, Message.role == role, Message.text_bytes > 0)
        .order_by(Message.seq.desc())
        .limit(1)
        .correlate(Run)
        .scalar_subquery()
    )


def neighboring_runs(db: OrmSession, run: Run) -> tuple[AnyRow | None, AnyRow | None]:
    """(id, external id) of the runs of the session that were captured before and after a run."""
    key, this = (
        sa.tuple_(Run.created_at, Run.id),
        sa.tuple_(sa.literal(run.created_at, Run.created_at.type), sa.literal(run.id, Run.id.type)),
    )
    beside = sa.select(Run.id, Run.external_id).where(Run.session_uuid == run.session_uuid)
    older = beside.where(key < this).order_by(Run.created_at.desc(), Run.id.desc())
    newer = beside.where(key > this).order_by(Run.created_at, Run.id)
    return db.execute(older.limit(1)).one_or_none(), db.execute(newer.limit(1)).one_or_none()


def question_and_answer(db: OrmSession, run_id: UUID) -> tuple[Any, Any]:
    """The content of a run's first user message and of its last assistant message with content."""
    of_run = sa.select(Message.content).where(Message.run_id == run_id, Message.text_bytes > 0)
    question = of_run.where(Message.role == "user").order_by(Message.seq).limit(1)
    answer = of_run.where(Message.role == "assistant").order_by(Message.seq.desc()).limit(1)
    return db.scalar(question), db.scalar(answer)


def runs_written_at(db: OrmSession, user_id: UUID, run_ids: Collection[UUID]) -> dict[UUID, datetime]:
    statement = (
        sa.select(Message.run_id, sa.func.max(Message.timestamp))
        .join(Flow, Flow.id == Message.flow_id)
        .where(own_flow(user_id), Message.run_id.in_(run_ids))
        .group_by(Message.run_id)
    )
    return {row[0]: row[1] for row in db.execute(statement)}
