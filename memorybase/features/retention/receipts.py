"""Receipts: the rows that each pass of a rule deleted, in numbers and never in text.

A receipt is written with the first deletion of a pass, and each deletion adds to it in its own transaction. A pass that
several sweeps share, or that a killed sweeper left, is continued until nothing is left to delete; then it is closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import events
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import FlowId, Id
from memorybase.core.events import Event, EventType
from memorybase.core.models import Receipt
from memorybase.core.queries.ownership import check_flow
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.features.retention.queries import receipts as rows
from memorybase.features.retention.queries.receipts import PassRule

log = get_logger(__name__)

KEPT = timedelta(days=730)  # a finished receipt
CLEAN_UP_LIMIT = 1_000  # receipts in one sweep
COUNTED = (
    "sessions",
    "runs",
    "messages",
    "chunks",
    "node_executions",
    "memory_uses",
    "summaries",
    "message_changes",
    "restorable_messages",
    "chats",
    "chat_messages",
    "facts",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a rule: a flow, its sessions that expire by themselves, a memory base of it, or the memory that its
    models were given."""

    rule: PassRule
    user_id: UUID
    flow_id: UUID
    retain_days: int | None = None
    memory_base_id: UUID | None = None

    @property
    def id(self) -> UUID:
        return self.memory_base_id or self.flow_id


@dataclass(frozen=True, slots=True)
class RetentionPassView:
    """Rows that one pass of a rule deleted."""

    id: Id
    rule: Annotated[
        PassRule,
        Field(
            description="What rule it was: that of a `flow`, the expiry of a `session`, that of a `memory_base`, or "
            "the server's setting for recorded uses, `memory_use`."
        ),
    ]
    flow_id: FlowId
    memory_base_id: Annotated[
        UUID | None, Field(description="The memory base whose knowledge base forgot; null for other rules.")
    ]
    retain_days: Annotated[int | None, Field(description="The rule; null for the expiry of a session.")]
    expired_before: Annotated[datetime, Field(description="What was captured until then was deleted.")]
    sessions: Annotated[int, Field(description="Number of sessions that were deleted completely.")]
    runs: Annotated[int, Field(description="Number of deleted runs.")]
    messages: Annotated[
        int,
        Field(description="Number of deleted messages; for a memory base, of those that its knowledge base forgot."),
    ]
    chunks: Annotated[
        int, Field(description="Number of chunks that knowledge bases held of them; repairs delete these.")
    ]
    node_executions: Annotated[int, Field(description="Number of deleted node executions.")]
    memory_uses: Annotated[int, Field(description="Number of deleted recorded uses.")]
    summaries: Annotated[int, Field(description="Number of deleted summaries.")]
    message_changes: Annotated[
        int, Field(description="Number of deleted records of changes, with former versions of messages.")
    ]
    restorable_messages: Annotated[
        int, Field(description="Number of messages that had been deleted one by one and could still be restored.")
    ]
    chats: Annotated[int, Field(description="Number of deleted chats.")]
    chat_messages: Annotated[int, Field(description="Number of deleted messages of chats.")]
    started_at: Annotated[datetime, Field(description="When the first of it was deleted.")]
    finished_at: Annotated[
        datetime | None, Field(description="When nothing was left to delete; null while the pass runs.")
    ]
    facts: Annotated[int, Field(description="Number of deleted facts that a model had derived from the messages.")] = 0


def add(db: OrmSession, subject: Subject, before: datetime, counts: Mapping[str, int], now: datetime) -> None:
    """Add what this transaction deletes to the open receipt of the rule; nothing if it deletes nothing."""
    if not any(counts.values()):
        return
    values: dict[str, Any] = {
        "id": uuid4(),
        "user_id": subject.user_id,
        "rule": subject.rule,
        "flow_id": subject.flow_id,
        "memory_base_id": subject.memory_base_id,
        "subject_id": subject.id,
        "retain_days": subject.retain_days,
        "expired_before": before,
        "counts": {},
        "started_at": now,
    }
    receipt = rows.open_pass(db, values)
    receipt.counts = {name: receipt.counts.get(name, 0) + counts.get(name, 0) for name in COUNTED}
    receipt.expired_before = max(receipt.expired_before, before)
    receipt.retain_days = subject.retain_days
    db.flush()


def close(db: OrmSession, services: Services, rule: str, subject_id: UUID, now: datetime) -> None:
    """Nothing is left for the rule to delete: finish its open receipt, if it has one."""
    receipt = rows.lock_open_pass(db, rule, subject_id)
    if receipt is not None:
        receipt.finished_at = now
        db.flush()
        _retention_expired(db, services, receipt, now)


def _retention_expired(db: OrmSession, services: Services, receipt: Receipt, now: datetime) -> None:
    """The event of a finished pass, in the transaction that finishes it: so it happens exactly once."""
    deleted = {
        "pass_id": receipt.id,
        "rule": receipt.rule,
        "flow_id": receipt.flow_id,
        "memory_base_id": receipt.memory_base_id,
        "retain_days": receipt.retain_days,
        "sessions": receipt.counts["sessions"],
        "messages": receipt.counts["messages"],
        "chunks": receipt.counts["chunks"],
        "memory_uses": receipt.counts["memory_uses"],
    }
    events.record(db, services, receipt.user_id, [Event(EventType.RETENTION_EXPIRED, deleted)], now)
    log.info(
        "retention_expired",
        pass_id=str(receipt.id),
        rule=receipt.rule,
        flow_id=str(receipt.flow_id),
        messages=receipt.counts["messages"],
        sessions=receipt.counts["sessions"],
    )


def list_passes(
    services: Services, user_id: UUID, request: PageRequest, *, flow_id: UUID | None = None
) -> Page[RetentionPassView]:
    """The receipts, newest first; also those of flows that are deleted by now. Raises NotFound for a flow of others."""
    with services.database.reading() as db:
        if flow_id is not None and not rows.has_pass(db, user_id, flow_id):
            check_flow(db, user_id, flow_id)
        return page_of(rows.passes_page(db, user_id, request, flow_id=flow_id), _view)


def _view(row: AnyRow) -> RetentionPassView:
    found: Receipt = row.Receipt
    counts: dict[str, Any] = {name: found.counts.get(name, 0) for name in COUNTED}
    return view_of(RetentionPassView, found, **counts)


def clean_up(services: Services) -> int:
    """Close the passes of rules that are gone, and delete old receipts. Returns their number."""
    with services.database.reading() as db:
        abandoned = rows.abandoned_passes(db, limit=CLEAN_UP_LIMIT)
        has_old = rows.has_old_pass(db, kept=KEPT)
    for rule, subject_id in abandoned:
        with services.database.transaction() as db:
            close(db, services, rule, subject_id, clock.now(db))
    if not has_old:
        return len(abandoned)
    with services.database.transaction() as db:
        return len(abandoned) + rows.delete_passes(db, kept=KEPT, limit=CLEAN_UP_LIMIT)
