"""Entries of the audit log, written with the change that they are about."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from itertools import islice
from typing import Any, Literal

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.cache import Cache
from memorybase.core.calls import Actor, Call, Effect, ids_in, storable
from memorybase.core.database import engine
from memorybase.core.extension import CallLog
from memorybase.core.models import ID_LENGTH, NAME_LENGTH
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.features.audit_log import queries

Kind = Literal["change", "read", "denied", "prune"]

MAX_NAMES = 20
RECENT_SECONDS = 60.0
KINDS: dict[Effect, Kind] = {
    Effect.CHANGE: "change",
    Effect.CAPTURE: "change",
    Effect.READ: "read",
    Effect.DENIED: "denied",
}


class Recent(Cache[Hashable, bool]):
    """What this process recorded within the last minute, and does not record again: a browser asks for the same part of
    a page every few seconds, and may repeat a refused call for ever."""

    def __init__(self) -> None:
        super().__init__(10_000)


class Recorder:
    """Writes the entry of one operation in the first transaction that it commits: a hook of `Database.before_commit`.

    If that transaction is rolled back, the next one has the entry. An operation that commits nothing has none.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._is_written = False

    def __call__(self, db: OrmSession) -> None:
        if self._is_written:
            return
        created, objects = engine.created_ids(db), self._call.objects
        objects = objects if not created else {**objects, **ids_in(created)}
        queries.insert_entry(db, values_of(self._call.actor, "change", self._call.operation, objects))
        engine.after_commit(db, self._written)

    def _written(self) -> None:
        self._is_written = True


def keeps(settings: Settings, effect: Effect) -> bool:
    """Whether the setting `audit` asks for calls of this effect."""
    return settings.audit == "all" or (settings.audit == "changes" and effect is not Effect.CAPTURE)


def write(services: Services, call: Call) -> None:
    """Write an entry in its own transaction, unless the same was written a moment ago."""
    same, recent = _repeated(call), services.state.of(Recent)
    if same is not None and recent.get(same):
        return
    with services.database.transaction() as db:
        queries.insert_entry(db, values_of(call.actor, KINDS[call.effect], call.operation, call.objects))
    if same is not None:
        recent.put(same, True, RECENT_SECONDS)


def _repeated(call: Call) -> Hashable | None:
    """By what a call is the same as one before; None for a call of which each leaves an entry."""
    actor = call.actor
    if call.effect is Effect.DENIED:
        return actor.key_id, call.operation
    if call.effect is Effect.READ and actor.via == "page":
        return actor.key_id, actor.person, actor.address, call.operation, json.dumps(call.objects)
    return None


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


def _text(value: str | None, most: int) -> str | None:
    return None if value is None else storable(value, most)


CALL_LOG = CallLog(keeps, Recorder, write)
