"""Rows by primary key, with statements that are built once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm.util import identity_key

from memorybase.core.models import Base

Entity = TypeVar("Entity", bound=Base)


def get(db: OrmSession, entity: type[Entity], *key: Any) -> Entity | None:
    """Like `Session.get`, which builds its statement each time: from the session's identity map, or read."""
    cached: Entity | None = db.identity_map.get(identity_key(entity, key))
    return cached or db.scalar(_by_key(entity), {f"key_{index}": value for index, value in enumerate(key)})


@lru_cache
def _by_key(entity: type[Entity]) -> sa.Select[Entity]:
    columns = sa.inspect(entity, raiseerr=True).primary_key
    return sa.select(entity).where(*(column == sa.bindparam(f"key_{n}") for n, column in enumerate(columns)))
