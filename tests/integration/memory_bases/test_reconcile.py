"""Reconcile finds every difference between store and SQL, schedules audits for it, and deletes only orphans."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.clients import client_of
from harness.world import World
from typer.testing import CliRunner, Result

from memorybase import cli
from memorybase.cli import command
from memorybase.cli import reconcile as reconcile_cli
from memorybase.core import errors
from memorybase.core.database import batches, clock
from memorybase.core.memory_bases import consistency, orphans, regenerate
from memorybase.core.memory_bases import reconcile as reconciling
from memorybase.core.memory_bases.reconcile import Reconciled
from memorybase.core.models import Generation, MemoryBase, Message, SessionProgress
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef, StoredCollection, VectorRecord
from memorybase.core.vectors.verified_writes import unreachable_ids


def filled(world: World, *sessions: str) -> UUID:
    base = world.new_base(threshold=1)
    for session_id in sessions or ("s",):
        world.say(session_id, "one", "two", "three")
    world.assert_settled(base)
    return base


def reconcile(world: World, base: UUID, *, repair: bool = False) -> Reconciled:
    done = reconciling.reconcile_base(world.services, base, repair=repair)
    assert done is not None
    return done


def copied(world: World, base: UUID, chunk_id: str, **metadata: Any) -> None:
    """A record in the store under that id, which no worker wrote."""
    first = next(iter(world.vectors.records(world.ref(base)).values()))
    record = VectorRecord(chunk_id, first.vector, "stray", {**first.metadata, **metadata})
    world.services.vectors.upsert(world.ref(base), [record])


def collection(world: World, name: str, age_seconds: float | None) -> CollectionRef:
    with world.services.database.reading() as db:
        now = clock.now(db)
    made: dict[str, Any] = {"user_id": str(world.user_id)}
    if age_seconds is not None:
        made["created_at"] = int((now - timedelta(seconds=age_seconds)).timestamp())
    return world.services.vectors.create_collection(name, made)


class TestBases:
    def test_a_base_without_differences_is_ok(self, world: World) -> None:
        base = filled(world)
        done = reconcile(world, base, repair=True)
        assert (done.state, done.expected, done.found, done.marked) == ("ok", 3, 3, 0)
        assert world.active_jobs(base) == []

    def test_missing_chunks_are_reported_and_repaired(self, world: World) -> None:
        base = filled(world, "s", "t")
        lost = [
            chunk
            for chunk, record in world.vectors.records(world.ref(base)).items()
            if record.metadata["session_id"] == "t"
        ][:2]
        world.vectors.lose(world.ref(base), lost)
        done = reconcile(world, base)
        assert (done.state, done.missing, done.extra, done.marked) == ("mismatch", 2, 0, 0)
        world.settle()
        assert reconcile(world, base).missing == 2
        assert reconcile(world, base, repair=True).marked == 1
        world.settle()
        assert reconcile(world, base).state == "ok"
        world.assert_all_ingested(base)

    def test_unreachable_chunks_are_reported_and_rewritten(self, world: World) -> None:
        base = filled(world, "s", "t")
        ref = world.ref(base)
        cut_off = [
            chunk for chunk, record in world.vectors.records(ref).items() if record.metadata["session_id"] == "t"
        ][:2]
        world.vectors.hide(ref, cut_off)
        done = reconcile(world, base)
        assert (done.state, done.missing, done.extra, done.hidden, done.marked) == ("mismatch", 0, 0, 2, 0)
        assert reconcile(world, base, repair=True).marked == 1
        world.settle()
        assert reconcile(world, base).state == "ok"
        assert not unreachable_ids(world.vectors, ref, cut_off)
        world.assert_all_ingested(base)

    def test_reconcile_reports_its_progress(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        monkeypatch.setattr(consistency, "PROBE_BATCH", 2)
        reports: list[tuple[int, int]] = []
        reconciling.reconcile_base(
            world.services, base, repair=False, on_progress=lambda done, total: reports.append((done, total))
        )
        assert reports == [(2, 3), (3, 3)]

    def test_a_stray_version_of_a_known_message_is_deleted_by_an_audit(self, world: World) -> None:
        base = filled(world)
        message = world.messages()[0]
        stray = chunk_ids.chunk_id(base, message.id, 9, 0)
        copied(world, base, stray)
        done = reconcile(world, base, repair=True)
        assert (done.extra, done.marked, done.removed) == (1, 1, 0)
        assert stray in world.stored(base)
        world.assert_settled(base)

    def test_chunks_of_a_message_known_to_sql_are_kept(self, world: World) -> None:
        world.embedder.reject("poison")
        base = filled(world)
        world.say("s", "poison")
        world.settle()
        dead = next(m for m in world.messages() if m.content == "poison")  # in no ledger
        forgotten = world.messages()[0]  # in the ledger alone
        world.execute(sa.delete(Message).where(Message.id == forgotten.id))
        for message in (dead, forgotten):
            stray = chunk_ids.chunk_id(base, message.id, 9, 0)
            copied(world, base, stray)
            done = reconcile(world, base, repair=True)
            assert (done.extra, done.marked, done.removed) == (1, 1, 0)
            assert stray in world.stored(base)
            world.vectors.lose(world.ref(base), [stray])
            world.execute(sa.update(SessionProgress).values(audit_at=None))

    def test_chunks_of_another_flow_are_deleted_at_once(self, world: World) -> None:
        base = filled(world)
        captured = world.say("s", "elsewhere", flow_id=world.new_flow())
        copied(world, base, chunk_ids.chunk_id(base, captured.messages[0].id, 1, 0))
        done = reconcile(world, base, repair=True)
        assert (done.extra, done.marked, done.removed) == (1, 0, 1)

    def test_chunks_of_no_message_are_deleted_at_once(self, world: World) -> None:
        base = filled(world)
        copied(world, base, chunk_ids.chunk_id(base, uuid4(), 1, 0), session_id="never heard of")
        copied(world, base, "no chunk id of ours")
        done = reconcile(world, base, repair=True)
        assert (done.extra, done.marked, done.removed) == (2, 0, 2)
        world.assert_all_ingested(base)

    def test_chunks_that_a_job_is_writing_are_kept(self, world: World) -> None:
        base = filled(world)
        world.say("s", "four")
        (message,) = [m for m in world.messages() if m.seq == 4]
        copied(world, base, chunk_ids.chunk_id(base, message.id, 1, 0))
        rewritten = min(world.stored(base))
        record = world.vectors.records(world.ref(base))[rewritten]
        world.vectors.lose(world.ref(base), [rewritten])
        done = reconcile(world, base, repair=True)
        assert (done.state, done.missing, done.extra, done.removed) == ("ok", 0, 0, 0)
        world.vectors.upsert(world.ref(base), [record])
        world.assert_settled(base)

    @pytest.mark.parametrize("how", ["deleted", "replaced"])
    def test_a_missing_collection_needs_a_regenerate(self, world: World, how: str) -> None:
        base = filled(world)
        name = world.ref(base).name
        if how == "deleted":
            world.vectors.delete_collection(name)
        else:
            world.vectors.replace_collection(name)
        done = reconcile(world, base, repair=True)
        assert (done.state, done.missing, done.marked) == ("gone", 3, 0)
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        assert reconcile(world, base).state == "ok"

    def test_an_empty_base_without_its_collection_is_reported(self, world: World) -> None:
        base = world.new_base()
        world.vectors.delete_collection(world.ref(base).name)
        assert reconcile(world, base).state == "gone"

    def test_an_unavailable_store_is_reported_as_unavailable(self, world: World) -> None:
        base = filled(world)
        world.vectors.away = True
        assert reconcile(world, base, repair=True).state == "unavailable"
        assert world.base(base).mismatch is not True

    def test_a_deleted_base_is_not_compared(self, world: World) -> None:
        assert reconciling.reconcile_base(world.services, uuid4(), repair=True) is None
        base = filled(world)
        with world.services.database.transaction() as db:
            db.get_one(MemoryBase, base).deleting_at = world.base(base).created_at
        assert reconciling.reconcile_base(world.services, base, repair=True) is None

    def test_a_collection_deleted_during_the_comparison_is_reported(self, world: World) -> None:
        base = filled(world)
        copied(world, base, "no chunk id of ours")
        world.vectors.fail_next(errors.CollectionMissing(), on="delete")
        assert reconcile(world, base, repair=True).state == "gone"

    def test_more_stray_chunks_than_one_statement_takes(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memorybase.core.queries.cursors.pages", lambda ids: batches.pages(ids, 1))
        base = filled(world, "s", "t", "u")
        for session_id in ("s", "t", "u"):
            copied(world, base, chunk_ids.chunk_id(base, world.messages(session_id)[0].id, 9, 0), session_id=session_id)
        done = reconcile(world, base, repair=True)
        assert (done.extra, done.marked, done.removed) == (3, 3, 0)
        world.assert_settled(base)


class TestOrphans:
    def test_a_collection_records_its_creation_time(self, world: World) -> None:
        base = world.new_base()
        (made,) = [c for c in world.vectors.list_collections() if c.ref == world.ref(base)]
        with world.services.database.reading() as db:
            assert abs(made.metadata["created_at"] - clock.now(db).timestamp()) < 60

    def test_only_old_orphaned_collections_are_deleted(self, world: World) -> None:
        base = filled(world)
        old = collection(world, f"mb-{uuid4()}-g1", 3_700)
        young = collection(world, f"mb-{uuid4()}-g1", 3_500)
        ageless = collection(world, f"mb-{uuid4()}-g1", None)
        collection(world, "kb-somebody-elses", 99_999)
        collection(world, f"mb-{uuid4()}-g1-suffix", 99_999)
        found = orphans.find_orphans(world.services)
        assert {o.ref: o.old for o in found} == {old: True, young: False, ageless: False}
        dropped = orphans.drop_orphans(world.services, found)
        assert [orphan.ref for orphan in dropped] == [old]
        assert old.name not in world.vectors.names()
        assert {young.name, ageless.name, world.ref(base).name, "kb-somebody-elses"} <= set(world.vectors.names())

    def test_a_collection_of_unknown_age_is_not_old(self, world: World) -> None:
        names = [f"mb-{uuid4()}-g1" for _ in range(3)]
        for name, said in zip(names, (True, 1.5, "yesterday"), strict=True):
            world.vectors.create_collection(name, {"created_at": said})
        found = orphans.find_orphans(world.services)
        assert {(o.ref.name, o.created_at, o.old) for o in found} == {(name, None, False) for name in names}

    def test_a_base_created_during_the_search_is_in_use(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        listed = world.vectors.list_collections

        def list_collections() -> list[StoredCollection]:
            world.new_base()
            return listed()

        monkeypatch.setattr(world.vectors, "list_collections", list_collections)
        assert orphans.find_orphans(world.services) == []

    def test_collections_of_unused_generation_numbers_are_orphans(self, world: World) -> None:
        base, other = filled(world), world.new_base()
        first = world.ref(base)
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        world.pass_time(120)
        world.sweep()
        with world.services.database.transaction() as db:
            db.execute(sa.delete(Generation).where(Generation.generation == 1, Generation.memory_base_id == base))
            db.get_one(MemoryBase, other).deleting_at = world.base(other).created_at
        left = {collection(world, name, 4_000).name for name in (first.name, f"mb-{other}-g2")}
        assert {orphan.ref.name for orphan in orphans.find_orphans(world.services)} == left

    def test_every_generation_in_use_keeps_its_collection(self, world: World) -> None:
        base = filled(world)
        regenerate.regenerate(world.services, world.user_id, base)
        assert orphans.find_orphans(world.services) == []  # serving and building
        world.drain()
        assert orphans.find_orphans(world.services) == []  # retired, its minute not over
        world.pass_time(120)
        world.sweep()
        assert world.vectors.names() == [world.ref(base).name]

    def test_a_collection_of_a_dropped_generation_is_an_orphan(self, world: World) -> None:
        base = filled(world)
        first = world.ref(base)
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        world.pass_time(120)
        world.sweep()
        assert first.name not in world.vectors.names()
        again = collection(world, first.name, 4_000)
        assert [orphan.ref for orphan in orphans.find_orphans(world.services)] == [again]

    def test_a_collection_used_meanwhile_is_kept(self, world: World) -> None:
        base = filled(world)
        name = f"mb-{uuid4()}-g1"
        collection(world, name, 4_000)
        found = orphans.find_orphans(world.services)
        world.execute(sa.update(Generation).where(Generation.memory_base_id == base).values(collection_name=name))
        assert orphans.drop_orphans(world.services, found) == []
        assert name in world.vectors.names()


def run(world: World, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.setattr(reconcile_cli, "services_in_use", lambda _path: nullcontext(world.services))
    return CliRunner().invoke(cli.app, ["reconcile", *words])


class TestCommand:
    def test_reports_then_repairs(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        world.vectors.lose(world.ref(base), sorted(world.stored(base))[:1])
        orphan = collection(world, f"mb-{uuid4()}-g1", 4_000)
        said = run(world, monkeypatch)
        assert said.exit_code == 1
        assert "mismatch, 3 chunks expected, 2 found, 1 missing, 0 extra, 0 hidden" in said.output
        assert orphan.name in said.output
        assert orphan.name in world.vectors.names()
        said = run(world, monkeypatch, "--repair")
        assert said.exit_code == 0, said.output
        assert "1 session marked" in said.output
        assert orphan.name not in world.vectors.names()
        world.settle()
        said = run(world, monkeypatch)
        assert (said.exit_code, said.output.count("ok")) == (0, 1)

    def test_a_missing_collection_sets_the_exit_code(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        world.vectors.delete_collection(world.ref(base).name)
        said = run(world, monkeypatch, "--repair")
        assert said.exit_code == 1
        assert f"/v1/memories/{base}/regenerate" in said.output
        world.vectors.away = True
        assert run(world, monkeypatch).exit_code == 1

    def test_what_no_repair_mends_sets_the_exit_code(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        base = filled(world)
        ref = world.ref(base)
        record = next(iter(world.vectors.records(ref).values()))
        world.vectors.upsert(ref, [replace(record, text="of another time")])
        for _ in range(2):
            said = run(world, monkeypatch, "--repair")
            assert (said.exit_code, "1 altered" in said.output) == (1, True)
            assert f"altered chunks stay. Regenerate: POST /v1/memories/{base}/regenerate" in said.output
            world.settle()


class TestDeadLetterCommand:
    @pytest.fixture
    def shell(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setattr(command, "connect", lambda *_: client_of(api))
        return lambda *words: CliRunner().invoke(cli.app, ["dead-letters", *words])

    def test_list_retry_discard(self, api: Api, shell: Any) -> None:
        api.flow()
        base = api.memory(threshold=1)["id"]
        assert shell("list", "--memory", "notes").output.strip() == "no dead letters"
        embedder = api.embedders.get()
        embedder.reject("poison")
        api.capture("poison one", "fine", "poison two")
        api.work()
        first, second = api.get(f"/memories/{base}/dead-letters")["items"]
        said = shell("list", "--memory", "notes").output
        assert first["id"] in said
        assert second["message_id"] in said
        assert "poison" not in said
        every = ("--all", "--memory", "notes", "--dry-run")
        assert shell("retry", *every).output == "2 dead letters would be retried\n"
        assert shell("discard", *every).output == "2 dead letters would be discarded\n"
        assert shell("discard", first["id"], "--memory", "notes").exit_code == 0
        assert [each["id"] for each in api.get(f"/memories/{base}/dead-letters")["items"]] == [second["id"]]
        embedder._rejected.clear()
        assert "retrying 1 dead letter" in shell("retry", "--all", "--memory", "notes").output
        api.work()
        assert api.get(f"/memories/{base}/dead-letters")["items"] == []
        assert api.get(f"/memories/{base}")["total_processed"] == 2

    def test_an_id_that_is_none_is_named(self, shell: Any) -> None:
        refused = shell("retry", "first").exception
        assert cli.describe(refused) == "ids[0] must be a UUID (value: first)"

    def test_retry_and_discard_need_ids_or_all(self, api: Api, shell: Any) -> None:
        api.flow()
        api.memory()
        for words in (("retry",), ("discard",), ("retry", "--all", "x")):
            said = shell(*words, "--memory", "notes")
            assert isinstance(said.exception, errors.InvalidRequest)
