from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.doubles import FakeEmbedders, InMemoryVectors
from harness.rows import each_row
from harness.statements import recorded
from harness.world import build_world, empty_world

from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.embedding import Embedders
from memorybase.core.knowledge_bases import registry
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Flow, KnowledgeBase, MemoryBase, User
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.core.vectors.chroma import ChromaStore
from memorybase.core.vectors.chunk_ids import parse_chunk_id
from memorybase.core.vectors.store import CollectionRef, VectorHit, VectorRecord
from memorybase.features.documents import documents as knowledge_documents
from memorybase.features.documents import knowledge
from memorybase.features.documents.documents import DocumentResult, NewDocument
from memorybase.features.documents.knowledge import DocumentQuery
from memorybase.features.documents.models import Document

pytestmark = pytest.mark.both_databases

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Desk:
    """A user without knowledge bases, with shortcuts for the calls."""

    services: Services
    vectors: InMemoryVectors
    embedders: FakeEmbedders
    user_id: UUID

    def create(self, name: str = "notes", **wanted: Any) -> UUID:
        return knowledge.create(self.services, self.user_id, name=name, **wanted).id

    def add(self, *documents: NewDocument, name: str = "notes") -> list[DocumentResult]:
        return knowledge.add_documents(self.services, self.user_id, name, documents)

    def search(self, query: str, *, name: str = "notes", **wanted: Any) -> list[knowledge_documents.DocumentHit]:
        found = knowledge.search(self.services, self.user_id, name, DocumentQuery(query=query, **wanted))
        assert found.took_ms > 0
        return found.results

    def listed(self, *, for_retrieval: bool = False) -> list[knowledge.KnowledgeBaseView]:
        page = knowledge.list_knowledge_bases(self.services, self.user_id, PageRequest(), for_retrieval=for_retrieval)
        assert page.total == len(page.items)
        return page.items

    def metadata_file(self, kb_id: UUID) -> Path:
        return self.services.settings.knowledge_dir / str(kb_id) / "embedding_metadata.json"

    def entry(self, name: str = "notes") -> KnowledgeBase:
        with self.services.database.reading() as db:
            return db.scalars(sa.select(KnowledgeBase).where(KnowledgeBase.name == name)).one()

    def ref(self, name: str = "notes") -> CollectionRef:
        entry = self.entry(name)
        assert entry.collection_name is not None
        assert entry.collection_id is not None
        return CollectionRef(entry.collection_name, entry.collection_id)

    def stored(self, name: str = "notes") -> set[str]:
        """The texts in the collection."""
        return {record.text for record in self.vectors.records(self.ref(name)).values()}

    def rows(self) -> int:
        with self.services.database.reading() as db:
            return db.execute(sa.select(sa.func.count()).select_from(Document)).scalar_one()

    def memory_base(self, name: str = "memory") -> UUID:
        """A memory base's entry, created as `memory_bases` does."""
        flow_id, base_id, kb_id = uuid4(), uuid4(), uuid4()
        with self.services.database.transaction() as db:
            db.add(Flow(id=flow_id, user_id=self.user_id, name="flow", created_at=START))
            db.flush()
            db.add(
                MemoryBase(
                    id=base_id,
                    user_id=self.user_id,
                    flow_id=flow_id,
                    name=name,
                    kb_name=name,
                    threshold=50,
                    auto_capture=True,
                    idle_after=0,
                    created_at=START,
                    serving=1,
                )
            )
            db.flush()
            registry.add(
                db,
                KnowledgeBase(
                    user_id=self.user_id,
                    id=kb_id,
                    name=name,
                    memory_base_id=base_id,
                    embedding_model="fake",
                    embedder="fake/fake/1",
                    chunker="sentence-tokens/254/32",
                    created_at=START,
                ),
                "kb_name",
            )
        return base_id


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'm.db'}" if sqlite else request.getfixturevalue("ready_postgres_url")
    world = empty_world(Settings(data_dir=tmp_path, database_url=url, embedding_model="fake"))
    yield Desk(world.services, world.vectors, world.embedders, world.new_user("somebody"))
    world.close()


def statuses(results: Sequence[DocumentResult]) -> list[str]:
    return [result.status for result in results]


# The registry.


