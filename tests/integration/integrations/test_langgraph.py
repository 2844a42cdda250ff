"""Memory in a LangGraph graph, in process and over HTTP: the example, each node, the run hook, LangChain's classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from harness.api import Api
from harness.graphs import says
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy
from two_llm_nodes import FLOW, QUESTIONS, REVIEWER, WRITER, run_all, scripted

from memorybase.errors import CallerError, InvalidRequest
from memorybase.integrations.flow_memory import FlowMemory
from memorybase.integrations.langchain import ChatHistory
from memorybase.integrations.langgraph import (
    AddMemory,
    Agent,
    ChatMemory,
    DeleteMemory,
    GetMemory,
    IntentClassification,
    Recall,
    RunHook,
)

Step = Callable[..., dict[str, Any]]


class State(MessagesState, total=False):
    history: list[BaseMessage]
    context: list[BaseMessage]
    stored: list[dict[str, Any]]
    intent: str


def invoke(hook: RunHook, text: str, *steps: tuple[str, Step], session_id: str = "s1", **named: Any) -> dict[str, Any]:
    """Run these nodes in sequence."""
    graph = StateGraph(State)
    for name, step in steps:
        graph.add_node(name, step)
    names = [START, *(name for name, _ in steps), END]
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    return graph.compile().invoke({"messages": [("user", text)]}, hook.config(session_id, **named))


def test_the_second_run_remembers_the_first_node_by_node_and_the_memory_base_finds_it(
    api: Api, memory: FlowMemory
) -> None:
    base = api.memory(flow=FLOW, threshold=2)

    first, second = run_all(memory, "s1", scripted())
    api.work()
    api.post(f"/memories/{base['id']}/flush", expect=202)
    api.work()

    draft, shorter, cello = WRITER
    revise, good, _ = REVIEWER
    assert first == [
        ("writer", [QUESTIONS[0]]),
        ("reviewer", [draft]),
        ("writer", [QUESTIONS[0], draft, revise]),
        ("reviewer", [draft, revise, shorter]),
    ]
    assert second == [
        ("writer", [QUESTIONS[0], draft, revise, shorter, QUESTIONS[1]]),
        ("reviewer", [draft, revise, shorter, good, cello]),
    ]
    (hit, *_) = memory.search("cello", top_k=3)
    assert (hit["content"], hit["pending"], hit["memory_base_id"]) == (cello, False, base["id"])
    assert api.get(f"/memories/{base['id']}")["total_processed"] == 3


def test_a_nodes_memory_is_limited_to_its_session(memory: FlowMemory) -> None:
    run_all(memory, "s1", scripted())

    first, _ = run_all(memory, "s2", scripted())

    assert first[0] == ("writer", [QUESTIONS[0]])


def test_the_nodes_of_a_chat_memory_add_show_read_and_delete(memory: FlowMemory) -> None:
    chat = ChatMemory(memory=memory, node_id="chat", chat_id="user-{{ session_id }}", fields={"max_messages": 3})
    answering = Agent(model=says("Hello Anna.", "Anna."), node_id="answer", reads=["history"])
    ask = AddMemory(chat=chat, role="user")
    keep = AddMemory(chat=chat, role="assistant")
    steps = [("show", chat), ("ask", ask), ("answer", answering), ("keep", keep)]
    hook = RunHook(memory)

    before = invoke(hook, "I am Anna.", *steps)
    after = invoke(hook, "Who am I?", *steps)
    page = invoke(hook, "Read.", ("read", GetMemory(chat=chat, into="stored", limit=2)))
    invoke(hook, "Undo.", ("undo", DeleteMemory(chat=chat)))

    assert before["history"] == []
    assert [one.content for one in after["history"]] == ["I am Anna.", "Hello Anna."]
    assert [one["content"] for one in page["stored"]] == ["Who am I?", "Anna."]
    assert [one["content"] for one in memory.read_chat("chat", "user-s1")["items"]] == ["I am Anna.", "Hello Anna."]


@pytest.mark.slow
def test_a_retried_task_adds_nothing_twice(memory: FlowMemory) -> None:
    failures = [ConnectionError("away")]
    add = AddMemory(chat=ChatMemory(memory=memory, node_id="chat"), role="user")

    def step(state: State, config: RunnableConfig) -> dict[str, Any]:
        result = add(state, config)
        if failures:
            raise failures.pop()
        return result

    graph = StateGraph(State)
    graph.add_node("step", step, retry_policy=RetryPolicy(initial_interval=0.01))
    graph.add_edge(START, "step")
    graph.compile().invoke({"messages": [("user", "Hm?")]}, RunHook(memory).config("s1", run_id="r1"))

    assert failures == []
    assert memory.read_chat("chat", "s1")["total"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("again", ["the node", "the run"])
def test_a_retried_node_does_not_find_its_own_answer(memory: FlowMemory, again: str) -> None:
    """Both if LangGraph retries the node, and if the runtime retries the run with its id."""
    prompts: list[list[str]] = []
    failures = [ConnectionError("away")]

    class Spy(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
            prompts.append([message.text for message in messages])
            return super()._call(messages, *args, **kwargs)

    model = Spy(responses=["One.", "Two.", "Three."])
    node = Agent(model=model, node_id="answer", memory=memory, use_memory=True, remembers="node")

    def step(state: State, config: RunnableConfig) -> dict[str, Any]:
        result = node(state, config)
        if len(prompts) == 2:
            raise failures.pop()
        return result

    retried = {"retry_policy": RetryPolicy(initial_interval=0.01)} if again == "the node" else {}
    graph = StateGraph(State)
    graph.add_node("step", step, **retried)
    graph.add_edge(START, "step")
    hook = RunHook(memory)
    compiled = graph.compile()
    compiled.invoke({"messages": [("user", "First?")]}, hook.config("s1", run_id="r1"))
    if again == "the node":
        compiled.invoke({"messages": [("user", "Second?")]}, hook.config("s1", run_id="r2"))
    else:
        with pytest.raises(ConnectionError):
            compiled.invoke({"messages": [("user", "Second?")]}, hook.config("s1", run_id="r2"))
        compiled.invoke({"messages": [("user", "Second?")]}, hook.config("s1", run_id="r2"))

    assert failures == []
    assert prompts == [["First?"], ["First?", "One.", "Second?"], ["First?", "One.", "Second?"]]


@pytest.mark.parametrize("use_memory", [False, True])
def test_an_agent_and_a_classification_get_session_memory_only_with_use_memory(
    memory: FlowMemory, *, use_memory: bool
) -> None:
    prompts: list[list[BaseMessage]] = []

    class Spy(FakeListChatModel):
        def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
            prompts.append(messages)
            return super()._call(messages, *args, **kwargs)

    hook = RunHook(memory)
    invoke(hook, "My order is 4711.", ("answer", Agent(model=says("Noted."), node_id="answer")))
    uses = {} if not use_memory else {"use_memory": True, "memory": memory}
    intents = {"orders": "where an order is", "returns": "sending {{ something }} back"}

    state = invoke(
        hook, "Where is it?",
        ("class", IntentClassification(
            model=Spy(responses=["'Orders'."]), node_id="class", intents=intents, otherwise="other", **uses
        )),
        ("answer", Agent(model=Spy(responses=["Here."]), node_id="answer", system="Be short.", **uses)),
    )  # fmt: skip

    assert state["intent"] == "orders"
    for system, question in prompts:
        assert ("user: My order is 4711.\nagent: Noted." in system.text) is use_memory
        assert question.text == "Where is it?"


def test_a_classification_without_an_intent_returns_otherwise(memory: FlowMemory) -> None:
    node = IntentClassification(model=says("No idea"), node_id="c", intents={"orders": ""}, otherwise="other")

    assert invoke(RunHook(memory), "Hm?", ("class", node))["intent"] == "other"


def test_recall_gives_memories_of_the_end_users_other_sessions(api: Api, memory: FlowMemory) -> None:
    api.memory(flow=FLOW, capture="all")
    hook = RunHook(memory)
    answer = ("answer", Agent(model=says("Noted."), node_id="answer"))
    invoke(hook, "My cat is called Minka.", answer, session_id="old", end_user_id="anna")

    state = invoke(hook, "Minka", ("recall", Recall(memory=memory, node_id="r")), session_id="new", end_user_id="anna")

    assert [one.type for one in state["context"]] == ["system"]
    assert "My cat is called Minka." in state["context"][0].text


def test_the_hook_captures_each_run_by_id_and_with_a_checkpointer_no_message_twice(
    api: Api, memory: FlowMemory
) -> None:
    graph = StateGraph(State)
    graph.add_node("answer", Agent(model=says("One.", "Two."), node_id="answer"))
    graph.add_edge(START, "answer")
    kept = graph.compile(checkpointer=InMemorySaver())
    hook = RunHook(memory)

    for number in ("1", "2"):
        kept.invoke({"messages": [("user", "Count.")]}, hook.config("s1", run_id=f"run-{number}"))

    runs = [api.get(f"/flows/{FLOW}/runs/run-{number}") for number in ("1", "2")]
    assert [run["messages"] for run in runs] == [2, 2]


def test_a_failed_run_is_not_captured_and_a_run_of_another_session_raises(api: Api, memory: FlowMemory) -> None:
    def fail(_: State) -> dict[str, Any]:
        raise ZeroDivisionError

    hook = RunHook(memory)
    with pytest.raises(ZeroDivisionError):
        invoke(hook, "Hm?", ("fail", fail))
    assert api.get(f"/flows/{FLOW}/runs")["items"] == []

    invoke(hook, "Mine.", ("answer", Agent(model=says("Yes."), node_id="a")), run_id="r", session_id="s1")
    with pytest.raises(CallerError, match="another session"):
        invoke(hook, "Mine.", ("answer", Agent(model=says("Yes."), node_id="a")), run_id="r", session_id="s2")


def test_a_node_without_a_session_raises(memory: FlowMemory) -> None:
    node = Recall(memory=memory, node_id="r")

    with pytest.raises(InvalidRequest, match=r"RunHook\.config"):
        node({"messages": [HumanMessage("Hm?")]}, {})


def test_langchains_history_of_a_chat_memory_node(memory: FlowMemory) -> None:
    history = ChatHistory(memory, "chat", "c1", max_messages=2)
    history.add_messages([HumanMessage("One."), AIMessage("Two."), HumanMessage("Three.")])
    assert [(one.type, one.content) for one in history.messages] == [("ai", "Two."), ("human", "Three.")]
    history.clear()
    assert history.messages == []
