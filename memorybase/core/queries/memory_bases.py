"""Memory bases and their generations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches, engine, lookup, records
from memorybase.core.database.upsert import core
from memorybase.core.models import (
    IS_ACTIVE,
    Capture,
    Flow,
    Generation,
    GenerationState,
    IngestionJob,
    KnowledgeBase,
    MemoryBase,
    Preparation,
    PreparationKind,
    Priority,
    SessionProgress,
    User,
    UtcDateTime,
)
from memorybase.core.queries import cursors, jobs
from memorybase.core.queries.joins import SERVES, own_base
from memorybase.core.queries.store_health import is_in
from memorybase.core.vector_stores import VectorStoreName

COMPARE_EVERY_SECONDS = 60  # for each base without active work; more if it takes long
COMPARE_LIMIT = 50


class Projection(NamedTuple):
    """The data of a generation that jobs need. It never changes."""

    memory_base_id: UUID
    generation: int
    capture: Capture
    embedding_model: str
    embedder: str
    chunker: str
    token_encoding: str | None
    collection_name: str
    collection_id: UUID


class BaseRow(NamedTuple):
    """The data of a memory base that a capture, a claim or an advance needs."""

    id: UUID
    user_id: UUID
    flow_id: UUID
    threshold: int
    auto_capture: bool
    idle_after: int
    serving: int
    building: int | None
    deleting_at: datetime | None
    paused_at: datetime | None
    priority: Priority
    distill: bool
    written: Projection  # of the generation that ingestion writes to: the build while there is one


class Compared(NamedTuple):
    """Whether a collection differs from what it should hold. `missing` and `stored`: chunks, if known."""

    differs: bool
    missing: int | None = None
    stored: int | None = None


class NewMismatch(NamedTuple):
    """A memory base that has begun to differ from its store; `chunks_missing` is None if that is unknown."""

    memory_base_id: UUID
    user_id: UUID
    flow_id: UUID
    generation: int
    chunks_missing: int | None


# Statements of every capture, claim and advance are built once, with `id` to be filled in.
_BASES, _FLOWS, _GENERATIONS = core(MemoryBase).c, core(Flow).c, core(Generation).c
_THIS = _BASES.id == sa.bindparam("id")
_OF_FLOW = sa.and_(_BASES.flow_id == sa.bindparam("id"), _BASES.deleting_at.is_(None))
_BASE_COLUMNS = [_BASES[name] for name in BaseRow._fields if name != "written"]
_SHARED = (
    sa.select(*_BASE_COLUMNS, *records.columns(Generation, Projection))
    .join(
        core(Generation),
        sa.and_(
            _GENERATIONS.memory_base_id == _BASES.id,
            _GENERATIONS.generation == sa.func.coalesce(_BASES.building, _BASES.serving),
        ),
    )
    .order_by(_BASES.id)
)
_ONE = _SHARED.where(_THIS)
_SHARE_ONE = _ONE.with_for_update(read=True, of=core(MemoryBase))
_LOCK_ONE_ROW = _ONE.with_for_update(key_share=True, of=core(MemoryBase))
_SHARE_OF_FLOW = _SHARED.where(_OF_FLOW).with_for_update(read=True, of=core(MemoryBase))
_SHARE_OF_FLOW_OF_USER = (
    _SHARED.join(core(Flow), _FLOWS.id == _BASES.flow_id)
    .where(_OF_FLOW, _FLOWS.user_id == sa.bindparam("user_id"), _FLOWS.deleting_at.is_(None))
    .with_for_update(read=True, of=core(MemoryBase))
)
_OF_MISMATCH = (
    MemoryBase.id,
    MemoryBase.user_id,
    MemoryBase.flow_id,
    MemoryBase.serving,
    MemoryBase.chunks_missing,
    MemoryBase.mismatch_since,
)
_LOCK_ONE = sa.select(MemoryBase).where(_THIS).with_for_update(key_share=True).execution_options(populate_existing=True)
_PROJECTION = sa.select(*records.columns(Generation, Projection)).where(
    _GENERATIONS.memory_base_id == sa.bindparam("base_id"), _GENERATIONS.generation == sa.bindparam("generation")
)


def share_bases_of_flow(db: OrmSession, flow_id: UUID, user_id: UUID | None = None) -> list[BaseRow]:
    """The flow's memory bases, share-locked: none is regenerated or deleted until this transaction ends.

    With `user_id` only if the flow is this user's and not being deleted.
    """
    _take_turn(db, _OF_FLOW, flow_id)
    if user_id is None:
        return records.fetch_all(db, _shared_base, _SHARE_OF_FLOW, {"id": flow_id})
    return records.fetch_all(db, _shared_base, _SHARE_OF_FLOW_OF_USER, {"id": flow_id, "user_id": user_id})


def _shared_base(*values: Any) -> BaseRow:
    own = len(_BASE_COLUMNS)
    return BaseRow._make([*values[:own], Projection(*values[own:])])


def share_base(db: OrmSession, base_id: UUID) -> BaseRow | None:
    """The memory base, share-locked, even while it is being deleted."""
    _take_turn(db, _THIS, base_id)
    return records.fetch_one(db, _shared_base, _SHARE_ONE, {"id": base_id})


def fetch_row(db: OrmSession, base_id: UUID) -> BaseRow | None:
    """The memory base of any user, even while it is being deleted, without a lock."""
    return records.fetch_one(db, _shared_base, _ONE, {"id": base_id})


def read_row(db: OrmSession, base_id: UUID) -> BaseRow:
    """The memory base, which the caller's transaction has locked or inserted."""
    base = fetch_row(db, base_id)
    if base is None:
        raise sa.exc.NoResultFound("the memory base was deleted under its lock")
    return base


