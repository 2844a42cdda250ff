"""Change quotas. Those of a user are changed with the command line only: no key may raise what bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.models import ApiKey
from memorybase.queries import quota_counters
from memorybase.queries.ownership import not_found
from memorybase.quotas.bounds import NAMES, WINDOWS, Quotas
from memorybase.services import Services

Changes = Mapping[str, int | None]


def change_key_quotas(
    services: Services, user_id: UUID, key_id: UUID, changes: Changes, *, by_key_id: UUID | None = None
) -> ApiKey:
    """Change quotas of a key and of those that it was rotated into; None: the default of the settings. `by_key_id`: the
    key that asks for it.

    Raises NotFound, InvalidRequest, and Forbidden for a key's own quotas."""
    with services.database.transaction() as db:
        key = quota_counters.key_of_user(db, user_id, key_id)
        if key is None:
            raise not_found("key", key_id)
        subject_id = key.quota_subject or key.id
        asking = None if by_key_id is None else quota_counters.key_of_user(db, user_id, by_key_id)
        if asking is not None and (asking.quota_subject or asking.id) == subject_id:
            raise errors.Forbidden("A key cannot change its own quotas. Use another key, or: memorybase quotas set")
        quotas = replace(Quotas.of(key.quotas), **changes)
        quota_counters.set_quotas_of_key(db, subject_id, quotas.stored())
        _forget_unlimited(db, subject_id, quotas)
        db.refresh(key)
    return key


def change_user_quotas(services: Services, user_id: UUID, changes: Changes) -> None:
    """Change the quotas of a user, over all of its keys."""
    with services.database.transaction() as db:
        quotas = replace(Quotas.of(quota_counters.lock_quotas_of_user(db, user_id)), **changes)
        if not quota_counters.set_quotas_of_user(db, user_id, quotas.stored()):
            raise errors.NotFound("There is no such user", field="user_id", value=user_id)
        _forget_unlimited(db, user_id, quotas)


def _forget_unlimited(db: OrmSession, subject_id: UUID, quotas: Quotas) -> None:
    unlimited = [name for name in NAMES if name not in WINDOWS and getattr(quotas, name) is None]
    quota_counters.forget_counters(db, subject_id, unlimited)