def test_a_new_knowledge_base_is_listed_and_has_its_metadata_on_disk(desk: Desk) -> None:
    made = knowledge.create(desk.services, desk.user_id, name="../my notes/ö")

    assert desk.listed() == [made]
    assert (made.is_memory_base, made.embedding_model, made.documents, made.status) == (False, "fake", 0, "ready")
    written = json.loads(desk.metadata_file(made.id).read_text())
    assert written == {
        "id": str(made.id),
        "name": "../my notes/ö",
        "is_memory_base": False,
        "memory_base_id": None,
        "embedding_model": "fake",
        "embedder": "fake/fake/1",
        "chunker": "sentence-tokens/254/32",
        "created_at": made.created_at.isoformat(),
    }
    assert [path.name for path in desk.services.settings.knowledge_dir.rglob("*")] == [
        str(made.id),
        "embedding_metadata.json",
    ]


def test_a_name_is_unique_per_user(desk: Desk) -> None:
    kb_id = desk.create()

    with pytest.raises(errors.NameTaken) as caught:
        desk.create()
    assert caught.value.details == {"existing_id": str(kb_id)}
    assert caught.value.field == "name"

    stranger = uuid4()
    with desk.services.database.transaction() as db:
        db.add(User(id=stranger, name="another", created_at=START))
    knowledge.create(desk.services, stranger, name="notes")
    with pytest.raises(errors.NameTaken):
        desk.memory_base("notes")
    assert [kb.id for kb in desk.listed()] == [kb_id]


def test_a_refused_registration_leaves_the_transaction_usable(desk: Desk) -> None:
    desk.create()
    flow_id = uuid4()
    with desk.services.database.transaction() as db:
        db.add(Flow(id=flow_id, user_id=desk.user_id, name="flow", created_at=START))
        with pytest.raises(errors.NameTaken):
            registry.add(
                db,
                KnowledgeBase(
                    user_id=desk.user_id,
                    id=uuid4(),
                    name="notes",
                    memory_base_id=uuid4(),
                    embedding_model="fake",
                    embedder="e",
                    chunker="c",
                    created_at=START,
                ),
                "kb_name",
            )
    with desk.services.database.reading() as db:
        assert db.get(Flow, flow_id) is not None


@each_row("name", ["", "  ", "x" * 201, "a\x00b", "\ud800"])
@pytest.mark.parametrize("desk", ["sqlite"], indirect=True)
def test_an_invalid_name_is_rejected(desk: Desk, name: str) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        desk.create(name)
    assert caught.value.field == "name"


def test_an_unavailable_store_leaves_no_name(desk: Desk) -> None:
    desk.vectors.away = True
    with pytest.raises(errors.VectorStoreUnavailable):
        desk.create()
    assert desk.listed() == []

    desk.vectors.away = False
    desk.create()
    assert desk.listed()[0].status == "ready"


def test_the_first_document_finishes_an_interrupted_creation(desk: Desk) -> None:
    desk.create()
    with desk.services.database.transaction() as db:
        db.execute(sa.update(KnowledgeBase).values(collection_id=None))
    assert desk.listed()[0].status == "pending"

    desk.add(NewDocument("zebras are striped", id="z"))

    assert [hit.id for hit in desk.search("zebras")] == ["z"]
    assert desk.listed()[0].status == "ready"


def test_a_metadata_file_is_replaced_atomically_and_removed_with_its_folder(desk: Desk) -> None:
    base_id = desk.memory_base()
    with desk.services.database.reading() as db:
        entry = registry.entry_of_memory_base(db, base_id)
    assert entry is not None
    registry.write_metadata(desk.services, entry)
    entry.embedding_model = "another"
    registry.write_metadata(desk.services, entry)

    written = json.loads(desk.metadata_file(entry.id).read_text())
    assert (written["is_memory_base"], written["memory_base_id"]) == (True, str(base_id))
    assert written["embedding_model"] == "another"

    registry.remove_metadata(desk.services, entry.id)
    registry.remove_metadata(desk.services, entry.id)
    assert list(desk.services.settings.knowledge_dir.iterdir()) == []


def test_the_list_restores_a_metadata_file_that_is_lost_or_old(desk: Desk) -> None:
    desk.create()
    path = desk.metadata_file(desk.entry().id)
    written = path.read_text()
    for spoil in (path.unlink, lambda: path.write_text(written.replace("fake", "former"))):
        spoil()
        desk.listed()
        assert path.read_text() == written