def lock_row(db: OrmSession, base_id: UUID) -> BaseRow | None:
    """The memory base, locked exclusively against every capture, claim and advance, even while it is being deleted."""
    _take_turn(db, _THIS, base_id, exclusive=True)
    return records.fetch_one(db, _shared_base, _LOCK_ONE_ROW, {"id": base_id})


def lock_base(db: OrmSession, base_id: UUID) -> MemoryBase | None:
    """The memory base, locked exclusively against every capture, claim and advance."""
    _take_turn(db, _THIS, base_id, exclusive=True)
    return db.scalar(_LOCK_ONE, {"id": base_id})


def _take_turn(db: OrmSession, which: sa.ColumnElement[bool], key: UUID, *, exclusive: bool = False) -> None:
    """Take advisory locks first, which PostgreSQL grants in order.

    Share locks on a row overtake a waiting exclusive lock: under steady captures a regenerate, a deletion or a build's
    last advance would wait for ever.
    """
    if engine.connection(db).dialect.name != "sqlite":
        records.execute(db, _advisory_lock(which, exclusive), {"id": key})


@lru_cache
def _advisory_lock(which: sa.ColumnElement[bool], exclusive: bool) -> sa.Select[Any]:
    take = sa.func.pg_advisory_xact_lock if exclusive else sa.func.pg_advisory_xact_lock_shared
    bases = sa.select(_BASES.id).where(which).order_by(_BASES.id).subquery()
    key = sa.func.hashtextextended(sa.cast(bases.c.id, sa.Text), 0)
    return sa.select(take(key)).select_from(bases)


def fetch_base(db: OrmSession, user_id: UUID, base_id: UUID) -> MemoryBase | None:
    """The user's memory base, unless it is being deleted."""
    return db.scalar(sa.select(MemoryBase).where(MemoryBase.id == base_id, own_base(user_id)))


def base_of_name(db: OrmSession, user_id: UUID, name: str) -> UUID | None:
    """The id of the base with this name. A base in deletion keeps its name until its last row is deleted."""
    return db.scalar(sa.select(MemoryBase.id).where(MemoryBase.user_id == user_id, MemoryBase.name == name))


