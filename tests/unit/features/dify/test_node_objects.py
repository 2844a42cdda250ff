"""Node memory in objects: threads, appends of several writers, damage, clean-up."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from harness.records import Flat
from harness.rows import each_row

from memorybase.core.conversation import FileRef
from memorybase.core.errors import DocumentUnsupported, InvalidRequest
from memorybase.core.settings import Settings
from memorybase.features.dify import append_log, deletion
from memorybase.features.dify.document import key_of
from memorybase.features.dify.node_objects import NodeObjectMemory, objects_of
from memorybase.features.dify.object_store import objects_at


def memory(where: Path | str, *ids: str, **options: Any) -> NodeObjectMemory:
    return NodeObjectMemory(*(ids or ("a", "c", "n")), Flat(), objects=objects_at(str(where)), **options)


def fill(mine: NodeObjectMemory) -> None:
    mine.add_messages("m1", None, "q1", [], "a1", [])
    mine.add_messages("m2", "m1", "q2", [], "a2", [])
    mine.add_messages("m3", "m1", "q2b", [], "a2b", [])


def history_text(mine: NodeObjectMemory, current: str | None, limit: int = 2000, **options: Any) -> str:
    messages = mine.get_history_prompt_messages(current, "tenant", limit, **options)
    return " ".join(str(message["content"]) for message in messages)


def test_a_thread_ends_with_the_given_turn(tmp_path: Path) -> None:
    mine = memory(tmp_path)
    fill(mine)
    assert history_text(memory(tmp_path), "m3") == ""  # not flushed: only this object sees it
    mine.flush()
    mine.flush()
    for one in (mine, memory(tmp_path)):
        assert history_text(one, "m3") == "q1 a1 q2b a2b"
        assert history_text(one, "m2") == history_text(one, "m2:assistant") == "q1 a1 q2 a2"
        assert history_text(one, "m4", parent_message_id="m3") == "q1 a1 q2b a2b"
        assert history_text(one, "m4") == "q1 a1 q2b a2b"
        assert history_text(one, "m3", 39) == "q2b a2b"
    mine.add_messages("m2", "m1", "q2", [], "other", [])
    mine.flush()
    assert history_text(memory(tmp_path), "m2") == "q1 a1 q2 other"
    mine.clear()
    assert history_text(memory(tmp_path), None) == history_text(mine, None) == ""
    assert "q1" not in "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def test_broken_threads_keep_the_turns_that_were_found(tmp_path: Path) -> None:
    mine = memory(tmp_path)
    mine.add_messages("m1", "unknown", "q1", [], "a1", [])
    mine.add_messages("m2", "m3", "q2", [], "a2", [])
    mine.add_messages("m3", "m2", "q3", [], "a3", [])
    assert history_text(mine, "m1") == "q1 a1"
    assert history_text(mine, "m3") == "q2 a2 q3 a3"


NIL = "00000000-0000-0000-0000-000000000000"


def test_a_flow_that_names_no_parents_keeps_its_history(tmp_path: Path) -> None:
    """Dify's service API sends NIL as the parent of every message."""
    for number in (1, 2, 3):
        mine = memory(tmp_path)
        mine.add_messages(f"m{number}", NIL, f"q{number}", [], f"a{number}")
        mine.flush()
    assert history_text(memory(tmp_path), "m4", parent_message_id=NIL) == "q1 a1 q2 a2 q3 a3"
    assert history_text(memory(tmp_path), "m2") == "q1 a1 q2 a2"


# As the document shows it: each message has an id of its own, and the answer follows its question.
EXAMPLE = {
    "version": 1,
    "messages": [
        {
            "message_id": "msg-001",
            "parent_message_id": None,
            "role": "user",
            "content": "q1",
            "files": [],
            "token_count": 15,
            "created_at": "2026-01-07T10:00:00Z",
        },
        {
            "message_id": "msg-002",
            "parent_message_id": "msg-001",
            "role": "assistant",
            "content": "a1",
            "files": [],
            "token_count": 50,
            "created_at": "2026-01-07T10:00:01Z",
        },
    ],
}


def store_example(folder: Path, document: Any = EXAMPLE) -> Path:
    path = folder / "node_memory/a/c/n.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


