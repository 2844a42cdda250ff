"""Flows while memory is away: they go on, and what they could not write is written later or reported."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from harness.api import Api
from harness.graphs import captured, over_http, says, spy, thread
from harness.waiting import wait_until
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from two_llm_nodes import FLOW

from memorybase.errors import CallerError, DatabaseUnavailable
from memorybase.integrations.flow_memory import FlowMemory, InProcess
from memorybase.integrations.langgraph import AddMemory, Agent, ChatMemory, DeleteMemory, GetMemory, Recall, RunHook
from memorybase.integrations.outbox import Outbox


def compiled(*steps: tuple[str, Any], saver: Any = None) -> Any:
    graph = StateGraph(MessagesState)
    before = START
    for name, step in steps:
        graph.add_node(name, step)
        graph.add_edge(before, name)
        before = name
    return graph.compile(checkpointer=saver)


def ask(app: Any, hook: RunHook, text: str, session: str = "s1") -> str:
    answer: str = app.invoke({"messages": [("user", text)]}, hook.config(session))["messages"][-1].content
    return answer


@pytest.fixture
def flow(api: Api) -> str:
    return api.flow(FLOW)


@pytest.mark.usefixtures("flow")
def test_a_run_that_ends_while_memory_is_away_is_captured_with_the_next_one(api: Api) -> None:
    memory, wire = over_http(api)
    app = compiled(("answer", Agent(model=says("One.", "Two."), node_id="answer")))
    hook = RunHook(memory)

    wire.is_broken = True
    assert ask(app, hook, "First?") == "One."
    assert (captured(api), len(memory.outbox)) == ([], 1)
    wire.is_broken = False
    assert ask(app, hook, "Second?") == "Two."

    assert thread(api) == ["First?", "One.", "Second?", "Two."]
    assert len(memory.outbox) == 0


@pytest.mark.usefixtures("flow")
def test_a_run_that_ends_while_memory_is_away_is_captured_without_another_run(api: Api) -> None:
    memory, wire = over_http(api)
    memory = type(memory)(memory.client, FLOW, Outbox(first_pause_seconds=0.01))
    app = compiled(("answer", Agent(model=says("One."), node_id="answer")))

    wire.is_broken = True
    ask(app, RunHook(memory), "First?")
    wire.is_broken = False

    wait_until(lambda: len(captured(api)) == 2)


@pytest.mark.usefixtures("flow")
def test_a_run_lost_with_its_process_is_captured_from_the_checkpoint_by_the_next_run(api: Api) -> None:
    saver = InMemorySaver()
    (memory, wire), (restarted, _) = over_http(api), over_http(api)
    app = compiled(("answer", Agent(model=says("One.", "Two.", "Three."), node_id="answer")), saver=saver)
    ask(app, RunHook(memory), "First?")

    wire.is_broken = True
    ask(app, RunHook(memory), "Second?")
    ask(app, RunHook(restarted), "Third?")

    assert thread(api) == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


@pytest.mark.usefixtures("flow")
def test_nodes_answer_without_memory_while_it_is_away_and_their_writes_follow(api: Api) -> None:
    memory, wire = over_http(api)
    wire.is_broken = True
    chat = ChatMemory(memory=memory, node_id="chat")
    agent: dict[str, Any] = {"memory": memory, "use_memory": True}
    app = compiled(
        ("show", chat),
        ("recall", Recall(memory=memory, node_id="recall")),
        ("read", GetMemory(chat=chat, into="stored")),
        ("ask", AddMemory(chat=chat, role="user")),
        ("plan", Agent(model=says("Planned."), node_id="plan", **agent)),
        ("answer", Agent(model=says("Done."), node_id="answer", remembers="node", **agent)),
        ("keep", AddMemory(chat=chat, role="assistant")),
    )

    assert ask(app, RunHook(memory), "Do it.") == "Done."
    wire.is_broken = False
    memory.outbox.flush()

    assert [item["content"] for item in memory.read_chat("chat", "s1")["items"]] == ["Do it.", "Done."]
    assert captured(api) == [("user", "Do it."), ("assistant", "Planned."), ("assistant", "Done.")]
    request = {"session_id": "s1", "run_id": "next", "node_id": "answer", "max_tokens": 100}
    assert [message["content"] for message in memory.node_history(request)["messages"]] == ["Planned.", "Done."]


@pytest.mark.usefixtures("flow")
def test_a_view_after_an_outage_has_what_was_written_during_it(api: Api) -> None:
    memory, wire = over_http(api)
    chat = ChatMemory(memory=memory, node_id="chat")
    hook = RunHook(memory)
    model = spy("Noted.")

    wire.is_broken = True
    ask(compiled(("ask", AddMemory(chat=chat, role="user"))), hook, "I am Anna.")
    wire.is_broken = False
    ask(compiled(("show", chat), ("answer", Agent(model=model, node_id="a"))), hook, "Hm?")

    assert [item["content"] for item in memory.read_chat("chat", "s1")["items"]] == ["I am Anna."]


@pytest.mark.usefixtures("flow")
def test_a_deletion_of_the_latest_request_is_reported_and_not_repeated_later(api: Api) -> None:
    memory, wire = over_http(api)
    chat = ChatMemory(memory=memory, node_id="chat")
    hook = RunHook(memory)
    ask(compiled(("ask", AddMemory(chat=chat, role="user"))), hook, "Keep.")

    wire.is_broken = True
    ask(compiled(("undo", DeleteMemory(chat=chat))), hook, "Undo.")
    wire.is_broken = False
    memory.outbox.flush()

    assert [refused.name for refused in memory.outbox.refused] == ["chat_deletion"]
    assert memory.read_chat("chat", "s1")["total"] == 1


def test_a_database_that_is_away_does_not_fail_the_flow(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.flow(FLOW)
    memory = InProcess(api.services, api.user_id, FLOW)
    app = compiled(("answer", Agent(model=says("One.", "Two."), node_id="a", memory=memory, use_memory=True)))

    def away(*_: Any, **__: Any) -> Any:
        raise DatabaseUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(type(api.services.database), "reading", away)
        patched.setattr(type(api.services.database), "transaction", away)
        assert ask(app, RunHook(memory), "First?") == "One."
    ask(app, RunHook(memory), "Second?")

    assert thread(api) == ["First?", "One.", "Second?", "Two."]


def test_one_refused_message_does_not_take_the_answer_along(api: Api, memory: FlowMemory) -> None:
    app = compiled(("answer", Agent(model=says("Too long."), node_id="answer")))

    assert ask(app, RunHook(memory), "x" * 60_000) == "Too long."  # max_message_bytes is 50,000 here

    assert captured(api) == [("assistant", "Too long.")]
    assert [refused.name.startswith("message ") for refused in memory.outbox.refused] == [True]


def test_a_flow_that_does_not_exist_raises(api: Api) -> None:
    memory, _ = over_http(api)

    with pytest.raises(CallerError, match="flow"):
        ask(compiled(("answer", Agent(model=says("One."), node_id="answer"))), RunHook(memory), "First?")


def test_an_outbox_keeps_the_order_and_gives_up_the_oldest_when_it_is_full() -> None:
    outbox, sent, away = Outbox(max_waiting=2, first_pause_seconds=60), [], [True]

    def write(number: int) -> None:
        if away[0]:
            raise ConnectionError
        sent.append(number)

    for number in range(4):
        outbox.send(str(number), lambda number=number: write(number))
    assert [refused.name for refused in outbox.refused] == ["0", "1"]
    away[0] = False
    outbox.send("4", lambda: write(4))

    assert sent == [2, 3, 4]
    assert len(outbox) == 0


def test_a_flow_does_not_wait_at_each_node_for_memory_that_hangs() -> None:
    now, calls = [0.0], []
    outbox = Outbox(first_pause_seconds=60, clock=lambda: now[0])

    def hang() -> str:
        calls.append(now[0])
        now[0] += 10
        raise TimeoutError

    for _ in range(5):
        assert outbox.read("context", "nothing", hang) == "nothing"
        outbox.send("run", hang)
    now[0] += 10
    outbox.read("context", "nothing", hang)

    assert calls == [0, 20]
    assert len(outbox) == 5


def test_memory_that_answers_again_is_read_at_once() -> None:
    now, is_hanging = [0.0], [True]
    outbox = Outbox(first_pause_seconds=60, clock=lambda: now[0])

    def answer() -> str:
        if is_hanging[0]:
            now[0] += 10
            raise TimeoutError
        return "memory"

    outbox.send("run", answer)
    is_hanging[0] = False
    assert outbox.flush() == 0  # as the timer does

    assert outbox.read("context", "nothing", answer) == "memory"


def test_threads_do_not_wait_one_after_the_other_for_memory_that_is_away() -> None:
    outbox, tries = Outbox(first_pause_seconds=60), []
    is_held, may_end = threading.Event(), threading.Event()

    def write() -> None:
        tries.append(1)
        if len(tries) > 1:
            is_held.set()
            may_end.wait()
        raise TimeoutError

    outbox.send("first", write)
    threads = [threading.Thread(target=outbox.send, args=(str(number), write)) for number in range(8)]
    threads[0].start()
    is_held.wait()
    for other in threads[1:]:
        other.start()
    may_end.set()
    for each in threads:
        each.join()

    assert len(outbox) == 9
    assert len(tries) < 2 + len(threads)