def idle_times(db: OrmSession, flow_id: UUID) -> dict[UUID, int]:
    """The idle time of each memory base on the flow, in seconds; 0: off."""
    return dict(db.execute(sa.select(MemoryBase.id, MemoryBase.idle_after).where(MemoryBase.flow_id == flow_id)).all())


def base_ids_of_flow(db: OrmSession, flow_id: UUID) -> list[UUID]:
    """Every memory base of the flow, including those in deletion."""
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.flow_id == flow_id).order_by(MemoryBase.id)))


def active_base_ids(db: OrmSession) -> list[UUID]:
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.deleting_at.is_(None)).order_by(MemoryBase.id)))


def bases_in_deletion(db: OrmSession) -> list[tuple[UUID, str]]:
    """Each with the name of the collection that serves."""
    found = sa.select(MemoryBase.id, Generation.collection_name).join(Generation, SERVES)
    return [(row[0], row[1]) for row in db.execute(found.where(MemoryBase.deleting_at.is_not(None)))]


def bases_in_build(db: OrmSession) -> list[UUID]:
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.building.is_not(None))))


def awaits_index(db: OrmSession, base_id: UUID, generation: int) -> bool:
    """Whether the generation must be indexed before it serves."""
    return bool(db.scalar(sa.select(Generation.awaits_index).where(*_is(base_id, generation))))


def end_wait_for_index(db: OrmSession, base_id: UUID, generation: int) -> None:
    db.execute(sa.update(Generation).where(*_is(base_id, generation)).values(awaits_index=False))


def retain_days_of(db: OrmSession, base_id: UUID) -> int | None:
    """For how long a memory base that the caller has locked keeps messages."""
    return db.scalar(sa.select(MemoryBase.retain_days).where(MemoryBase.id == base_id))


def generations_in_build(db: OrmSession) -> list[Generation]:
    return list(db.scalars(sa.select(Generation).where(Generation.state == GenerationState.BUILDING)))


def _is(base_id: UUID, generation: int) -> tuple[sa.ColumnElement[bool], ...]:
    return Generation.memory_base_id == base_id, Generation.generation == generation


def fetch_any_base(db: OrmSession, base_id: UUID) -> MemoryBase | None:
    """The memory base of any user, even while it is being deleted."""
    return db.get(MemoryBase, base_id, populate_existing=True)


def begin_deletion(db: OrmSession, base_id: UUID, now: datetime) -> None:
    """After this commit the base is not found, and its jobs are cancelled."""
    base = lock_base(db, base_id)
    if base is not None and base.deleting_at is None:
        base.deleting_at = now
        jobs.cancel_jobs_of_base(db, base_id, now, "the memory base was deleted")
        db.flush()


def delete_queued_jobs(db: OrmSession, base_id: UUID, *, limit: int) -> bool:
    """Delete up to `limit` jobs of a base in deletion, which no worker will run; False if none is left."""
    return batches.delete_some(db, IngestionJob, jobs.is_queued_in(base_id), limit=limit)


def delete_rows_of_base(db: OrmSession, base_id: UUID, tables: Sequence[type[Any]], *, limit: int) -> bool:
    """Delete up to `limit` rows of a base, first those of `tables`; False once only its generations are left."""
    if any(batches.delete_some(db, table, table.memory_base_id == base_id, limit=limit) for table in tables):
        return True
    return _delete_some_of(db, lambda table: table.memory_base_id == base_id, limit)


def _delete_some_of(db: OrmSession, which: Callable[[type[Any]], sa.ColumnElement[bool]], limit: int) -> bool:
    # The session's row last: by then nothing refers to it, and its deletion cascades to nothing.
    tables: tuple[type[Any], ...] = (*cursors.of_progress(), SessionProgress)
    return any(batches.delete_some(db, table, which(table), limit=limit) for table in tables)


