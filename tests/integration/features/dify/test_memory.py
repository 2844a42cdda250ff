"""Dify's memory classes: presets of the history, with Dify's names."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from harness.records import Flat
from harness.world import World

from memorybase.core.conversation.history import node_executions
from memorybase.core.conversation.history.request import Conversation
from memorybase.core.conversation.view.tokens import ESTIMATE
from memorybase.features.dify.memory import (
    MemoryConfig,
    MemoryMode,
    NodeTokenBufferMemory,
    TokenBufferMemory,
    fetch_memory,
)


def contents(messages: Any) -> str:
    return " ".join(message["content"] for message in messages)


def test_a_conversation_is_pruned_by_turns_or_by_messages(world: World) -> None:
    run = world.say("s", {"role": "user", "content": "q1"}, "a1")
    world.say("s", {"role": "user", "content": "q2"}, "a2")
    conversation = Conversation(world.services, world.user_id, world.flow_id, "s")
    by_turns = TokenBufferMemory(conversation, Flat())
    by_messages = TokenBufferMemory(conversation, Flat(), prune="message")
    first = TokenBufferMemory(conversation, Flat(), leaf_id=run.messages[-1].id)
    for limit, turns, messages in ((40, "q1 a1 q2 a2", "q1 a1 q2 a2"), (30, "q2 a2", "a1 q2 a2"), (-1, "", "a2")):
        assert contents(by_turns.get_history_prompt_messages(limit)) == turns
        assert contents(by_messages.get_history_prompt_messages(limit)) == messages
    assert contents(by_turns.get_history_prompt_messages(message_limit=1)) == "q2 a2"
    assert first.get_history_prompt_text("H", "A") == "H: q1\nA: a1"
    assert first.get_history_prompt_text() == "Human: q1\nAssistant: a1"


def test_a_nodes_memory_is_what_its_execution_reported(world: World) -> None:
    context = [{"role": "user", "content": "to the node"}, {"role": "assistant", "content": "its answer"}]
    raw = {"node_id": "llm", "index": 0, "status": "succeeded", "outputs": {"context": context}}
    new = node_executions.new_execution(world.user_id, raw)
    node_executions.put_execution(world.services, world.user_id, world.flow_id, "s", uuid4(), new)
    memory = NodeTokenBufferMemory(world.flow_id, "s", "llm", world.user_id, Flat(), services=world.services)
    memory.add_messages("m1", None, "question", [], "answer", [])
    memory.flush()
    memory.clear()
    assert contents(memory.get_history_prompt_messages(max_token_limit=20)) == "to the node its answer"
    for conversation_id, node_id in (("s", None), (None, "llm"), ("s", "other")):
        other = NodeTokenBufferMemory(world.flow_id, conversation_id, node_id, world.user_id, services=world.services)
        assert other.get_history_prompt_messages() == []


def test_a_nodes_configuration_chooses_its_memory(world: World) -> None:
    def fetched(config: MemoryConfig | None, **changes: Any) -> Any:
        at: dict[str, Any] = {
            "tenant_id": world.user_id,
            "app_id": world.flow_id,
            "conversation_id": "chat-7",
            "node_id": "llm",
            "model_instance": ESTIMATE,
        }
        return fetch_memory(world.services, node_data_memory=config, **(at | changes))

    assert list(MemoryMode) == ["conversation", "node"]
    assert MemoryConfig().mode is MemoryMode.CONVERSATION
    assert isinstance(fetched(MemoryConfig()), TokenBufferMemory)
    assert isinstance(fetched(MemoryConfig(mode=MemoryMode("node"))), NodeTokenBufferMemory)
    assert fetched(None) is None
    assert fetched(MemoryConfig(), conversation_id=None) is None
    assert fetched(MemoryConfig(mode=MemoryMode.NODE), conversation_id="") is None
    assert fetched(MemoryConfig(mode=MemoryMode.NODE), node_id=None) is None
    assert MemoryConfig.model_validate({"window": {"enabled": True, "size": 3}}).message_limit == 3
    assert MemoryConfig.model_validate({"window": {"enabled": False, "size": 3}}).message_limit is None
    conversation = Conversation(world.services, world.user_id, world.flow_id, "chat-7")
    assert fetched(MemoryConfig()).conversation == conversation
