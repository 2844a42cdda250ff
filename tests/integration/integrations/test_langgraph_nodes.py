"""Memory nodes in real graphs: tool loops, images, fan-out, and a config with a thread id alone."""

from __future__ import annotations

from typing import Any

import pytest
from harness.api import Api
from harness.graphs import captured, says, spy
from harness.rows import each_row
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send, interrupt

from memorybase.integrations.flow_memory import FlowMemory
from memorybase.integrations.langgraph import (
    AddMemory,
    Agent,
    ChatMemory,
    IntentClassification,
    Recall,
    RunHook,
)

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
PHOTO = [{"type": "text", "text": "What is this?"}, IMAGE]


@tool
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


def calling(a: int, b: int, number: int = 1) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "add", "args": {"a": a, "b": b}, "id": f"call-{number}"}])


def tool_loop(agent: Agent, **options: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(**options)


def one_node(node: Any, **options: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(**options)


def shown(prompt: list[BaseMessage]) -> list[tuple[str, Any]]:
    return [(message.type, message.content) for message in prompt]


@pytest.mark.slow
@each_row("prompt", [None, "{{ messages[-1].content }} Be exact.", "{{ messages[0].content }}"])
@each_row("remembers", ["session", "node"])
def test_a_tool_loop_sees_its_question_its_calls_and_their_results(
    memory: FlowMemory, remembers: Any, prompt: str | None
) -> None:
    model = spy(calling(1, 2), calling(3, 4, 2), "It is 7.")
    asked = {} if prompt is None else {"prompt": prompt}
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers=remembers, **asked)

    tool_loop(agent).invoke({"messages": [("user", "1 + 2 + 4?")]}, RunHook(memory).config(f"{remembers}: {prompt}"))

    question = "1 + 2 + 4? Be exact." if prompt is not None and "exact" in prompt else "1 + 2 + 4?"
    last = [("human", question), ("ai", ""), ("tool", "3"), ("ai", ""), ("tool", "7")]
    assert [shown(each) for each in model.prompts] == [last[:1], last[:3], last]
    assert [call["id"] for message in model.prompts[-1] for call in getattr(message, "tool_calls", ())] == [
        "call-1", "call-2"
    ]  # fmt: skip


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver])
def test_a_nodes_memory_holds_a_tool_loop_once(memory: FlowMemory, checkpointer: Any) -> None:
    model = spy(calling(1, 2), "3.", "Yes, 3.")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    app = tool_loop(agent, checkpointer=checkpointer and checkpointer())
    hook = RunHook(memory)

    app.invoke({"messages": [("user", "1 + 2?")]}, hook.config("s1"))
    app.invoke({"messages": [("user", "Sure?")]}, hook.config("s1"))

    assert shown(model.prompts[-1]) == [
        ("human", "1 + 2?"), ("ai", ""), ("tool", "3"), ("ai", "3."), ("human", "Sure?"),
    ]  # fmt: skip
    assert isinstance(model.prompts[-1][2], ToolMessage)


def test_a_tool_loop_is_captured_with_its_calls(api: Api, memory: FlowMemory) -> None:
    app = tool_loop(Agent(model=spy(calling(1, 2), "3."), node_id="agent"))

    app.invoke({"messages": [("user", "1 + 2?")]}, RunHook(memory).config("s1"))

    assert [role for role, _ in captured(api)] == ["user", "assistant", "tool", "assistant"]


def test_an_agent_without_memory_sees_the_whole_open_turn(memory: FlowMemory) -> None:
    model = spy("Both.")
    app = one_node(Agent(model=model, node_id="agent", system="Be short."))
    messages = [SystemMessage("You are kind."), HumanMessage("One?"), HumanMessage("Two?")]

    app.invoke({"messages": messages}, RunHook(memory).config("s1"))

    assert shown(model.prompts[0]) == [("system", "Be short.\n\nYou are kind."), ("human", "One?"), ("human", "Two?")]