def delete_base(db: OrmSession, base_id: UUID) -> None:
    """Delete the base, its generations and its registry entry."""
    db.execute(sa.delete(MemoryBase).where(MemoryBase.id == base_id))


def bases_to_compare(db: OrmSession, now: datetime, *, away: Collection[VectorStoreName]) -> list[tuple[UUID, str]]:
    """Bases without active work that are due to be compared, each with the name of its collection. Leaves out those in
    an unreachable store, which would keep the others from their turn."""
    busy = sa.exists().where(IngestionJob.memory_base_id == MemoryBase.id, IS_ACTIVE)
    marked = sa.exists().where(
        SessionProgress.memory_base_id == MemoryBase.id,
        SessionProgress.generation == MemoryBase.serving,
        cursors.is_repair_pending(),
    )
    found = (
        sa.select(MemoryBase.id, Generation.collection_name)
        .join(Generation, SERVES)
        .where(
            *(~is_in(store) for store in away),
            MemoryBase.deleting_at.is_(None),
            sa.or_(MemoryBase.compare_at.is_(None), MemoryBase.compare_at <= now),
            ~busy,
            ~marked,
        )
        .order_by(MemoryBase.compare_at.nulls_first())
        .limit(COMPARE_LIMIT)
    )
    return [(row[0], row[1]) for row in db.execute(found)]


def fetch_generation(db: OrmSession, base_id: UUID, generation: int) -> Generation:
    found = lookup.get(db, Generation, base_id, generation)
    if found is None:
        raise sa.exc.NoResultFound("the memory base has no such generation")
    return found


def projection(db: OrmSession, base: BaseRow, generation: int) -> Projection:
    """The data of a generation of the base that jobs need."""
    if base.written.generation == generation:
        return base.written
    found = records.fetch_one(db, Projection, _PROJECTION, {"base_id": base.id, "generation": generation})
    if found is None:
        raise sa.exc.NoResultFound("the memory base has no such generation")
    return found


def generations(db: OrmSession, base_id: UUID) -> list[Generation]:
    return list(
        db.scalars(sa.select(Generation).where(Generation.memory_base_id == base_id).order_by(Generation.generation))
    )


def last_generation(db: OrmSession, base_id: UUID) -> int:
    return db.scalar(sa.select(sa.func.max(Generation.generation)).where(Generation.memory_base_id == base_id)) or 0


def retire_generation(db: OrmSession, base_id: UUID, generation: int, now: datetime) -> None:
    db.execute(
        sa.update(Generation)
        .where(Generation.memory_base_id == base_id, Generation.generation == generation)
        .values(state=GenerationState.RETIRED, retired_at=now)
    )


def retired_generations(db: OrmSession, before: datetime) -> list[Generation]:
    """Generations that were replaced or abandoned before then, unless pending work has to be moved from them first."""
    has_pending = sa.exists().where(
        Preparation.memory_base_id == Generation.memory_base_id,
        Preparation.generation == Generation.generation,
        Preparation.kind == PreparationKind.ABANDON,
    )
    found = (Generation.state == GenerationState.RETIRED, Generation.retired_at <= before, ~has_pending)
    return list(db.scalars(sa.select(Generation).where(*found)))


def set_serving(db: OrmSession, base_id: UUID, generation: int) -> None:
    """The generation serves from this commit on; also updates the registry entry."""
    chosen = fetch_generation(db, base_id, generation)
    chosen.state = GenerationState.SERVING
    db.execute(
        sa.update(MemoryBase)
        .where(MemoryBase.id == base_id)
        .values(
            serving=generation,
            building=None,
            mismatch=None,
            mismatch_checked_at=None,
            compare_at=None,
            mismatch_since=None,
            chunks_missing=None,
        )
    )
    db.execute(
        sa.update(KnowledgeBase)
        .where(KnowledgeBase.memory_base_id == base_id)
        .values(embedding_model=chosen.embedding_model, embedder=chosen.embedder, chunker=chosen.chunker)
    )


