"""Quotas on a real database, with a clock that a test can step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from harness.world import World
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.features.quotas import manage, usage
from memorybase.features.quotas.bounds import NAMES


@dataclass
class Limited:
    """A world whose user has quotas."""

    world: World
    ahead: timedelta = timedelta()  # of the database's clock

    def set(self, **quotas: int) -> None:
        wanted = dict.fromkeys(NAMES) | quotas
        manage.change_user_quotas(self.world.services, self.world.user_id, wanted)

    def say(self, *texts: str, session: str = "s1", **request: object) -> bool:
        """Whether the messages were admitted."""
        try:
            self.world.say(session, *texts, **request)
        except errors.QuotaExceeded:
            return False
        return True

    def used(self, quota: str) -> int | None:
        found = usage.usage_of_user(self.world.services, self.world.user_id)
        return next(each.used for each in found.user if each.quota == quota)

    def now(self) -> datetime:
        with self.world.services.database.reading() as db:
            return clock.now(db)

    def step(self, ahead: timedelta) -> None:
        """Step the database's clock."""
        self.ahead = ahead


@pytest.fixture
def limited(world: World, monkeypatch: pytest.MonkeyPatch) -> Limited:
    found = Limited(world)
    now = clock.now

    def stepped(db: OrmSession) -> datetime:
        return now(db) + found.ahead

    monkeypatch.setattr(clock, "now", stepped)
    return found
