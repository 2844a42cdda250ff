"""An agent of Microsoft Agent Framework with memorybase as its history and its long-term memory.

    memorybase up                                                        # prints where the key is
    MEMORYBASE_API_KEY=... python examples/agent_framework_chat.py       # with MEMORYBASE_URL for another address

The model is scripted; no service is called. Needs: pip install './clients/python[agent-framework]'
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Message
from memorybase_client import AgentMemory
from memorybase_client.integrations.agent_framework import MemorybaseContextProvider, MemorybaseHistoryProvider


class Scripted(BaseChatClient):
    """Shows what it reads, instead of a model's answer."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse]:
        del stream, kwargs

        async def answer() -> ChatResponse:
            print(f"  model reads: {options.get('instructions') or ''}")
            for message in messages:
                print(f"  model reads: {message.role}: {message.text}")
            return ChatResponse(messages=[Message("assistant", ["Noted."])])

        return answer()


async def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("agent-framework-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        agent = Agent(
            client=Scripted(),
            context_providers=[MemorybaseHistoryProvider(memory), MemorybaseContextProvider(memory)],
        )
        for session_id, said in (
            ("monday", "My boat lies at berth 12."),
            ("monday", "It is called Albatross."),
            ("friday", "Where is my boat?"),
        ):
            print(f"{session_id}: {said}")
            await agent.run(said, session=AgentSession(session_id=f"{anna}-{session_id}"))


if __name__ == "__main__":
    asyncio.run(main())
