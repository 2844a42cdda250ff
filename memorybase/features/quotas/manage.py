"""Change quotas. Those of a user are changed with the command line only: no key may raise what bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.models import ApiKey
from memorybase.core.queries.ownership import not_found
from memorybase.core.services import Services
from memorybase.core.settings import MAX_QUOTA
from memorybase.features.quotas import queries
from memorybase.features.quotas.bounds import NAMES, WINDOWS

Changes = Mapping[str, int | None]


def change_key_quotas(
    services: Services, user_id: UUID, key_id: UUID, changes: Changes, *, by_key_id: UUID | None = None
) -> ApiKey:
    """Change quotas of a key and of those that it was rotated into; None: the default of the settings. `by_key_id`: the
    key that asks for it.

    Raises NotFound, InvalidRequest, and Forbidden for a key's own quotas."""
    with services.database.transaction() as db:
        key = queries.key_of_user(db, user_id, key_id)
        if key is None:
            raise not_found("key", key_id)
        subject_id = key.quota_subject or key.id
        asking = None if by_key_id is None else queries.key_of_user(db, user_id, by_key_id)
        if asking is not None and (asking.quota_subject or asking.id) == subject_id:
            raise errors.Forbidden("A key cannot change its own quotas. Use another key, or: memorybase quotas set")
        quotas = _changed(key.quotas, changes)
        queries.set_quotas_of_key(db, subject_id, quotas or None)
        _forget_unlimited(db, subject_id, quotas)
        db.refresh(key)
    return key


def change_user_quotas(services: Services, user_id: UUID, changes: Changes) -> None:
    """Change the quotas of a user, over all of its keys."""
    with services.database.transaction() as db:
        quotas = _changed(queries.lock_quotas_of_user(db, user_id), changes)
        if not queries.set_quotas_of_user(db, user_id, quotas or None):
            raise errors.NotFound("There is no such user", field="user_id", value=user_id)
        _forget_unlimited(db, user_id, quotas)


def _changed(stored: Mapping[str, int] | None, changes: Changes) -> dict[str, int]:
    """The value of a row's column. Raises InvalidRequest."""
    wanted = {**(stored or {}), **changes}
    quotas: dict[str, int] = {name: value for name in NAMES if (value := wanted.get(name)) is not None}
    for name, value in quotas.items():
        if not 0 <= value <= MAX_QUOTA:
            raise errors.InvalidRequest(
                f"{name} must be 0 to {MAX_QUOTA}", field=name, value=value, limit=[0, MAX_QUOTA]
            )
    return quotas


def _forget_unlimited(db: OrmSession, subject_id: UUID, quotas: Mapping[str, int]) -> None:
    unlimited = [name for name in NAMES if name not in WINDOWS and name not in quotas]
    queries.forget_counters(db, subject_id, unlimited)
