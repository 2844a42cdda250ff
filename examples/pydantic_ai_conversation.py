"""A Pydantic AI agent with its conversations in memorybase: a second one recalls what the first said.

    memorybase up                                                            # prints where the key is
    pip install './clients/python[pydantic-ai]'
    MEMORYBASE_API_KEY=KEY python examples/pydantic_ai_conversation.py

The model is scripted, and no service is called. For another model pass its name: Agent("openai:gpt-5-mini", ...).
"""

from __future__ import annotations

import asyncio
from uuid import uuid4

from memorybase_client import AgentMemory
from memorybase_client.integrations.pydantic_ai import MemorybaseCapability
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The number of messages and the memories that the model was given."""
    remembered = [line for line in (info.instructions or "").splitlines() if "user: " in line]
    return ModelResponse(parts=[TextPart(f"{len(messages)} messages, {remembered}")])


async def ask(agent: Agent, memory: MemorybaseCapability, conversation: str, question: str) -> str:
    history = await memory.message_history(conversation)
    result = await agent.run(question, conversation_id=conversation, message_history=history)
    return result.output


async def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("pydantic-ai-example", outbox="memorybase-outbox", end_user_id=anna) as opened:
        memory = MemorybaseCapability(opened)
        agent = Agent(FunctionModel(answer), capabilities=[memory])
        first, second = f"{anna}-monday", f"{anna}-tuesday"
        print("first conversation:", await ask(agent, memory, first, "My boat Aurora lies at berth 12."))
        print("first conversation:", await ask(agent, memory, first, "It needs fuel."))
        print("second conversation:", await ask(agent, memory, second, "Where does my boat Aurora lie?"))


if __name__ == "__main__":
    asyncio.run(main())
