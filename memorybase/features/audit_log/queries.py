"""SQL of the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock, engine, records
from memorybase.core.database.paging import Found, Keyset, Listing, PageRequest
from memorybase.core.database.upsert import core, rows_affected
from memorybase.features.audit_log.models import AuditChain, AuditEntry

_ENTRIES, _CHAIN = core(AuditEntry), core(AuditChain)
_INSERT = sa.insert(_ENTRIES).inline()  # without asking for the id
_INSERT_NOW = _INSERT.values(at=sa.func.clock_timestamp())  # saves a round trip to PostgreSQL
_LOG = Listing(sa.select(AuditEntry), Keyset("audit", [AuditEntry.id], descending=True))


class Row(NamedTuple):
    """Every column of an entry."""

    id: int
    seq: int | None
    hash: bytes | None
    at: datetime
    kind: str
    user_id: UUID | None
    key_id: UUID | None
    person: str | None
    via: str
    operation: str
    objects: dict[str, Any]
    address: str | None
    request_id: str | None


class Ends(NamedTuple):
    """The ends of the chain."""

    seq: int
    hash: bytes
    pruned_seq: int
    pruned_hash: bytes


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries; None: all. `operation`: part of its name. `unless_read_by`: without what this key, used by this
    person, read on the page."""

    key_id: UUID | None = None
    operation: str | None = None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    unless_read_by: tuple[UUID | None, str | None] | None = None


_ROWS = sa.select(*records.columns(AuditEntry, Row))
_UNSEALED = _ROWS.where(_ENTRIES.c.seq.is_(None)).order_by(_ENTRIES.c.id).limit(sa.bindparam("at_most"))
_ENDS = sa.select(*records.columns(AuditChain, Ends))
_LOCK = _ENDS.with_for_update(skip_locked=True)
_SEAL = (
    sa.update(_ENTRIES)
    .where(_ENTRIES.c.id == sa.bindparam("row_id"))
    .values(seq=sa.bindparam("next_seq"), hash=sa.bindparam("next_hash"))
)
IS_UNSEALED = sa.select(_ENTRIES.c.id).where(_ENTRIES.c.seq.is_(None)).exists()
_SEALED = _ROWS.where(_ENTRIES.c.seq > sa.bindparam("after")).order_by(_ENTRIES.c.seq).limit(sa.bindparam("at_most"))


def insert_entry(db: OrmSession, values: Mapping[str, Any]) -> None:
    """Insert an entry with the time of the database, by which the sweeper prunes."""
    if engine.connection(db).dialect.name == "postgresql":
        records.execute(db, _INSERT_NOW, values)
    else:
        records.execute(db, _INSERT, {**values, "at": clock.now(db)})


def lock_chain(db: OrmSession) -> Ends | None:
    """The ends of the chain, locked; None while another process holds the lock."""
    return records.fetch_one(db, Ends, _LOCK, {})


def chain_ends(db: OrmSession) -> Ends | None:
    return records.fetch_one(db, Ends, _ENDS, {})


def save_chain(db: OrmSession, **values: Any) -> None:
    records.execute(db, sa.update(_CHAIN).values(values), {})


def unsealed_entries(db: OrmSession, *, at_most: int) -> list[Row]:
    """Entries without a seq, in the order of their ids."""
    return records.fetch_all(db, Row, _UNSEALED, {"at_most": at_most})


def seal_entries(db: OrmSession, seals: Sequence[tuple[int, int, bytes]]) -> None:
    """Give entries, by their ids, their seq and their hash."""
    records.execute(db, _SEAL, [{"row_id": row, "next_seq": seq, "next_hash": digest} for row, seq, digest in seals])


def sealed_entries(db: OrmSession, *, after: int, at_most: int) -> list[Row]:
    """Sealed entries in the order of the chain."""
    return records.fetch_all(db, Row, _SEALED, {"after": after, "at_most": at_most})


def count_unsealed(db: OrmSession) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(_ENTRIES).where(_ENTRIES.c.seq.is_(None))) or 0


def prunable(db: OrmSession, *, after: int, before: datetime, at_most: int) -> Row | None:
    """The last entry of the longest run of entries after this seq that are all older than `before`, within a bound."""
    kept = sa.select(sa.func.min(_ENTRIES.c.seq)).where(_ENTRIES.c.seq > after, _ENTRIES.c.at >= before)
    first_kept = db.scalar(kept.where(_ENTRIES.c.seq <= after + at_most))
    last = after + at_most if first_kept is None else first_kept - 1
    statement = _ROWS.where(_ENTRIES.c.seq > after, _ENTRIES.c.seq <= last).order_by(_ENTRIES.c.seq.desc()).limit(1)
    return records.fetch_one(db, Row, statement, {})


def delete_through(db: OrmSession, seq: int) -> int:
    """Delete entries up to this seq; the chain must say that they are pruned."""
    return rows_affected(db, sa.delete(_ENTRIES).where(_ENTRIES.c.seq <= seq))


def entries_page(db: OrmSession, user_id: UUID, wanted: EntryFilter, request: PageRequest) -> Found:
    """The user's entries and those of no user, which are checkpoints; newest first."""
    return _LOG.page(db, request, *_conditions(user_id, wanted))


def entries_after(db: OrmSession, user_id: UUID, wanted: EntryFilter, after: int, *, at_most: int) -> list[Row]:
    """The user's sealed entries in the order of the chain."""
    mine = (*_conditions(user_id, wanted), _ENTRIES.c.seq > after)
    return records.fetch_all(db, Row, _ROWS.where(*mine).order_by(_ENTRIES.c.seq).limit(at_most), {})


def _conditions(user_id: UUID, wanted: EntryFilter) -> list[sa.ColumnElement[bool]]:
    columns = _ENTRIES.c
    found: list[sa.ColumnElement[bool]] = [(columns.user_id == user_id) | columns.user_id.is_(None)]
    for name in ("key_id", "kind"):
        value = getattr(wanted, name)
        if value is not None:
            found.append(columns[name] == value)
    if wanted.operation is not None:
        found.append(columns.operation.icontains(wanted.operation, autoescape=True))
    if wanted.unless_read_by is not None:
        key_id, person = wanted.unless_read_by
        is_reader = columns.key_id.is_not_distinct_from(key_id) & columns.person.is_not_distinct_from(person)
        found.append(~(is_reader & (columns.kind == "read") & (columns.via == "page")))
    if wanted.since is not None:
        found.append(columns.at >= wanted.since)
    if wanted.until is not None:
        found.append(columns.at <= wanted.until)
    return found
