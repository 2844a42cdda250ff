"""The pages for readers of Dify's, Splox's and FlowX's documents: their code runs, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row
from harness.world import World

from memorybase import wiring
from memorybase.core import ids
from memorybase.core.auth import api_keys
from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.session_memory.presets import FLOWX_5
from memorybase.core.sessions import flows
from memorybase.features.dify.node_objects import NodeObjectMemory, objects_of

PAGES = Path(__file__).resolve().parents[3] / "docs/howto"


@pytest.fixture
def support(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world, whose flow is called support; its services are what the pages build."""
    monkeypatch.setattr(wiring, "build", lambda: world.services)
    monkeypatch.setattr(api_keys, "ensure_local_user", lambda _services, _key: world.user_id)
    world.flow_id = ids.flow_id(world.user_id, "support")
    flows.put_flow(world.services, world.user_id, name="Support", flow_id=world.flow_id, external_id="support")
    return world


def run_page(name: str, **names: Any) -> dict[str, Any]:
    """Run the page's Python blocks in one namespace, and return it."""
    text = (PAGES / name).read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, name, "exec"), names)
    return names


def contents(messages: Any) -> list[Any]:
    return [message["content"] for message in messages]


def put_context(world: World, run_id: UUID) -> None:
    context = [{"role": "user", "content": "to the node"}, {"role": "assistant", "content": "its answer"}]
    raw = {"node_id": "llm", "index": 0, "status": "succeeded", "outputs": {"text": "its answer", "context": context}}
    execution = node_executions.new_execution(world.user_id, raw)
    node_executions.put_execution(world.services, world.user_id, world.flow_id, "chat-7", run_id, execution)


def test_the_page_for_readers_of_dify_runs(support: World) -> None:
    run_id = uuid4()
    support.say("chat-7", "q1", "a1", run_id=run_id)
    put_context(support, run_id)
    before = NodeObjectMemory("support", "chat-7", "llm", objects=objects_of(support.services.settings))
    before.add_messages("msg-001", None, "And in summer?", [], "It is warm.")
    before.flush()

    found = run_page(
        "dify.md", KEY="key", conversation_id="chat-7", current_messages=[{"role": "user", "content": "q2"}]
    )

    assert "a1" in found["text"]
    assert contents(found["prompt_messages"]) == ["to the node", "its answer", "q2"]
    assert contents(found["history"]) == ["And in summer?", "It is warm."]
    after = found["memory"].get_history_prompt_messages(current_message_id="msg-003", tenant_id="")
    assert contents(after)[-2:] == ["And in winter?", "Then it snows."]


@pytest.mark.usefixtures("support")
def test_the_page_for_readers_of_splox_runs() -> None:
    found = run_page("splox.md", KEY="key")
    assert contents(found["messages"])[-1] == "Where is my order?"
    assert [item.content for item in found["stored"]] == [
        "Where is my order?",
        "It leaves today.",
        "Generated summary: An order was asked for.",
    ]
    assert found["stored"][2].files[0]["file_name"] == "document.pdf"
    assert found["deleted"] == [found["stored"][2].id]


def test_the_page_for_readers_of_flowx_runs(support: World) -> None:
    support.say("chat-7", {"role": "user", "content": "q1"}, {"role": "assistant", "content": "a1"})
    found = run_page("flowx.md", KEY="key", chat_session_id="chat-7", run_id=uuid4())
    assert found["system_prompt"].endswith("user: q1\nagent: a1")
    assert found["summary"].keys() == {"summary", "chatMessages"}
    assert found["request"].preset is FLOWX_5


@each_row("page", ["dify.md", "splox.md", "flowx.md"])
def test_each_page_names_classes_and_fields_that_exist(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    assert "```python" in text
    assert "wiring.build()" in text, "says where the services come from"