def set_mismatch(
    db: OrmSession,
    base_id: UUID,
    serving: int,
    compared: Compared,
    now: datetime,
    *,
    pause: timedelta = timedelta(seconds=COMPARE_EVERY_SECONDS),
) -> NewMismatch | None:
    """Store the result of a comparison, unless another generation serves by now; the mismatch if it begins with this.
    `pause`: until the next comparison."""
    since = sa.case((MemoryBase.mismatch == sa.true(), MemoryBase.mismatch_since), else_=sa.literal(now, UtcDateTime()))
    changed = db.execute(
        sa.update(MemoryBase)
        .where(MemoryBase.id == base_id, MemoryBase.serving == serving)
        .values(
            mismatch=compared.differs,
            mismatch_checked_at=now,
            compare_at=now + pause,
            mismatch_since=since if compared.differs else None,
            chunks_missing=compared.missing if compared.differs else None,
            chunks_stored=compared.stored,
        )
        .returning(*_OF_MISMATCH)
    ).one_or_none()
    return NewMismatch(*changed[:-1]) if changed is not None and changed.mismatch_since == now else None


def compare_later(db: OrmSession, base_id: UUID, when: datetime) -> None:
    """A comparison has failed or took long: others have their turn before the next one."""
    db.execute(sa.update(MemoryBase).where(MemoryBase.id == base_id).values(compare_at=when))


def mark_mismatch(db: OrmSession, base_id: UUID, serving: int, now: datetime) -> NewMismatch | None:
    """A search or a worker found the collection missing: show the mismatch before the next comparison does.

    The mismatch, unless it was known.
    """
    changed = db.execute(
        sa.update(MemoryBase)
        .where(MemoryBase.id == base_id, MemoryBase.serving == serving, MemoryBase.mismatch.is_not(True))
        .values(
            mismatch=True,
            mismatch_checked_at=now,
            compare_at=now + timedelta(seconds=COMPARE_EVERY_SECONDS),
            mismatch_since=now,
            chunks_missing=None,
        )
        .returning(*_OF_MISMATCH)
    ).one_or_none()
    return None if changed is None else NewMismatch(*changed[:-1])


def delete_rows_of_generation(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> bool:
    """Delete up to `limit` rows of a generation; False once nothing is left."""
    return _delete_some_of(
        db, lambda table: sa.and_(table.memory_base_id == base_id, table.generation == generation), limit
    )


def mark_collection_deleted(db: OrmSession, base_id: UUID, generation: int) -> None:
    """A retired generation's collection and rows are deleted.

    The generation's own row stays, so that its number and its collection's name are never reused: a late sweeper must
    not delete a newer collection.
    """
    db.execute(
        sa.update(Generation)
        .where(Generation.memory_base_id == base_id, Generation.generation == generation)
        .values(retired_at=None)
    )


def is_collection_needed(db: OrmSession, name: str) -> bool:
    """Whether a generation or a knowledge base uses the collection of this name, or is still to delete it."""
    of_generation = sa.select(sa.literal(1)).where(
        Generation.collection_name == name,
        sa.or_(Generation.state != GenerationState.RETIRED, Generation.retired_at.is_not(None)),
    )
    of_knowledge_base = sa.select(sa.literal(1)).where(KnowledgeBase.collection_name == name)
    return any(db.scalar(found.limit(1)) is not None for found in (of_generation, of_knowledge_base))


def is_owner_known(
    db: OrmSession,
    *,
    base_id: UUID | None,
    knowledge_base_id: UUID | None,
    flow_id: UUID | None,
    user_id: UUID | None,
) -> bool:
    """Whether this database has one of these owners of a collection, even one that is being deleted."""
    keys = ((MemoryBase, base_id), (KnowledgeBase, knowledge_base_id), (Flow, flow_id), (User, user_id))
    return any(key is not None and db.get(table, key) is not None for table, key in keys)
