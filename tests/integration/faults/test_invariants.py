"""Each thing that a run of faults checks is seen to fail: one thing is tampered with, and just that is reported."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import sqlalchemy as sa
from chaos.clients import Kept
from chaos.invariants import OF_A_BASE, Chroma, Findings, Sampler, check, named, unrest
from chaos.rest import FILE, LONG, SYSTEM, Rest
from harness import ChromaServer
from harness.rows import each_row
from harness.waiting import wait_until
from harness.world import build_world

from memorybase.core.calls import Actor, Call, Effect
from memorybase.core.models import Base, Generation
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import VectorRecord
from memorybase.features.audit_log import recording

pytestmark = pytest.mark.slow  # It tests what `make chaos` looks for.

OTHER_STEPS = "cursors that took other steps than their jobs: 1"
GONE = uuid4()  # a memory base that was deleted


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Rest:
    folder = tmp_path_factory.mktemp("settled")
    return Rest(build_world(f"sqlite:///{folder / FILE}", folder))


@contextmanager
def copy_of(settled: Rest, folder: Path) -> Iterator[Rest]:
    copied = settled.copied(folder)
    yield copied
    copied.world.services.database.dispose()


@pytest.fixture
def rest(settled: Rest, tmp_path: Path) -> Iterator[Rest]:
    with copy_of(settled, tmp_path) as copied:
        yield copied


Tamper = Callable[[Rest], object]


def moved_to_another_flow(rest: Rest) -> None:
    rest.update("messages", "flow_id = :flow", rest.system, flow=rest.world.new_flow().hex)


def skipped(rest: Rest) -> None:
    """As if the cursor had gone past a message that was never read."""
    message = rest.message("last")
    rest.world.services.vectors.delete(rest.ref, rest.chunks(message))
    rest.count("one", -1, -1)
    rest.execute(f"DELETE FROM ledger WHERE message_id = '{message.id.hex}'")


def counted_too_many(rest: Rest) -> None:
    """As if a message that is not counted had been embedded."""
    message = rest.system
    row = rest.world.row(rest.base, "one")
    rest.copy("ledger", message_id=message.id.hex, progress_id=row.id.hex, version=1, chunks=1)
    rest.chunk(chunk_ids.chunk_id(rest.base, message.id, 1, 0))
    rest.count("one", 1, 1)


def in_two_sessions(rest: Rest) -> None:
    entry = rest.message("last").id.hex
    row = rest.world.row(rest.base, "two")
    rest.copy("ledger", message_id=entry, progress_id=row.id.hex, version=1, chunks=1)
    rest.count("two", 1, 1)


def never_picked_up(rest: Rest) -> None:
    """As if a capture had met no memory base."""
    rest.execute("UPDATE memory_bases SET threshold = 100")
    captured = rest.world.say("three", "unseen").messages[0].id
    rest.kept[str(captured)] = Kept("flow", "three", "assistant", "unseen")


def a_step_twice(rest: Rest) -> None:
    """As if two workers had moved a cursor over one range."""
    columns = [name for name in Base.metadata.tables["ingestion_jobs"].columns.keys() if name != "id"]  # noqa: SIM118
    names = ", ".join(columns)
    rest.execute(
        f"INSERT INTO ingestion_jobs (id, {names}) SELECT :id, {names} FROM ingestion_jobs"
        " WHERE generation = 2 AND to_seq > from_seq LIMIT 1",
        id=uuid4().hex,
    )


def behind(rest: Rest) -> None:
    rest.update("session_progress", "cursor_seq = :seq", seq=rest.message("last").seq - 1)


def lost_in_the_store(rest: Rest) -> None:
    rest.world.vectors.lose(rest.ref, rest.chunks(rest.message(LONG))[1:])


def stray_in_the_store(rest: Rest) -> None:
    rest.chunk(chunk_ids.chunk_id(rest.base, rest.message("edited").id, 1, 0))


def unreadable(rest: Rest) -> None:
    rest.world.vectors.damage(rest.ref, rest.chunks(rest.message("last")))


def twice_in_the_store(rest: Rest) -> None:
    rest.store.twice = rest.chunks(rest.message("last"))


def retired_and_there(rest: Rest) -> None:
    names = set(rest.world.scalars(sa.select(Generation.collection_name)))
    (first,) = names - rest.store.names()
    rest.world.vectors.create_collection(first, {})


def one_run_recorded(rest: Rest) -> None:
    """As if only one of all captures had come with its entry."""
    actor, objects = Actor("api"), {"run_id": str(rest.system.run_id)}
    recording.write(rest.world.services, Call(actor, Effect.CAPTURE, "capture_run", objects))


def message_gone(rest: Rest) -> None:
    rest.execute(f"DELETE FROM messages WHERE id = '{rest.system.id.hex}'")


def an_old_version(rest: Rest) -> None:
    rest.update("messages", "version = version + 1", rest.message("last"))


def without_token_vectors(rest: Rest) -> None:
    rest.execute(f"DELETE FROM token_vectors WHERE message_id = '{rest.message('last').id.hex}'")


def deleted_and_there(rest: Rest) -> None:
    rest.world.vectors.create_collection(f"mb-{GONE}-g1", {})


def left_behind(rest: Rest, table: str) -> None:
    """A row of a deleted base, such as foreign keys would not allow."""
    if table == "preparations":  # none at rest that could be copied
        rest.execute(f"INSERT INTO {table} VALUES ('{GONE.hex}', 1, 'all', '2026-01-01', NULL, NULL)")
        return
    fresh = {"id": uuid4().hex, "progress_id": uuid4().hex, "name": "left", "memory_base_id": GONE.hex, "state": "done"}
    if table == "memory_bases":
        fresh |= {"id": GONE.hex}
    elif table in {"dead_letters", "generations"}:
        del fresh["state"]
    columns = Base.metadata.tables[table].columns.keys()
    rest.copy(table, **{name: value for name, value in fresh.items() if name in columns})


def executing(statement: str) -> Tamper:
    return lambda rest: rest.execute(statement)


def changing(change: str) -> Tamper:
    return lambda rest: rest.update("messages", change, rest.system)


ELSEWHERE = "messages with another content or place: 1"
NOT_HELD = "counted, not in the ledger: 1"
MOVED = "session_uuid = (SELECT id FROM sessions WHERE session_id = 'two'), seq = 99"
PROCESSED = "total_processed is not what the ledger holds: 1, such as two: 2 for 1"
CHUNKS = "total_chunks is not what the ledger holds: 1, such as two: 0 for 1"
NO_TOKENS = "sessions with messages without token vectors: 1"

# What is done, how many are lost, how many doubled, and what is reported (and nothing else).
TAMPERED: dict[str, tuple[Any, ...]] = {
    "a message gone": (message_gone, 1, 0, "acknowledged messages missing in SQL: 1"),
    "another content": (changing("content = '\"other\"'"), 1, 0, ELSEWHERE),
    "another session": (changing(MOVED), 1, 0, ELSEWHERE),
    "another role": (changing("role = 'tool'"), 1, 0, ELSEWHERE),
    "another flow": (moved_to_another_flow, 1, 0, ELSEWHERE),
    "a message too many": (lambda rest: rest.world.say("one", SYSTEM), 0, 1, "in SQL that nobody was promised: 1"),
    "skipped": (skipped, 1, 0, NOT_HELD),
    "no dead letter": (executing("DELETE FROM dead_letters"), 1, 0, NOT_HELD),
    "a dead letter of another version": (executing("UPDATE dead_letters SET version = 2"), 1, 0, NOT_HELD),
    "not counted": (counted_too_many, 0, 1, "in the ledger, not counted: 1"),
    "an old version": (an_old_version, 1, 0, "another version in the ledger: 1"),
    "without token vectors": (without_token_vectors, 1, 0, NO_TOKENS),
    "in two sessions": (in_two_sessions, 0, 1, "in the ledger of another session: 1"),
    "behind the last message": (behind, 1, 0, "counted beyond the cursor: 1", OTHER_STEPS),
    "a step of two jobs": (a_step_twice, 0, 0, OTHER_STEPS),
    "a step of no job": (executing("DELETE FROM ingestion_jobs WHERE session_id = 'two'"), 0, 0, OTHER_STEPS),
    "never picked up": (never_picked_up, 2, 0, NOT_HELD, "counted beyond the cursor: 1"),
    "total_processed": (lambda rest: rest.count("two", 1, 0), 0, 0, PROCESSED),
    "total_chunks": (lambda rest: rest.count("two", 0, -1), 0, 0, CHUNKS),
    "lost in the store": (lost_in_the_store, 2, 0, "chunks missing in the store: 2"),
    "stray in the store": (stray_in_the_store, 0, 1, "chunks of nothing in the store: 1"),
    "unreadable": (unreadable, 1, 0, "chunks without an embedding: 1"),
    "twice in the store": (twice_in_the_store, 0, 1, "chunks twice in the store: 1"),
    "no collection": (lambda rest: rest.world.vectors.delete_collection(rest.ref.name), 7, 0, "collection is gone"),
    "another's collection": (lambda rest: rest.world.vectors.replace_collection(rest.ref.name), 7, 0, "is gone"),
    "a broken chain of the audit log": (
        executing("UPDATE audit_chain SET seq = 7"),
        0,
        0,
        "breaks of the audit log: 1",
    ),
    "a run without an entry in the audit log": (one_run_recorded, 0, 0, "runs without an entry in the audit log"),
    "no generation": (executing("UPDATE memory_bases SET serving = 7"), 0, 0, "g7: the generation is gone"),
    "a retired collection": (retired_and_there, 0, 0, "collections of retired generations: 1"),
    "a deleted collection": (deleted_and_there, 0, 0, "collections of deleted bases: 1"),
    **{
        f"{table} of a deleted base": (partial(left_behind, table=table), 0, 0, f"deleted bases still in {table}: 1")
        for table in OF_A_BASE
    },
}


class TestAtRest:
    def test_nothing_is_found(self, rest: Rest) -> None:
        findings = rest.check(GONE)
        assert findings == Findings(dead_letters=1, in_ledgers=5, chunks=7)
        assert not any(unrest(rest.world.services.database).values())

    @each_row("name", TAMPERED)
    def test_what_is_tampered_with_is_found(self, settled: Rest, tmp_path: Path, name: str) -> None:
        tamper, lost, doubled, *expected = TAMPERED[name]
        with copy_of(settled, tmp_path) as rest:
            tamper(rest)
            findings = rest.check(GONE)
        assert len(findings.violations) == len(expected), findings.violations
        for found, wanted in zip(findings.violations, expected, strict=True):
            assert wanted in found
        assert (findings.lost, findings.doubled, findings.stray_collections) == (lost, doubled, 0)

    def test_a_collection_of_nothing_is_a_stray(self, rest: Rest) -> None:
        rest.world.vectors.create_collection(f"mb-{uuid4()}-g1", {})
        assert rest.check(GONE) == Findings(dead_letters=1, in_ledgers=5, chunks=7, stray_collections=1)

    def test_only_outputs_count_where_only_they_do(self, rest: Rest) -> None:
        rest.execute("UPDATE generations SET capture = 'outputs'")
        (found,) = rest.check().violations
        assert "in the ledger, not counted: 1" in found

    def test_what_lies_before_the_start_does_not_count(self, rest: Rest) -> None:
        rest.update("session_progress", "start_seq = cursor_seq")
        counted, steps = rest.check().violations
        assert "in the ledger, not counted: 4" in counted
        assert OTHER_STEPS in steps


RETIRED = "UPDATE generations SET retired_at = created_at WHERE state = 'retired'"


@each_row(
    ("tamper", "expected"),
    [
        (lambda rest: rest.update("session_progress", "target_seq = cursor_seq + 1"), "1 sessions with pending work"),
        (lambda rest: rest.update("session_progress", "dirty = repaired + 1"), "1 sessions with pending work"),
        (lambda rest: rest.update("session_progress", "audit_at = '2030-01-01'"), "1 sessions with pending work"),
        (lambda rest: rest.update("session_progress", "lease_until = '2030-01-01'"), "1 leases"),
        (lambda rest: rest.update("ingestion_jobs", "state = 'queued'"), "1 active jobs"),
        (lambda rest: rest.update("ingestion_jobs", "state = 'running'"), "1 active jobs"),
        (executing("UPDATE memory_bases SET building = 3"), "1 builds"),
        (executing("UPDATE memory_bases SET deleting_at = created_at"), "1 deletions"),
        (executing(RETIRED), "1 retired generations"),
        (lambda rest: left_behind(rest, "preparations"), "1 preparations"),
        (lambda rest: rest.update("sessions", "deleted_at = created_at"), "1 deleted sessions"),
    ],
)
def test_each_kind_of_unrest_is_seen(settled: Rest, tmp_path: Path, tamper: Tamper, expected: str) -> None:
    with copy_of(settled, tmp_path) as rest:
        tamper(rest)
        assert named(unrest(rest.world.services.database)) == [expected]


@contextmanager
def sampling(rest: Rest) -> Iterator[Sampler]:
    """A sampler that has looked at a session with an active job."""
    rest.update("ingestion_jobs", "state = 'queued'")
    made = Sampler(str(rest.world.services.database.url))
    made.look()
    made.look()
    assert (made.violations, made.samples) == ([], 2)
    try:
        yield made
    finally:
        made._database.dispose()


class TestSampler:
    @each_row(
        "change", ["cursor_seq = cursor_seq - 1", "epoch = epoch - 1", "cursor_seq = cursor_seq + 1, epoch = epoch - 1"]
    )
    def test_cursors_and_epochs_never_decrease(self, settled: Rest, tmp_path: Path, change: str) -> None:
        with copy_of(settled, tmp_path) as rest, sampling(rest) as sampler:
            rest.update("session_progress", "cursor_seq = cursor_seq + 5, epoch = epoch + 5")
            sampler.look()
            assert sampler.violations == []
            rest.update("session_progress", change)
            sampler.look()
            sampler.look()
            (found,) = sampler.violations
        assert "(cursor, epoch) went from" in found

    @each_row("name", ["progress_id", "memory_base_id", "cursor_id", "session_id", "embedder", "chunker"])
    def test_the_names_in_a_job_stay(self, settled: Rest, tmp_path: Path, name: str) -> None:
        self.assert_noticed(settled, tmp_path, f"{name} = '0123456789abcdef0123456789abcdef'")

    @each_row("change", ["kind = 'ingest'", "generation = 9", "from_seq = from_seq - 1", "to_seq = to_seq + 1"])
    def test_the_arguments_of_a_job_stay(self, settled: Rest, tmp_path: Path, change: str) -> None:
        self.assert_noticed(settled, tmp_path, change)

    def assert_noticed(self, settled: Rest, tmp_path: Path, change: str) -> None:
        with copy_of(settled, tmp_path) as rest, sampling(rest) as sampler:
            rest.execute(f"UPDATE ingestion_jobs SET {change} WHERE state = 'queued'")
            sampler.look()
            (found,) = sampler.violations
        assert found.startswith("the arguments of job ")

    @pytest.fixture
    def sampler(self, rest: Rest) -> Iterator[Sampler]:
        with sampling(rest) as made:
            yield made

    def test_one_active_job_a_session(self, rest: Rest, sampler: Sampler) -> None:
        rest.execute(
            "UPDATE ingestion_jobs SET state = 'queued' WHERE rowid IN "
            "(SELECT rowid FROM ingestion_jobs WHERE session_id = 'two' LIMIT 1)"
        )
        sampler.look()
        assert sampler.violations == []
        connection = sqlite3.connect(rest.world.services.settings.data_dir / FILE)
        connection.execute("DROP INDEX uq_ingestion_jobs_active")
        connection.close()
        rest.copy("ingestion_jobs", id=uuid4().hex, state="running", session_id="one")
        sampler.look()
        assert sampler.violations == [f"2 active jobs of {(rest.base, 'one')}"]

    def test_it_looks_all_the_time(self, rest: Rest) -> None:
        sampler = Sampler(str(rest.world.services.database.url))
        sampler.start()
        wait_until(lambda: sampler.samples, what="a first look")
        rest.update("session_progress", "epoch = epoch - 1")
        wait_until(lambda: sampler.violations, what="a second look")
        sampler.stop()
        assert not sampler.is_alive()
        assert len(sampler.violations) == 1

    def test_a_sampler_that_saw_nothing_reports_it(self, tmp_path: Path) -> None:
        sampler = Sampler(f"sqlite:///{tmp_path / 'without-tables.db'}")
        sampler.start()
        sampler.look()
        sampler.stop()
        assert sampler.violations == ["the sampler never saw anything"]

    def test_a_sampler_that_fails_reports_it(self, rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
        sampler = Sampler(str(rest.world.services.database.url))
        sampler.look()

        def broken(_session: object) -> None:
            raise ValueError("broken")

        monkeypatch.setattr(sampler, "_look", broken)
        sampler.start()
        wait_until(lambda: not sampler.is_alive(), what="its end")
        sampler.stop()
        assert sampler.violations == ["the sampler ended: ValueError: broken"]


class TestChroma:
    """The same over a real Chroma, asked past the adapter."""

    COUNT = 1100  # the index goes to files after the first thousand

    @pytest.fixture
    def vectors(self, own_chroma: ChromaServer) -> Iterator[ChromaStore]:
        store = ChromaStore(own_chroma.url, timeout_seconds=20)
        yield store
        store.close()

    @pytest.fixture
    def records(self, rest: Rest, vectors: ChromaStore) -> list[VectorRecord]:
        """What the ledger says, in Chroma."""
        ref = vectors.create_collection(rest.ref.name, {})
        rest.execute("UPDATE generations SET collection_id = :id WHERE state = 'serving'", id=ref.id.hex)
        last = rest.message("last").id.hex
        rest.execute("UPDATE ledger SET chunks = :n WHERE message_id = :last", n=self.COUNT, last=last)
        rest.count("one", 0, self.COUNT - 1)
        vector = np.ones(4, dtype=np.float32)
        ids = [
            chunk
            for entry in rest.world.ledger(rest.base)
            if entry.generation == 2
            for chunk in chunk_ids.chunk_ids(rest.base, entry.message_id, entry.version, entry.chunks)
        ]
        made = [VectorRecord(chunk, vector, "text", {"session_id": "s"}) for chunk in ids]
        vectors.upsert(ref, made)
        return made

    @pytest.mark.slow
    def test_what_is_missing_extra_unreadable_or_left(
        self,
        rest: Rest,
        own_chroma: ChromaServer,
        vectors: ChromaStore,
        records: list[VectorRecord],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("chaos.invariants.ID_PAGE", 500)
        chroma, ref, total = Chroma(own_chroma.url, vectors), rest.ref, len(records)

        def found() -> Findings:
            return check(rest.world.services.database, chroma, rest.kept, [str(GONE)])

        assert found() == Findings(dead_letters=1, in_ledgers=5, chunks=total)
        vectors.delete(ref, [records[0].id])
        assert (found().lost, found().doubled, found().chunks) == (1, 0, total - 1)
        vectors.upsert(ref, [records[0], VectorRecord("extra", records[0].vector, "text", {"session_id": "s"})])
        assert (found().lost, found().doubled, found().chunks) == (0, 1, total + 1)
        vectors.delete(ref, ["extra"])
        vectors.create_collection(f"mb-{GONE}-g1", {})
        assert found().violations == [f"collections of deleted bases: 1, such as mb-{GONE}-g1"]
        vectors.delete_collection(f"mb-{GONE}-g1")
        own_chroma.stop()
        (index,) = [path for path in own_chroma.data.iterdir() if path.is_dir()]
        shutil.rmtree(index)
        own_chroma.start()
        damaged = found()
        (violation,) = damaged.violations
        assert f"chunks without an embedding: {damaged.lost}, " in violation
        assert (damaged.lost > 900, damaged.doubled, damaged.chunks) == (True, 0, total)
        vectors.delete_collection(ref.name)
        (violation,) = found().violations
        assert violation.endswith("the collection is gone")
        assert found().lost == total
