"""Compaction of the files of the stack: when it is due, and what it leaves."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from harness import ChromaServer
from harness.world import World, build_world

from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.memory_bases.deletion import delete_memory_base
from memorybase.core.queries import heartbeats, residues
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chroma_database import DATABASE
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.stack import chroma_files, compaction

WORD = "zqxwordzqx"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residues, "SETTLED", residues.SETTLED * 0)


@pytest.fixture
def sqlite_world(tmp_path: Path) -> Iterator[World]:
    url = f"sqlite:///{tmp_path / 'memorybase.db'}"
    built = build_world(url, tmp_path)
    yield built
    built.close()


@pytest.fixture
def filled(own_chroma: ChromaServer) -> Iterator[tuple[ChromaStore, CollectionRef]]:
    """A collection from which the records with the word were deleted and purged; and another one that was deleted."""
    store = ChromaStore(own_chroma.url, timeout_seconds=20)
    refs = [store.create_collection(f"mb-{uuid4()}-g1", {}) for _ in range(2)]
    random = np.random.default_rng(0)
    for ref in refs:
        vectors = random.normal(size=(40, 16)).astype(np.float32)
        texts = [f"{WORD} {n}" if n < 20 or ref is refs[1] else "kept" for n in range(40)]
        store.upsert(ref, [VectorRecord(f"id{n}", vectors[n], text, {"n": n}) for n, text in enumerate(texts)])
        store.delete(ref, [f"id{n}" for n in range(20)])
        store.purge(ref)
    store.delete_collection(refs[1].name)
    yield store, refs[0]
    store.close()


def count(data: Path) -> int:
    return sum(path.read_bytes().count(WORD.encode()) for path in data.rglob("*") if path.is_file())


def folders(data: Path) -> int:
    return sum(path.is_dir() for path in data.iterdir())


def test_deleted_bytes_leave_chroma(own_chroma: ChromaServer, filled: tuple[ChromaStore, CollectionRef]) -> None:
    store, ref = filled
    before = count(own_chroma.data)
    assert folders(own_chroma.data) == 2
    chroma_files.compact(own_chroma.data)
    assert folders(own_chroma.data) == 2, "a folder that was just written stays"
    for path in own_chroma.data.rglob("*"):
        os.utime(path, (0, 0))
    chroma_files.compact(own_chroma.data)
    assert folders(own_chroma.data) == 1
    assert count(own_chroma.data) == 0 < before
    assert store.count(ref) == 20
    assert len(store.query(ref, np.ones(16, dtype=np.float32), 20)) == 20
    store.upsert(ref, [VectorRecord("new", np.ones(16, dtype=np.float32), "new", {"n": 1})])
    assert store.stored_ids(ref, ["new", "id0", "id30"]) == {"new", "id30"}


def test_a_large_database_is_compacted_before_chroma_starts(
    own_chroma: ChromaServer, filled: tuple[ChromaStore, CollectionRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = count(own_chroma.data)
    reported: list[str] = []
    chroma_files.compact_postponed(own_chroma.data, reported.append)
    monkeypatch.setattr(chroma_files, "LIVE_BYTES", 1)
    chroma_files.compact(own_chroma.data)
    assert (count(own_chroma.data), reported) == (before, [])
    own_chroma.kill()
    chroma_files.compact_postponed(own_chroma.data, reported.append)
    assert count(own_chroma.data) == 0 < before
    chroma_files.compact_postponed(own_chroma.data, reported.append)
    assert reported == ["removing what was deleted from Chroma's database"]
    own_chroma.start()
    store, ref = filled
    assert store.count(ref) == 20


def test_a_locked_database_is_compacted_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_files, "BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as db:
        db.execute("CREATE TABLE segments (id)")
        db.execute("CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(text)")
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.EnvironmentFailure, match="not compacted"):
            chroma_files.compact(tmp_path)
        (tmp_path / chroma_files.POSTPONED).touch()
        reported: list[str] = []
        chroma_files.compact_postponed(tmp_path, reported.append)
        assert reported[-1].startswith("note: Chroma's database was not compacted")
        assert (tmp_path / chroma_files.POSTPONED).exists()


class TestWriteAheadLog:
    def test_it_is_emptied_of_former_content(self, sqlite_world: World, tmp_path: Path) -> None:
        sqlite_world.say("s", WORD)
        assert count(tmp_path) > 0
        with sqlite_world.services.database.reading() as db:
            db.connection().exec_driver_sql("SELECT count(*) FROM messages")
            assert not sqlite_world.services.database.truncate_log(), "a reader needs it"
        assert sqlite_world.services.database.truncate_log()
        assert (tmp_path / "memorybase.db-wal").stat().st_size == 0

    def test_deleted_rows_are_overwritten(self, tmp_path: Path) -> None:
        database = Database(f"sqlite:///{tmp_path / 'some.db'}")
        with database.transaction() as db:
            connection = db.connection()
            for statement in ("CREATE TABLE t (x)", f"INSERT INTO t VALUES ('{WORD}')", "DELETE FROM t"):
                connection.exec_driver_sql(statement)
        with database.reading() as db:
            assert db.connection().exec_driver_sql("PRAGMA secure_delete").scalar() == 1
        assert database.truncate_log()
        assert count(tmp_path) == 0
        database.dispose()


@pytest.mark.usefixtures("at_once")
class TestWhen:
    def test_once_after_deletions_and_not_again_at_once(self, sqlite_world: World) -> None:
        services = sqlite_world.services
        assert not compaction.compact(services)
        base = sqlite_world.new_base()
        sqlite_world.say("s", "apples")
        assert delete_memory_base(services, sqlite_world.user_id, base)
        assert compaction.compact(services)
        with services.database.transaction() as db:
            residues.note_files(db)
        assert not compaction.compact(services), "the turn is taken"
        with services.database.transaction() as db:
            heartbeats.delete(db, compaction.TURN)
        assert compaction.compact(services)
        assert not compaction.compact(services)

    def test_a_note_that_changes_meanwhile_stays(self, sqlite_world: World) -> None:
        database = sqlite_world.services.database
        with database.transaction() as db:
            residues.note_files(db)
        with database.reading() as db:
            read = residues.files_due(db)
        assert read is not None
        with database.transaction() as db:
            residues.note_files(db)
        with database.transaction() as db:
            residues.remove(db, read)
        with database.reading() as db:
            assert residues.files_due(db) is not None

    def test_files_wait_for_logs(self, sqlite_world: World, own_chroma: ChromaServer) -> None:
        database = sqlite_world.services.database
        store = ChromaStore(own_chroma.url, timeout_seconds=20)
        ref = CollectionRef("mb", uuid4())
        with database.transaction() as db:
            residues.note_files(db)
            residues.note_log(db, store, ref)
        with database.reading() as db:
            assert residues.files_due(db) is None
            ((read, collection),) = residues.logs_due(db, limit=10)
        assert collection == ref
        with database.transaction() as db:
            residues.remove(db, read)
        with database.reading() as db:
            assert residues.files_due(db) is not None
