"""LlamaIndex's memory, block and retriever: what was put comes back, once, and no host fails or waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guides import run_example, run_guide, set_environment
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, SimpleChatEngine
from llama_index.core.llms import CustomLLM, LLMMetadata
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from memorybase_client import AgentMemory, Client, errors
from memorybase_client.integrations.llama_index import MemorybaseMemory, MemorybaseMemoryBlock, MemorybaseRetriever
from shown import reply
from stack import Stack, deliver, turns

# Of a turn whose reads have deadlines of a fifth of a second; a hung connection would take minutes.
PATIENCE_SECONDS = 60.0  # without a deadline the calls would never end
OPENAI_CALL = {"id": "call-1", "type": "function", "function": {"name": "find", "arguments": '{"what": "boat"}'}}
EVERY_KIND = [
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Where is the boat?", additional_kwargs={"name": "anna", "mood": "calm"}),
    ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [OPENAI_CALL]}),
    ChatMessage(role="tool", content="berth 12", additional_kwargs={"tool_call_id": "call-1", "name": "find"}),
    ChatMessage(role="assistant", blocks=[TextBlock(text="Berth"), TextBlock(text="12.")]),
    ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/boat.png"), TextBlock(text="See")]),
    ChatMessage(role="chatbot", content="Done."),
]


class Spy(CustomLLM):
    """A model that keeps what it was asked. By default it says "Noted."."""

    asked: list[list[str]]
    before_answering: Any = None
    answer: Any = lambda _: "Noted."

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def chat(self, messages: Any, **kwargs: Any) -> Any:
        del kwargs
        self.asked.append([message.content for message in messages])
        if self.before_answering is not None:
            self.before_answering()
        return MockFunctionCallingLLM().chat([ChatMessage(role="user", content=self.answer("\n".join(self.asked[-1])))])

    async def achat(self, messages: Any, **kwargs: Any) -> Any:
        return self.chat(messages, **kwargs)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    stream_complete = complete


def engine_of(memory: AgentMemory, llm: Spy, session_id: str = "anna", **fields: Any) -> SimpleChatEngine:
    made = MemorybaseMemory(memory=memory, session_id=session_id, **fields)
    return SimpleChatEngine.from_defaults(llm=llm, memory=made)


def stored_texts(client: Client, flow: str, session_id: str = "anna") -> list[Any]:
    return [message.content for message in client.list_messages(flow_id=flow, session_id=session_id)]


# Messages


def test_messages_come_back_as_they_were_put(memory: AgentMemory) -> None:
    MemorybaseMemory(memory=memory, session_id="anna").put_messages(EVERY_KIND)
    deliver(memory)
    other = MemorybaseMemory(memory=memory, session_id="anna")
    assert other.get() == EVERY_KIND
    assert other.get_all() == EVERY_KIND


def test_an_edit_in_memorybase_is_read(memory: AgentMemory, client: Client) -> None:
    MemorybaseMemory(memory=memory, session_id="anna").put_messages(EVERY_KIND[4:6])
    deliver(memory)
    for message in client.list_messages(flow_id=memory.flow_id):
        client.edit_message(message.id, content="[removed]")
    first, second = MemorybaseMemory(memory=memory, session_id="anna").get()
    assert [block.text for block in first.blocks if isinstance(block, TextBlock)] == ["[removed]", ""]
    assert (second.blocks[0], second.content) == (EVERY_KIND[5].blocks[0], "[removed]")


def test_calls_of_tools_are_stored_in_openais_format(memory: AgentMemory, client: Client) -> None:
    MemorybaseMemory(memory=memory, session_id="anna").put_messages(EVERY_KIND[2:4])
    deliver(memory)
    call, answer = client.list_messages(flow_id=memory.flow_id)
    assert (call.tool_calls, call.is_output) == ([OPENAI_CALL], False)
    assert (answer.tool_call_id, answer.content) == ("call-1", "berth 12")


def test_only_the_latest_messages_are_read_and_no_answer_of_a_tool_without_its_call(memory: AgentMemory) -> None:
    MemorybaseMemory(memory=memory, session_id="anna").put_messages(EVERY_KIND)
    deliver(memory)
    assert MemorybaseMemory(memory=memory, session_id="anna", limit=5).get() == EVERY_KIND[-5:]
    assert MemorybaseMemory(memory=memory, session_id="anna", limit=4).get() == EVERY_KIND[-3:]
    assert MemorybaseMemory(memory=memory, session_id="anna", limit=1).get_all() == EVERY_KIND


def test_setting_the_same_history_again_stores_it_once_and_deletes_nothing(memory: AgentMemory, client: Client) -> None:
    said = [ChatMessage(role="user", content=text) for text in ("Ahoy.", "Yes.", "Yes.")]
    MemorybaseMemory(memory=memory, session_id="anna").put_messages(said[:2])
    for history in (said, said, said[1:]):
        deliver(memory)
        made = MemorybaseMemory(memory=memory, session_id="anna")
        made.set(history)
        assert made.get() == history
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["Ahoy.", "Yes.", "Yes."]


def test_reset_deletes_the_session_and_raises_if_it_cannot(memory: AgentMemory, client: Client, stack: Stack) -> None:
    made = MemorybaseMemory(memory=memory, session_id="anna")
    made.reset()
    made.put_messages(EVERY_KIND)
    deliver(memory)
    made.reset()
    assert made.get() == []
    assert stored_texts(client, memory.flow_id) == []
    made.put_messages(EVERY_KIND)
    stack.kill()
    with pytest.raises(errors.ConnectionFailed):
        made.reset()
    assert made.get() == EVERY_KIND


def test_the_same_texts_in_two_sessions_are_two_conversations(memory: AgentMemory) -> None:
    for session_id in ("anna", "bob"):
        MemorybaseMemory(memory=memory, session_id=session_id).set(EVERY_KIND)
    deliver(memory)
    for session_id in ("anna", "bob"):
        assert MemorybaseMemory(memory=memory, session_id=session_id).get_all() == EVERY_KIND


# Hosts


def test_the_second_engine_of_a_session_reads_what_the_first_one_heard(memory: AgentMemory) -> None:
    llm = Spy(asked=[])
    engine_of(memory, llm).chat("My boat lies at berth 12.")
    deliver(memory)
    engine_of(memory, llm).chat("Where is the boat?")
    assert llm.asked == [
        ["My boat lies at berth 12."],
        ["My boat lies at berth 12.", "Noted.", "Where is the boat?"],
    ]


@pytest.mark.anyio
async def test_an_agent_captures_and_reads_its_session(memory: AgentMemory, client: Client) -> None:
    agent = FunctionAgent(llm=MockFunctionCallingLLM(), tools=[])
    for said in ("My boat lies at berth 12.", "Where is the boat?"):
        await agent.run(said, memory=MemorybaseMemory(memory=memory, session_id="anna"))
        deliver(memory)
    texts = stored_texts(client, memory.flow_id)
    assert texts[0] == "My boat lies at berth 12."
    assert [message.role for message in client.list_messages(flow_id=memory.flow_id)] == ["user", "assistant"] * 2


def test_a_second_session_recalls_what_the_first_one_said(memory: AgentMemory) -> None:
    engine_of(memory, Spy(asked=[])).chat("My boat lies at berth 12.")
    deliver(memory)
    recalled = MemorybaseMemory(memory=memory, session_id="bob", top_k=3).get("Where is the boat?")
    assert [message.role.value for message in recalled] == ["system"]
    assert "My boat lies at berth 12." in str(recalled[0].content)
    own = MemorybaseMemory(memory=memory, session_id="anna", top_k=3).get("Where is the boat?")
    assert [message.role.value for message in own] == ["user", "assistant"]
    (found, *_) = MemorybaseRetriever(memory, top_k=3).retrieve("Where is the boat?")
    assert found.node.get_content() == "My boat lies at berth 12."


@pytest.mark.parametrize("engine", [CondensePlusContextChatEngine, "agent"])
@pytest.mark.anyio
async def test_a_turn_is_one_run_that_shows_what_its_agent_was_given(
    memory: AgentMemory, client: Client, engine: Any
) -> None:
    memory.capture("first", [{"role": "user", "content": "My boat Aurora lies at berth 12."}])
    kept = MemorybaseMemory(memory=memory, session_id="second", top_k=3)
    nothing = MemorybaseRetriever(memory, session_id="none")
    for question in ("Where does Aurora lie?", "Where does Aurora lie?", "What is the capital of France?"):
        if engine == "agent":
            await FunctionAgent(llm=MockFunctionCallingLLM(), tools=[]).run(question, memory=kept)
        else:
            made = engine.from_defaults(retriever=nothing, llm=Spy(asked=[]), memory=kept, skip_condense=True)
            await asyncio.to_thread(made.chat, question)
    first, second, (_, other) = turns(memory, client, "second")
    assert [said[0] for said, _ in (first, second)] == ["Where does Aurora lie?"] * 2
    assert [len(said) for said, _ in (first, second)] == [2, 2]
    assert first[1] == second[1]
    assert "My boat Aurora lies at berth 12." in first[1]["agent"]
    assert other == {"agent": ""}


@pytest.mark.anyio
async def test_a_block_recalls_other_sessions_and_captures_what_overflows(
    memory: AgentMemory, client: Client, tmp_path: Path
) -> None:
    MemorybaseMemory(memory=memory, session_id="earlier").put(ChatMessage(content="My boat lies at berth 12."))
    deliver(memory)
    made = Memory.from_defaults(
        session_id="anna",
        token_limit=40,
        token_flush_size=20,
        chat_history_token_ratio=0.5,
        tokenizer_fn=str.split,
        memory_blocks=[MemorybaseMemoryBlock(memory=memory)],
        async_database_uri=f"sqlite+aiosqlite:///{tmp_path / 'short-term.db'}",
    )
    for number in range(6):
        await made.aput(ChatMessage(role="user", content=f"Words of message {number} that fill the memory."))
    await made.aput(ChatMessage(role="user", content="Where is the boat?"))
    prompt = await made.aget()
    assert "My boat lies at berth 12." in str(prompt[0].content)
    deliver(memory)
    captured = stored_texts(client, memory.flow_id)
    assert captured
    assert captured[0] == "Words of message 0 that fill the memory."


def test_a_message_that_the_server_refuses_is_read_by_its_own_host(memory: AgentMemory) -> None:
    made = MemorybaseMemory(memory=memory, session_id="anna")
    said = [ChatMessage(role="user", content="Ahoy."), ChatMessage(role="user", content="x" * 5_000_000)]
    made.put_messages(said)
    assert made.get() == said


# While memorybase is away


def test_a_server_killed_in_the_middle_of_a_turn_fails_nothing_and_loses_nothing(
    memory: AgentMemory, client: Client, stack: Stack
) -> None:
    kills = [stack.kill]
    llm = Spy(asked=[], before_answering=lambda: kills and kills.pop()())
    engine = engine_of(memory, llm, top_k=3)
    engine.chat("My boat lies at berth 12.")
    engine.chat("Where is the boat?")
    assert llm.asked[1] == ["My boat lies at berth 12.", "Noted.", "Where is the boat?"]
    assert MemorybaseRetriever(memory).retrieve("boat") == []
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == [
        "My boat lies at berth 12.",
        "Noted.",
        "Where is the boat?",
        "Noted.",
    ]


HOSTS: list[Callable[[AgentMemory], object]] = [
    lambda memory: engine_of(memory, Spy(asked=[]), top_k=3).chat("Where is the boat?"),
    lambda memory: engine_of(memory, Spy(asked=[])).chat("Where is the boat?", chat_history=EVERY_KIND),
    lambda memory: MemorybaseRetriever(memory).retrieve("Where is the boat?"),
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_server_that_does_not_answer_holds_no_turn_up(
    stack: Stack, flow: str, tmp_path: Path, host: Callable[[AgentMemory], object]
) -> None:
    with AgentMemory(flow, url=stack.url, key=stack.key, outbox=tmp_path / "outbox", timeout_seconds=0.5) as memory:
        stack.freeze()
        begin = time.monotonic()
        for _ in range(5):
            host(memory)
        assert time.monotonic() - begin < PATIENCE_SECONDS


@pytest.mark.anyio
async def test_a_block_is_empty_and_captures_while_the_server_is_away(
    memory: AgentMemory, client: Client, stack: Stack
) -> None:
    block = MemorybaseMemoryBlock(memory=memory)
    said = ChatMessage(role="user", content="My boat lies at berth 12.")
    stack.kill()
    assert await block.aget([said], session_id="anna") == ""
    await block.aput([said], session_id="anna", from_short_term_memory=True)
    stack.restart()
    deliver(memory)
    assert stored_texts(client, memory.flow_id) == ["My boat lies at berth 12."]


def test_the_guide_and_the_example_run(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="llama_index", OpenAI=lambda **_: Spy(asked=[], answer=reply))
    assert "another session recalls: My boat lies at berth 12." in run_example("llama_index_chat.py", stack, tmp_path)
