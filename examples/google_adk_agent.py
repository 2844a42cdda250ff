"""An agent of Google's ADK with its memory in memorybase: a second session recalls what the first said.

    memorybase up                                                            # prints where the key is
    pip install './clients/python[google-adk]'
    MEMORYBASE_API_KEY=KEY python examples/google_adk_agent.py

The model is scripted, and no service is called. For another model pass its name: LlmAgent(model="gemini-flash-latest").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from uuid import uuid4

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import preload_memory
from google.genai import types
from memorybase_client import AgentMemory
from memorybase_client.integrations.google_adk import MemorybaseMemoryService, capture_session

APP = "harbour"
USER = f"anna-{uuid4()}"


class Scripted(BaseLlm):
    """Answers with the memories that it was given."""

    model: str = "scripted"

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - the base's
    ) -> AsyncGenerator[LlmResponse, None]:
        texts = [part.text or "" for content in llm_request.contents for part in content.parts or []]
        remembered = [line for text in texts for line in text.splitlines() if line.startswith("user: ")]
        text = ", ".join(remembered) or "no memories"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def ask(runner: Runner, session_id: str, question: str) -> str:
    await runner.session_service.create_session(app_name=APP, user_id=USER, session_id=session_id)
    content = types.Content(role="user", parts=[types.Part(text=question)])
    answer = ""
    async for event in runner.run_async(user_id=USER, session_id=session_id, new_message=content):
        if event.is_final_response() and event.content and event.content.parts:
            answer = event.content.parts[0].text or ""
    return answer


async def main() -> None:
    with AgentMemory("google-adk-example", outbox="memorybase-outbox") as memory:
        agent = LlmAgent(name="master", model=Scripted(), tools=[preload_memory], after_agent_callback=capture_session)
        runner = Runner(
            app_name=APP,
            agent=agent,
            session_service=InMemorySessionService(),
            memory_service=MemorybaseMemoryService(memory),
        )
        print("first session:", await ask(runner, "monday", "My boat Aurora lies at berth 12."))
        print("second session:", await ask(runner, "tuesday", "Where does my boat Aurora lie?"))


if __name__ == "__main__":
    asyncio.run(main())
