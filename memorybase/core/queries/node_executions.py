"""Node executions, by id and by the runs of a session."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches, json_text
from memorybase.core.models import Flow, NodeExecution
from memorybase.core.queries.joins import key_of, own_flow

SUCCEEDED = "succeeded"
READ_PAGE = 100  # executions: each may hold a whole context


@dataclass(frozen=True, slots=True)
class FinishedExecution:
    """A finished execution, without its outputs."""

    id: UUID
    run_id: UUID
    index: int
    created_at: datetime


MOST_EXECUTIONS = 200


def executions_of_ids(db: OrmSession, ids: Collection[UUID]) -> dict[UUID, NodeExecution]:
    """The executions among these ids, of any flow."""
    return {row.id: row for row in db.scalars(sa.select(NodeExecution).where(NodeExecution.id.in_(ids)))}


def fetch(db: OrmSession, user_id: UUID, execution_id: UUID) -> NodeExecution | None:
    """A user's execution, unless its flow is being deleted."""
    return db.scalar(
        sa.select(NodeExecution)
        .join(Flow, Flow.id == NodeExecution.flow_id)
        .where(NodeExecution.id == execution_id, own_flow(user_id))
    )


def succeeded_in(
    db: OrmSession, flow_id: UUID, session_id: str, node_id: str, run_ids: Collection[UUID]
) -> list[FinishedExecution]:
    """A node's successful executions in these runs."""
    return [
        FinishedExecution(*row)
        for row in db.execute(_succeeded(flow_id, session_id, node_id).where(NodeExecution.run_id.in_(run_ids)))
    ]


def newest_succeeded(
    db: OrmSession, flow_id: UUID, session_id: str, node_id: str, *, but_of: UUID | None = None
) -> FinishedExecution | None:
    """A node's latest successful execution in a session, except those of the run `but_of`."""
    statement = _succeeded(flow_id, session_id, node_id)
    if but_of is not None:
        statement = statement.where(NodeExecution.run_id != but_of)
    row = db.execute(
        statement.order_by(NodeExecution.created_at.desc(), NodeExecution.index.desc(), NodeExecution.id).limit(1)
    ).first()
    return None if row is None else FinishedExecution(*row)


def executions_with_text(
    db: OrmSession, flow_id: UUID, session_id: str, texts: Collection[str] | None
) -> Iterator[NodeExecution]:
    """A session's executions that contain one of the texts, or all; read in pages."""
    ids = db.scalars(sa.select(NodeExecution.id).where(_of_session(flow_id, session_id))).all()
    statement = sa.select(NodeExecution)
    if texts is not None:
        columns = (NodeExecution.outputs, NodeExecution.few_shots)
        statement = statement.where(sa.or_(*(json_text.contains(db, each, texts) for each in columns)))
    for some in batches.pages(ids, READ_PAGE):
        yield from db.scalars(statement.where(NodeExecution.id.in_(some))).all()


def count_of_session(db: OrmSession, flow_id: UUID, session_id: str) -> tuple[int, int]:
    """Number of a session's executions, and of the messages in their contexts."""
    if db.get_bind().dialect.name == "sqlite":
        context_length = sa.func.json_array_length(NodeExecution.outputs, "$.context")
    else:
        context_length = sa.func.jsonb_array_length(NodeExecution.outputs["context"])
    counts = sa.select(sa.func.count(), sa.func.sum(context_length)).where(_of_session(flow_id, session_id))
    executions, messages = db.execute(counts).one()
    return executions, int(messages or 0)


def _of_session(flow_id: UUID, session_id: str) -> sa.ColumnElement[bool]:
    return NodeExecution.session_uuid == key_of(flow_id, session_id)


def _succeeded(flow_id: UUID, session_id: str, node_id: str) -> sa.Select[UUID, UUID, int, datetime]:
    return sa.select(NodeExecution.id, NodeExecution.run_id, NodeExecution.index, NodeExecution.created_at).where(
        _of_session(flow_id, session_id),
        NodeExecution.node_id == node_id,
        NodeExecution.status == SUCCEEDED,
    )


def executions_of_run(db: OrmSession, flow_id: UUID, session_id: str, run_id: UUID) -> list[NodeExecution]:
    """The node executions of a run, oldest first."""
    mine = (_of_session(flow_id, session_id), NodeExecution.run_id == run_id)
    statement = sa.select(NodeExecution).where(*mine).order_by(NodeExecution.created_at, NodeExecution.index)
    return list(db.scalars(statement.limit(MOST_EXECUTIONS)))
