"""SQLite does not wait for the disk at every commit: what a power cut may undo, and what it may not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from harness.tables import make_sqlite
from harness.world import WorkerKilled, World
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.engine import Database
from memorybase.core.models import JobState
from memorybase.core.sessions import edits
from memorybase.core.vectors.store import CollectionRef, VectorRecord

LEASE_SECONDS = 61.0  # longer than the world's


class Disk:
    """The database's files as they were at the last commit that waited for the disk."""

    def __init__(self, world: World, folder: Path) -> None:
        self._database = world.services.database
        self._path = Path(str(self._database.url.database))
        self._folder = folder
        folder.mkdir()

    def keep(self) -> None:
        for path in self._files():
            if path.exists():
                shutil.copy(path, self._folder / path.name)
            else:
                (self._folder / path.name).unlink(missing_ok=True)

    def cut_power(self) -> None:
        self._database.dispose()
        for path in (*self._files(), Path(f"{self._path}-shm")):
            path.unlink(missing_ok=True)
        for kept in self._folder.iterdir():
            shutil.copy(kept, self._path.parent)

    def _files(self) -> tuple[Path, Path]:
        return self._path, Path(f"{self._path}-wal")


@pytest.fixture
def world(sqlite_world: World) -> World:
    return sqlite_world


@pytest.fixture
def disk(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk(world, tmp_path / "disk")
    transaction = Database.transaction

    @contextmanager
    def noted(self: Database, *, durable: bool = True) -> Iterator[OrmSession]:
        with transaction(self, durable=durable) as db:
            yield db
        if durable:
            made.keep()

    monkeypatch.setattr(Database, "transaction", noted)
    return made


def kill_after_upsert(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    upsert = world.vectors.upsert

    def killed(ref: CollectionRef, records: list[VectorRecord]) -> None:
        upsert(ref, records)
        raise WorkerKilled

    with monkeypatch.context() as patch:
        patch.setattr(world.vectors, "upsert", killed)
        with pytest.raises(WorkerKilled):
            world.drain()


def let_it_end(world: World, _monkeypatch: pytest.MonkeyPatch) -> None:
    world.drain()


@pytest.mark.parametrize("until", [kill_after_upsert, let_it_end])
def test_a_claim_that_wrote_chunks_survives_a_power_cut(
    world: World, disk: Disk, monkeypatch: pytest.MonkeyPatch, until: Callable[[World, pytest.MonkeyPatch], None]
) -> None:
    """An edit that comes before the work is done again must not leave the text of before in the store."""
    base = world.new_base(threshold=1)
    (said, _) = world.say("s", "the first wording", "something else").messages
    until(world, monkeypatch)
    assert len(world.stored(base)) == 2

    disk.cut_power()

    (job,) = world.jobs(base)
    assert job.state == JobState.RUNNING, "the claim was on the disk before anything was written under it"
    edits.edit_message(world.services, world.user_id, said.id, {"content": "the second wording"})
    world.pass_time(LEASE_SECONDS)
    world.settle()
    world.pass_time(3_600)  # whatever the lost claim has left is looked for once its writes can no longer come
    world.assert_settled(base)


def test_a_claim_lost_in_a_power_cut_is_queued(world: World, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one", "two")

    def killed(*_: object) -> None:
        raise WorkerKilled

    with monkeypatch.context() as patch:
        patch.setattr("memorybase.core.ingestion.pipeline.Batch.begin", killed)
        with pytest.raises(WorkerKilled):
            world.drain()
    assert [job.state for job in world.jobs(base)] == [JobState.RUNNING]

    disk.cut_power()

    assert [job.state for job in world.jobs(base)] == [JobState.QUEUED]
    world.pass_time(LEASE_SECONDS)
    world.assert_settled(base)


def test_a_capture_waits_for_the_disk_and_an_advance_does_not(tmp_path: Path) -> None:
    make_sqlite(tmp_path / "memorybase.db")
    database = Database(f"sqlite:///{tmp_path / 'memorybase.db'}")
    levels: list[Any] = []

    @sa.event.listens_for(database.engine, "commit")
    def note(connection: sa.Connection) -> None:
        levels.append(connection.connection.cursor().execute("PRAGMA synchronous").fetchone()[0])

    full, normal = 2, 1
    for durable in (True, False, True):
        with database.transaction(durable=durable) as db:
            db.execute(sa.text("DELETE FROM heartbeats"))
    database.dispose()
    assert levels == [full, normal, full]
