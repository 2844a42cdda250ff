"""Memory bases and their generations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database import batches, lookup
from memorybase.models import (
    IS_ACTIVE,
    DeadLetter,
    Generation,
    GenerationState,
    IngestionJob,
    KnowledgeBase,
    LedgerEntry,
    MemoryBase,
    SessionProgress,
    TokenVectors,
)
from memorybase.queries import cursors, jobs

COMPARE_EVERY_SECONDS = 60  # a base at rest is looked at this often
COMPARE_LIMIT = 50

# Statements of every capture, claim and advance are built once, with `id` to be filled in.
_THIS = MemoryBase.id == sa.bindparam("id")
_LIVING_OF_FLOW = sa.and_(MemoryBase.flow_id == sa.bindparam("id"), MemoryBase.deleting_at.is_(None))


def share_bases_of_flow(db: OrmSession, flow_id: UUID) -> list[MemoryBase]:
    """The flow's living memory bases, share-locked: none is regenerated or deleted until this transaction ends."""
    _queue_up(db, _LIVING_OF_FLOW, flow_id)
    return list(db.scalars(_locked(_LIVING_OF_FLOW, alone=False), {"id": flow_id}))


def share_base(db: OrmSession, base_id: UUID) -> MemoryBase | None:
    """The memory base, living or being deleted, share-locked."""
    _queue_up(db, _THIS, base_id)
    return db.scalar(_locked(_THIS, alone=False), {"id": base_id})


def lock_base(db: OrmSession, base_id: UUID) -> MemoryBase | None:
    """The memory base, locked against every capture, claim and advance."""
    _queue_up(db, _THIS, base_id, alone=True)
    return db.scalar(_locked(_THIS, alone=True), {"id": base_id})


@lru_cache
def _locked(which: sa.ColumnElement[bool], *, alone: bool) -> sa.Select[MemoryBase]:
    found = sa.select(MemoryBase).where(which).order_by(MemoryBase.id)
    return found.with_for_update(read=not alone, key_share=alone).execution_options(populate_existing=True)


def _queue_up(db: OrmSession, which: sa.ColumnElement[bool], ident: UUID, *, alone: bool = False) -> None:
    """Wait for one's turn at the memory bases.

    PostgreSQL lets share locks on a row overtake whoever waits to have the row alone: under steady captures a
    regenerate, a deletion or a build's last advance would wait without end. Advisory locks are granted in order.
    """
    if db.get_bind().dialect.name == "sqlite":
        return
    db.execute(_take_turn(which, alone), {"id": ident})


@lru_cache
def _take_turn(which: sa.ColumnElement[bool], alone: bool) -> sa.Select[Any]:
    take = sa.func.pg_advisory_xact_lock if alone else sa.func.pg_advisory_xact_lock_shared
    wanted = sa.select(MemoryBase.id).where(which).order_by(MemoryBase.id).subquery()
    key = sa.func.hashtextextended(sa.cast(wanted.c.id, sa.Text), 0)
    return sa.select(take(key)).select_from(wanted)


def fetch_base(db: OrmSession, user_id: UUID, base_id: UUID) -> MemoryBase | None:
    """The user's memory base, unless it is being deleted."""
    return db.scalar(
        sa.select(MemoryBase).where(
            MemoryBase.id == base_id, MemoryBase.user_id == user_id, MemoryBase.deleting_at.is_(None)
        )
    )


def base_of_name(db: OrmSession, user_id: UUID, name: str) -> UUID | None:
    """Also of a base that is being deleted: the name is free when its last row is gone."""
    return db.scalar(sa.select(MemoryBase.id).where(MemoryBase.user_id == user_id, MemoryBase.name == name))


def base_ids_of_flow(db: OrmSession, flow_id: UUID) -> list[UUID]:
    """Every memory base of the flow, those being deleted too."""
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.flow_id == flow_id).order_by(MemoryBase.id)))


def active_base_ids(db: OrmSession) -> list[UUID]:
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.deleting_at.is_(None)).order_by(MemoryBase.id)))


def bases_in_deletion(db: OrmSession) -> list[UUID]:
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.deleting_at.is_not(None))))


def bases_in_build(db: OrmSession) -> list[UUID]:
    return list(db.scalars(sa.select(MemoryBase.id).where(MemoryBase.building.is_not(None))))


def fetch_any_base(db: OrmSession, base_id: UUID) -> MemoryBase | None:
    """The memory base, whoever it belongs to and whether or not it is being deleted."""
    return db.get(MemoryBase, base_id, populate_existing=True)


def begin_deletion(db: OrmSession, base_id: UUID, now: datetime) -> None:
    """From this commit on the base is gone for its user, and its jobs are cancelled."""
    base = lock_base(db, base_id)
    if base is not None and base.deleting_at is None:
        base.deleting_at = now
        jobs.cancel_jobs_of_base(db, base_id, now, "the memory base was deleted")
        db.flush()


def delete_rows_of_base(db: OrmSession, base_id: UUID, *, limit: int) -> bool:
    """Up to `limit` rows of what hangs on a base; False once only its generations are left."""
    return _delete_some_of(db, lambda table: table.memory_base_id == base_id, limit)


