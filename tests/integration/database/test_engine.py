"""What reads see, and how broken connections are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.world import World
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import postgresql
from memorybase.core.database.engine import Database
from memorybase.core.models import User

pytestmark = pytest.mark.both_databases

END_OTHERS = sa.text(
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def users(db: OrmSession) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(User)) or 0


class TestReading:
    def test_a_snapshot_does_not_see_later_commits(self, world: World) -> None:
        with world.services.database.reading() as db:
            before = users(db)
            world.new_user()
            assert users(db) == before

    def test_without_a_snapshot_each_statement_sees_what_is_committed(self, world: World) -> None:
        with world.services.database.reading(snapshot=False) as db:
            before = users(db)
            world.new_user()
            assert users(db) == before + 1

    def test_its_connection_can_be_used_for_transactions_again(self, world: World) -> None:
        ours = world.services.database
        ours.dispose()  # so that all that follows is on one connection
        with ours.reading(snapshot=False) as db:
            before = users(db)
        new = {"id": uuid4(), "name": "new", "created_at": datetime.now(UTC)}
        with pytest.raises(errors.ConstraintViolated), ours.transaction() as db:
            db.execute(sa.insert(User), [new, new])
        with ours.reading() as db:
            assert users(db) == before
            world.new_user()
            assert users(db) == before


class TestBrokenConnections:
    @pytest.fixture
    def cut(self, ready_postgres_url: str) -> Iterator[Database]:
        """A database whose pooled connection the server has ended."""
        made, other = Database(ready_postgres_url), Database(ready_postgres_url)
        made.ping()
        with other.reading() as db:
            assert db.scalar(END_OTHERS)
        yield made
        made.dispose()
        other.dispose()

    def test_an_idle_broken_connection_is_replaced(self, cut: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgresql, "PING_AFTER_SECONDS", 0.0)
        cut.ping()

    def test_a_recently_used_broken_connection_fails_once(self, cut: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgresql, "PING_AFTER_SECONDS", 3_600.0)
        with pytest.raises(errors.DatabaseUnavailable):
            cut.ping()
        cut.ping()
