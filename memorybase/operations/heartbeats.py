"""Signs of life of workers and sweepers, in SQL, so that they work while Redis is away."""

from __future__ import annotations

from typing import Literal

from memorybase.database import clock
from memorybase.queries import heartbeats
from memorybase.services import Services


def beat(services: Services, name: str, kind: Literal["worker", "sweeper"]) -> None:
    with services.database.transaction() as db:
        heartbeats.beat(db, name, kind, clock.now(db))


def forget_beat(services: Services, name: str) -> None:
    with services.database.transaction() as db:
        heartbeats.forget(db, name)
