"""A dry run: the rows that the rules would delete now, in numbers. Nothing is locked or changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.described import FlowId
from memorybase.core.models import MemoryBase
from memorybase.core.queries.expiry import Rule, check_retain_days
from memorybase.core.queries.ownership import check_flow, require_flow, require_memory_base
from memorybase.core.services import Services
from memorybase.features.retention.queries import expired


@dataclass(frozen=True, slots=True)
class RetentionPreview:
    """Rows that one rule would delete now. Sessions that a hold keeps count nowhere else."""

    rule: Annotated[
        Rule,
        Field(description="What rule it is: that of a `flow`, the expiry of a `session`, or that of a `memory_base`."),
    ]
    flow_id: FlowId
    memory_base_id: Annotated[
        UUID | None, Field(description="The memory base whose knowledge base would forget; null for other rules.")
    ]
    retain_days: Annotated[int | None, Field(description="The rule; null for the expiry of a session.")]
    expired_before: Annotated[datetime, Field(description="What was captured until then would be deleted.")]
    sessions: Annotated[int, Field(description="Number of sessions that would be deleted completely.")]
    messages: Annotated[
        int, Field(description="Number of messages; for a memory base, of those that its knowledge base would forget.")
    ]
    chunks: Annotated[int, Field(description="Number of chunks that knowledge bases hold of them.")]
    node_executions: Annotated[int, Field(description="Number of node executions.")]
    chat_messages: Annotated[int, Field(description="Number of messages of chats.")]
    held_sessions: Annotated[
        int, Field(description="Number of sessions with expired messages that a legal hold keeps.")
    ]
    memory_uses: Annotated[int, Field(description="Number of recorded uses of memory.")] = 0


@dataclass(frozen=True, slots=True)
class RetentionPreviews:
    """One item for each rule that is set: of flows, of sessions that have expired, and of memory bases."""

    items: Annotated[list[RetentionPreview], Field(description="What each rule would delete.")]


def preview(
    services: Services,
    user_id: UUID,
    *,
    flow_id: UUID | None = None,
    memory_base_id: UUID | None = None,
    retain_days: int | None = None,
) -> RetentionPreviews:
    """Rows that every rule of the user, of one flow, or of one memory base alone would delete now; with `retain_days`,
    as if the flow or the memory base had that rule. Raises NotFound, InvalidRequest."""
    check_retain_days(retain_days)
    if flow_id is not None and memory_base_id is not None:
        raise errors.InvalidRequest("Pass flow_id or memory_base_id, not both", field="memory_base_id")
    if retain_days is not None and flow_id is None and memory_base_id is None:
        raise errors.InvalidRequest("retain_days requires flow_id or memory_base_id", field="retain_days")
    if memory_base_id is not None:
        return _preview_of_base(services, user_id, memory_base_id, retain_days)
    with services.database.reading() as db:
        if flow_id is not None:
            check_flow(db, user_id, flow_id)
        now = clock.now(db)
        found: list[RetentionPreview] = []
        if retain_days is not None and flow_id is not None:
            chosen = [(require_flow(db, user_id, flow_id), retain_days)]
        else:
            chosen = expired.flows_with_rule(db, user_id, flow_id)
        for flow, days in chosen:
            before = now - timedelta(days=days)
            found.append(_preview("flow", flow.id, before, expired.count_in_flow(db, flow, before), days=days))
        for flow, counts in expired.count_in_expired_sessions(db, user_id, flow_id, now):
            found.append(_preview("session", flow.id, now, counts))
        with_rule = expired.bases_with_rule(db, user_id, flow_id)
        found += [_preview_base(db, base, base.retain_days or 0, now) for base in with_rule]
        return RetentionPreviews(found)


def _preview_of_base(services: Services, user_id: UUID, base_id: UUID, retain_days: int | None) -> RetentionPreviews:
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        days = base.retain_days if retain_days is None else retain_days
        return RetentionPreviews([] if days is None else [_preview_base(db, base, days, clock.now(db))])


def _preview_base(db: OrmSession, base: MemoryBase, days: int, now: datetime) -> RetentionPreview:
    before = now - timedelta(days=days)
    counts = expired.count_in_base(db, base, before)
    return _preview("memory_base", base.flow_id, before, counts, days=days, base_id=base.id)


def _preview(
    rule: Rule,
    flow_id: UUID,
    before: datetime,
    counts: expired.ExpiredCounts,
    *,
    days: int | None = None,
    base_id: UUID | None = None,
) -> RetentionPreview:
    return RetentionPreview(rule, flow_id, base_id, days, before, **counts._asdict())
