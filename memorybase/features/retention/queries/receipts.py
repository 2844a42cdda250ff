"""Receipts of rules, in the table of those of erasures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest, given
from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import Flow, MemoryBase, Receipt
from memorybase.core.queries.erasure import KINDS
from memorybase.core.queries.expiry import Rule

PassRule = Literal[Rule, "memory_use"]  # also the setting for recorded uses
PASS_RULES: tuple[PassRule, ...] = get_args(PassRule)  # receipts of erasures are in the same table
_IS_OPEN = sa.text("finished_at IS NULL")
_PASSES = Listing(
    sa.select(Receipt).where(Receipt.rule.in_(PASS_RULES)),
    Keyset("retention-passes", (Receipt.started_at, Receipt.id), descending=True),
)
_ERASURES = Listing(
    sa.select(Receipt).where(Receipt.rule.in_(KINDS)),
    Keyset("erasures", (Receipt.started_at, Receipt.id), descending=True),
)


def open_pass(db: OrmSession, values: dict[str, Any]) -> Receipt:
    """The open pass of the rule, locked; a new one if there is none."""
    new = insert(db, Receipt).values(**values)
    db.execute(new.on_conflict_do_nothing(index_elements=["rule", "subject_id"], index_where=_IS_OPEN))
    found = lock_open_pass(db, values["rule"], values["subject_id"])
    return found if found is not None else open_pass(db, values)  # another sweeper closed it in between


def lock_open_pass(db: OrmSession, rule: str, subject_id: UUID) -> Receipt | None:
    mine = (Receipt.rule == rule, Receipt.subject_id == subject_id, Receipt.finished_at.is_(None))
    statement = sa.select(Receipt).where(*mine).with_for_update(key_share=True)
    return db.scalar(statement.execution_options(populate_existing=True))


def open_subjects(db: OrmSession, rule: str, *, before: datetime | None = None, limit: int) -> Sequence[UUID]:
    """The subjects of the rule's open passes that began before that time."""
    mine = [Receipt.rule == rule, Receipt.finished_at.is_(None), *given(before, lambda at: Receipt.started_at <= at)]
    return db.scalars(sa.select(Receipt.subject_id).where(*mine).order_by(Receipt.subject_id).limit(limit)).all()


def abandoned_passes(db: OrmSession, *, limit: int) -> list[tuple[str, UUID]]:
    """Open passes of a flow or a memory base that is deleted or has no rule any more."""
    flow = sa.exists().where(Flow.id == Receipt.subject_id, Flow.retain_days.is_not(None), Flow.deleting_at.is_(None))
    base = sa.exists().where(
        MemoryBase.id == Receipt.subject_id, MemoryBase.retain_days.is_not(None), MemoryBase.deleting_at.is_(None)
    )
    is_over = sa.or_(sa.and_(Receipt.rule == "flow", ~flow), sa.and_(Receipt.rule == "memory_base", ~base))
    rows = db.execute(
        sa.select(Receipt.rule, Receipt.subject_id).where(Receipt.finished_at.is_(None), is_over).limit(limit)
    )
    return [(row[0], row[1]) for row in rows]


def has_pass(db: OrmSession, user_id: UUID, flow_id: UUID) -> bool:
    mine = sa.select(Receipt.id).where(Receipt.user_id == user_id, Receipt.flow_id == flow_id)
    return db.scalar(mine.limit(1)) is not None


def passes_page(db: OrmSession, user_id: UUID, request: PageRequest, *, flow_id: UUID | None) -> Found:
    return _PASSES.page(db, request, Receipt.user_id == user_id, *given(flow_id, Receipt.flow_id))


def has_old_pass(db: OrmSession, *, kept: timedelta) -> bool:
    return db.scalar(_old_passes(db, kept).limit(1)) is not None


def delete_passes(db: OrmSession, *, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` receipts that were finished longer ago than `kept`. Returns the number deleted."""
    return rows_affected(db, sa.delete(Receipt).where(Receipt.id.in_(_old_passes(db, kept).limit(limit))))


def _old_passes(db: OrmSession, kept: timedelta) -> sa.Select[UUID]:
    return sa.select(Receipt.id).where(Receipt.finished_at <= clock.now(db) - kept)


# Of erasures.


def erasures_page(db: OrmSession, user_id: UUID, request: PageRequest, *, subject_id: UUID | None) -> Found:
    """The receipts of erasures, newest first."""
    return _ERASURES.page(db, request, Receipt.user_id == user_id, *given(subject_id, Receipt.subject_id))


def fetch_erasure(db: OrmSession, user_id: UUID, receipt_id: UUID) -> Receipt | None:
    mine = (Receipt.user_id == user_id, Receipt.rule.in_(KINDS), Receipt.id == receipt_id)
    return db.scalar(sa.select(Receipt).where(*mine))
