"""What tests of graphs share."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import START, MessagesState, StateGraph


class Spy(GenericFakeChatModel):
    """Gives these answers, and records what it was sent."""

    prompts: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies it

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        del tools, options
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.prompts.append(messages)
        return super()._generate(messages, *args, **options)


def spy(*answers: AIMessage | str) -> Spy:
    return Spy(messages=iter([AIMessage(each) if isinstance(each, str) else each for each in answers]), prompts=[])


def says(*texts: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(texts))


def on(thread_id: str = "s1") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id}}


def sequence(*nodes: Any, state: Any = MessagesState, **options: Any) -> Any:
    """A graph of these nodes, one after the other."""
    graph, before = StateGraph(state), START
    for number, node in enumerate(nodes):
        graph.add_node(f"node-{number}", node)
        graph.add_edge(before, f"node-{number}")
        before = f"node-{number}"
    return graph.compile(**options)
