"""The hash chain of the audit log: sealing, verifying, pruning, and what finds out about tampering."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from harness.world import World
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.calls import Actor, Call, Effect
from memorybase.core.database import clock
from memorybase.features.audit_log import chain, queries, recording
from memorybase.features.audit_log.models import AuditChain, AuditEntry
from memorybase.features.audit_log.recording import Recorder

SQLITE_GUARDS = ("audit_entries_sealed", "audit_entries_kept")


def note(world: World, *operations: str, **fields: Any) -> None:
    actor = Actor("api", user_id=world.user_id, address="192.0.2.7", person="Zoë 🔑", **fields)
    for operation in operations:
        objects = {"flow_id": "support", "ids_ids": ["a", "b"]}
        recording.write(world.services, Call(actor, Effect.CHANGE, operation, objects))


def tamper(world: World, change: Callable[[OrmSession], object]) -> None:
    """As somebody with every right on the database does: without the triggers."""
    with world.services.database.transaction() as db:
        if world.services.database.is_sqlite:
            for name in SQLITE_GUARDS:
                db.execute(sa.text(f"DROP TRIGGER IF EXISTS {name}"))
        else:
            db.execute(sa.text("ALTER TABLE audit_entries DISABLE TRIGGER USER"))
        change(db)
        if not world.services.database.is_sqlite:
            db.execute(sa.text("ALTER TABLE audit_entries ENABLE TRIGGER USER"))


def entries(world: World) -> list[AuditEntry]:
    with world.services.database.reading() as db:
        return list(db.scalars(sa.select(AuditEntry).order_by(AuditEntry.id)))


def test_entries_are_sealed_in_order_and_once(world: World) -> None:
    note(world, "one", "two", "three")
    assert chain.verify(world.services.database).unsealed == 3
    assert (chain.seal(world.services), chain.seal(world.services)) == (3, 0)
    assert [(entry.seq, entry.operation) for entry in entries(world)] == [(1, "one"), (2, "two"), (3, "three")]
    found = chain.verify(world.services.database)
    assert (found.is_intact, found.entries, found.first_seq, found.last_seq, found.unsealed) == (True, 3, 1, 3, 0)
    assert found.last_hash == (entries(world)[-1].hash or b"").hex()


@pytest.mark.both_databases
def test_two_sweepers_seal_each_entry_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "SEAL_BATCH", 7)
    note(world, *(str(number) for number in range(50)))
    with ThreadPoolExecutor(4) as threads:
        sealed = list(threads.map(lambda _: chain.seal(world.services), range(4)))
    chain.seal(world.services)  # one that met the lock leaves the rest to the next pass
    assert sum(sealed) <= 50
    assert sorted(entry.seq or 0 for entry in entries(world)) == list(range(1, 51))
    assert chain.verify(world.services.database).is_intact


@pytest.mark.both_databases
def test_an_entry_that_is_committed_late_is_sealed_later(world: World) -> None:
    note(world, "one", "two")
    first, second = entries(world)
    with world.services.database.transaction() as db:
        db.execute(sa.update(AuditEntry).where(AuditEntry.id == first.id).values(id=second.id + 10))
    chain.seal(world.services)
    with world.services.database.transaction() as db:  # an id below those that are sealed
        queries.insert_entry(db, {"id": first.id, **recording.values_of(Actor("cli"), "change", "late", {})})
    assert chain.seal(world.services) == 1
    assert [(entry.seq, entry.operation) for entry in entries(world)] == [(3, "late"), (1, "two"), (2, "one")]
    assert chain.verify(world.services.database).is_intact


def test_a_changed_field_is_found(world: World) -> None:
    note(world, "one", "two", "three")
    chain.seal(world.services)
    (entry,) = [each for each in entries(world) if each.seq == 2]
    others: dict[str, Any] = {
        "at": datetime.now(UTC),
        "kind": "read",
        "user_id": None,
        "key_id": world.user_id,
        "objects": {"flow_id": "x"},
        "person": "else",
        "via": "else",
        "operation": "else",
        "address": "else",
        "request_id": "else",
    }

    def change(column: str, value: Any) -> chain.Verification:
        values = {column: value}
        tamper(world, lambda db: db.execute(sa.update(AuditEntry).where(AuditEntry.seq == 2).values(values)))
        return chain.verify(world.services.database)

    wrong = []
    for column, other in others.items():
        found = change(column, other)
        if (found.is_intact, found.broken_seq) != (False, 2):
            wrong.append(f"{column} was changed: {found}")
        restored = change(column, getattr(entry, column))
        if not restored.is_intact:
            wrong.append(f"{column} was restored: {restored}")
    assert not wrong, "\n".join(wrong)


def test_a_removed_an_inserted_and_a_cut_off_entry_are_found(world: World) -> None:
    note(world, *"12345")
    chain.seal(world.services)
    tamper(world, lambda db: db.execute(sa.delete(AuditEntry).where(AuditEntry.seq == 5)))
    assert chain.verify(world.services.database).broken_seq == 5
    tamper(world, lambda db: db.execute(sa.delete(AuditEntry).where(AuditEntry.seq == 3)))
    assert chain.verify(world.services.database).broken_seq == 3
    forged = {"seq": 3, "hash": bytes(32), **recording.values_of(Actor("api"), "change", "forged", {})}
    tamper(world, lambda db: queries.insert_entry(db, forged))
    assert chain.verify(world.services.database).broken_seq == 3


def test_a_chain_that_was_computed_anew_is_found_with_a_noted_hash(world: World) -> None:
    note(world, *"123")
    chain.seal(world.services)
    noted = chain.verify(world.services.database)

    def rewrite(db: OrmSession) -> None:
        db.execute(sa.update(AuditEntry).values(seq=None, hash=None))
        db.execute(sa.update(AuditEntry).where(AuditEntry.operation == "2").values(operation="innocent"))
        db.execute(sa.update(AuditChain).values(seq=0, hash=bytes(32)))

    tamper(world, rewrite)
    chain.seal(world.services)
    assert chain.verify(world.services.database).is_intact  # by itself the chain cannot know
    found = chain.verify(world.services.database, seq=noted.last_seq, expected=noted.last_hash)
    assert (found.is_intact, found.broken_seq) == (False, 3)
    cut = chain.verify(world.services.database, seq=noted.last_seq + 1, expected=noted.last_hash)
    assert not cut.is_intact


@pytest.mark.both_databases
def test_triggers_refuse_to_change_and_to_delete(world: World) -> None:
    note(world, "sealed")
    chain.seal(world.services)
    note(world, "unsealed")
    changes = [
        sa.update(AuditEntry).where(AuditEntry.seq == 1).values(operation="else"),
        sa.update(AuditEntry).where(AuditEntry.seq == 1).values(seq=None),
        sa.delete(AuditEntry).where(AuditEntry.seq == 1),
        sa.delete(AuditEntry).where(AuditEntry.seq.is_(None)),
    ]
    for change in changes:
        refused = pytest.raises((errors.StatementRefused, errors.ConstraintViolated))
        with refused, world.services.database.transaction() as db:
            db.execute(change)
    assert [entry.operation for entry in entries(world)] == ["sealed", "unsealed"]


# Retention.


def grow_old(world: World, days: float) -> None:
    """Seal entries as old as that: the clock of entries is that of the process."""
    long_ago = datetime.now(UTC) - timedelta(days=days)
    with world.services.database.transaction() as db:
        db.execute(sa.update(AuditEntry).where(AuditEntry.seq.is_(None)).values(at=long_ago))


def keep_for(world: World, days: int) -> None:
    settings = world.services.settings.model_copy(update={"audit_retention_days": days})
    world.services = replace(world.services, settings=settings)


@pytest.mark.both_databases
def test_old_entries_are_pruned_with_a_checkpoint(world: World) -> None:
    note(world, *"123")
    grow_old(world, 40)
    chain.seal(world.services)
    note(world, *"45")
    chain.seal(world.services)
    keep_for(world, 30)
    assert (chain.prune(world.services), chain.prune(world.services)) == (3, 0)
    assert chain.verify(world.services.database).is_intact  # also before the checkpoint is sealed
    chain.seal(world.services)
    found = chain.verify(world.services.database)
    assert (found.is_intact, found.entries, found.first_seq, found.last_seq) == (True, 3, 4, 6)
    checkpoint = entries(world)[-1]
    assert (checkpoint.kind, checkpoint.objects["through_seq"], checkpoint.objects["entries"]) == ("prune", 3, 3)


def test_pruning_twice_keeps_the_chain_and_drops_old_checkpoints(world: World) -> None:
    keep_for(world, 30)
    note(world, "old")
    grow_old(world, 40)
    chain.seal(world.services)
    assert chain.prune(world.services) == 1
    grow_old(world, 39)  # the checkpoint
    chain.seal(world.services)
    assert chain.prune(world.services) == 1
    chain.seal(world.services)
    assert chain.verify(world.services.database).is_intact
    assert [(entry.kind, entry.objects["through_seq"]) for entry in entries(world)] == [("prune", 2)]


def test_more_deleted_than_pruned_is_found(world: World) -> None:
    note(world, *"123456")
    chain.seal(world.services)

    def hide(db: OrmSession) -> None:
        hidden = db.scalars(sa.select(AuditEntry.hash).where(AuditEntry.seq == 2)).one()
        db.execute(sa.delete(AuditEntry).where(AuditEntry.seq <= 2))
        db.execute(sa.update(AuditChain).values(pruned_seq=2, pruned_hash=hidden))

    tamper(world, hide)
    found = chain.verify(world.services.database)
    assert (found.is_intact, found.broken_seq) == (False, 2)


def test_the_age_of_an_entry_is_by_the_clock_of_the_database(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    note(world, "old")
    chain.seal(world.services)
    keep_for(world, 30)
    assert chain.prune(world.services) == 0
    later = datetime.now(UTC) + timedelta(days=40)
    monkeypatch.setattr(clock, "now", lambda _: later)
    assert chain.prune(world.services) == 1
    if world.services.database.is_sqlite:  # PostgreSQL writes its own time
        assert entries(world)[-1].at == later


@pytest.mark.parametrize("days", [0, 365])
def test_nothing_is_pruned_before_its_time(world: World, days: int) -> None:
    note(world, *"12")
    grow_old(world, 100)
    chain.seal(world.services)
    keep_for(world, days)
    assert chain.prune(world.services) == 0
    assert len(entries(world)) == 2


def test_the_sweeper_seals_and_prunes(world: World) -> None:
    note(world, "old")
    grow_old(world, 400)
    report = world.sweep()
    assert (report.done["audit_sealed"], report.done["audit_pruned"], report.failed_steps) == (1, 1, [])
    assert world.sweep().done["audit_sealed"] == 1  # the checkpoint
    assert chain.verify(world.services.database).is_intact


# An entry and its change are one transaction.


@pytest.mark.both_databases
def test_an_entry_is_rolled_back_with_its_change(world: World) -> None:
    database = world.services.database
    with database.before_commit(Recorder(Call(Actor("api"), Effect.CHANGE, "change_something", {}))):
        with pytest.raises(RuntimeError), database.transaction():
            raise RuntimeError
        assert entries(world) == []
        with database.transaction():
            pass
        with database.transaction():  # of the same operation
            pass
    with database.transaction():  # of another one
        pass
    assert [entry.operation for entry in entries(world)] == ["change_something"]


def test_a_change_fails_if_its_entry_cannot_be_written(world: World) -> None:
    before = flows(world)
    recorder = Recorder(
        Call(Actor("api"), Effect.CHANGE, "create_flow", {"other_id": object()})
    )  # JSON has nothing for it
    with world.services.database.before_commit(recorder), pytest.raises((TypeError, sa.exc.StatementError)):
        world.new_flow()
    assert flows(world) == before


def flows(world: World) -> int:
    with world.services.database.reading() as db:
        return db.scalar(sa.text("SELECT count(*) FROM flows")) or 0