@each_row("parent", ["msg-001", "msg-002"])
def test_the_documents_own_example_is_continued(tmp_path: Path, parent: str) -> None:
    store_example(tmp_path)
    assert history_text(memory(tmp_path), parent) == "q1 a1"
    mine = memory(tmp_path)
    mine.add_messages("msg-003", parent, "q2", [], "a2")
    mine.flush()
    assert history_text(memory(tmp_path), "msg-003") == "q1 a1 q2 a2"
    mine.add_messages("msg-005", "msg-003", "q3", [], "a3")
    assert history_text(mine, "msg-005") == "q1 a1 q2 a2 q3 a3"


@each_row(
    "document",
    [
        {"version": 1, "messages": None},
        {"version": 1},
        {"version": 1, "turns": {"r1": {}}},
        {"messages": []},
        {"version": "1", "messages": []},
        {"version": True, "messages": []},
        {"version": None, "messages": []},
    ],
)
def test_a_document_of_another_shape_is_quarantined(tmp_path: Path, document: Any) -> None:
    path = store_example(tmp_path, document)
    mine = memory(tmp_path)
    assert history_text(mine, None) == ""
    (aside,) = (tmp_path / "quarantine").rglob("*.json.*")
    assert json.loads(aside.read_text()) == document
    mine.add_messages("m1", None, "q1", [], "a1")
    mine.flush()
    assert history_text(memory(tmp_path), "m1") == "q1 a1"
    assert path.exists()


def test_a_document_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = store_example(tmp_path, {"version": 2, "messages": {"m1": "something new"}})
    before = path.read_bytes()
    mine = memory(tmp_path)
    with pytest.raises(DocumentUnsupported, match="must be 1"):
        history_text(mine, None)
    mine.add_messages("m1", None, "q1", [], "a1")
    with pytest.raises(DocumentUnsupported):
        mine.flush()
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]
    assert path.read_bytes() == before


def test_messages_of_another_shape_are_left_out(tmp_path: Path) -> None:
    good = {"message_id": "m1", "parent_message_id": None, "role": "user", "content": "q1"}
    odd: list[Any] = [
        good | {"message_id": "m2", "parent_message_id": ["m1"]},
        good | {"message_id": "m3", "role": []},
        good | {"message_id": "m4", "content": None},
        good | {"message_id": "m0", "files": 7},
    ]
    store_example(tmp_path, {"version": 1, "messages": [*odd, good], "recent": None})
    assert history_text(memory(tmp_path), "m1") == "q1"
    assert history_text(memory(tmp_path), "m0") == "q1"
    append = tmp_path / "node_memory/a/c/n.json.d/000000000001.append"
    append.parent.mkdir()
    append.write_text(json.dumps({"id": "x", "operations": None}))
    assert history_text(memory(tmp_path), "m1") == "q1"


@each_row("store", ["folder", "memory"])
def test_a_deleted_conversation_leaves_no_text_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.setattr(append_log, "COMPACT_BYTES", -1)  # appends and a snapshot beside the document
    where = str(tmp_path) if store == "folder" else f"memory://{time.monotonic_ns()}"
    for ids in (("a", "c", "n1"), ("a", "c", "n/2"), ("a", "other", "n1"), ("b", "c", "n1")):
        mine = memory(where, *ids)
        mine.add_messages("m1", None, f"secret of {ids}", [], "a1")
        mine.flush()
    objects = objects_at(where)
    objects.replace("node_memory/a/c/n1.json", b"{damaged secret")
    memory(where, "a", "c", "n1").view(None)  # moves it to quarantine

    assert deletion.delete_documents(objects, "a", "c") >= 3
    left = [key for root in ("node_memory", "quarantine") for key, _ in objects.written(root)]
    assert left
    assert all(key.startswith(("node_memory/a/other/", "node_memory/b/c/")) for key in left)
    assert history_text(memory(where, "a", "c", "n1"), None) == ""
    if store == "folder":
        assert not (tmp_path / "node_memory/a/c").exists()
    assert deletion.delete_documents(objects, "a", "c") == 0
    deletion.delete_documents(objects, "a")
    assert {key.split("/")[1] for key, _ in objects.written("node_memory")} == {"b"}


