"""What the run hook captures of real graphs: checkpointers, interrupts, time travel, clients that keep the history."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest
from graphs import on, says, sequence
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from memorybase_client import AgentMemory
from memorybase_client.integrations.langchain import MemorybaseChatMessageHistory
from memorybase_client.integrations.langgraph import Agent, RunHook
from stack import Stack, Stored


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


def answering(*answers: str, state: Any = MessagesState) -> StateGraph[Any]:
    graph = StateGraph(state)
    graph.add_node("answer", Agent(model=says(*answers), node_id="answer"))
    graph.add_edge(START, "answer")
    return graph


def reviewed(*answers: str) -> StateGraph[Any]:
    """An answer that a person may edit before the run ends."""

    def review(state: MessagesState) -> dict[str, Any]:
        draft = state["messages"][-1]
        return {"messages": [AIMessage(interrupt({"draft": draft.content}), id=draft.id)]}

    graph = answering(*answers)
    graph.add_node("review", review)
    graph.add_edge("answer", "review")
    return graph


def test_a_question_asked_again_is_captured_again(stored: Stored, memory: AgentMemory, saver: InMemorySaver) -> None:
    app = answering("One.", "Two.").compile(checkpointer=saver).with_config(callbacks=[RunHook(memory)])

    for _ in range(2):
        app.invoke({"messages": [("user", "Count.")]}, on())

    assert stored.messages() == [("user", "Count."), ("assistant", "One."), ("user", "Count."), ("assistant", "Two.")]


def test_a_first_input_with_history_whose_last_question_equals_an_earlier_one_is_captured_completely(
    stored: Stored, memory: AgentMemory
) -> None:
    app = answering("Two.").compile()

    app.invoke({"messages": [("user", "Count."), ("ai", "One."), ("user", "Count.")]}, RunHook(memory).config("s1"))

    assert stored.messages() == [("user", "Count."), ("assistant", "One."), ("user", "Count."), ("assistant", "Two.")]


@pytest.mark.parametrize("window", [100, 3])
@pytest.mark.parametrize("has_ids", [False, True])
def test_a_client_that_sends_the_conversation_again_adds_only_the_new_turn(
    stored: Stored, memory: AgentMemory, window: int, *, has_ids: bool
) -> None:
    app = answering("Ok.", "Ok.", "Ok.", "Four.").compile()
    history: list[BaseMessage] = []

    for number, question in enumerate(["Count.", "And?", "And?", "Count."]):
        history.append(HumanMessage(question))
        sent = [each.model_copy(update={"id": f"c{i}" if has_ids else None}) for i, each in enumerate(history)]
        answer = app.invoke({"messages": sent[-window:]}, RunHook(memory).config("s1"))  # a new process each time
        history.append(AIMessage(answer["messages"][-1].content))
        assert len(stored.messages()) == 2 * (number + 1)

    assert stored.texts() == [each.content for each in history]


def test_a_client_that_edits_its_history_starts_a_branch(stored: Stored, memory: AgentMemory) -> None:
    app = answering("Hello.", "Paris.", "Rome.").compile().with_config(callbacks=[RunHook(memory)])
    start = [("user", "Hi."), ("ai", "Hello.")]
    app.invoke({"messages": [("user", "Hi.")]}, on())
    app.invoke({"messages": [*start, ("user", "France?")]}, on())

    app.invoke({"messages": [*start, ("user", "Italy?")]}, on())

    assert stored.thread() == ["Hi.", "Hello.", "Italy?", "Rome."]
    assert len(stored.messages()) == 6


def test_an_edited_answer_replaces_the_draft_that_an_interrupt_showed(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    app = reviewed("Draft.").compile(checkpointer=saver).with_config(callbacks=[RunHook(memory)])

    app.invoke({"messages": [("user", "Write.")]}, on())
    assert stored.messages() == [("user", "Write."), ("assistant", "Draft.")]
    state = app.invoke(Command(resume="Final."), on())

    assert state["messages"][-1].content == "Final."
    assert stored.messages() == [("user", "Write."), ("assistant", "Final.")]
    assert stored.thread() == ["Write.", "Final."]


def test_an_edit_in_another_process_replaces_the_draft_too(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    graph = reviewed("Draft.")
    graph.compile(checkpointer=saver).invoke({"messages": [("user", "Write.")]}, RunHook(memory).config("s1"))

    graph.compile(checkpointer=saver).invoke(Command(resume="Final."), RunHook(memory).config("s1"))

    assert stored.messages() == [("user", "Write."), ("assistant", "Final.")]


def test_a_draft_that_is_edited_again_and_again_is_captured_as_it_ends(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    def review(state: MessagesState) -> Command[Any]:
        draft = state["messages"][-1]
        edited = AIMessage(interrupt({"draft": draft.content}), id=draft.id)
        return Command(goto="__end__" if edited.content == "Done." else "review", update={"messages": [edited]})

    graph = answering("Draft.")
    graph.add_node("review", review)
    graph.add_edge("answer", "review")
    for asked in ({"messages": [("user", "Write.")]}, *(Command(resume=text) for text in ("Two.", "Three.", "Done."))):
        graph.compile(checkpointer=saver).invoke(asked, RunHook(memory).config("s1"))  # each in a process of its own

    assert stored.messages() == [("user", "Write."), ("assistant", "Done.")]


def test_a_message_that_was_corrected_in_memory_stays_corrected(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    graph = answering("Wrong.", "Fine.")
    graph.compile(checkpointer=saver).invoke({"messages": [("user", "First?")]}, RunHook(memory).config("s1"))
    assert stored.texts() == ["First?", "Wrong."]
    (answer, *_) = stored.client.list_messages(flow_id=memory.flow_id, session_id="s1", order="desc")
    stored.client.edit_message(answer.id, content="Right.")

    graph.compile(checkpointer=saver).invoke({"messages": [("user", "Second?")]}, RunHook(memory).config("s1"))

    assert stored.texts() == ["First?", "Right.", "Second?", "Fine."]


def test_a_breakpoint_is_captured_before_and_after(stored: Stored, memory: AgentMemory, saver: InMemorySaver) -> None:
    graph = reviewed("Draft.")
    app = graph.compile(checkpointer=saver, interrupt_before=["answer"]).with_config(callbacks=[RunHook(memory)])

    app.invoke({"messages": [("user", "Write.")]}, on())
    assert stored.messages() == [("user", "Write.")]
    app.invoke(None, on())

    assert stored.messages() == [("user", "Write."), ("assistant", "Draft.")]


def test_time_travel_continues_from_the_chosen_turn(stored: Stored, memory: AgentMemory, saver: InMemorySaver) -> None:
    app = answering("One.", "Two.", "Three.", "Four.").compile(checkpointer=saver)
    hook = RunHook(memory)
    app = app.with_config(callbacks=[hook])
    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, on())
    first_turn = next(
        state
        for state in app.get_state_history(on())
        if state.values["messages"][-1:] and state.values["messages"][-1].content == "One."
    )

    app.invoke({"messages": [("user", "Other?")]}, first_turn.config)
    assert stored.thread() == ["First?", "One.", "Other?", "Three."]
    app.invoke({"messages": [("user", "More?")]}, on())

    assert stored.thread() == ["First?", "One.", "Other?", "Three.", "More?", "Four."]
    assert len(stored.messages()) == 8


def test_a_replayed_answer_is_a_sibling_of_the_first_one(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    app = answering("One.", "Other.").compile(checkpointer=saver).with_config(callbacks=[RunHook(memory)])
    app.invoke({"messages": [("user", "Count.")]}, on())
    before = next(state for state in app.get_state_history(on()) if state.next == ("answer",))

    app.invoke(None, before.config)

    assert stored.texts() == ["Count.", "One.", "Other."]
    assert stored.thread() == ["Count.", "Other."]


def test_time_travel_to_the_start_begins_a_new_conversation(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    app = answering("One.", "Two.", "Three.").compile(checkpointer=saver).with_config(callbacks=[RunHook(memory)])
    app.invoke({"messages": [("user", "First?")]}, on())
    start = list(app.get_state_history(on()))[-1]

    app.invoke({"messages": [("user", "Other?")]}, start.config)
    assert stored.thread() == ["Other?", "Two."]
    app.invoke({"messages": [("user", "More?")]}, on())

    assert stored.thread() == ["Other?", "Two.", "More?", "Three."]


def test_a_thread_whose_checkpoints_were_lost_goes_on_as_one_conversation(stored: Stored, memory: AgentMemory) -> None:
    graph = answering("One.", "Two.", "Three.")
    first = graph.compile(checkpointer=InMemorySaver()).with_config(callbacks=[RunHook(memory)])
    for question in ("First?", "Second?"):
        first.invoke({"messages": [("user", question)]}, on())

    graph.compile(checkpointer=InMemorySaver()).invoke({"messages": [("user", "Third?")]}, RunHook(memory).config("s1"))

    assert stored.thread() == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


def test_a_linear_conversation_names_no_parents(stored: Stored, memory: AgentMemory, saver: InMemorySaver) -> None:
    graph = answering("One.", "Two.", "Three.")
    for question in ("First?", "Second?", "Third?"):  # each in a process of its own
        app = graph.compile(checkpointer=saver)
        app.invoke({"messages": [("user", question)]}, RunHook(memory).config("s1"))

    assert len(stored.texts()) == 6
    items = stored.client.list_messages(flow_id=memory.flow_id, session_id="s1")
    assert {item.parent_message_id for item in items} == {None}


def test_messages_that_a_graph_removes_from_its_state_stay_captured(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    def summarize(state: MessagesState) -> dict[str, Any]:
        old = [RemoveMessage(id=str(message.id)) for message in state["messages"][:-2]]
        return {"messages": [*old, SystemMessage("Summary.")] if old else []}

    graph = answering("One.", "Two.", "Three.")
    graph.add_node("summarize", summarize)
    graph.add_edge("answer", "summarize")
    app = graph.compile(checkpointer=saver).with_config(callbacks=[RunHook(memory)])

    for question in ("First?", "Second?", "Third?"):
        app.invoke({"messages": [("user", question)]}, on())

    said = [text for role, text in stored.messages() if role != "system"]
    assert said == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


class Appended(TypedDict):
    """A state whose messages have no ids."""

    messages: Annotated[list[BaseMessage], operator.add]


def test_a_state_without_message_ids_is_captured_once(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    graph = answering("One.", "One.", "Three.", state=Appended)
    app = graph.compile(checkpointer=saver)

    for _ in range(3):
        app.invoke({"messages": [HumanMessage("Count.")]}, RunHook(memory).config("s1"))

    assert stored.texts() == ["Count.", "One.", "Count.", "One.", "Count.", "Three."]


def test_one_message_object_asked_in_two_sessions_is_captured_in_both(stored: Stored, memory: AgentMemory) -> None:
    """LangGraph writes an id into the object; a client may also number each session's messages from 1."""
    question = HumanMessage("Count.")
    app = answering("One.", "Two.", "Three.", "Four.").compile(checkpointer=InMemorySaver())

    for session in ("s1", "s2"):
        app.invoke({"messages": [question]}, RunHook(memory).config(session))
    for more in ("More.", "And more."):  # each in a process of its own
        app.invoke({"messages": [("user", more)]}, RunHook(memory).config("s2"))

    assert stored.messages() == [("user", "Count."), ("assistant", "One.")]
    assert stored.texts("s2") == ["Count.", "Two.", "More.", "Three.", "And more.", "Four."]
    assert stored.thread("s2") == stored.texts("s2")


