"""LangGraph's nodes in real graphs: the guide, chats, tool loops, images, fan-out, and memorybase away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from graphs import Spy, on, says, sequence, spy
from guides import run_example, run_guide, set_environment
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, RetryPolicy, Send, interrupt
from memorybase_client import AgentMemory
from memorybase_client.integrations.langgraph import (
    AddMemory,
    Agent,
    ChatMemory,
    DeleteMemory,
    GetMemory,
    IntentClassification,
    Recall,
    RunHook,
)
from shown import reply
from stack import Stack, Stored, deliver

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
PHOTO = [{"type": "text", "text": "What is this?"}, IMAGE]
INTENTS = {"orders": "where an order is", "returns": "sending something back"}


class State(MessagesState, total=False):
    history: list[BaseMessage]
    context: list[BaseMessage]
    stored: list[dict[str, Any]]
    intent: str


class Reading(SimpleChatModel):
    """Answers as who has read what it is sent."""

    @property
    def _llm_type(self) -> str:
        return "reading"

    def _call(self, messages: list[BaseMessage], *args: Any, **options: Any) -> str:
        del args, options
        return reply("\n".join(message.text for message in messages))


def invoke(hook: RunHook, asked: Any, *nodes: Any, session_id: str = "s1", **named: Any) -> dict[str, Any]:
    """Run these nodes in sequence."""
    state: dict[str, Any] = sequence(*nodes, state=State).invoke(
        {"messages": [HumanMessage(asked)]}, hook.config(session_id, **named)
    )
    return state


def shown(prompt: Sequence[BaseMessage]) -> list[tuple[str, Any]]:
    return [(message.type, message.content) for message in prompt]


# What the documentation shows

TWO_NODES = """\
run 1
  writer remembers 0 messages, reads: Write a slogan for a shop that repairs violins in Cremona.
  reviewer remembers 0 messages, reads: We repair every violin in Cremona, and we do it with great care, every day.
  writer remembers 2 messages, reads: REVISE: too long, five words at most.
  reviewer remembers 2 messages, reads: Your violin, whole again.
run 2
  writer remembers 4 messages, reads: And one for its branch that repairs cellos.
  reviewer remembers 4 messages, reads: Your cello, whole again.
a search for cellos finds
  Your cello, whole again.