def test_the_document_has_the_specified_key_and_format(tmp_path: Path) -> None:
    mine = memory(tmp_path, "a", "c", "n")
    picture = FileRef(type="image", transfer_method="local_file", pointer="f1", name="cat.png")
    mine.add_messages("m1", None, "look", [picture], "a cat")
    mine.flush()
    document = json.loads((tmp_path / "node_memory/a/c/n.json").read_text())
    question, answer = document["messages"]
    assert document["version"] == 1
    assert question["files"] == [
        {
            "type": "image",
            "transfer_method": "local_file",
            "upload_file_id": "f1",
            "file_name": "cat.png",
            "belongs_to": "user",
        }
    ]
    assert (answer["message_id"], answer["parent_message_id"]) == ("m1:assistant", "m1")
    assert answer["token_count"] == 10
    assert datetime.fromisoformat(answer["created_at"]).tzinfo is not None
    assert history_text(mine, None) == "[image: cat.png]\nlook a cat"


def test_different_ids_have_different_keys(tmp_path: Path) -> None:
    ids = ["a", "a/b", "b", "b/c", "c", "..", ".", "%2E", "x" * 128, "x" * 127 + "y", "é" * 128, "é" * 127 + "e", "A"]
    keys = {key_of(*three) for three in ((a, b, c) for a in ids for b in ids for c in ids)}
    assert len(keys) == len(ids) ** 3
    assert all(len(part) < 250 and part not in {".", ".."} for key in keys for part in key.split("/"))
    for number, three in enumerate([("a/b", "c", "n"), ("a", "b/c", "n"), ("..", "..", "..")]):
        mine = memory(tmp_path, *three)
        mine.add_messages("m", None, str(number), [], "answer")
        mine.flush()
    assert history_text(memory(tmp_path, "a/b", "c", "n"), None) == "0 answer"
    assert len(list((tmp_path / "node_memory").rglob("*.json"))) == 3
    with pytest.raises(InvalidRequest):
        memory(tmp_path, "a", "", "n")


@each_row(
    ("ids", "field"), [(("", "c", "n"), "app_id"), (("a", None, "n"), "conversation_id"), (("a", "c", None), "node_id")]
)
def test_a_missing_id_is_refused_because_all_without_it_would_share_a_memory(
    tmp_path: Path, ids: tuple[Any, ...], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        memory(tmp_path, *ids)
    assert refused.value.field == field


def test_a_file_that_is_none_is_refused_with_its_field(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        memory(tmp_path).add_messages("m", None, "q", [{"type": "image", "transfer_method": "local_file"}], "a")
    assert refused.value.field == "user_files[0].upload_file_id"


# A process that appends like append_many, to a document that counts as large early.
WRITER = """
import sys
from memorybase.features.dify import append_log
from memorybase.features.dify.node_objects import NodeObjectMemory
from memorybase.features.dify.object_store import objects_at
append_log.COMPACT_BYTES = 4_000
mine = NodeObjectMemory("a", "c", "n", objects=objects_at(sys.argv[1]))
for number in range(200):
    mine.add_messages(f"{sys.argv[2]}{number}", None, "question", [], "answer", [])
    mine.flush()
"""


def append_many(where: str, who: str, count: int) -> None:
    mine = memory(where)
    for number in range(count):
        mine.add_messages(f"{who}{number}", None, f"question {number} of {who}", [], "answer", [])
        mine.flush()


def turns_lost(where: str, writers: str, count: int) -> set[str]:
    found = [record.id for record in memory(where).view(None, 10**9).records]
    assert len(found) == len(set(found))
    document = memory(where)._journal.read()
    return {f"{who}{number}" for who in writers for number in range(count)} - {
        message["message_id"] for message in document["messages"]
    }


@pytest.mark.slow
def test_concurrent_appends_of_two_processes_are_all_kept(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), who]) for who in "ab"]
    for writer in writers:
        assert writer.wait(60) == 0
    assert turns_lost(str(tmp_path), "ab", 200) == set()


def test_concurrent_appends_to_a_remote_store_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append_log, "APPENDS", 3)
    plain = MemoryFileSystem.ls

    def ls(self: MemoryFileSystem, path: str, **options: Any) -> list[Any]:
        while True:
            try:
                return list(plain(self, path, **options))
            except KeyError:  # a file was deleted meanwhile, of which a real store knows nothing
                continue

    monkeypatch.setattr(MemoryFileSystem, "ls", ls)
    where = f"memory://{time.monotonic_ns()}"
    writers = [threading.Thread(target=append_many, args=(where, who, 15)) for who in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert turns_lost(where, "ab", 15) == set()


def test_the_first_append_finds_a_document_that_was_compacted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_log, "APPENDS", 1)
    append_many(str(tmp_path), "a", 1)
    late = memory(str(tmp_path))
    states = [late._journal._state()]
    append_many(str(tmp_path), "b", 3)
    of_now = late._journal._state
    monkeypatch.setattr(late._journal, "_state", lambda: states.pop() if states else of_now())
    late.add_messages("late", None, "question", [], "answer", [])
    late.flush()
    assert turns_lost(str(tmp_path), "b", 3) == set()
    assert "late" in {message["message_id"] for message in late._journal.read()["messages"]}


