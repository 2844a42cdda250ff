"""Calls of the API, the page and the command line, for features that keep a record of them: who did what, from where
and with which ids; never the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.ids import CallerId
from memorybase.core.models import ID_LENGTH
from memorybase.core.services import Services
from memorybase.core.validation import why_unstorable

if TYPE_CHECKING:
    from memorybase.core.extension import CallLog

Via = Literal["api", "page", "cli", "sweeper"]

MAX_LISTED = 500  # ids of one list, as many as an action on messages takes; of more, the number is stated
_ID_NAME = re.compile(r"([a-z][a-z0-9_]{0,40}_)?ids?")


class Effect(StrEnum):
    """What a call does, by which a record of calls decides whether to keep it."""

    NOTHING = "nothing"  # it only reads; what it stores is no change of a caller's
    CHANGE = "change"
    CAPTURE = "capture"  # runtimes make it all the time: its body is not parsed twice, the domain states the ids
    READ = "read"  # it hands out everything at once, or shows content on the page
    DENIED = "denied"  # it was outside the limits of its key


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and from where. `person`: whom a trusted proxy or the operating system names."""

    via: Via
    user_id: UUID | None = None
    key_id: UUID | None = None
    person: str | None = None
    address: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """`objects`: the ids that it names."""

    actor: Actor
    effect: Effect
    operation: str
    objects: Mapping[str, Any]


def is_kept(services: Services, effect: Effect) -> bool:
    """Whether any feature keeps calls of this effect; asked before the ids of a call are read."""
    return bool(_logs(services, effect))


def recorder(services: Services, call: Call) -> Callable[[OrmSession], None]:
    """A hook for `Database.before_commit`: it records a change in the first transaction that the change commits."""
    hooks = [log.recorder(call) for log in _logs(services, call.effect)]

    def record(db: OrmSession) -> None:
        for hook in hooks:
            hook(db)

    return record


def write(services: Services, call: Call) -> None:
    """Record a call in a transaction of its own. Raises DatabaseUnavailable."""
    for log in _logs(services, call.effect):
        log.write(services, call)


def _logs(services: Services, effect: Effect) -> list[CallLog]:
    logs = (log for hooks in services.hooks for log in hooks.call_logs)
    return [log for log in logs if log.keeps(services.settings, effect)]


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
    return storable(value.sent if isinstance(value, CallerId) else str(value), ID_LENGTH)


def storable(text: str, most: int) -> str:
    """The text, bounded, or what stands for a text that no database stores."""
    return text[:most] if why_unstorable(text) is None else "(not storable)"
