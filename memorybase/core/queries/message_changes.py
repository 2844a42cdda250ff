"""The changes of single messages: by whom, why, and what an edit replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest
from memorybase.core.database.upsert import rows_affected
from memorybase.core.models import Flow, Message, MessageChange
from memorybase.core.queries.joins import own_flow
from memorybase.core.queries.sessions import SessionRow

ChangeKind = Literal["edit", "mute", "unmute", "pin", "unpin", "delete", "restore"]
_CHANGES = Listing(
    sa.select(MessageChange), Keyset("message-changes", (MessageChange.number, MessageChange.id), descending=True)
)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Author of a change, which is the name of an API key, and its reason. `batch_id`: changes that are made
    together."""

    by: str | None = None
    reason: str | None = None
    batch_id: UUID | None = None


NOBODY = Attribution()


def record(
    db: OrmSession,
    session: SessionRow,
    message: Message,
    kind: ChangeKind,
    attribution: Attribution,
    now: datetime,
    former: Mapping[str, Any] | None = None,
) -> None:
    """Record a change; the caller holds the session's lock. `message.version` is the version after it."""
    last = sa.select(sa.func.max(MessageChange.number)).where(MessageChange.message_id == message.id)
    db.add(
        MessageChange(
            id=uuid4(),
            flow_id=message.flow_id,
            session_uuid=session.id,
            message_id=message.id,
            number=(db.scalar(last) or 0) + 1,
            action=kind,
            at=now,
            by=attribution.by,
            reason=attribution.reason,
            version=message.version,
            former=None if former is None else dict(former),
            batch_id=attribution.batch_id,
        )
    )
    db.flush()


def page(db: OrmSession, flow_id: UUID, message_id: UUID, request: PageRequest) -> Found:
    """A message's changes, newest first."""
    return _CHANGES.page(db, request, MessageChange.flow_id == flow_id, MessageChange.message_id == message_id)


def edits_after(db: OrmSession, flow_id: UUID, message_id: UUID, number: int) -> Sequence[MessageChange]:
    """The edits with a higher number, oldest first; the first one that changed a field has the field's text before."""
    mine = (MessageChange.flow_id == flow_id, MessageChange.message_id == message_id, MessageChange.action == "edit")
    found = sa.select(MessageChange).where(*mine, MessageChange.number > number).order_by(MessageChange.number)
    return db.scalars(found).all()


def edited_since(
    db: OrmSession, flow_id: UUID, contents: Mapping[UUID, Any], moment: datetime | None = None
) -> set[UUID]:
    """The messages whose content differs from what it was at that time, or when it was captured; `contents`: as it is
    now. An edit that was undone leaves no difference."""
    former = former_contents(db, flow_id, contents, moment)
    return {message_id for message_id, content in former.items() if content != contents[message_id]}


def former_contents(
    db: OrmSession, flow_id: UUID, ids: Iterable[UUID], moment: datetime | None = None
) -> dict[UUID, Any]:
    """What those of the messages whose content was edited since said at that time, or when they were captured. What was
    redacted since is not kept, so such an edit counts as none."""
    former: dict[UUID, Any] = {}
    for some in batches.pages(ids):
        mine = [MessageChange.flow_id == flow_id, MessageChange.message_id.in_(some), MessageChange.action == "edit"]
        if moment is not None:
            mine.append(MessageChange.at > moment)
        edits = sa.select(MessageChange.message_id, MessageChange.former).where(*mine).order_by(MessageChange.number)
        for message_id, replaced in db.execute(edits):
            if "content" in (replaced or {}):
                former.setdefault(message_id, replaced["content"])
    return former


def of_batch(
    db: OrmSession, user_id: UUID, batch_id: UUID, *, after: UUID | None, limit: int
) -> Sequence[MessageChange]:
    """The next changes of a batch of the user, by id."""
    found = (
        sa.select(MessageChange)
        .join(Flow, Flow.id == MessageChange.flow_id)
        .where(MessageChange.batch_id == batch_id, own_flow(user_id))
    )
    if after is not None:
        found = found.where(MessageChange.id > after)
    return db.scalars(found.order_by(MessageChange.id).limit(limit)).all()


def delete_of_message(db: OrmSession, flow_id: UUID, message_id: UUID) -> int:
    return _delete(db, MessageChange.flow_id == flow_id, MessageChange.message_id == message_id)


def _delete(db: OrmSession, *which: sa.ColumnElement[bool]) -> int:
    return rows_affected(db, sa.delete(MessageChange).where(*which).execution_options(synchronize_session=False))
