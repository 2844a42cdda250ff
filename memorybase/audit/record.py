"""Entries of the audit log, written with the change that they are about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.database import engine
from memorybase.ids import CallerId
from memorybase.models import ID_LENGTH, NAME_LENGTH
from memorybase.queries import audit_entries
from memorybase.services import Services
from memorybase.validation import why_unstorable

Kind = Literal["change", "read", "denied", "prune"]
Via = Literal["api", "page", "cli", "sweeper"]

MAX_LISTED = 500  # ids of one list, as many as an action on messages takes; of more, the number is stated
MAX_NAMES = 20
_ID_NAME = re.compile(r"([a-z][a-z0-9_]{0,40}_)?ids?")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and from where. `person`: whom a trusted proxy or the operating system names."""

    via: Via
    user_id: UUID | None = None
    key_id: UUID | None = None
    person: str | None = None
    address: str | None = None
    request_id: str | None = None


class Recorder:
    """Writes the entry of one operation in the first transaction that it commits: a hook of `Database.before_commit`.

    If that transaction is rolled back, the next one has the entry. An operation that commits nothing has none.
    """

    def __init__(self, actor: Actor, operation: str, objects: Mapping[str, Any]) -> None:
        self._actor = actor
        self._operation = operation
        self._objects = objects
        self._is_written = False

    def __call__(self, db: OrmSession) -> None:
        if self._is_written:
            return
        created = engine.created_ids(db)
        objects = self._objects if not created else {**self._objects, **ids_in(created)}
        audit_entries.insert_entry(db, values_of(self._actor, "change", self._operation, objects))
        engine.after_commit(db, self._written)

    def _written(self) -> None:
        self._is_written = True


def write(services: Services, actor: Actor, kind: Kind, operation: str, objects: Mapping[str, Any]) -> None:
    """Write an entry in its own transaction."""
    with services.database.transaction() as db:
        audit_entries.insert_entry(db, values_of(actor, kind, operation, objects))


def values_of(actor: Actor, kind: Kind, operation: str, objects: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an entry, but for its time, which is that of the database."""
    return {
        "kind": kind,
        "user_id": actor.user_id,
        "key_id": actor.key_id,
        "person": _text(actor.person, NAME_LENGTH),
        "via": actor.via,
        "operation": operation[:NAME_LENGTH],
        "objects": dict(islice(objects.items(), MAX_NAMES)),
        "address": _text(actor.address, ID_LENGTH),
        "request_id": _text(actor.request_id, ID_LENGTH),
    }


def ids_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """The ids among the values, by their names, as texts. Nothing else of a request is recorded."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or not _ID_NAME.fullmatch(name):
            continue
        if isinstance(value, list | tuple | set | frozenset):
            found[name] = [id_text(each) for each in list(value)[:MAX_LISTED]]
            if len(value) > MAX_LISTED:
                found[f"{name}_count"] = len(value)
        else:
            found[name] = id_text(value)
    return found


def id_text(value: Any) -> str:
    """An id as it was sent, bounded."""
    text = value.sent if isinstance(value, CallerId) else str(value)
    return _text(text, ID_LENGTH) or ""


def _text(value: str | None, most: int) -> str | None:
    if value is None:
        return None
    return value[:most] if why_unstorable(value) is None else "(not storable)"