def _delete_some_of(db: OrmSession, which: Callable[[type[Any]], sa.ColumnElement[bool]], limit: int) -> bool:
    # The session's row last: by then nothing refers to it, and its deletion takes nothing else along.
    tables = (TokenVectors, LedgerEntry, DeadLetter, IngestionJob, SessionProgress)
    return any(batches.delete_some(db, table, which(table), limit=limit) for table in tables)


def delete_base(db: OrmSession, base_id: UUID) -> None:
    """The base and what still hangs on it: its generations and its entry in the registry."""
    db.execute(sa.delete(MemoryBase).where(MemoryBase.id == base_id))


def bases_to_compare(db: OrmSession, now: datetime) -> list[UUID]:
    """Living bases at rest whose last comparison is a minute old."""
    busy = sa.exists().where(IngestionJob.memory_base_id == MemoryBase.id, IS_ACTIVE)
    marked = sa.exists().where(
        SessionProgress.memory_base_id == MemoryBase.id,
        SessionProgress.generation == MemoryBase.serving,
        cursors.is_repair_pending(),
    )
    return list(
        db.scalars(
            sa.select(MemoryBase.id)
            .where(
                MemoryBase.deleting_at.is_(None),
                sa.or_(
                    MemoryBase.mismatch_checked_at.is_(None),
                    MemoryBase.mismatch_checked_at < now - timedelta(seconds=COMPARE_EVERY_SECONDS),
                ),
                ~busy,
                ~marked,
            )
            .order_by(MemoryBase.mismatch_checked_at.nulls_first())
            .limit(COMPARE_LIMIT)
        )
    )


def fetch_generation(db: OrmSession, base_id: UUID, generation: int) -> Generation:
    found = lookup.get(db, Generation, base_id, generation)
    if found is None:
        raise sa.exc.NoResultFound("a memory base without that generation")
    return found


def generations(db: OrmSession, base_id: UUID) -> list[Generation]:
    return list(
        db.scalars(sa.select(Generation).where(Generation.memory_base_id == base_id).order_by(Generation.generation))
    )


def is_collection_needed(db: OrmSession, base_id: UUID, generation: int) -> bool:
    """Whether a collection of that base and number is filled, served or yet to be dropped, or may be soon.

    A number beyond the last one of a living base is what its next regenerate takes.
    """
    base, found = db.get(MemoryBase, base_id), db.get(Generation, (base_id, generation))
    if found is not None:
        return found.state != GenerationState.RETIRED or found.retired_at is not None
    return base is not None and base.deleting_at is None and generation > last_generation(db, base_id)


def last_generation(db: OrmSession, base_id: UUID) -> int:
    return db.scalar(sa.select(sa.func.max(Generation.generation)).where(Generation.memory_base_id == base_id)) or 0


def retire_generation(db: OrmSession, base_id: UUID, generation: int, now: datetime) -> None:
    db.execute(
        sa.update(Generation)
        .where(Generation.memory_base_id == base_id, Generation.generation == generation)
        .values(state=GenerationState.RETIRED, retired_at=now)
    )


def retired_generations(db: OrmSession, before: datetime) -> list[Generation]:
    return list(
        db.scalars(
            sa.select(Generation).where(Generation.state == GenerationState.RETIRED, Generation.retired_at <= before)
        )
    )


def set_serving(db: OrmSession, base_id: UUID, generation: int) -> None:
    """The generation serves from this commit on; the knowledge base's registry entry follows."""
    chosen = fetch_generation(db, base_id, generation)
    chosen.state = GenerationState.SERVING
    db.execute(
        sa.update(MemoryBase)
        .where(MemoryBase.id == base_id)
        .values(serving=generation, building=None, mismatch=None, mismatch_checked_at=None)
    )
    db.execute(
        sa.update(KnowledgeBase)
        .where(KnowledgeBase.memory_base_id == base_id)
        .values(embedding_model=chosen.embedding_model, embedder=chosen.embedder, chunker=chosen.chunker)
    )


def set_mismatch(db: OrmSession, base_id: UUID, serving: int, mismatch: bool, now: datetime) -> None:
    """Remember a comparison, unless another generation serves by now."""
    db.execute(
        sa.update(MemoryBase)
        .where(MemoryBase.id == base_id, MemoryBase.serving == serving)
        .values(mismatch=mismatch, mismatch_checked_at=now)
    )


def delete_rows_of_generation(db: OrmSession, base_id: UUID, generation: int, *, limit: int) -> bool:
    """Up to `limit` rows of what hangs on a generation; False once nothing is left."""
    return _delete_some_of(
        db, lambda table: sa.and_(table.memory_base_id == base_id, table.generation == generation), limit
    )


def mark_collection_deleted(db: OrmSession, base_id: UUID, generation: int) -> None:
    """A retired generation's collection is gone, and all that hung on it.

    Its own row stays, so that its number, and with it the collection's name, is never given again: a sweeper that is
    late with dropping it must not hit a newer one.
    """
    db.execute(
        sa.update(Generation)
        .where(Generation.memory_base_id == base_id, Generation.generation == generation)
        .values(retired_at=None)
    )
