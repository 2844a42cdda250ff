"""The state's values for templates, and what a model is asked: text, or content blocks where the state has images."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from memorybase.conversation.chat_memory.templates import render
from memorybase.integrations.flow_memory import Json
from memorybase.integrations.langchain import to_dicts
from memorybase.integrations.langgraph.calls import NodeCall, State
from memorybase.messages import message_text

LATEST_MESSAGE = "{{ messages[-1].content }}"

Blocks = list[Any]


class Variables:
    """The state's values for templates. A message's `content` is its text; images and other blocks in it stay blocks
    where a template writes the content. Without a call, templates cannot name the session and the run."""

    def __init__(self, state: State, call: NodeCall | None) -> None:
        # Stands for blocks in the rendered text. No text of the state contains it, and no filter changes it.
        self._mark = f"\ue000{secrets.randbits(64)}:"
        self._contents: list[Blocks] = []
        values = {key: self._plain(value) for key, value in _items(state)}
        self.values: Json = values if call is None else {**values, **call.variables}

    def text(self, template: str, field: str, **options: Any) -> str:
        """The rendered template, with the text of blocks."""
        return "".join(message_text(part) for part in self._split(template, field, **options))

    def content(self, template: str, field: str) -> str | Blocks:
        """The rendered template; a list of blocks if it has other than text."""
        parts = self._split(template, field)
        if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
        blocks: Blocks = []
        for part in parts:
            blocks += part if isinstance(part, list) else [{"type": "text", "text": part}] if part.strip() else []
        return blocks

    def _split(self, template: str, field: str, **options: Any) -> list[str | Blocks]:
        """The rendered template, cut where it has blocks."""
        first, *rest = render(template, self.values, field=field, **options).split(self._mark)
        parts: list[str | Blocks] = [first]
        for piece in rest:
            number, _, text = piece.partition("\ue001")
            parts += [self._contents[int(number)], text]
        return parts

    def _plain(self, value: Any) -> Any:
        if not (isinstance(value, list) and value and all(isinstance(item, BaseMessage) for item in value)):
            return value
        return [self._message(message) for message in to_dicts(value)]

    def _message(self, message: Json) -> Json:
        content = message.get("content")
        if not isinstance(content, list):
            return message
        if all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
            return {**message, "content": message_text(content)}
        self._contents.append(content)
        return {**message, "content": f"{self._mark}{len(self._contents) - 1}\ue001"}


def question_of(state: State, key: str, template: str, call: NodeCall | None) -> list[BaseMessage]:
    """What a model node asks: the rendered template, then its tool calls with their results.

    LATEST_MESSAGE stands for the messages themselves, from the last answer on; that answer alone if nothing follows.
    `key` names the messages that a tool loop appends to.
    """
    exchange = tool_exchange(messages_of(state, key))
    if template != LATEST_MESSAGE:
        before = {key: messages_of(state, key)[: -len(exchange)]} if exchange else {}
        asked = {**dict(_items(state)), **before}
        return [HumanMessage(Variables(asked, call).content(template, "prompt")), *exchange]
    messages = messages_of(state, "messages")
    turn = open_turn(messages) or [HumanMessage(message.content) for message in messages[-1:]]
    return turn if key == "messages" else [*turn, *exchange]


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


def messages_of(state: State, key: str) -> list[BaseMessage]:
    """The state's messages under a key; empty if it holds something else."""
    value = dict(_items(state)).get(key)
    return convert_to_messages(value) if isinstance(value, list) else []


def _items(state: State) -> list[tuple[str, Any]]:
    """The state's values, also of a dataclass or a pydantic model."""
    return list(state.items() if isinstance(state, Mapping) else vars(state).items())
