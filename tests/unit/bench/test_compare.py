"""The comparison with other memories: what is counted, and the table that is made of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tables
from comparing import deletion, faults, recall
from comparing.child import PEERS, Child, Environments, Failed, Peer
from recalling.corpora import Conversation
from runs import Run

from memorybase.core.embedding.source import DEFAULT_MODEL, find_source

MESSAGES = [
    {"id": "one:a", "role": "user", "content": "The ferry to the island leaves at nine o'clock."},
    {"id": "one:b", "role": "assistant", "content": "Noted."},
]
CONVERSATION = Conversation("made", "one", [{"session_id": "s", "run_id": "r", "messages": MESSAGES}], [])


@pytest.fixture
def environments(tmp_path: Path) -> Environments:
    return Environments(tmp_path, find_source(DEFAULT_MODEL).folder)


def test_lost_is_what_was_acknowledged_and_doubled_what_is_there_twice() -> None:
    calls = faults.Calls(3, sessions=1)
    calls.acknowledged = {0, 1}
    held = [*calls.texts[:5], *calls.texts[6:20], calls.texts[0], f"as a part: {calls.texts[20]}"]
    assert calls.left(held, 3) == {"acknowledged": 20, "lost": 1, "doubled": 1}
    assert calls.left([], 3) == {"acknowledged": 20, "lost": 20, "doubled": 0}


def test_what_a_memory_without_ids_shows_is_known_by_its_text() -> None:
    shown = recall.Texts(CONVERSATION)
    assert shown.ids({"text": "anything", "ids": ["one:b"]}) == ["one:b"]
    assert shown.ids({"text": "Anna: The ferry to the island leaves at nine o'clock. Ben: Noted."}) == [
        "one:a",
        "one:b",
    ]
    assert shown.ids({"text": "The ferry to the island leaves"}) == ["one:a"], "a chunk of a message"
    assert shown.ids({"text": "The ferry"}) == [], "too short to be a chunk"


def test_only_the_first_entries_that_fit_are_offered() -> None:
    entries = [{"text": "word " * count} for count in (10, 500, 20)]
    fitting, spent = recall.within(entries, 100)
    assert fitting == [entries[0], entries[2]]
    assert spent == sum(map(recall.tokens, fitting)) <= 100


def test_the_files_that_have_a_mark_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/store.db").write_bytes(b"\0mark1 and mark2\xff")
    (tmp_path / "log").write_bytes(b"mark2")
    assert deletion.left(tmp_path, ["mark1", "mark2", "mark3"]) == {
        "mark1": ["a/store.db"],
        "mark2": ["a/store.db", "log"],
    }


def test_a_memory_that_does_not_start_says_why(tmp_path: Path, environments: Environments) -> None:
    with (
        pytest.raises(Failed, match="has no attribute 'Missing'"),
        Child(environments, Peer("missing", "memorybase.Missing", ""), tmp_path),
    ):
        pass
    assert not environments.has(PEERS["mem0"])
    assert environments.python(PEERS["memorybase"]) == [sys.executable]


@pytest.mark.slow
def test_kills_cost_one_process_nothing(environments: Environments) -> None:
    found = faults.kills(environments, PEERS["memorybase-one-process"], times=2)
    assert (found["kills"], found["lost"], found["doubled"]) == (2, 0, 0)
    assert found["acknowledged"] >= 20


def _run(peer: str, figures: dict[str, Any], *lines: dict[str, Any]) -> Run:
    run = Run({"peers": {peer: {"versions": {peer: "1.0"}, "needs": "nothing", **figures}}})
    for line in lines:
        run.add(peer=peer, category="fact", tokens=100, found_tokens=200, **line)
    return run


def test_runs_of_peers_become_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    assert tables.peers() == ""
    after = {"acknowledged": 50, "lost": 1, "doubled": 2}
    found = {"kills": {"kills": 10, **after}, "full_disk": {"failed": "disk I/O error"}}
    answered = {"corpus": "locomo", "evidence": ["a", "b"], "found": ["a", "c"], "shown": ["a", "b"]}
    nothing = {"corpus": "life-1", "evidence": [], "found": ["x"], "shown": ["x"], "offered": True}
    _run("mem0", found, answered, nothing, nothing | {"offered": False}).write(tmp_path / "peers-1")
    _run("mem0", {"deletion": {"messages": 30, "left": 30, "files": ["history.db"]}}).write(tmp_path / "peers-2")
    _run("langgraph", {"kills": {"kills": 10, **after, "lost": 0}}).write(tmp_path / "peers-3")
    rows = dict(line[2:].removesuffix(" |").split(" | ", 1) for line in tables.peers().splitlines()[2:])
    assert tables.peers().splitlines()[0] == "| | mem0 | langgraph |"
    assert rows["messages acknowledged · lost · doubled"] == "50 · 1 · 2 | 50 · 0 · 2"
    assert rows["after a full disk, the same"].startswith("failed |")
    assert rows["**recall**: share of the answering messages among ten entries: LoCoMo"].startswith(".50 |")
    assert rows["something offered where nothing answers"].startswith("1 of 2 |")
    assert rows["**deletion**: of a person's messages, still in files"].startswith("30 of 30: history.db |")