def test_a_config_that_is_used_for_several_runs_makes_several_runs(stored: Stored, memory: AgentMemory) -> None:
    config = RunHook(memory).config("s1")
    app = answering("One.", "Two.").compile()

    for question in ("First?", "Second?"):
        app.invoke({"messages": [("user", question)]}, config)

    assert len(stored.texts()) == 4
    assert len(list(stored.client.list_runs(memory.flow_id))) == 2


def test_a_run_keeps_the_runtimes_run_id(stored: Stored, memory: AgentMemory) -> None:
    answering("One.").compile().invoke({"messages": [("user", "Hm?")]}, RunHook(memory).config("s1", run_id="mine"))

    assert len(stored.texts()) == 2
    assert stored.client.get_run("mine", flow_id=memory.flow_id).messages == 2


def test_async_and_streamed_runs_are_captured(stored: Stored, memory: AgentMemory) -> None:
    app = answering("One.", "Two.").compile(checkpointer=InMemorySaver()).with_config(callbacks=[RunHook(memory)])

    asyncio.run(app.ainvoke({"messages": [("user", "First?")]}, on()))
    list(app.stream({"messages": [("user", "Second?")]}, on(), stream_mode="updates"))

    assert stored.texts() == ["First?", "One.", "Second?", "Two."]


