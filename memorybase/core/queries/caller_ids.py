"""Rows by the ids that callers chose: the only place that resolves them.

Ids of runs, messages and node executions are unique within their flow. `CallerId.in_flow` lists the ids that a row may
have for one; the row of the flow among them is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import batches
from memorybase.core.ids import CallerId, IdKind
from memorybase.core.models import Flow, Message, NodeExecution, Run
from memorybase.core.queries.ownership import check_flow, not_found
from memorybase.core.services import Services

LISTED = 20  # flows in the error for an ambiguous id

Table = type[Run] | type[Message] | type[NodeExecution]
_TABLES: Mapping[IdKind, Table] = {"run": Run, "message": Message, "node_execution": NodeExecution}
_KINDS: Mapping[IdKind, str] = {"run": "run", "message": "message", "node_execution": "node execution"}


def present(db: OrmSession, flow_id: UUID, ids: Collection[CallerId]) -> dict[CallerId, UUID]:
    """The ids among these, all of one kind, that the flow has, and their rows' ids."""
    candidates = {each: each.in_flow(flow_id) for each in ids}
    found: set[UUID] = set()
    for kind in {each.kind for each in ids}:
        table = _TABLES[kind]
        for some in batches.pages(row_id for pair in candidates.values() for row_id in pair):
            found.update(db.scalars(sa.select(table.id).where(table.id.in_(some), table.flow_id == flow_id)))
    rows = {each: next((row_id for row_id in pair if row_id in found), None) for each, pair in candidates.items()}
    return {each: each.row(row_id) for each, row_id in rows.items() if row_id is not None}


def in_flow(db: OrmSession, flow_id: UUID, given: CallerId) -> UUID:
    """The id of the flow's row; without one, the id that its row will usually get."""
    return present(db, flow_id, [given]).get(given) or given.row(given.in_flow(flow_id)[0])


def resolve(services: Services, flow_id: UUID, given: CallerId | None) -> UUID | None:
    """`in_flow` in its own transaction; None for None."""
    if given is None:
        return None
    with services.database.reading(snapshot=False) as db:
        return in_flow(db, flow_id, given)


def find(services: Services, given: CallerId, flow_id: UUID | None = None) -> UUID:
    """The id of the user's row, in the flow if one is named. Raises NotFound, and AmbiguousId if several flows have
    it."""
    with services.database.reading() as db:
        return locate(db, given, flow_id)


def locate(db: OrmSession, given: CallerId, flow_id: UUID | None, *, field: str | None = None) -> UUID:
    """`find` within a transaction. `field`: where the id was sent, if not in the usual one."""
    if flow_id is not None:
        check_flow(db, given.user_id, flow_id)
        row_id = present(db, flow_id, [given]).get(given)
    else:
        row_id = _in_any_flow(db, given)
    if row_id is None:
        raise not_found(_KINDS[given.kind], given.sent, field=field)
    return row_id


def _in_any_flow(db: OrmSession, given: CallerId) -> UUID | None:
    table = _TABLES[given.kind]
    rows: list[sa.Row[Any]] = []
    statement = (
        sa.select(table.id, Flow.id.label("flow_id"), Flow.external_id)
        .join(Flow, Flow.id == table.flow_id)
        .where(Flow.user_id == given.user_id, Flow.deleting_at.is_(None))
    )
    if given.uuid is not None:
        rows += db.execute(statement.where(table.id == given.uuid))
    rows += db.execute(statement.where(table.external_id == given.text).order_by(Flow.id).limit(LISTED))
    if len(rows) > 1:
        flows = [{"id": str(row.flow_id), "external_id": row.external_id} for row in rows]
        names = ", ".join(flow["external_id"] or flow["id"] for flow in flows)
        raise errors.AmbiguousId(
            f"Several flows have a {_KINDS[given.kind]} with this id: {names}. Send flow_id",
            field="flow_id",
            value=given.sent,
            flows=flows,
        )
    return given.row(rows[0].id) if rows else None


def free(db: OrmSession, flow_id: UUID, given: CallerId, taken: Collection[UUID]) -> UUID:
    """The id for a new row: the first that no other flow's row has. `taken`: ids known to be theirs.

    Another flow's row stays locked until the transaction ends. If it were deleted meanwhile, a second capture in this
    flow would find its id free, and one id would name two rows. Raises Conflict if no id is free.
    """
    table = _TABLES[given.kind]
    for row_id in given.in_flow(flow_id):
        mine = sa.select(table.id).where(table.id == row_id).with_for_update(read=True, key_share=True)
        if row_id not in taken or db.scalar(mine) is None:
            return row_id
    raise errors.Conflict(
        f"Choose another {_KINDS[given.kind]} id: this one is derived from ids of another flow",
        field=f"{given.kind}_id",
        value=given.sent,
    )