def test_a_failed_metadata_write_undoes_nothing(desk: Desk) -> None:
    desk.services.settings.knowledge_dir.write_text("a file where the folder should be")

    desk.create()

    assert [kb.name for kb in desk.listed()] == ["notes"]


def test_memory_bases_are_listed_but_not_offered_for_retrieval(tmp_path: Path) -> None:
    flow = build_world(f"sqlite:///{tmp_path / 'flow.db'}", tmp_path)
    base_id = flow.new_base(name="memory", capture="all")
    knowledge.create(flow.services, flow.user_id, name="notes")
    knowledge.add_documents(flow.services, flow.user_id, "notes", [NewDocument("one"), NewDocument("two")])
    flow.say("a", "one", "two", "three")
    flow.say("b", "four")

    def listed(*, for_retrieval: bool = False) -> dict[str, tuple[bool, int, str]]:
        page = knowledge.list_knowledge_bases(flow.services, flow.user_id, PageRequest(), for_retrieval=for_retrieval)
        return {kb.name: (kb.is_memory_base, kb.documents, kb.status) for kb in page.items}

    notes = (False, 2, "ready")
    assert listed() == {"memory": (True, 0, "ready"), "notes": notes}
    assert listed(for_retrieval=True) == {"notes": notes}
    flow.flush(base_id)
    assert listed()["memory"] == (True, 0, "pending")
    flow.settle()
    assert listed()["memory"] == (True, 4, "ready")
    regenerate.regenerate(flow.services, flow.user_id, base_id)
    assert listed()["memory"] == (True, 4, "regenerating")
    flow.settle()
    assert listed()["memory"] == (True, 4, "ready")
    with flow.services.database.transaction() as db:
        db.get_one(MemoryBase, base_id).deleting_at = START
    assert listed() == {"notes": notes}
    flow.close()


def test_the_list_is_paged(desk: Desk) -> None:
    for number in range(3):
        desk.create(f"kb {number}")

    first = knowledge.list_knowledge_bases(desk.services, desk.user_id, PageRequest(size=2))
    rest = knowledge.list_knowledge_bases(desk.services, desk.user_id, PageRequest(size=2, cursor=first.next_cursor))

    assert sorted(kb.name for kb in [*first.items, *rest.items]) == ["kb 0", "kb 1", "kb 2"]
    assert (first.total, rest.next_cursor) == (3, None)


@pytest.mark.parametrize("desk", ["sqlite"], indirect=True)
def test_the_list_takes_a_fixed_number_of_statements(desk: Desk) -> None:
    counts = []
    for number in range(2):
        for each in range(1 + 9 * number):
            desk.create(f"kb {number} {each}")
        with recorded(desk.services.database.engine) as sent:
            desk.listed()
        counts.append(len(sent))

    assert counts[0] == counts[1]


def test_document_calls_are_rejected_for_memory_bases(desk: Desk) -> None:
    base_id = desk.memory_base()

    for call in (
        lambda: desk.add(NewDocument("text"), name="memory"),
        lambda: desk.search("text", name="memory"),
        lambda: knowledge.delete(desk.services, desk.user_id, "memory"),
        lambda: knowledge.rebuild(desk.services, desk.user_id, "memory"),
    ):
        with pytest.raises(errors.MemoryBaseOnly) as caught:
            call()
        assert caught.value.details == {"memory_base_id": str(base_id)}
    assert [kb.name for kb in desk.listed()] == ["memory"]


# Documents.


def test_documents_are_found_by_their_text(desk: Desk) -> None:
    kb_id = desk.create()

    results = desk.add(
        NewDocument("the zebra is striped", id="z", metadata={"kind": "animal"}), NewDocument("the tax is due")
    )

    assert statuses(results) == ["created", "created"]
    assert (results[0].id, results[0].chunks) == ("z", 1)
    assert results[1].id == str(results[1].document_id)
    hit = desk.search("the zebra is striped")[0]
    assert (hit.id, hit.document_id, hit.chunk_index) == ("z", results[0].document_id, 0)
    assert (hit.snippet, hit.metadata) == ("the zebra is striped", {"kind": "animal"})
    assert hit.score == pytest.approx(1)
    assert [hit.id for hit in desk.search("zebra", metadata={"kind": "animal"})] == ["z"]
    assert desk.search("zebra", metadata={"kind": "plant"}) == []
    assert len(desk.search("zebra", top_k=1)) == 1
    assert desk.search("zebra striped", min_score=0.999) == []
    assert desk.listed()[0].documents == 2
    (stored,) = {chunk.base_id for id_ in desk.vectors.records(desk.ref()) if (chunk := parse_chunk_id(id_))}
    assert stored == kb_id