def test_an_append_with_a_reused_number_is_appended_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer sleeps between listing and writing, while another uses, covers and deletes the number."""
    slow, quick = memory(tmp_path), memory(tmp_path)
    slow.add_messages("slow", None, "slow", [], "answer")
    quick.add_messages("quick", None, "quick", [], "answer")
    create = slow._journal._objects.create

    def late(key: str, content: bytes) -> bool:
        monkeypatch.undo()
        quick.flush()  # a small document: compacted at once
        return create(key, content)

    monkeypatch.setattr(slow._journal._objects, "create", late)
    slow.flush()

    stored = [message["message_id"] for message in memory(tmp_path)._journal.read()["messages"]]
    assert stored == ["quick", "quick:assistant", "slow", "slow:assistant"]


@each_row("damage", [b"{", b"[]", b"", b"\x1f\x8bnot zipped", b"\xff\xfe"])
def test_a_damaged_document_is_quarantined_and_nothing_is_lost(tmp_path: Path, damage: bytes) -> None:
    mine = memory(tmp_path)
    fill(mine)
    mine.flush()
    document = tmp_path / "node_memory/a/c/n.json"
    document.write_bytes(damage)
    assert history_text(memory(tmp_path), "m3") == "q1 a1 q2b a2b"
    (aside,) = (tmp_path / "quarantine").rglob("*.json.*")
    assert aside.read_bytes() == damage
    mine.add_messages("m4", "m3", "q4", [], "a4")
    mine.flush()
    assert history_text(memory(tmp_path), "m4") == "q1 a1 q2b a2b q4 a4"
    assert document.exists()


def test_a_damaged_append_keeps_its_position_and_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append_log, "COMPACT_BYTES", -1)
    append_many(str(tmp_path), "a", 3)
    (tmp_path / "node_memory/a/c/n.json.d/000000000002.append").write_bytes(b"{")
    assert [record.content for record in memory(tmp_path).view("a2").records] == ["question 2 of a", "answer"]
    assert turns_lost(str(tmp_path), "a", 3) == {"a1"}
    append_many(str(tmp_path), "b", 1)
    assert turns_lost(str(tmp_path), "b", 1) == set()


def test_a_foreign_document_is_read_and_compressed_on_request(tmp_path: Path) -> None:
    document = tmp_path / "node_memory/a/c/n.json"
    document.parent.mkdir(parents=True)
    theirs = [{"message_id": "m1", "parent_message_id": None, "role": "user", "content": "q1"}, {"role": "x"}, 7]
    document.write_text(json.dumps({"version": 1, "messages": theirs}))
    mine = memory(tmp_path, compress=True)
    assert history_text(mine, "m1") == "q1"
    mine.add_messages("m2", None, "q2", [], "a2")
    mine.flush()
    assert [m["message_id"] for m in json.loads(gzip.decompress(document.read_bytes()))["messages"]] == [
        "m1",
        "m2",
        "m2:assistant",
    ]
    assert history_text(memory(tmp_path), "m2") == "q2 a2"


def test_documents_without_recent_writes_are_cleaned_up(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, node_memory_days=30)
    for node in ("old", "new"):
        mine = NodeObjectMemory("a", "c", node, objects=objects_of(settings))
        fill(mine)
        mine.flush()
    long_ago = (datetime.now(UTC) - timedelta(days=31)).timestamp()
    for file in tmp_path.rglob("old.json*"):
        os.utime(file, (long_ago, long_ago))
    for file in tmp_path.rglob("old.json.d/*"):
        os.utime(file, (long_ago, long_ago))
    now = datetime.now(UTC)
    assert deletion.delete_old(settings.model_copy(update={"node_memory_days": 0}), now) == 0
    assert deletion.delete_old(settings, now - timedelta(days=30)) == 0
    assert deletion.delete_old(settings, now) == 1
    assert {file.name for file in (tmp_path / "node_memory/a/c").iterdir()} == {"new.json", "new.json.d"}
