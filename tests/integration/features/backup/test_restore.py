"""A backup of SQL or of the store is restored: nothing of the lost time shows, the difference is reported unasked, and
`memorybase restore` ends it without touching what belongs to another database."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.world import World, build_world
from typer.testing import CliRunner, Result

from memorybase import cli
from memorybase.cli import doctor
from memorybase.cli.doctor import DoctorContext
from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.memory_bases import consistency, orphans, regenerate
from memorybase.core.models import KnowledgeBase, MemoryBase
from memorybase.core.operations import problems, stack_parts
from memorybase.core.search.hits import Hit
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.sessions import edits
from memorybase.core.settings import RESTORED_ABOUT
from memorybase.core.vectors import saved
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.store import CollectionRef, VectorRecord
from memorybase.features.backup import commands_restore as restore_cli
from memorybase.features.backup import vectors as saved_vectors
from memorybase.features.documents import knowledge
from memorybase.features.documents.documents import NewDocument
from memorybase.features.documents.knowledge import DocumentQuery

LOST = "the submarine is painted yellow"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """On SQLite: a file is its backup."""
    built = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
    yield built
    built.close()


@pytest.fixture
def on_chroma(world: World, chroma_url: str) -> Iterator[World]:
    """The same over a real Chroma."""
    store = ChromaStore(chroma_url, timeout_seconds=20)
    world.services = replace(world.services, vectors=store)
    yield world
    store.close()


def copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def back_up(tmp_path: Path) -> None:
    copy(tmp_path / "memorybase.db", tmp_path / "backup.db")


def restore_sql(world: World, tmp_path: Path) -> None:
    world.services.database.close()
    world.queue.enqueued.clear()
    copy(tmp_path / "backup.db", tmp_path / "memorybase.db")


def filled(world: World) -> UUID:
    base = world.new_base(threshold=1)
    world.say("s", *(f"message {n} about boats" for n in range(10)))
    world.settle()
    world.assert_all_ingested(base)
    return base


def edit(world: World, text: str) -> None:
    edits.edit_message(world.services, world.user_id, world.messages()[4].id, {"content": text})


def rebuild(world: World, base: UUID) -> None:
    regenerate.regenerate(world.services, world.user_id, base)
    world.settle()


def dense(world: World, base: UUID, query: str) -> list[Hit]:
    request = SearchRequest(memory_base_id=base, query=query, mode="dense", top_k=100)
    return search(world.services, world.user_id, request).results


def score_of(world: World, text: str) -> float:
    """The score of a message with this text and no past."""
    flow_id = world.new_flow()
    fresh = world.new_base(flow_id=flow_id)
    world.say("s", text, flow_id=flow_id)
    (hit,) = dense(world, fresh, LOST)
    return hit.score


def mismatch_seen_by_sweeper(world: World, base: UUID) -> bool | None:
    with world.services.database.transaction() as db:
        db.execute(sa.update(MemoryBase).values(compare_at=None))
    consistency.compare_counts(world.services)
    return world.base(base).mismatch


def collection(world: World, name: str, age: timedelta, **metadata: str) -> CollectionRef:
    with world.services.database.reading() as db:
        created_at = int((clock.now(db) - age).timestamp())
    return world.services.vectors.create_collection(name, {"created_at": created_at, **metadata})


class TestLostTime:
    def test_a_regenerate_after_a_restore_holds_nothing_of_the_lost_time(
        self, on_chroma: World, tmp_path: Path
    ) -> None:
        world = on_chroma
        base = filled(world)
        back_up(tmp_path)
        rebuild(world, base)
        edit(world, f"{LOST}. " * 200)
        world.say("s", *(f"lost message {n}" for n in range(5)))
        world.settle()
        restore_sql(world, tmp_path)
        edit(world, "the train is green")
        world.settle()
        rebuild(world, base)

        world.assert_all_ingested(base)
        assert len(world.stored(base)) == 10
        hits = dense(world, base, LOST)
        assert all("submarine" not in hit.snippet for hit in hits)
        assert max(hit.score for hit in hits) < 0.9
        assert len({orphan.ref.name for orphan in orphans.find_orphans(world.services) if orphan.ours}) >= 1

    def test_stale_chunks_of_a_message_that_is_shorter_now_are_no_hits(self, world: World, tmp_path: Path) -> None:
        base = filled(world)
        back_up(tmp_path)
        edit(world, f"{LOST}. " * 400)
        world.settle()
        restore_sql(world, tmp_path)
        edit(world, "the train is green")
        before = dense(world, base, LOST)  # the edit is still to be ingested
        world.settle()
        after = dense(world, base, LOST)
        honest = score_of(world, "the train is green")

        for hits in (before, after):
            edited = [hit for hit in hits if hit.seq == 5]
            assert [hit.content for hit in edited] == ["the train is green"]
            assert edited[0].score == pytest.approx(honest)
            assert "submarine" not in edited[0].snippet

    def test_a_message_captured_again_with_other_words_is_not_found_by_the_lost_ones(
        self, world: World, tmp_path: Path
    ) -> None:
        base = filled(world)
        back_up(tmp_path)
        world.say("s", {"id": "m11", "role": "assistant", "content": LOST})
        world.settle()
        restore_sql(world, tmp_path)
        world.say("s", {"id": "m11", "role": "assistant", "content": "the train is green"})

        (hit,) = [hit for hit in dense(world, base, LOST) if hit.seq == 11]
        assert (hit.content, hit.pending) == ("the train is green", True)
        assert hit.score == pytest.approx(score_of(world, "the train is green"))

    def test_a_regenerate_never_writes_into_a_collection_that_exists(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = filled(world)
        monkeypatch.setattr("memorybase.core.vectors.collection_names.of_generation", lambda *_: world.ref(base).name)
        with pytest.raises(errors.VectorRejected):
            regenerate.regenerate(world.services, world.user_id, base)
        assert world.base(base).building is None
        world.assert_all_ingested(base)

    def test_an_ordinary_knowledge_base_of_the_same_name_gets_another_collection(self, world: World) -> None:
        names = set()
        for _ in range(2):
            knowledge.create(world.services, world.user_id, name="notes")
            names |= set(world.vectors.names())
            knowledge.rebuild(world.services, world.user_id, "notes")
            names |= set(world.vectors.names())
            knowledge.delete(world.services, world.user_id, "notes")
        assert len(names) == 4
        assert world.vectors.names() == []


class TestReportedUnasked:
    def test_todays_sql_beside_yesterdays_store(self, world: World) -> None:
        base = filled(world)
        yesterday = world.vectors.records(world.ref(base))
        edit(world, "the train is green")
        world.settle()
        assert mismatch_seen_by_sweeper(world, base) is False
        put_back(world, base, yesterday)
        assert len(yesterday) == len(world.stored(base))
        assert mismatch_seen_by_sweeper(world, base) is True

    def test_yesterdays_sql_beside_todays_store(self, world: World, tmp_path: Path) -> None:
        base = filled(world)
        back_up(tmp_path)
        edit(world, "the train is green")
        world.settle()
        restore_sql(world, tmp_path)
        assert mismatch_seen_by_sweeper(world, base) is True

    def test_a_store_with_the_same_ids_and_other_texts(self, world: World, tmp_path: Path) -> None:
        base = filled(world)
        back_up(tmp_path)
        edit(world, LOST)
        world.settle()
        lost = world.vectors.records(world.ref(base))
        restore_sql(world, tmp_path)
        edit(world, "the train is green")
        world.settle()
        put_back(world, base, lost)
        assert mismatch_seen_by_sweeper(world, base) is True
        found = consistency.check_mismatch(world.services, world.user_id, base)
        assert (found.mismatch, found.missing, found.extra, found.altered) == (True, 0, 0, 1)
        rebuild(world, base)
        assert mismatch_seen_by_sweeper(world, base) is False

    def test_lost_vectors_of_the_newest_chunks(self, world: World) -> None:
        base = filled(world)
        world.vectors.damage(world.ref(base), sorted(world.stored(base)))
        assert mismatch_seen_by_sweeper(world, base) is True
        assert consistency.check_mismatch(world.services, world.user_id, base).altered == 10

    def test_a_difference_that_only_the_full_comparison_finds_stays_reported(self, world: World) -> None:
        base = filled(world)
        world.say("t", *(f"another message {n}" for n in range(30)))
        world.settle()
        records = world.vectors.records(world.ref(base))
        oldest = next(iter(records))
        put_back(world, base, {f"{oldest}0" if id_ == oldest else id_: record for id_, record in records.items()})
        assert consistency.check_mismatch(world.services, world.user_id, base).mismatch
        assert mismatch_seen_by_sweeper(world, base) is True

    def test_what_a_job_writes_meanwhile_is_no_mismatch(self, world: World) -> None:
        base = filled(world)
        found: list[bool | None] = []

        def look(*_: object) -> None:
            world.vectors.after_upsert = None
            found.append(mismatch_seen_by_sweeper(world, base))

        world.vectors.after_upsert = look
        world.say("s", "one more")
        world.drain()
        assert found in ([None], [False])


class TestSavedVectors:
    """The vectors of a backup are taken instead of embedding their texts again."""

    @pytest.fixture
    def lost(self, world: World) -> UUID:
        """A memory base and a knowledge base, restored from a backup with vectors to a new, empty store."""
        base = filled(world)
        knowledge.create(world.services, world.user_id, name="notes")
        knowledge.add_documents(world.services, world.user_id, "notes", [NewDocument("a note on harbours")])
        folder = world.services.settings.restored_dir / saved.FOLDER
        folder.mkdir(parents=True)
        assert saved_vectors.save_all(world.services, folder) == saved_vectors.SavedCollections(11, 0)
        for name in world.vectors.names():
            world.vectors.delete_collection(name)
        world.embedder.embedded.clear()
        return base

    def test_nothing_is_embedded_but_what_changed_since(
        self, world: World, lost: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        edit(world, "the train is green")
        said = run(world, monkeypatch, "--apply")
        assert said.exit_code == 0, said.output
        world.settle()
        world.assert_all_ingested(lost)
        assert set(world.embedder.embedded) == {"the train is green"}
        found = knowledge.search(world.services, world.user_id, "notes", DocumentQuery(query="harbours"))
        assert [hit.snippet for hit in found.results] == ["a note on harbours"]

    def test_until_it_is_rebuilt_people_see_progress_and_no_advice(
        self, world: World, lost: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stack_parts, "part_views", lambda _, **__: [])
        folder = world.services.settings.restored_dir
        (folder / RESTORED_ABOUT).write_text(json.dumps({"restored_at": datetime.now(UTC).isoformat()}))

        def shown() -> list[tuple[str, str, int]]:
            seen = problems.problems(world.services, world.user_id)
            assert seen.total == len(seen.problems)
            return [(each.kind, each.title, len(each.fixes)) for each in seen.problems]

        def asked(mode: Literal["dense", "keyword"]) -> list[Hit]:
            request = SearchRequest(memory_base_id=lost, query="message about boats", mode=mode)
            return search(world.services, world.user_id, request).results

        def begun() -> list[tuple[str, str, int]]:
            return [("restore", "0 of 1 rebuilt after a restore", 0)]

        consistency.compare_counts(world.services)
        assert shown() == begun()
        with pytest.raises(errors.CollectionMissing, match=r"being rebuilt.*mode keyword"):
            asked("dense")
        assert asked("keyword")
        context: Any = DoctorContext(world.services.settings, None)
        context.__dict__["services"] = world.services
        assert doctor._vectors(context).startswith("0 of 1 rebuilt after a restore. Searches by words work meanwhile")
        assert run(world, monkeypatch, "--apply").exit_code == 0
        assert shown() == begun()
        world.settle()
        assert shown() == [("restore", "1 of 1 rebuilt after a restore", 0)]
        shutil.rmtree(folder)
        assert shown() == []

    def test_without_the_files_everything_is_embedded(
        self, world: World, lost: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.rmtree(world.services.settings.restored_dir)
        assert run(world, monkeypatch, "--apply").exit_code == 0
        world.settle()
        world.assert_all_ingested(lost)
        assert len(world.embedder.embedded) == 11

    def test_a_second_run_waits_for_what_the_first_has_started(
        self, world: World, lost: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert run(world, monkeypatch, "--apply").exit_code == 0
        again = run(world, monkeypatch, "--apply")
        assert again.exit_code == 0, again.output
        assert "is being regenerated" in again.output
        world.settle()
        world.assert_all_ingested(lost)

    def test_the_vectors_are_deleted_once_nothing_is_rebuilt(
        self, world: World, lost: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited: list[bool] = []

        def work(_seconds: float) -> None:
            waited.append(world.services.settings.restored_dir.exists())
            world.settle()

        # Not time.sleep: threads that other tests left may sleep too.
        monkeypatch.setattr(restore_cli, "sleep", work)
        assert run(world, monkeypatch, "--apply", "--finish").exit_code == 0
        assert waited == [True]
        assert not world.services.settings.restored_dir.exists()
        world.assert_all_ingested(lost)

    def test_a_store_that_does_not_answer_is_left_out(self, world: World, tmp_path: Path) -> None:
        filled(world)
        world.vectors.away = True
        assert saved_vectors.save_all(world.services, tmp_path) == saved_vectors.SavedCollections(0, 1)


def put_back(world: World, base: UUID, records: dict[str, VectorRecord]) -> None:
    """The store as it was, with these records."""
    ref = world.ref(base)
    world.vectors.delete(ref, sorted(world.stored(base)))
    world.vectors.upsert(ref, [replace(record, id=id_) for id_, record in records.items()])


def run(world: World, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    monkeypatch.setattr(restore_cli, "services_in_use", lambda _path: nullcontext(world.services))
    return CliRunner().invoke(cli.app, ["restore", *words])


class TestCommand:
    @pytest.mark.slow
    def test_says_what_it_would_do_then_does_it(
        self, on_chroma: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = on_chroma
        base, other = filled(world), world.new_base(threshold=1)
        knowledge.create(world.services, world.user_id, name="notes")
        knowledge.add_documents(world.services, world.user_id, "notes", [NewDocument("a note on harbours")])
        back_up(tmp_path)
        later = world.new_base()  # after the backup
        forgotten = world.ref(later).name
        world.say("s", "lost")
        world.settle()
        knowledge.rebuild(world.services, world.user_id, "notes")
        world.services.vectors.delete_collection(world.ref(other).name)
        restore_sql(world, tmp_path)
        # Collections made a moment ago count as older than a minute.
        monkeypatch.setattr("memorybase.features.backup.repair.CREATED_BEFORE", timedelta(seconds=-5))

        said = run(world, monkeypatch)
        assert said.exit_code == 1
        assert f"collection {forgotten}: not in the database\n  -> would be deleted" in said.output
        assert "1 extra" in said.output
        assert "would repair" in said.output
        assert "would regenerate" in said.output
        assert "would rebuild" in said.output
        assert "Nothing was changed" in said.output
        assert forgotten in {each.ref.name for each in world.services.vectors.list_collections()}
        assert world.jobs(other) == []

        said = run(world, monkeypatch, "--apply")
        assert said.exit_code == 0, said.output
        world.settle()
        assert forgotten not in {each.ref.name for each in world.services.vectors.list_collections()}
        world.assert_all_ingested(base)
        world.assert_all_ingested(other)
        found = knowledge.search(world.services, world.user_id, "notes", DocumentQuery(query="harbours"))
        assert [hit.snippet for hit in found.results] == ["a note on harbours"]
        said = run(world, monkeypatch)
        assert said.exit_code == 0, said.output

    def test_collections_of_another_database_are_kept(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        filled(world)
        old = timedelta(days=1)
        theirs = {
            collection(world, f"mb-{uuid4()}-g1-0a1b2c3d", old, user_id=str(uuid4()), flow_id=str(uuid4())).name,
            collection(world, f"knowledge-{uuid4()}-0a1b2c3d", old, user_id=str(uuid4())).name,
            collection(world, "somebody-elses", old, user_id=str(world.user_id)).name,
            collection(world, f"mb-{uuid4()}-g1", old).name,  # from a version that recorded no user
        }
        ours = {
            collection(world, f"mb-{uuid4()}-g1-0a1b2c3d", old, user_id=str(world.user_id)).name,
            collection(world, f"mb-{uuid4()}-g1", old, flow_id=str(world.flow_id)).name,
            collection(world, f"knowledge-{uuid4()}-0a1b2c3d", old, user_id=str(world.user_id)).name,
        }
        young = collection(world, f"mb-{uuid4()}-g1-0a1b2c3d", timedelta(seconds=5), user_id=str(world.user_id)).name
        said = run(world, monkeypatch, "--apply")
        assert "3 collections of another database" in said.output
        assert f"collection {young}: not in the database\n  -> kept, because it is younger" in said.output
        assert theirs | {young} <= set(world.vectors.names())
        assert not ours & set(world.vectors.names())

    def test_an_unfinished_regenerate_whose_collection_is_lost_is_abandoned(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = filled(world)
        serving = world.ref(base).name
        regenerate.regenerate(world.services, world.user_id, base)
        (building,) = set(world.vectors.names()) - {serving}
        world.vectors.delete_collection(building)
        assert "would abandon the unfinished regenerate" in run(world, monkeypatch).output
        assert world.base(base).building is not None
        assert run(world, monkeypatch, "--apply").exit_code == 0
        assert world.base(base).building is None
        world.settle()
        world.assert_all_ingested(base)

    def test_an_unavailable_store_changes_nothing(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        filled(world)
        knowledge.create(world.services, world.user_id, name="notes")
        with world.services.database.reading() as db:
            before = db.scalar(sa.select(KnowledgeBase.collection_id).where(KnowledgeBase.name == "notes"))
        world.vectors.away = True
        said = run(world, monkeypatch, "--apply")
        assert said.exit_code == 1
        assert "unavailable" in said.output
        with world.services.database.reading() as db:
            assert db.scalar(sa.select(KnowledgeBase.collection_id).where(KnowledgeBase.name == "notes")) == before