def test_a_long_document_is_found_by_its_chunks(desk: Desk) -> None:
    desk.create()
    (result,) = desk.add(NewDocument(" ".join(f"word{number}." for number in range(1_000)), id="long"))

    assert result.chunks > 3
    hits = desk.search("word900 word901 word902", top_k=2)
    assert [hit.id for hit in hits] == ["long", "long"]
    assert len({hit.chunk_index for hit in hits}) == 2


def test_adding_the_same_again_changes_nothing(desk: Desk) -> None:
    desk.create()
    documents = [NewDocument("zebra", id="z", metadata={"a": 1}), NewDocument("giraffe")]
    first = desk.add(*documents)
    before = desk.vectors.records(desk.ref()).keys()
    desk.vectors.calls.clear()

    again = desk.add(*documents, NewDocument("giraffe"))

    assert statuses(again) == ["unchanged"] * 3
    assert [r.document_id for r in again] == [*(r.document_id for r in first), first[1].document_id]
    assert desk.vectors.records(desk.ref()).keys() == before
    assert desk.vectors.calls["upsert"] == 0
    assert desk.rows() == 2


def test_another_text_replaces_and_other_metadata_updates(desk: Desk) -> None:
    desk.create()
    words = " ".join(f"word{number}." for number in range(600))
    (first,) = desk.add(NewDocument(words, id="z", metadata={"a": 1}))

    (replaced,) = desk.add(NewDocument("giraffe", id="z"))
    assert (replaced.status, replaced.document_id, replaced.chunks) == ("replaced", first.document_id, 1)
    assert desk.stored() == {"giraffe"}
    assert [(hit.snippet, hit.metadata) for hit in desk.search("giraffe")] == [("giraffe", {"a": 1})]

    assert statuses(desk.add(NewDocument("giraffe", id="z", metadata={"a": 2}))) == ["updated"]
    assert desk.search("giraffe")[0].metadata == {"a": 2}
    assert statuses(desk.add(NewDocument(words, id="z"))) == ["replaced"]
    assert "giraffe" not in desk.stored()
    assert desk.rows() == 1


def test_old_chunks_that_could_not_be_deleted_are_not_found(desk: Desk) -> None:
    desk.create()
    desk.add(NewDocument("zebra", id="z"))
    desk.vectors.fail_next(errors.VectorStoreUnavailable(), on="delete")

    assert statuses(desk.add(NewDocument("giraffe", id="z"))) == ["replaced"]

    assert desk.stored() == {"zebra", "giraffe"}
    assert [hit.snippet for hit in desk.search("zebra")] == ["giraffe"]


def test_a_text_that_cannot_be_embedded_fails_alone(desk: Desk) -> None:
    desk.create()
    desk.embedders.get().reject("poison")

    results = desk.add(NewDocument("zebra", id="1"), NewDocument("poison", id="2"), NewDocument("giraffe", id="3"))

    assert statuses(results) == ["created", "failed", "created"]
    assert results[1].error_code == "text_rejected"
    assert desk.stored() == {"zebra", "giraffe"}
    assert desk.listed()[0].documents == 2


