"""Deletes facts, and hands on what links to them: to a fact that says the same, else to the one that corrects them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import batches
from memorybase.core.database.upsert import rows_affected
from memorybase.features.facts.models import Fact


def delete_facts(db: OrmSession, which: sa.ColumnElement[bool], *, limit: int | None = None) -> int:
    """Delete the facts, at most `limit`, and return their number."""
    found = db.scalars(sa.select(Fact.id).where(which).order_by(Fact.id).limit(limit)).all()
    return sum(_delete(db, frozenset(some)) for some in batches.pages(found))


class _Linked(NamedTuple):
    id: UUID
    duplicate_of: UUID | None
    superseded_by: UUID | None
    said_at: datetime


def _delete(db: OrmSession, ids: Collection[UUID]) -> int:
    rows = _lock(db, ids)
    heirs = _Heirs(rows, ids)
    for row in rows:
        if row.id not in ids:
            _hand_on(db, row, heirs)
    statement = sa.delete(Fact).where(Fact.id.in_(ids))
    return rows_affected(db, statement.execution_options(synchronize_session=False))


def _lock(db: OrmSession, ids: Collection[UUID]) -> list[_Linked]:
    """These facts, those that link to them and those that they link to, the oldest first. Locked by id: concurrent
    deletions in one chain wait for one another."""
    targets = sa.select(Fact.superseded_by_id).where(Fact.id.in_(ids), Fact.superseded_by_id.is_not(None))
    near = db.scalars(
        sa.select(Fact.id).where(
            sa.or_(
                Fact.id.in_(ids),
                Fact.duplicate_of_id.in_(ids),
                Fact.superseded_by_id.in_(ids),
                Fact.id.in_(targets),
            )
        )
    ).all()
    columns = (Fact.id, Fact.duplicate_of_id, Fact.superseded_by_id, Fact.said_at, Fact.created_at)
    rows = [
        row
        for some in batches.pages(sorted(near))
        for row in db.execute(sa.select(*columns).where(Fact.id.in_(some)).order_by(Fact.id).with_for_update())
    ]
    return [_Linked(*row[:4]) for row in sorted(rows, key=lambda row: (row.created_at, row.id))]


class _Heirs:
    """Facts that replace deleted ones."""

    def __init__(self, rows: Sequence[_Linked], deleted: Collection[UUID]) -> None:
        self.rows: Mapping[UUID, _Linked] = {row.id: row for row in rows}
        self._deleted = deleted
        self.same: dict[UUID, UUID] = {}  # the first fact that is kept and says the same
        for row in rows:
            if row.duplicate_of is not None and row.duplicate_of in deleted and row.id not in deleted:
                self.same.setdefault(row.duplicate_of, row.id)

    def of(self, id_: UUID | None) -> UUID | None:
        """The fact that corrects what this one corrected; None if none is left."""
        seen: set[UUID] = set()
        while id_ is not None and id_ in self._deleted and id_ not in seen:
            seen.add(id_)
            row = self.rows.get(id_)
            id_ = self.same.get(id_) or (row.superseded_by if row else None)
        return None if id_ in self._deleted else id_


def _hand_on(db: OrmSession, row: _Linked, heirs: _Heirs) -> None:
    first, corrects = row.duplicate_of, row.superseded_by
    if first in heirs.same:
        is_heir = heirs.same[first] == row.id
        corrects = heirs.rows[first].superseded_by if is_heir and first in heirs.rows else corrects
        first = None if is_heir else heirs.same[first]
    corrects = heirs.of(corrects)
    later = heirs.rows.get(corrects) if corrects else None
    if corrects == row.id or (later is not None and later.said_at < row.said_at):
        corrects = None
    if (first, corrects) != (row.duplicate_of, row.superseded_by):
        db.execute(
            sa.update(Fact)
            .where(Fact.id == row.id)
            .values(duplicate_of_id=first, superseded_by_id=corrects)
            .execution_options(synchronize_session=False)
        )
