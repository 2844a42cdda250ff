"""The parts of the stack in words for people: since when one is down, what stops, the command that helps.

One watch per process checks them, at most every `FRESH` seconds and one check of a part at a time, so that a hanging
part blocks neither a page nor more than one thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memorybase.core import errors, shell
from memorybase.core.database import clock
from memorybase.core.operations import health
from memorybase.core.operations.health import Part, part_names
from memorybase.core.queries import heartbeats, statistics
from memorybase.core.queries.store_health import heartbeat_of
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.vector_stores import VECTOR_STORES

FRESH = 2.0  # seconds
# Longer than this counts as down: a page answers within 2 s.
ANSWER_SECONDS = 1.2
BACK_SECONDS = 0.2
_STORE_HEARTBEATS: Mapping[str, str] = {store: heartbeat_of(store) for store in VECTOR_STORES}


@dataclass(frozen=True, slots=True)
class PartWords:
    """Name and purpose of a part, and what stops without it."""

    label: str
    purpose: str
    stops: str


WORDS: dict[str, PartWords] = {
    "database": PartWords("Database", "Source of truth for messages.", "Nothing can be captured, searched or shown."),
    "redis": PartWords(
        "Redis", "Queues jobs and locks sessions.", "Captured messages are kept, and are ingested later."
    ),
    "broker": PartWords(
        "Broker", "Queues jobs, instead of Redis.", "Captured messages are kept, and are ingested later."
    ),
    **{
        name: PartWords(
            store.label,
            f"Stores the vectors{store.server and f' in {store.server}'}; can be rebuilt from the database.",
            "Searches by meaning fail; searches by words answer. New messages wait.",
        )
        for name, store in VECTOR_STORES.items()
    },
    "worker": PartWords(
        "Worker",
        "Embeds and ingests messages.",
        "New messages are captured and wait; searches find them by words, and the newest by meaning.",
    ),
    "sweeper": PartWords(
        "Sweeper",
        "Recovers lost jobs and flushes idle sessions.",
        "Idle sessions and lost jobs wait; lost vectors go unnoticed.",
    ),
}


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the stack. `problem` and `since` are null while it answers; `command` helps if it does not."""

    name: str
    label: str
    purpose: str
    stops: str
    command: str
    ok: bool
    problem: str | None
    since: datetime | None
    latency_seconds: float | None
    alive: int | None
    age_seconds: float | None


def part_views(services: Services, *, seconds: float = ANSWER_SECONDS, fresh: float | None = None) -> list[PartView]:
    """Every part, after at most `seconds`. One that has not answered by then is not ok. Raises no MemorybaseError.

    A check that ended up to `fresh` seconds ago counts; by default `FRESH`.
    """
    return services.state.of(_Watch).look(services, seconds, FRESH if fresh is None else fresh)


def command_for(settings: Settings, name: str) -> str:
    """The command to run on the host when the part is down."""
    if is_embedded(settings):
        return f"{settings.up_command}{_data_dir(settings)}"
    return {"worker": "celery -A worker.app worker", "sweeper": "memorybase sweep"}.get(name, doctor_command(settings))


def doctor_command(settings: Settings) -> str:
    """The command that says what is wrong."""
    return command(settings, "doctor")


def command(settings: Settings, words: str) -> str:
    """A command of memorybase for this stack."""
    return f"memorybase {words}{_data_dir(settings) if is_embedded(settings) else ''}"


def is_embedded(settings: Settings) -> bool:
    """Whether `memorybase up` runs it, as far as its settings tell."""
    return settings.resolved_database_url.startswith("sqlite")


def _data_dir(settings: Settings) -> str:
    return f" --data-dir {shell.quoted(str(settings.data_dir))}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The result of one check, and since when the part is down."""

    part: Part
    since: datetime | None
    at: float


class _Watch:
    """The checks of one process. A part that is down keeps its `since` until it answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checks: dict[str, tuple[Future[_Seen], datetime]] = {}
        self._away_since: dict[str, datetime] = {}

    def look(self, services: Services, seconds: float, fresh: float) -> list[PartView]:
        with self._lock:
            for name in part_names(services.settings):
                if self._is_due(name, fresh):
                    context = contextvars.copy_context()
                    check = health.threads.submit(context.run, _check, services, name)
                    self._checks[name] = (check, datetime.now(UTC))
            checks = dict(self._checks)
            # A part that is known to be down delays nobody; one that is back may take a moment.
            awaited = [check for name, (check, _) in checks.items() if name not in self._away_since]
        wait_for(awaited, timeout=seconds)
        wait_for([check for check, _ in checks.values()], timeout=min(BACK_SECONDS, seconds))
        return [self._view(services, name, *checks[name], seconds) for name in checks]

    def _is_due(self, name: str, fresh: float) -> bool:
        if name not in self._checks:
            return True
        check, _ = self._checks[name]
        return check.done() and time.monotonic() - check.result().at > fresh

    def _view(self, services: Services, name: str, check: Future[_Seen], started: datetime, seconds: float) -> PartView:
        if check.done():
            seen = check.result()
        else:
            seen = _Seen(Part(name, ok=False, problem=f"No answer within {seconds:g} s"), started, 0.0)
        with self._lock:
            if seen.part.ok:
                self._away_since.pop(name, None)
            else:
                self._away_since.setdefault(name, seen.since or started)
            since = self._away_since.get(name)
        command = command_for(services.settings, name)
        return view_of(PartView, WORDS[name], seen.part, name=name, command=command, since=since)


def _check(services: Services, name: str) -> _Seen:
    part = health.check_part(services, name)
    since = None if part.ok else _last_sign(services, name)
    return _Seen(part, since, time.monotonic())


def _last_sign(services: Services, name: str) -> datetime | None:
    """When the database last heard of the part; None if it never did."""
    if name in {"database", "redis", "broker"}:
        return None
    with contextlib.suppress(errors.DatabaseUnavailable), services.database.reading() as db:
        if heartbeat := _STORE_HEARTBEATS.get(name):
            return heartbeats.latest(db, heartbeat)
        return {row.kind: row.last for row in statistics.heartbeats(db, clock.now(db) - timedelta(days=1))}.get(name)
    return None
