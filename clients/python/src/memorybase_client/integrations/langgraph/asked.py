"""Finds the question for a model in the state's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from memorybase_client.integrations.langgraph.calls import State

Content = str | list[Any]  # of a message: a text, or content blocks where it has images
Write = Callable[[State], Content]


def question_of(state: State, key: str, write: Write | None) -> list[BaseMessage]:
    """The messages for a model node: those that the function makes from the state, then the tool calls with their
    results.

    Without a function the messages themselves, from the last answer on; that answer alone if nothing follows. `key`
    names the messages that a tool loop appends to.
    """
    exchange = tool_exchange(messages_of(state, key))
    if write is not None:
        before = {**state, key: messages_of(state, key)[: -len(exchange)]} if exchange else state
        return [HumanMessage(write(before)), *exchange]
    turn = open_turn(messages_of(state, "messages")) or [HumanMessage(latest(state).content)]
    return turn if key == "messages" else [*turn, *exchange]


def latest(state: State) -> BaseMessage:
    """The state's last message; raises ValueError without one."""
    messages = messages_of(state, "messages")
    if not messages:
        raise ValueError("messages of the state must not be empty")
    return messages[-1]


def messages_of(state: State, key: str) -> list[BaseMessage]:
    """The state's messages under a key; empty if it holds something else."""
    value = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return convert_to_messages(value) if isinstance(value, list) else []


def open_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages after the last answer: questions, and tool calls with their results."""
    answers = [index for index, message in enumerate(messages) if is_answer(message)]
    return list(messages[answers[-1] + 1 :] if answers else messages)


def is_answer(message: BaseMessage) -> bool:
    """Whether the message ends a turn: from the model, without tool calls."""
    return isinstance(message, AIMessage) and not message.tool_calls


def tool_exchange(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The tool calls at the end, with their results; empty unless the last message is a result."""
    start = len(messages)
    index = start
    while index and isinstance(messages[index - 1], ToolMessage):
        while index and isinstance(messages[index - 1], ToolMessage):
            index -= 1
        caller = messages[index - 1] if index else None
        if not (isinstance(caller, AIMessage) and caller.tool_calls):
            break
        index -= 1
        start = index
    return list(messages[start:])


def with_system(system: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages after one system message, which models want first: the prompt, then those of the state."""
    texts = [system, *(message.text for message in messages if isinstance(message, SystemMessage))]
    text = "\n\n".join(part for part in texts if part.strip())
    others = [message for message in messages if not isinstance(message, SystemMessage)]
    return [SystemMessage(text), *others] if text else others
