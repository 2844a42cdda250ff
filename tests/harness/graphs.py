"""What tests of graphs share: a connection that can break, scripted models, and what was captured."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from two_llm_nodes import FLOW

from harness.api import Api
from harness.clients import Wire, client_of
from memorybase.integrations.flow_memory import OverHttp


def over_http(api: Api) -> tuple[OverHttp, Wire]:
    wire = Wire(api)
    return OverHttp(client_of(api, wire, tries=1), FLOW), wire


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


def captured(api: Api, session: str = "s1") -> list[tuple[str, str]]:
    """Role and text of a session's captured messages."""
    items = api.get("/messages", flow_id=FLOW, session_id=session)["items"]
    return [(item["role"], item["content"]) for item in items]


def thread(api: Api, session: str = "s1") -> list[str]:
    """The texts of the history that a model reads next."""
    view = api.post("/history", {"flow_id": FLOW, "session_id": session})
    return [message["content"] for message in view["messages"]]
