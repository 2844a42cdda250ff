"""SQL for facts of a memory base: near ones, pages, stored, deleted; usage of distillation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased, undefer

from memorybase.core.database import batches
from memorybase.core.database.paging import MAX_TOTAL, Found, Keyset, PageRequest, fetch_page
from memorybase.core.database.upsert import insert, rows_affected
from memorybase.core.models import MemoryBase, Message, Session
from memorybase.core.queries.joins import key_of
from memorybase.features.facts.models import Distillation, DistillationDay, DistillationUsage, Fact, FactSource
from memorybase.features.facts.queries.distillations import is_supported
from memorybase.features.facts.queries.fact_deletion import delete_facts

FactState = Literal["current", "superseded", "all"]

_PAGE = Keyset("facts", (Fact.created_at, Fact.id), descending=True)


class FactBasis(NamedTuple):
    """A message that a fact rests on."""

    fact_id: UUID
    message_id: UUID
    version: int
    seq: int


class SourceMessage(NamedTuple):
    """Fields of a fact's source message that filters ask about."""

    id: UUID
    flow_id: UUID
    role: str
    meta: dict[str, Any] | None


class Pending(NamedTuple):
    """The sessions of a memory base that wait to be distilled."""

    sessions: int
    messages_skipped: int
    error_code: str | None
    next_at: datetime | None


def messages_before(db: OrmSession, flow_id: UUID, session_id: str, seq: int, *, limit: int) -> list[Message]:
    """The latest user and assistant messages before this seq, in order."""
    found = db.scalars(
        sa.select(Message)
        .where(
            Message.session_uuid == key_of(flow_id, session_id),
            Message.is_dialogue == sa.true(),
            Message.seq < seq,
        )
        .order_by(Message.seq.desc())
        .limit(limit)
    ).all()
    return list(reversed(found))


def current_in_scope(
    db: OrmSession, base_id: UUID, flow_id: UUID, session_id: str, end_user_id: str | None, *, limit: int
) -> list[Fact]:
    """The latest facts of the same end user, or of the same session if it has none, that nothing corrects."""
    statement = _visible(sa.select(Fact)).where(
        Fact.memory_base_id == base_id, Fact.duplicate_of_id.is_(None), Fact.superseded_by_id.is_(None)
    )
    return list(
        db.scalars(
            _within(statement, session_id=None if end_user_id else session_id, end_user_id=end_user_id)
            .where(Fact.flow_id == flow_id)
            .order_by(Fact.created_at.desc(), Fact.id.desc())
            .limit(limit)
            .options(undefer(Fact.vector))
        )
    )


def recallable(
    db: OrmSession,
    base_ids: Collection[UUID],
    *,
    session_id: str | None,
    end_user_id: str | None,
    since: datetime | None,
    until: datetime | None,
    as_of: datetime | None = None,
    limit: int,
) -> list[Fact]:
    """The latest facts within these filters that hold, or held on a date: none that is corrected, repeated or rests on
    a muted message, or on one that was edited since that date."""
    current = [Fact.duplicate_of_id.is_(None), Fact.superseded_by_id.is_(None)] if as_of is None else _held(as_of)
    statement = _within(
        _visible(sa.select(Fact), muted_counts=False).where(Fact.memory_base_id.in_(base_ids), *current),
        session_id=session_id,
        end_user_id=end_user_id,
    )
    if since is not None:
        statement = statement.where(Fact.said_at >= since)
    if until is not None:
        statement = statement.where(Fact.said_at <= until)
    ordered = statement.order_by(Fact.created_at.desc(), Fact.id.desc()).limit(limit)
    return list(db.scalars(ordered.options(undefer(Fact.vector))))


def facts_page(
    db: OrmSession,
    base_id: UUID,
    request: PageRequest,
    *,
    state: FactState,
    session_id: str | None,
    end_user_id: str | None,
) -> Found:
    """Newest first, without duplicates."""

    def chosen(columns: Any) -> Any:
        statement = _visible(sa.select(columns)).where(Fact.memory_base_id == base_id, Fact.duplicate_of_id.is_(None))
        if state != "all":
            is_current = Fact.superseded_by_id.is_(None)
            statement = statement.where(is_current if state == "current" else ~is_current)
        return _within(statement, session_id=session_id, end_user_id=end_user_id)

    return fetch_page(db, chosen(Fact), chosen(Fact.id), _PAGE, request)


