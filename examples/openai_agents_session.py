"""An agent of the OpenAI Agents SDK with its sessions in memorybase: a second session recalls what the first said.

    memorybase up                                                            # prints where the key is
    pip install './clients/python[openai-agents]'
    MEMORYBASE_API_KEY=KEY python examples/openai_agents_session.py

The model is scripted, and no service is called. For another model pass its name: Agent(..., model="gpt-5-mini").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, set_tracing_disabled
from memorybase_client import AgentMemory
from memorybase_client.integrations.openai_agents import MemorybaseSession
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    """Answers with the number of items and the memories that it was given."""

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        remembered = [line for line in (system_instructions or "").splitlines() if "user: " in line]
        text = ResponseOutputText(type="output_text", text=f"{len(input)} items, {remembered}", annotations=[])
        message = ResponseOutputMessage(
            id=f"msg_{uuid4()}", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the example does not stream")


async def ask(memory: AgentMemory, session_id: str, question: str) -> str:
    agent = Agent(name="harbour master", instructions="You know every boat.", model=Scripted())
    session = MemorybaseSession(session_id, memory)
    config = RunConfig(call_model_input_filter=session.recall)
    result = await Runner.run(agent, question, session=session, run_config=config)
    return str(result.final_output)


async def main() -> None:
    set_tracing_disabled(disabled=True)
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("openai-agents-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        print("first session:", await ask(memory, f"{anna}-monday", "My boat Aurora lies at berth 12."))
        print("first session:", await ask(memory, f"{anna}-monday", "It needs fuel."))
        print("second session:", await ask(memory, f"{anna}-tuesday", "Where does my boat Aurora lie?"))


if __name__ == "__main__":
    asyncio.run(main())