"""


def test_the_guide_and_the_examples_run(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("langgraph.md", mark="ChatOpenAI", ChatOpenAI=lambda **_: Reading())
    run_guide("langgraph.md", mark="import MemorybaseStore")
    assert "known of her: ['My boat lies at berth 12.']" in run_example("langgraph_store.py", stack, tmp_path)
    assert run_example("two_llm_nodes.py", stack, tmp_path) == TWO_NODES


# Chats


def test_the_nodes_of_a_chat_memory_add_show_read_and_delete(stored: Stored, memory: AgentMemory) -> None:
    chat = ChatMemory(
        memory=memory, node_id="chat", chat_id=lambda state: f"of {state['intent']}", fields={"max_messages": 3}
    )
    name = IntentClassification(model=says("anna"), node_id="name", intents={"anna": ""}, otherwise="other")
    answer = Agent(model=says("Hello Anna.", "Anna."), node_id="answer", reads=["history"])
    steps = [name, chat, AddMemory(chat=chat, role="user"), answer, AddMemory(chat=chat, role="assistant")]
    hook = RunHook(memory)

    before = invoke(hook, "I am Anna.", *steps)
    after = invoke(hook, "Who am I?", *steps)
    page = invoke(hook, "Read.", name, GetMemory(chat=chat, into="stored", limit=2))
    invoke(hook, "Undo.", name, DeleteMemory(chat=chat))

    assert before["history"] == []
    assert [one.content for one in after["history"]] == ["I am Anna.", "Hello Anna."]
    assert [one["content"] for one in page["stored"]] == ["Who am I?", "Anna."]
    assert stored.chat("of anna") == ["I am Anna.", "Hello Anna."]
    invoke(hook, "Forget.", name, DeleteMemory(chat=chat, mode="all"))
    assert stored.chat("of anna") == []


def test_a_field_that_a_chat_memory_does_not_have_is_named(memory: AgentMemory) -> None:
    with pytest.raises(TypeError, match="max_message"):
        ChatMemory(memory=memory, node_id="chat", fields={"max_message": 5})


def test_a_blank_chat_id_raises(memory: AgentMemory) -> None:
    chat = ChatMemory(memory=memory, node_id="chat", chat_id=lambda _: " ")
    with pytest.raises(ValueError, match="chat_id of the node chat must not be blank"):
        invoke(RunHook(memory), "Hm?", chat)


def test_a_retried_or_resumed_node_adds_to_a_chat_once(stored: Stored, memory: AgentMemory) -> None:
    failures = [ConnectionError("away")]
    add = AddMemory(chat=ChatMemory(memory=memory, node_id="chat"), role="user")

    def step(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        add(state, config)
        if failures:
            raise failures.pop()
        interrupt("Continue?")
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("step", step, retry_policy=RetryPolicy(initial_interval=0.01))
    graph.add_edge(START, "step")
    app, hook = graph.compile(checkpointer=InMemorySaver()), RunHook(memory)
    app.invoke({"messages": [("user", "Hm?")]}, hook.config("s1"))
    app.invoke(Command(resume=True), hook.config("s1"))

    assert failures == []
    assert stored.chat() == ["Hm?"]


# Models


@pytest.mark.parametrize("use_memory", [False, True])
def test_an_agent_and_a_classification_get_session_memory_only_with_use_memory(
    memory: AgentMemory, *, use_memory: bool
) -> None:
    hook = RunHook(memory)
    invoke(hook, "My order is 4711.", Agent(model=says("Noted."), node_id="answer"))
    uses: dict[str, Any] = {"use_memory": True, "memory": memory} if use_memory else {}
    first, second = spy("'Orders'."), spy("Here.")

    state = invoke(
        hook,
        "Where is it?",
        IntentClassification(model=first, node_id="class", intents=INTENTS, otherwise="other", **uses),
        Agent(model=second, node_id="answer", system=lambda state: f"On {state['intent']}.", **uses),
    )

    assert state["intent"] == "orders"
    for (system, question), begin in ((first.prompts[0], "Which of these"), (second.prompts[0], "On orders.")):
        assert system.text.startswith(begin)
        assert ("user: My order is 4711.\nagent: Noted." in system.text) is use_memory
        assert question.text == "Where is it?"


def test_a_classification_without_an_intent_returns_otherwise(memory: AgentMemory) -> None:
    node = IntentClassification(model=says("No idea"), node_id="c", intents=INTENTS, otherwise="other")
    assert invoke(RunHook(memory), "Hm?", node)["intent"] == "other"


def test_an_agent_without_memory_sees_the_whole_open_turn_and_needs_no_session() -> None:
    model = spy("Both.")
    messages = [SystemMessage("You are kind."), HumanMessage("One?"), HumanMessage("Two?")]

    state = sequence(Agent(model=model, node_id="agent", system="Be short.")).invoke({"messages": messages})

    assert shown(model.prompts[0]) == [("system", "Be short.\n\nYou are kind."), ("human", "One?"), ("human", "Two?")]
    assert state["messages"][-1].content == "Both."


def test_a_node_with_memory_needs_a_session(memory: AgentMemory) -> None:
    with pytest.raises(ValueError, match=r"RunHook\.config"):
        Recall(memory=memory, node_id="r")({"messages": [HumanMessage("Hm?")]}, {})
    with pytest.raises(ValueError, match="memory must be given"):
        Agent(model=says("One."), node_id="agent", use_memory=True)


def test_recall_gives_memories_of_the_end_users_other_sessions(memory: AgentMemory) -> None:
    hook = RunHook(memory)
    answer = Agent(model=says("Noted."), node_id="answer")
    invoke(hook, "My cat is called Minka.", answer, session_id="old", end_user_id="anna")
    deliver(memory)

    for session, query in (("new", None), ("newer", lambda state: state["messages"][-1].text)):
        recall = Recall(memory=memory, node_id="r", query=query)
        state = invoke(hook, "Minka", recall, session_id=session, end_user_id="anna")
        assert [one.type for one in state["context"]] == ["system"]
        assert "My cat is called Minka." in state["context"][0].text
    assert invoke(hook, "Minka", recall, session_id="other", end_user_id="ben")["context"] == []


@pytest.mark.parametrize("has_hook", [False, True])
def test_a_config_with_a_thread_id_alone_is_enough(stored: Stored, memory: AgentMemory, *, has_hook: bool) -> None:
    model = spy("One.", "Two.")
    ask = AddMemory(chat=ChatMemory(memory=memory, node_id="chat"), role="user")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    app = sequence(ask, agent, checkpointer=InMemorySaver())
    if has_hook:
        app = app.with_config(callbacks=[RunHook(memory)])

    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, on())

    assert [message.content for message in model.prompts[-1]] == ["First?", "One.", "Second?"]
    assert stored.chat() == ["First?", "Second?"]
    assert len(stored.texts()) == (4 if has_hook else 0)


# Node memory


@pytest.mark.parametrize("again", ["the node", "the run"])
def test_a_retried_node_does_not_find_its_own_answer(memory: AgentMemory, again: str) -> None:
    """Both if LangGraph retries the node, and if the runtime retries the run with its id."""
    failures = [ConnectionError("away")]
    model = spy("One.", "Two.", "Three.")
    node = Agent(model=model, node_id="answer", memory=memory, use_memory=True, remembers="node")

    def step(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        result = node(state, config)
        if len(model.prompts) == 2:
            raise failures.pop()
        return result

    graph = StateGraph(MessagesState)
    graph.add_node(
        "step", step, retry_policy=RetryPolicy(initial_interval=0.01, max_attempts=2 if again == "the node" else 1)
    )
    graph.add_edge(START, "step")
    hook = RunHook(memory)
    app = graph.compile()
    app.invoke({"messages": [("user", "First?")]}, hook.config("s1", run_id="r1"))
    if again == "the run":
        with pytest.raises(ConnectionError):
            app.invoke({"messages": [("user", "Second?")]}, hook.config("s1", run_id="r2"))
    app.invoke({"messages": [("user", "Second?")]}, hook.config("s1", run_id="r2"))

    assert failures == []
    second = ["First?", "One.", "Second?"]
    assert [[message.content for message in prompt] for prompt in model.prompts] == [["First?"], second, second]


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


@pytest.mark.parametrize("remembers", ["session", "node"])
@pytest.mark.parametrize("is_prompted", [False, True])
def test_a_tool_loop_sees_its_question_its_calls_and_their_results(
    stored: Stored, memory: AgentMemory, remembers: Any, *, is_prompted: bool
) -> None:
    model = spy(calling(1, 2), calling(3, 4, 2), "It is 7.")
    asked = {"prompt": lambda state: f"{state['messages'][-1].content} Be exact."} if is_prompted else {}
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers=remembers, **asked)

    tool_loop(agent).invoke({"messages": [("user", "1 + 2 + 4?")]}, RunHook(memory).config("s1"))

    question = "1 + 2 + 4? Be exact." if is_prompted else "1 + 2 + 4?"
    last = [("human", question), ("ai", ""), ("tool", "3"), ("ai", ""), ("tool", "7")]
    assert [shown(each) for each in model.prompts] == [last[:1], last[:3], last]
    calls = [call["id"] for message in model.prompts[-1] for call in getattr(message, "tool_calls", ())]
    assert calls == ["call-1", "call-2"]
    roles = [role for role, _ in stored.messages()]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver])
def test_a_nodes_memory_holds_a_tool_loop_once(memory: AgentMemory, checkpointer: Any) -> None:
    model = spy(calling(1, 2), "3.", "Yes, 3.")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")
    app = tool_loop(agent, checkpointer=checkpointer and checkpointer())
    hook = RunHook(memory)

    app.invoke({"messages": [("user", "1 + 2?")]}, hook.config("s1"))
    app.invoke({"messages": [("user", "Sure?")]}, hook.config("s1"))

    last = [("human", "1 + 2?"), ("ai", ""), ("tool", "3"), ("ai", "3."), ("human", "Sure?")]
    assert shown(model.prompts[-1]) == last
    assert isinstance(model.prompts[-1][2], ToolMessage)


def fan_out(node: Any) -> Any:
    """The node for each word of the question."""
    graph = StateGraph(MessagesState)
    graph.add_node("part", node)
    graph.add_conditional_edges(
        START,
        lambda state: [
            Send("part", {"messages": [HumanMessage(part)]}) for part in state["messages"][-1].content.split()
        ],
        ["part"],
    )
    return graph.compile()


def remembering(model: Spy, memory: AgentMemory) -> Agent:
    return Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers="node")


def test_node_memory_keeps_every_branch_of_a_fan_out_within_its_session(stored: Stored, memory: AgentMemory) -> None:
    model = spy(*(f"{number}" for number in range(6)))
    app, hook = fan_out(remembering(model, memory)), RunHook(memory)

    for session, question in (("s1", "a b c"), ("s1", "d e"), ("s2", "f")):
        app.invoke({"messages": [("user", question)]}, {**hook.config(session), "max_concurrency": 1})

    first = ["a", "0", "b", "1", "c", "2"]
    prompts = [[message.content for message in prompt] for prompt in model.prompts]
    assert prompts == [["a"], ["b"], ["c"], [*first, "d"], [*first, "e"], ["f"]]
    assert stored.node("agent") == [*first, "d", "3", "e", "4"]


def test_node_memory_keeps_every_branch_of_parallel_subgraphs(stored: Stored, memory: AgentMemory) -> None:
    app = fan_out(sequence(remembering(spy("0", "1", "2"), memory)))

    app.invoke({"messages": [("user", "a b c")]}, {**RunHook(memory).config("s1"), "max_concurrency": 1})

    assert sorted(stored.node("agent")) == ["0", "1", "2", "a", "b", "c"]


def test_a_subgraph_in_a_loop_reads_its_earlier_rounds(memory: AgentMemory) -> None:
    model = spy(calling(1, 2), "0", "1", "2")
    graph = StateGraph(MessagesState)
    graph.add_node("part", tool_loop(remembering(model, memory)))
    graph.add_node("more", lambda _: {"messages": [HumanMessage(f"m{len(model.prompts)}")]})
    graph.add_edge(START, "part")
    graph.add_conditional_edges("part", lambda _: "more" if len(model.prompts) < 4 else "__end__")
    graph.add_edge("more", "part")

    graph.compile().invoke({"messages": [("user", "go")]}, RunHook(memory).config("s1"))

    assert [message.content for message in model.prompts[-1]] == ["go", "", "3", "0", "m2", "1", "m3"]


@pytest.mark.parametrize("remembers", ["session", "node"])
def test_a_run_from_an_earlier_checkpoint_is_told_what_its_state_holds(memory: AgentMemory, remembers: Any) -> None:
    model = spy("One.", "Two.", "Other.", "Edited.", "Last.")
    agent = Agent(model=model, node_id="agent", memory=memory, use_memory=True, remembers=remembers)
    app = sequence(agent, checkpointer=InMemorySaver()).with_config(callbacks=[RunHook(memory)])
    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, on())
    before_second = next(
        state
        for state in app.get_state_history(on())
        if state.next == ("node-0",) and state.values["messages"][-1].content == "Second?"
    )

    app.invoke(None, before_second.config)
    edited = app.update_state(
        before_second.config, {"messages": [HumanMessage("Third?", id=before_second.values["messages"][-1].id)]}
    )
    app.invoke(None, edited)
    app.invoke({"messages": [("user", "And now?")]}, on())

    told = [" ".join(str(message.content) for message in prompt) for prompt in model.prompts]
    for again in told[2:4]:
        assert "One." in again
        assert "Two." not in again, "the answer that this run replaces"
    assert "Other." not in told[3]
    assert "Edited." in told[4]
    assert "Two." not in told[4]
    assert "Other." not in told[4]


# Images


@pytest.mark.parametrize("is_prompted", [False, True])
def test_an_image_in_a_question_reaches_the_model_as_an_image(memory: AgentMemory, *, is_prompted: bool) -> None:
    model, classifier = spy("A cat."), spy("orders")
    more = {"type": "text", "text": "Answer briefly."}
    asked = {"prompt": lambda state: [*state["messages"][-1].content, more]} if is_prompted else {}

    for node in (
        Agent(model=model, node_id="agent", **asked),
        IntentClassification(model=classifier, node_id="class", intents=INTENTS, otherwise="other", **asked),
    ):
        invoke(RunHook(memory), PHOTO, node)

    for prompts in (model.prompts, classifier.prompts):
        assert prompts[0][-1].content == ([*PHOTO, more] if is_prompted else PHOTO)


def test_an_image_is_captured_remembered_and_added_to_a_chat_as_an_image(stored: Stored, memory: AgentMemory) -> None:
    model = spy("A cat.", "Black.")
    add = AddMemory(chat=ChatMemory(memory=memory, node_id="chat"), role="user")
    recall = Recall(memory=memory, node_id="recall")
    hook = RunHook(memory)

    invoke(hook, PHOTO, recall, add, remembering(model, memory))
    invoke(hook, "Its colour?", remembering(model, memory))

    assert stored.messages()[0] == ("user", PHOTO)
    assert model.prompts[-1][0].content == PHOTO
    assert stored.chat() == [PHOTO]


# While memorybase is away


def test_nodes_answer_without_memory_while_it_is_away_and_their_writes_follow(
    stack: Stack, stored: Stored, memory: AgentMemory
) -> None:
    stack.kill()
    chat = ChatMemory(memory=memory, node_id="chat")
    agent: dict[str, Any] = {"memory": memory, "use_memory": True}
    state = invoke(
        RunHook(memory),
        "Do it.",
        chat,
        Recall(memory=memory, node_id="recall"),
        GetMemory(chat=chat, into="stored"),
        AddMemory(chat=chat, role="user"),
        Agent(model=says("Planned."), node_id="plan", **agent),
        Agent(model=says("Done."), node_id="answer", remembers="node", **agent),
        AddMemory(chat=chat, role="assistant"),
        DeleteMemory(chat=chat),  # not later, when it might delete what another run wrote
    )
    stack.restart()

    assert [state[key] for key in ("history", "context", "stored")] == [[], [], []]
    assert stored.chat() == ["Do it.", "Done."]
    assert stored.messages() == [("user", "Do it."), ("assistant", "Planned."), ("assistant", "Done.")]
    assert stored.node("answer") == ["Planned.", "Done."]


def test_a_graph_ends_beside_a_server_that_does_not_answer(stack: Stack, flow: str, tmp_path: Path) -> None:
    stack.freeze()
    options: dict[str, Any] = {"url": stack.url, "key": stack.key, "outbox": tmp_path / "outbox"}
    with AgentMemory(flow, timeout_seconds=0.2, **options) as memory:
        nodes = [Recall(memory=memory, node_id=f"r{number}") for number in range(5)]
        state = invoke(RunHook(memory), "Hm?", *nodes, Agent(model=says("One."), node_id="a"))
        assert state["messages"][-1].content == "One."
        assert memory.failure is not None
        assert memory.client.outbox is not None
        assert memory.client.outbox.waiting == 1


_LEAVING = """
import os, sys
from graphs import says, sequence
from memorybase_client import AgentMemory
from memorybase_client.integrations.langgraph import Agent, RunHook
memory = AgentMemory(sys.argv[1], outbox=sys.argv[2])
app = sequence(Agent(model=says("One."), node_id="a"))
app.invoke({"messages": [("user", "First?")]}, RunHook(memory).config("s1"))
os._exit(9)
"""


def test_a_run_of_a_process_that_died_is_captured_by_the_next_one(
    stack: Stack, stored: Stored, memory: AgentMemory
) -> None:
    stack.kill()
    assert memory.client.outbox is not None
    environment = os.environ | {
        "MEMORYBASE_URL": stack.url,
        "MEMORYBASE_API_KEY": stack.key,
        "PYTHONPATH": str(Path(__file__).parent),
    }
    command = [sys.executable, "-c", _LEAVING, memory.flow_id, str(memory.client.outbox.directory)]
    assert subprocess.run(command, env=environment, timeout=120, check=False).returncode == 9
    stack.restart()
    assert stored.texts() == ["First?", "One."]