def fetch(db: OrmSession, base_id: UUID, fact_id: UUID) -> Fact | None:
    """A fact that holds."""
    found: Fact | None = db.scalar(_visible(sa.select(Fact)).where(Fact.memory_base_id == base_id, Fact.id == fact_id))
    return found


def sources_of(db: OrmSession, fact_ids: Collection[UUID]) -> list[FactBasis]:
    """The sources of facts, in the order of the conversation."""
    statement = (
        sa.select(FactSource.fact_id, FactSource.message_id, FactSource.version, Message.seq)
        .join(Message, Message.id == FactSource.message_id)
        .where(FactSource.fact_id.in_(fact_ids))
        .order_by(FactSource.fact_id, Message.seq)
    )
    return [FactBasis(*row) for row in db.execute(statement)]


def source_messages(db: OrmSession, ids: Collection[UUID]) -> list[SourceMessage]:
    columns = sa.select(Message.id, Message.flow_id, Message.role, Message.meta)
    return [
        SourceMessage(*row) for some in batches.pages(ids) for row in db.execute(columns.where(Message.id.in_(some)))
    ]


def existing(db: OrmSession, fact_ids: Collection[UUID]) -> set[UUID]:
    return set(db.scalars(sa.select(Fact.id).where(Fact.id.in_(fact_ids)))) if fact_ids else set()


def end_users_of(db: OrmSession, facts: Sequence[Fact]) -> dict[tuple[UUID, str], str | None]:
    """The end users of the facts' sessions."""
    keys = {(fact.flow_id, fact.session_id) for fact in facts}
    statement = sa.select(Session.flow_id, Session.session_id, Session.end_user_id).where(
        sa.tuple_(Session.flow_id, Session.session_id).in_(keys)
    )
    return {(row.flow_id, row.session_id): row.end_user_id for row in db.execute(statement)} if keys else {}


def correcting(db: OrmSession, fact_ids: Collection[UUID]) -> dict[UUID, list[UUID]]:
    """By fact: the facts that it corrects."""
    found: dict[UUID, list[UUID]] = {}
    statement = sa.select(Fact.superseded_by_id, Fact.id).where(Fact.superseded_by_id.in_(fact_ids)).order_by(Fact.id)
    for by_id, id_ in db.execute(statement):
        if by_id is not None:
            found.setdefault(by_id, []).append(id_)
    return found


def add(db: OrmSession, facts: Sequence[Fact], sources: Sequence[FactSource]) -> None:
    """Insert facts, those that others refer to first."""
    db.add_all(facts)
    db.flush()
    db.add_all(sources)
    db.flush()


def supersede(db: OrmSession, fact_id: UUID, by_id: UUID) -> None:
    """Link a fact, if nothing corrects it yet, to the one that corrects it."""
    db.execute(
        sa.update(Fact)
        .where(Fact.id == fact_id, Fact.superseded_by_id.is_(None))
        .values(superseded_by_id=by_id)
        .execution_options(synchronize_session=False)
    )


def delete(db: OrmSession, base_id: UUID, fact_id: UUID) -> int:
    """Delete a fact and those that say the same, and return their number."""
    same = sa.or_(Fact.id == fact_id, Fact.duplicate_of_id == fact_id)
    return delete_facts(db, sa.and_(Fact.memory_base_id == base_id, same))


def delete_some(db: OrmSession, base_id: UUID, *, limit: int) -> int:
    page = sa.select(Fact.id).where(Fact.memory_base_id == base_id).limit(limit)
    statement = sa.delete(Fact).where(Fact.id.in_(page))
    return rows_affected(db, statement.execution_options(synchronize_session=False))


def pending(db: OrmSession, base_id: UUID) -> Pending:
    """Waiting sessions, and why the one that has waited longest does."""
    row = db.execute(
        sa.select(
            sa.func.count(Distillation.notify_at),
            sa.func.coalesce(sa.func.sum(Distillation.skipped), 0),
            sa.func.min(Distillation.notify_at),
        ).where(Distillation.memory_base_id == base_id)
    ).one()
    error_code = db.scalar(
        sa.select(Distillation.error_code)
        .where(Distillation.memory_base_id == base_id, Distillation.error_code.is_not(None))
        .order_by(Distillation.updated_at.desc())
        .limit(1)
    )
    return Pending(row[0], int(row[1]), error_code, row[2])


