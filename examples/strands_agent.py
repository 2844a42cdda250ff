"""A Strands agent with its memory in memorybase: a second session recalls what the first said.

    memorybase up                                                            # prints where the key is
    pip install './clients/python[strands]'
    MEMORYBASE_API_KEY=KEY python examples/strands_agent.py

The model is scripted, and no service is called. Without `model` an Agent uses Amazon Bedrock.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from memorybase_client import AgentMemory
from memorybase_client.integrations.strands import MemorybaseStore
from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model


class Scripted(Model):
    """Answers with the memories that it was given."""

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the example has no structured output")
        yield

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        remembered = re.findall(r"<entry[^>]*>(.*?)</entry>", str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": ", ".join(remembered) or "no memories"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def ask(memory: AgentMemory, question: str) -> str:
    """A session of its own."""
    store = MemorybaseStore(memory)
    agent = Agent(model=Scripted(), memory_manager=MemoryManager(stores=[store]), callback_handler=None)
    return str(agent(question)).strip()


def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("strands-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        print("first session:", ask(memory, "My boat Aurora lies at berth 12."))
        print("second session:", ask(memory, "Where does my boat Aurora lie?"))


if __name__ == "__main__":
    main()