def test_a_session_that_another_process_continued_is_captured_without_gaps(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    app = answering("One.", "Two.", "Three.").compile(checkpointer=saver)
    here, there = RunHook(memory), RunHook(memory)

    for hook, question in ((here, "First?"), (there, "Second?"), (here, "Third?")):
        app.invoke({"messages": [("user", question)]}, hook.config("s1"))

    assert stored.thread() == ["First?", "One.", "Second?", "Two.", "Third?", "Three."]


def test_turns_before_the_hook_was_added_are_captured_with_the_next_run(
    stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    app = answering("One.", "Two.").compile(checkpointer=saver)
    app.invoke({"messages": [("user", "First?")]}, on())

    app.invoke({"messages": [("user", "Second?")]}, RunHook(memory).config("s1"))

    assert stored.thread() == ["First?", "One.", "Second?", "Two."]


def test_a_run_of_many_messages_is_captured_completely(stored: Stored, memory: AgentMemory) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("talk", lambda _: {"messages": [AIMessage(f"Answer {number}.") for number in range(450)]})
    graph.add_edge(START, "talk")

    graph.compile().invoke({"messages": [("user", "Talk.")]}, RunHook(memory).config("s1"))

    assert len(stored.texts()) == 451


def test_a_failed_run_is_not_captured(stored: Stored, memory: AgentMemory) -> None:
    def fail(state: MessagesState) -> dict[str, Any]:
        raise ZeroDivisionError(state)

    hook = RunHook(memory)
    with pytest.raises(ZeroDivisionError):
        sequence(fail).invoke({"messages": [("user", "Hm?")]}, hook.config("s1"))
    answering("One.").compile().invoke({"messages": [("user", "First?")]}, hook.config("s1"))

    assert stored.texts() == ["First?", "One."]


def test_a_run_without_a_session_raises(memory: AgentMemory) -> None:
    app = answering("One.").compile().with_config(callbacks=[RunHook(memory)])
    with pytest.raises(ValueError, match=r"RunHook\.config"):
        app.invoke({"messages": [("user", "Hm?")]})


def test_a_captured_message_is_read_as_it_was_in_the_state(stored: Stored, memory: AgentMemory) -> None:
    answer = AIMessage("One.", id="m", response_metadata={"model": "scripted"}, additional_kwargs={"mood": "calm"})
    sequence(lambda _: {"messages": [answer]}).invoke({"messages": [("user", "First?")]}, RunHook(memory).config("s1"))

    assert stored.texts() == ["First?", "One."]
    assert MemorybaseChatMessageHistory(memory, "s1").messages[1] == answer


# While memorybase is away


def test_runs_that_end_while_memorybase_is_away_are_captured_when_it_is_back_also_by_another_process(
    stack: Stack, stored: Stored, memory: AgentMemory, saver: InMemorySaver
) -> None:
    graph = reviewed("One.", "Two.", "Three.")
    hook, elsewhere = RunHook(memory), RunHook(memory)
    for text in ({"messages": [("user", "First?")]}, Command(resume="One!")):
        graph.compile(checkpointer=saver).invoke(text, hook.config("s1"))
    assert stored.texts() == ["First?", "One!"]
    (_, first) = stored.client.list_messages(flow_id=memory.flow_id, session_id="s1", order="desc")
    stored.client.edit_message(first.id, content="First of all?")

    stack.kill()
    graph.compile(checkpointer=saver).invoke({"messages": [("user", "Second?")]}, hook.config("s1"))
    state = graph.compile(checkpointer=saver).invoke(Command(resume="Two!"), elsewhere.config("s1"))
    assert state["messages"][-1].content == "Two!"
    stack.restart()
    graph.compile(checkpointer=saver).invoke({"messages": [("user", "Third?")]}, elsewhere.config("s1"))

    assert stored.thread() == ["First of all?", "One!", "Second?", "Two!", "Third?", "Three."]
    assert stored.texts() == stored.thread()


def test_a_conversation_that_a_client_sends_again_is_captured_once_also_while_memorybase_is_away(
    stack: Stack, stored: Stored, memory: AgentMemory
) -> None:
    app = answering("One.", "Two.", "Three.").compile()
    history: list[BaseMessage] = []

    for question in ("First?", "Second?", "Third?"):
        history.append(HumanMessage(question))
        sent = [each.model_copy(update={"id": None}) for each in history]
        answer = app.invoke({"messages": sent}, RunHook(memory).config("s1"))  # a new process each time
        history.append(AIMessage(answer["messages"][-1].content))
        if question == "First?":
            assert len(stored.texts()) == 2
            stack.kill()
    stack.restart()

    assert stored.texts() == [each.content for each in history]


def test_a_message_that_is_refused_does_not_take_the_answer_along(stored: Stored, memory: AgentMemory) -> None:
    app = answering("Too long.").compile()

    app.invoke({"messages": [("user", "x" * 5_000_000)]}, RunHook(memory).config("s1"))  # the bound is 4,000,000

    assert memory.client.outbox is not None
    assert memory.client.outbox.flush(60) == 0
    assert len(memory.client.outbox.refused()) == 1
    listed = stored.client.list_messages(flow_id=memory.flow_id, session_id="s1")
    assert [message.content for message in listed] == ["Too long."]
