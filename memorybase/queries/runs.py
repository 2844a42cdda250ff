"""SQL for lists of runs, always within one user's flows: their questions and answers, their state, what models got."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.paging import AnyRow, AnySelect, Found, Keyset, PageRequest, fetch_page, scan_page
from memorybase.models import Flow, LedgerEntry, MemoryBase, MemoryUse, Message, Run, Session
from memorybase.queries.search_states import RANKED, SearchState, may_be, run_state
from memorybase.queries.session_lists import chunks_for, own_flow
from memorybase.read_models.text_filter import TextFilter

_RUNS = Keyset("runs", (Run.created_at, Run.id), descending=True)


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
    conditions = [own_flow(user_id)]
    if wanted.flow_id is not None:
        conditions.append(Run.flow_id == wanted.flow_id)
    if wanted.session_id is not None:
        conditions.append(Run.session_id == wanted.session_id)
    if wanted.end_user_id is not None:
        conditions.append(_of_session(Session.end_user_id == wanted.end_user_id))
    if wanted.since is not None:
        conditions.append(Run.created_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(Run.created_at <= wanted.until)
    statement = sa.select(Run.id).join(Flow, Flow.id == Run.flow_id).where(*conditions)
    keep = [] if text is None else [text.for_runs(db)]
    if wanted.state is not None:
        statement = statement.where(*may_be(wanted.state, Run))
        keep.append(run_state() == RANKED.index(wanted.state))
    if not keep:
        return fetch_page(db, statement, statement, _RUNS, request)
    return scan_page(db, statement, _RUNS, request, sa.and_(*keep), chunks=chunks_for(text, wanted.state))


def fetch_run(db: OrmSession, user_id: UUID, run_id: UUID) -> AnyRow | None:
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
        .join(
            LedgerEntry,
            sa.and_(
                LedgerEntry.memory_base_id == MemoryBase.id,
                LedgerEntry.generation == MemoryBase.serving,
                LedgerEntry.message_id == Message.id,
            ),
        )
        .where(Message.run_id.in_(run_ids))
        .group_by(Message.run_id)
    )
    return {run_id: at for run_id, at in db.execute(statement) if at is not None}


def sources_given(db: OrmSession, runs: Sequence[Run]) -> list[tuple[UUID, list[Any]]]:
    """(run, sources) of what each node's model was given in these runs."""
    statement = sa.select(MemoryUse.run_id, MemoryUse.sources).where(
        MemoryUse.flow_id.in_({run.flow_id for run in runs}), MemoryUse.run_id.in_([run.id for run in runs])
    )
    return [(row[0], row[1]) for row in db.execute(statement)]


def _of_session(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The run's session matches. Not by an EXISTS: the database goes from the person's few sessions to their runs."""
    found = sa.select(Session.flow_id, Session.session_id).where(condition)
    return sa.tuple_(Run.flow_id, Run.session_id).in_(found)


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
    ).join(Session, sa.and_(Session.flow_id == Run.flow_id, Session.session_id == Run.session_id))


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
