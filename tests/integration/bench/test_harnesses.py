"""memorybase's providers for the harnesses of others, each driven as its harness does, through the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import harness_runs
import pytest
from harness.api import Api
from harness.clients import client_of
from harnesses.client_factory import memorybase_provider
from harnesses.client_factory.memorybase_provider import MemorybaseProvider
from harnesses.memory_bench.memory import memorybase
from harnesses.memory_bench.memory.memorybase import MemorybaseMemoryProvider
from harnesses.memory_bench.models import Document
from recalling import corpora

CHAT = {
    "id": "boat",
    "messages": [
        {"id": "1", "session": "a", "role": "user", "content": "My boat Minka lies at berth twelve."},
        {"id": "2", "session": "a", "role": "assistant", "content": "Noted."},
        {"id": "3", "session": "b", "role": "user", "content": "The dentist moved my appointment to Friday."},
        {"id": "4", "session": "b", "role": "assistant", "content": "Friday it is."},
    ],
    "questions": [
        {"question": "Which berth is my boat at?", "category": "fact", "evidence": ["1"]},
        {"question": "When is the dentist?", "category": "fact", "evidence": ["3"]},
    ],
}


@pytest.fixture(autouse=True)
def _clients(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that make a client get one of the test's API, of which this process is the worker."""

    def opened() -> Any:
        client = client_of(api)

        def ingest(base_id: UUID | str, **_: Any) -> None:
            api.post(f"/memories/{base_id}/flush", expect=(200, 202))
            api.work()

        monkeypatch.setattr(client, "wait_until_searchable", ingest)
        return client

    for module in (memorybase, memorybase_provider):
        monkeypatch.setattr(module, "Client", opened)


@pytest.mark.parametrize("harness", ["agent-memory-benchmark", "omnimemeval"])
def test_what_answers_is_among_what_is_returned(harness: str) -> None:
    conversation = corpora.chat("made", CHAT)
    answers = list(harness_runs.ASKING[harness](conversation, conversation.questions))
    assert [question.text for question, *_ in answers] == [each["question"] for each in CHAT["questions"]]
    for question, evidence, returned, _ in answers:
        assert evidence, question
        assert evidence <= set(returned), question


def test_documents_of_any_kind_become_the_messages_that_they_hold() -> None:
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi."}, {"speaker": "Bo", "dia_id": "D1:2", "text": ""}]
    written = "[March-15-2024 | Turn 0] User: I chose Flask.\n\nAs I said.\n\nAssistant: Good."
    said = [{"role": "user", "content": "Tea."}, {"role": "assistant", "content": "Enjoy it."}]
    documents = [
        Document("turns", json.dumps(turns), timestamp="2023-05-08T13:56:00+00:00"),
        Document("text", written),
        Document("said", "unused", messages=said),
        Document("plain", "A belief: tabs.", timestamp="no time"),
    ]
    made = {each.id: list(memorybase._messages(each)) for each in documents}
    assert made["turns"] == [
        {
            "id": "turns#0",
            "role": "user",
            "content": "Hi.",
            "sender_name": "Ann",
            "timestamp": "2023-05-08T13:56:00+00:00",
        }
    ]
    assert [(each["role"], each["content"].strip()) for each in made["text"]] == [
        ("user", "[March-15-2024 | Turn 0] User: I chose Flask.\n\nAs I said."),
        ("assistant", "Assistant: Good."),
    ]
    assert [(each["role"], each["content"]) for each in made["said"]] == [("user", "Tea."), ("assistant", "Enjoy it.")]
    assert [(each["role"], each["content"], "timestamp" in each) for each in made["plain"]] == [
        ("user", "A belief: tabs.", False)
    ]


def test_a_run_keeps_its_documents_unless_it_is_reset(tmp_path: Path) -> None:
    def found(*, reset: bool, ingested: bool) -> list[str]:
        provider = MemorybaseMemoryProvider()
        provider.initialize()
        provider.prepare(tmp_path, reset=reset)
        if ingested:
            provider.ingest([Document("a", "The berth is twelve.", "ann"), Document("b", "The berth is nine.", "bo")])
        documents, raw = provider.retrieve("berth", user_id="ann")
        provider.cleanup()
        assert raw is not None
        return [each.id for each in documents]

    assert found(reset=True, ingested=True) == ["a"], "not those of another user"
    assert found(reset=False, ingested=True) == ["a"], "ingested again"
    assert found(reset=False, ingested=False) == ["a"]
    assert found(reset=True, ingested=False) == []


def test_a_user_s_messages_are_added_once_and_deleted() -> None:
    provider, other = MemorybaseProvider(), MemorybaseProvider()
    session = [
        {"role": "user", "name": "Ann", "content": "Ann: the berth is twelve.", "chat_time": "2023-05-08T13:56:00Z"}
    ]
    for each in (provider, other):
        each.add([*session, {"role": "assistant", "content": " "}], "ann", session_key="unused")
        each.add([{"role": "user", "content": "The berth is nine."}], "bo")
    assert provider.search("berth", "ann", 1_000) == "[2023-05-08 13:56] Ann: the berth is twelve."
    assert other.search("berth", "bo", 5).endswith("The berth is nine.")
    provider.delete("ann")
    provider.delete("nobody")
    assert provider.search("berth", "ann", 5) == ""
    assert provider.search("berth", "bo", 5)
