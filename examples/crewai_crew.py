"""A crew of CrewAI with its memory in memorybase: a second session recalls what the first said.

    memorybase up                                                            # prints where the key is
    pip install './clients/python[crewai]'
    MEMORYBASE_API_KEY=KEY python examples/crewai_crew.py

The model is scripted, and no service is called. In your program `llm` is a name such as "gpt-5-mini".
"""

from __future__ import annotations

import os
import re
from typing import Any
from uuid import uuid4

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"  # read when it is imported

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from memorybase_client import AgentMemory
from memorybase_client.integrations.crewai import MemorybaseMemory


class Scripted(BaseLLM):
    """Answers with the memories that it was given."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        remembered = re.findall(r"\(score=[^)]*\) Task: (.*?)\\n", str(messages))
        return ", ".join(remembered) or "no memories"

    def supports_function_calling(self) -> bool:
        return False


def ask(memory: AgentMemory, question: str) -> str:
    """A session of its own."""
    agent = Agent(
        role="harbour master", goal="Know every boat.", backstory="Here for years.", llm=Scripted(model="scripted")
    )
    task = Task(description=question, expected_output="One sentence.", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], memory=MemorybaseMemory(memory)).kickoff().raw)


def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("crewai-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        print("first session:", ask(memory, "My boat Aurora lies at berth 12."))
        print("second session:", ask(memory, "Where does my boat Aurora lie?"))


if __name__ == "__main__":
    main()