def count_facts(db: OrmSession, base_id: UUID) -> int:
    """The facts that hold, without duplicates."""
    statement = _visible(sa.select(sa.func.count()).select_from(Fact))
    count: int | None = db.scalar(statement.where(Fact.memory_base_id == base_id, Fact.duplicate_of_id.is_(None)))
    return count or 0


def count_of_session(db: OrmSession, session_uuid: UUID) -> int:
    return db.scalar(sa.select(sa.func.count()).where(Fact.session_uuid == session_uuid)) or 0


def tokens_of_day(db: OrmSession, day: date) -> int:
    """The installation's tokens on a day."""
    used = usage_of_day(db, day)
    return 0 if used is None else used.prompt_tokens + used.completion_tokens


def usage_of_day(db: OrmSession, day: date) -> DistillationDay | None:
    return db.get(DistillationDay, day, populate_existing=True)


def count_pending(db: OrmSession) -> int:
    """The sessions that wait, of all memory bases; counts no further than 100,000."""
    waiting = sa.select(Distillation.id).where(Distillation.notify_at.is_not(None)).limit(MAX_TOTAL).subquery()
    return db.scalar(sa.select(sa.func.count()).select_from(waiting)) or 0


def usage_of(db: OrmSession, base_id: UUID) -> DistillationUsage | None:
    return db.get(DistillationUsage, base_id, populate_existing=True)


def add_usage(db: OrmSession, base_id: UUID, day: date, counts: Mapping[str, int], refused: Mapping[str, int]) -> None:
    """Add to what a memory base used, and to the day of the installation."""
    zero = dict.fromkeys(("requests", "prompt_tokens", "completion_tokens", "facts"), 0)
    db.execute(
        insert(db, DistillationUsage)
        .values(memory_base_id=base_id, day=day, day_tokens=0, refused={}, **zero)
        .on_conflict_do_nothing(index_elements=["memory_base_id"])
    )
    db.execute(
        insert(db, DistillationDay).values(day=day, refused=0, **zero).on_conflict_do_nothing(index_elements=["day"])
    )
    usage = db.scalars(
        sa.select(DistillationUsage)
        .where(DistillationUsage.memory_base_id == base_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one()
    if usage.day < day:
        usage.day, usage.day_tokens = day, 0
    if usage.day == day:  # not the end of a request that began yesterday
        usage.day_tokens += counts.get("prompt_tokens", 0) + counts.get("completion_tokens", 0)
    for name, count in counts.items():
        setattr(usage, name, getattr(usage, name) + count)
    usage.refused = {name: usage.refused.get(name, 0) + refused.get(name, 0) for name in {*usage.refused, *refused}}
    db.flush()
    total = {name: getattr(DistillationDay, name) + count for name, count in counts.items()}
    total["refused"] = DistillationDay.refused + sum(refused.values())
    db.execute(
        sa.update(DistillationDay)
        .where(DistillationDay.day == day)
        .values(**total)
        .execution_options(synchronize_session=False)
    )


def bases_of_flow(db: OrmSession, flow_id: UUID) -> list[UUID]:
    """The memory bases of a flow that serve."""
    return list(
        db.scalars(sa.select(MemoryBase.id).where(MemoryBase.flow_id == flow_id, MemoryBase.deleting_at.is_(None)))
    )


def _held(as_of: datetime) -> list[sa.ColumnElement[bool]]:
    """Whether the fact was said by then, and none of those that replaced it: only what was said later did."""
    other = aliased(Fact)
    replaced = sa.exists().where(other.id.in_((Fact.duplicate_of_id, Fact.superseded_by_id)), other.said_at <= as_of)
    edited = sa.exists().where(
        FactSource.fact_id == Fact.id, Message.id == FactSource.message_id, Message.edited_at > as_of
    )
    return [Fact.said_at <= as_of, ~replaced, ~edited]


def _visible(statement: Any, *, muted_counts: bool = True) -> Any:
    return statement.where(is_supported(muted_counts=muted_counts))


def _within(statement: Any, *, session_id: str | None, end_user_id: str | None) -> Any:
    if session_id is None and end_user_id is None:
        return statement
    statement = statement.join(Session, Session.id == Fact.session_uuid)
    if session_id is not None:
        statement = statement.where(Session.session_id == session_id)
    return statement if end_user_id is None else statement.where(Session.end_user_id == end_user_id)