@pytest.mark.parametrize("prompt", [None, "Look: {{ messages[-1].content }} Answer briefly."])
def test_an_image_in_a_question_reaches_the_model_as_an_image(memory: FlowMemory, prompt: str | None) -> None:
    model, classifier = spy("A cat."), spy("photos")
    asked = {} if prompt is None else {"prompt": prompt}
    intents = {"photos": "pictures"}

    for node in (
        Agent(model=model, node_id="agent", **asked),
        IntentClassification(model=classifier, node_id="class", intents=intents, otherwise="other", into="x", **asked),
    ):
        one_node(lambda state, config, node=node: {"messages": node(state, config).get("messages", [])}).invoke(
            {"messages": [HumanMessage(PHOTO)]}, RunHook(memory).config("s1")
        )

    expected = PHOTO if prompt is None else [
        {"type": "text", "text": "Look: "}, *PHOTO, {"type": "text", "text": " Answer briefly."}
    ]  # fmt: skip
    for prompts in (model.prompts, classifier.prompts):
        assert prompts[0][-1].content == expected


def test_an_image_is_captured_remembered_and_added_to_a_chat_as_an_image(api: Api, memory: FlowMemory) -> None:
    model = spy("A cat.", "Black.")
    chat = ChatMemory(memory=memory, node_id="chat")
    app = one_node(Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node"))
    hook = RunHook(memory)

    app.invoke({"messages": [HumanMessage(PHOTO)]}, hook.config("s1"))
    one_node(AddMemory(chat=chat, role="user")).invoke({"messages": [HumanMessage(PHOTO)]}, hook.config("s2"))
    app.invoke({"messages": [("user", "Its colour?")]}, hook.config("s1"))

    assert captured(api)[0] == ("user", PHOTO)
    assert model.prompts[-1][0].content == PHOTO
    assert memory.read_chat("chat", "s2")["items"][0]["content"] == PHOTO


def test_a_query_and_a_chat_id_take_the_text_of_a_message_with_an_image(api: Api, memory: FlowMemory) -> None:
    api.memory(flow="two-llm-nodes", capture="all")
    hook = RunHook(memory)
    one_node(Agent(model=says("A cat."), node_id="a")).invoke(
        {"messages": [("user", "What is this?")]}, hook.config("s0")
    )
    chat = ChatMemory(memory=memory, node_id="chat", chat_id="{{ messages[-1].content }}")

    def recall(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        Recall(memory=memory, node_id="r")(state, config)
        chat(state, config)
        return AddMemory(chat=chat, role="user")(state, config)

    one_node(recall).invoke({"messages": [HumanMessage(PHOTO)]}, hook.config("s1"))

    assert memory.read_chat("chat", "What is this?")["total"] == 1


def fan_out(agent: Agent, **options: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_conditional_edges(START, lambda state: [
        Send("agent", {"messages": [HumanMessage(part)]}) for part in state["messages"][-1].content.split()
    ], ["agent"])  # fmt: skip
    return graph.compile(**options)


def test_node_memory_keeps_every_branch_of_a_fan_out(memory: FlowMemory) -> None:
    model = spy(*(f"{number}" for number in range(5)))
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    app = fan_out(agent)
    hook = RunHook(memory)

    app.invoke({"messages": [("user", "a b c")]}, {**hook.config("s1"), "max_concurrency": 1})
    app.invoke({"messages": [("user", "d e")]}, {**hook.config("s1"), "max_concurrency": 1})

    first = ["a", "0", "b", "1", "c", "2"]
    assert [[message.content for message in prompt] for prompt in model.prompts] == [
        ["a"], ["b"], ["c"], [*first, "d"], [*first, "e"],
    ]  # fmt: skip
    request = {"session_id": "s1", "run_id": "next", "node_id": "agent", "max_tokens": 1_000}
    view = memory.node_history(request)
    assert [message["content"] for message in view["messages"]] == [*first, "d", "3", "e", "4"]


def test_node_memory_keeps_every_branch_of_parallel_subgraphs(memory: FlowMemory) -> None:
    model = spy("0", "1", "2")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    graph = StateGraph(MessagesState)
    graph.add_node("part", one_node(agent))
    graph.add_conditional_edges(START, lambda state: [
        Send("part", {"messages": [HumanMessage(part)]}) for part in state["messages"][-1].content.split()
    ], ["part"])  # fmt: skip

    graph.compile().invoke({"messages": [("user", "a b c")]}, {**RunHook(memory).config("s1"), "max_concurrency": 1})

    request = {"session_id": "s1", "run_id": "next", "node_id": "agent", "max_tokens": 1_000}
    contents = [message["content"] for message in memory.node_history(request)["messages"]]
    assert sorted(contents) == ["0", "1", "2", "a", "b", "c"]


def test_a_subgraph_in_a_loop_reads_its_earlier_rounds(memory: FlowMemory) -> None:
    model = spy(calling(1, 2), "0", "1", "2")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    graph = StateGraph(MessagesState)
    graph.add_node("part", tool_loop(agent))
    graph.add_node("more", lambda _: {"messages": [HumanMessage(f"m{len(model.prompts)}")]})
    graph.add_edge(START, "part")
    graph.add_conditional_edges("part", lambda _: "more" if len(model.prompts) < 4 else "__end__")
    graph.add_edge("more", "part")

    graph.compile().invoke({"messages": [("user", "go")]}, RunHook(memory).config("s1"))

    said = [message.content for message in model.prompts[-1]]
    assert said == ["go", "", "3", "0", "m2", "1", "m3"]


@pytest.mark.parametrize("has_hook", [False, True])
def test_a_config_with_a_thread_id_alone_is_enough(api: Api, memory: FlowMemory, *, has_hook: bool) -> None:
    model = spy("One.", "Two.")
    chat = ChatMemory(memory=memory, node_id="chat")
    graph = StateGraph(MessagesState)
    graph.add_node("ask", AddMemory(chat=chat, role="user"))
    graph.add_node("agent", Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node"))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "agent")
    app = graph.compile(checkpointer=InMemorySaver())
    if has_hook:
        app = app.with_config(callbacks=[RunHook(memory)])

    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, {"configurable": {"thread_id": "s1"}})

    assert [message.content for message in model.prompts[-1]] == ["First?", "One.", "Second?"]
    assert memory.read_chat("chat", "s1")["total"] == 2
    assert len(captured(api)) == (4 if has_hook else 0)


def test_an_agent_without_memory_needs_no_thread_id() -> None:
    state = one_node(Agent(model=says("One."), node_id="agent")).invoke({"messages": [("user", "Hm?")]})

    assert state["messages"][-1].content == "One."


def test_a_resumed_node_adds_to_a_chat_once(memory: FlowMemory) -> None:
    add = AddMemory(chat=ChatMemory(memory=memory, node_id="chat"), role="user")

    def step(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        add(state, config)
        interrupt("Continue?")
        return {}

    app = one_node(step, checkpointer=InMemorySaver())
    hook = RunHook(memory)
    app.invoke({"messages": [("user", "Hm?")]}, hook.config("s1"))
    app.invoke(Command(resume=True), hook.config("s1"))

    assert memory.read_chat("chat", "s1")["total"] == 1


@each_row("remembers", ["session", "node"])
def test_a_run_from_an_earlier_checkpoint_is_told_what_its_state_holds(
    api: Api, memory: FlowMemory, remembers: Any
) -> None:
    del api
    model = spy("One.", "Two.", "Other.", "Edited.", "Last.")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers=remembers)
    app = one_node(agent, checkpointer=InMemorySaver()).with_config(callbacks=[RunHook(memory)])
    thread: RunnableConfig = {"configurable": {"thread_id": f"travels: {remembers}"}}
    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, thread)
    before_second = next(
        state for state in app.get_state_history(thread)
        if state.next == ("node",) and state.values["messages"][-1].content == "Second?"
    )  # fmt: skip

    app.invoke(None, before_second.config)
    edited = app.update_state(
        before_second.config, {"messages": [HumanMessage("Third?", id=before_second.values["messages"][-1].id)]}
    )
    app.invoke(None, edited)
    app.invoke({"messages": [("user", "And now?")]}, thread)

    told = [" ".join(str(message.content) for message in prompt) for prompt in model.prompts]
    for again in told[2:4]:
        assert "One." in again
        assert "Two." not in again, "the answer that this run replaces"
    assert "Other." not in told[3]
    assert "Edited." in told[4]
    assert "Two." not in told[4]
    assert "Other." not in told[4]