def test_sending_all_again_after_an_outage_completes_it(desk: Desk) -> None:
    desk.create()
    documents = [NewDocument(f"text {number}", id=str(number)) for number in range(40)]
    calls = 0

    def fail_at_second(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        nonlocal calls
        calls += 1
        desk.vectors.away = calls == 2

    desk.vectors.before_upsert = fail_at_second
    with pytest.raises(errors.VectorStoreUnavailable):
        desk.add(*documents)
    desk.vectors.away = False
    assert 0 < desk.rows() < 40

    results = desk.add(*documents)

    assert statuses(results).count("unchanged") == desk.rows() - statuses(results).count("created") > 0
    assert desk.stored() == {document.text for document in documents}


def test_a_crash_before_the_commit_leaves_no_duplicates(desk: Desk) -> None:
    desk.create()

    def crash(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        raise KeyboardInterrupt

    desk.vectors.after_upsert = crash
    with pytest.raises(KeyboardInterrupt):
        desk.add(NewDocument("zebra", id="z"))
    assert desk.search("zebra") == []

    assert statuses(desk.add(NewDocument("zebra", id="z"))) == ["created"]
    assert len(desk.vectors.records(desk.ref())) == 1
    assert len(desk.search("zebra")) == 1


def test_the_later_of_two_writers_wins_and_leaves_nothing_of_the_other(desk: Desk) -> None:
    desk.create()

    def overtake(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        assert statuses(desk.add(NewDocument("giraffe", id="z"))) == ["created"]

    desk.vectors.after_upsert = overtake
    (result,) = desk.add(NewDocument("zebra", id="z"))

    assert result.status == "replaced"
    assert desk.stored() == {"zebra"}
    assert [hit.snippet for hit in desk.search("zebra")] == ["zebra"]


def test_two_writers_of_the_same_text_agree(desk: Desk) -> None:
    desk.create()

    def overtake(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        desk.add(NewDocument("zebra", id="z"))

    desk.vectors.after_upsert = overtake

    assert statuses(desk.add(NewDocument("zebra", id="z"))) == ["unchanged"]
    assert len(desk.vectors.records(desk.ref())) == 1


def test_concurrent_writers_leave_one_text_and_its_chunks(desk: Desk) -> None:
    desk.create()
    barrier = threading.Barrier(3)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            barrier.wait(60)
            for round_ in range(3):
                desk.add(NewDocument(f"text {number} {round_}", id="same"), NewDocument(f"own {number}"))
        except BaseException as exc:  # noqa: BLE001 - shown by the assertion below
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [f for f in failures if not isinstance(f, errors.Conflict)] == []
    with desk.services.database.reading() as db:
        texts = set(db.scalars(sa.select(Document.text)))
    assert len(texts) == 4
    assert desk.stored() == texts


def test_chunks_without_a_document_are_not_found(desk: Desk) -> None:
    desk.create()
    desk.add(*(NewDocument(f"zebra {number}", id=str(number)) for number in range(60)))
    desk.add(NewDocument("unlike", id="other"))
    with desk.services.database.transaction() as db:
        db.execute(sa.delete(Document).where(Document.external_id != "other"))

    assert [hit.id for hit in desk.search("zebra 30")] == ["other"]


@each_row(
    ("documents", "named"),
    [
        ([], "documents"),
        ([NewDocument("x", id=str(number)) for number in range(201)], "documents"),
        ([NewDocument("x"), NewDocument(" ")], "documents[1].text"),
        ([NewDocument("x" * 1_000_001)], "documents[0].text"),
        ([NewDocument("a\x00")], "documents[0].text"),
        ([NewDocument("x", id="")], "documents[0].id"),
        ([NewDocument("x", id="i" * 129)], "documents[0].id"),
        ([NewDocument("x", id="i"), NewDocument("y", id="i")], "documents[1].id"),
        ([NewDocument("x", metadata={"a": "\ud800"})], "documents[0].metadata"),
    ],
)
@pytest.mark.parametrize("desk", ["sqlite"], indirect=True)
def test_invalid_documents_are_rejected_with_their_field(desk: Desk, documents: list[NewDocument], named: str) -> None:
    if not desk.listed():
        desk.create()
    with pytest.raises(errors.InvalidRequest) as caught:
        desk.add(*documents)
    assert caught.value.field == named
    assert desk.rows() == 0


@each_row(
    ("wanted", "named"),
    [
        ({"query": ""}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 101}, "top_k"),
        ({"min_score": -0.1}, "min_score"),
        ({"metadata": {str(key): 1 for key in range(21)}}, "metadata"),
    ],
)
@pytest.mark.parametrize("desk", ["sqlite"], indirect=True)
def test_an_invalid_query_is_rejected_with_its_field(desk: Desk, wanted: dict[str, Any], named: str) -> None:
    if not desk.listed():
        desk.create()
    with pytest.raises(errors.InvalidRequest) as caught:
        desk.search(**({"query": "zebra"} | wanted))
    assert caught.value.field == named


def test_an_unavailable_store_is_an_error_not_an_empty_result(desk: Desk) -> None:
    desk.create()
    desk.vectors.away = True

    with pytest.raises(errors.VectorStoreUnavailable):
        desk.search("zebra")
    with pytest.raises(errors.VectorStoreUnavailable):
        desk.add(NewDocument("zebra"))
    assert desk.rows() == 0


# Deleting and rebuilding.


def test_a_deletion_removes_the_collection_the_rows_and_the_file(desk: Desk) -> None:
    kb_id = desk.create()
    desk.add(NewDocument("zebra"))

    knowledge.delete(desk.services, desk.user_id, "notes")

    assert (desk.listed(), desk.rows(), desk.vectors.names()) == ([], 0, [])
    assert not desk.metadata_file(kb_id).parent.exists()
    with pytest.raises(errors.NotFound):
        knowledge.delete(desk.services, desk.user_id, "notes")
    assert desk.create() != kb_id


def test_a_deletion_during_an_outage_changes_nothing(desk: Desk) -> None:
    kb_id = desk.create()
    desk.add(NewDocument("zebra", id="z"))
    desk.vectors.away = True
    with pytest.raises(errors.VectorStoreUnavailable):
        knowledge.delete(desk.services, desk.user_id, "notes")

    desk.vectors.away = False
    assert [hit.id for hit in desk.search("zebra")] == ["z"]
    assert desk.metadata_file(kb_id).exists()
    assert statuses(desk.add(NewDocument("giraffe"))) == ["created"]
    knowledge.delete(desk.services, desk.user_id, "notes")
    assert desk.listed() == []


def test_an_interrupted_deletion_can_be_repeated(desk: Desk) -> None:
    desk.create()
    with desk.services.database.transaction() as db:
        db.execute(sa.update(KnowledgeBase).values(deleting_at=START))

    assert desk.listed()[0].status == "deleting"
    with pytest.raises(errors.NotFound):
        desk.add(NewDocument("zebra"))
    with pytest.raises(errors.NotFound):
        desk.search("zebra")
    knowledge.delete(desk.services, desk.user_id, "notes")
    assert desk.listed() == []


def test_a_document_added_during_the_deletion_restores_nothing(desk: Desk) -> None:
    desk.create()

    def delete_meanwhile(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        knowledge.delete(desk.services, desk.user_id, "notes")

    desk.vectors.after_upsert = delete_meanwhile
    with pytest.raises(errors.NotFound):
        desk.add(NewDocument("zebra"))

    assert (desk.listed(), desk.rows(), desk.vectors.names()) == ([], 0, [])


def before_the_query(desk: Desk, monkeypatch: pytest.MonkeyPatch, act: Callable[..., object]) -> None:
    """Do this with the knowledge base when a search is about to ask the store."""
    query = desk.vectors.query

    def act_first(*args: Any, **options: Any) -> list[VectorHit]:
        monkeypatch.undo()
        act(desk.services, desk.user_id, "notes")
        return query(*args, **options)

    monkeypatch.setattr(desk.vectors, "query", act_first)


def test_a_search_during_the_deletion_finds_no_knowledge_base(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.create()
    before_the_query(desk, monkeypatch, knowledge.delete)
    with pytest.raises(errors.NotFound):
        desk.search("zebra")


def test_a_search_while_the_collection_is_replaced_asks_the_new_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.create()
    desk.add(NewDocument("zebra", id="z"))
    before_the_query(desk, monkeypatch, knowledge.rebuild)
    assert [hit.id for hit in desk.search("zebra")] == ["z"]


def test_a_rebuild_during_the_deletion_finds_no_knowledge_base(desk: Desk) -> None:
    desk.create()
    desk.add(*(NewDocument(f"text {number}", id=str(number)) for number in range(knowledge_documents.WRITE_BATCH + 1)))

    def delete_meanwhile(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        knowledge.delete(desk.services, desk.user_id, "notes")

    desk.vectors.after_upsert = delete_meanwhile
    with pytest.raises(errors.NotFound):
        knowledge.rebuild(desk.services, desk.user_id, "notes")


def test_a_lost_collection_is_rebuilt_from_the_documents(desk: Desk) -> None:
    desk.create()
    documents = [NewDocument(f"text {number}", id=str(number)) for number in range(20)]
    desk.add(*documents)
    lost = desk.vectors.replace_collection(desk.ref().name)
    with pytest.raises(errors.CollectionMissing):
        desk.search("text 7")

    assert knowledge.rebuild(desk.services, desk.user_id, "notes") == 20

    assert desk.search("text 7")[0].id == "7"
    assert desk.stored() == {document.text for document in documents}
    assert lost.name not in desk.vectors.names()
    assert statuses(desk.add(documents[0])) == ["unchanged"]


def test_a_document_added_while_the_collection_is_replaced_is_in_the_new_one(desk: Desk) -> None:
    desk.create()

    def rebuild_meanwhile(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        knowledge.rebuild(desk.services, desk.user_id, "notes")

    desk.vectors.after_upsert = rebuild_meanwhile
    assert statuses(desk.add(NewDocument("zebra", id="z"))) == ["created"]

    assert desk.stored() == {"zebra"}


def test_a_document_added_before_the_old_collection_is_deleted_is_in_the_new_one(desk: Desk) -> None:
    desk.create()

    def rebuild_meanwhile(_ref: CollectionRef, _records: Sequence[VectorRecord]) -> None:
        desk.vectors.after_upsert = None
        desk.vectors.fail_next(errors.VectorStoreUnavailable(), on="delete_collection")
        knowledge.rebuild(desk.services, desk.user_id, "notes")

    desk.vectors.after_upsert = rebuild_meanwhile
    assert statuses(desk.add(NewDocument("zebra", id="z"))) == ["created"]

    assert desk.stored() == {"zebra"}


def test_a_model_whose_weights_have_changed_is_an_error_until_the_rebuild(desk: Desk) -> None:
    desk.create()
    desk.add(NewDocument("zebra", id="z"))
    desk.embedders.get().identity = "fake/fake/2"
    with pytest.raises(errors.ModelUnavailable, match="rebuild"):
        desk.search("zebra")

    knowledge.rebuild(desk.services, desk.user_id, "notes")

    assert [hit.id for hit in desk.search("zebra")] == ["z"]
    assert json.loads(desk.metadata_file(desk.entry().id).read_text())["embedder"] == "fake/fake/2"


def test_another_passage_prompt_allows_searches_but_no_new_documents_until_a_rebuild(desk: Desk) -> None:
    desk.create()
    desk.add(NewDocument("zebra", id="z"))
    desk.embedders.get().identity = "fake/fake/1/passage-0123abcd"
    assert [hit.id for hit in desk.search("zebra")] == ["z"]
    with pytest.raises(errors.ModelUnavailable, match="rebuild"):
        desk.add(NewDocument("lion", id="l"))

    knowledge.rebuild(desk.services, desk.user_id, "notes")

    assert statuses(desk.add(NewDocument("lion", id="l"))) == ["created"]


# Real services.


@pytest.mark.parametrize("desk", ["sqlite"], indirect=True)
def test_search_works_with_a_real_store_and_model(desk: Desk, chroma_url: str, model_cache: Path) -> None:
    chroma = ChromaStore(chroma_url, timeout_seconds=10)
    settings = Settings(data_dir=desk.services.settings.data_dir, model_dir=model_cache)
    services = replace(desk.services, settings=settings, vectors=chroma, embedders=Embedders(settings))
    real = replace(desk, services=services)
    try:
        kb_id = real.create()
        long = "\n\n".join(f"Paragraph {number} talks about nothing in particular." for number in range(80))
        results = real.add(
            NewDocument("The invoice is due on the third of May.", id="invoice"),
            NewDocument("My cat is called Fritz.", id="cat", metadata={"kind": "pet"}),
            NewDocument(long, id="long"),
        )
        assert statuses(results) == ["created"] * 3
        assert results[2].chunks > 1

        assert real.search("When must I pay?", top_k=1)[0].id == "invoice"
        assert [hit.id for hit in real.search("animals at home", metadata={"kind": "pet"})] == ["cat"]
        assert statuses(real.add(NewDocument("My dog is called Hasso.", id="cat"))) == ["replaced"]
        assert [hit.snippet for hit in real.search("pet's name", top_k=1)] == ["My dog is called Hasso."]
        assert chroma.count(real.ref()) == results[2].chunks + 2
        assert knowledge.rebuild(real.services, real.user_id, "notes") == 3
        assert chroma.count(real.ref()) == results[2].chunks + 2
        ref = real.ref()
        knowledge.delete(real.services, real.user_id, "notes")
        assert not chroma.collection_exists(ref)
        assert not real.metadata_file(kb_id).exists()
    finally:
        chroma.close()
