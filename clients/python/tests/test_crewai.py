"""The memory of CrewAI on a real stack: crews and agents with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from guides import run_example, run_guide, set_environment
from memorybase_client import AgentMemory, Client, errors
from memorybase_client.integrations.crewai import MemorybaseMemory
from shown import reply
from stack import Stack, deliver, turns


class Scripted(BaseLLM):
    """Gives the answers in order, then those of who has read what it was asked, which it keeps."""

    answers: list[str]
    asked: list[Any]

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self.asked.append(messages)
        return self.answers.pop(0) if self.answers else reply(str(messages))

    def supports_function_calling(self) -> bool:
        return False


def model(*answers: str) -> Scripted:
    return Scripted(model="scripted", answers=list(answers), asked=[])


def ask(memory: MemorybaseMemory, said: str, *answers: str) -> str:
    """What the model read."""
    llm = model(*answers)
    agent = Agent(role="harbour master", goal="Know every boat.", backstory="Old.", llm=llm)
    task = Task(description="{said}", expected_output="A sentence.", agent=agent)
    Crew(agents=[agent], tasks=[task], memory=memory).kickoff(inputs={"said": said})
    return str(llm.asked[0])


def test_a_second_crew_recalls_what_the_first_said_without_a_model_of_its_own(memory: AgentMemory) -> None:
    ask(MemorybaseMemory(memory), "My boat Aurora lies at berth 12.", "Noted.")
    assert "My boat Aurora lies at berth 12." in ask(MemorybaseMemory(memory), "Where does Aurora lie?", "At 12.")


def test_a_task_is_a_run_that_shows_what_its_agent_was_given(memory: AgentMemory, client: Client) -> None:
    ask(MemorybaseMemory(memory, session_id="monday"), "My boat Aurora lies at berth 12.", "Noted.")
    ask(MemorybaseMemory(memory, session_id="tuesday"), "Where does Aurora lie?", "At 12.")
    ((said, given),) = turns(memory, client, "tuesday")
    assert "Task: Where does Aurora lie?" in said[0]
    assert "Result: At 12." in said[0]
    assert "berth 12" in given["agent"]
    (stored,) = client.list_messages(flow_id=memory.flow_id, session_id="tuesday")
    assert (stored.role, stored.sender_name) == ("assistant", "harbour master")


def test_scopes_categories_and_private_records_are_kept_apart(memory: AgentMemory) -> None:
    opened = MemorybaseMemory(memory, root_scope="/harbour")
    opened.remember("Aurora is blue.", scope="/boats", categories=["colour"], metadata={"by": "ben"})
    opened.remember("Aurora belongs to Anna.", scope="/people", source="anna", private=True)
    query = "What is known about Aurora?"
    assert [match.record.content for match in opened.recall(query)] == ["Aurora is blue."]
    assert [match.record.scope for match in opened.recall(query, scope="/boats")] == ["/harbour/boats"]
    assert opened.recall(query, categories=["owner"]) == opened.recall(query, scope="/boat") == []
    assert {match.record.scope for match in opened.recall(query, source="anna")} == {
        "/harbour/boats",
        "/harbour/people",
    }
    assert opened.list_scopes() == ["/harbour/boats", "/harbour/people"]
    assert opened.list_categories() == {"colour": 1}
    assert opened.info("/boats").record_count == 1
    (record,) = opened.list_records("/boats")
    assert record.metadata == {"by": "ben"}
    assert [match.record.content for match in opened.scope("/boats").recall(query)] == ["Aurora is blue."]


def test_what_is_changed_or_forgotten_is_so_in_memorybase(memory: AgentMemory, client: Client) -> None:
    opened = MemorybaseMemory(memory)
    blue, berth = opened.remember_many(["Aurora is blue.", "Aurora lies at berth 12."])
    opened.update(blue.id, content="Aurora is red.")
    assert opened.forget(record_ids=[record.id for record in opened.list_records() if "berth" in record.content]) == 1
    assert [message.content for message in client.list_messages(flow_id=memory.flow_id)] == ["Aurora is red."]
    with pytest.raises(ValueError, match="can change `content` only"):
        opened.update(blue.id, scope="/boats")
    with pytest.raises(ValueError, match="not found"):
        opened.update(berth.id, content="gone")
    opened.reset()
    assert opened.list_records() == []


def test_nothing_of_another_end_user_is_recalled(memory: AgentMemory) -> None:
    ask(MemorybaseMemory(memory, end_user_id="anna"), "My boat Aurora lies at berth 12.", "Noted.")
    assert "berth 12" not in ask(
        MemorybaseMemory(memory, end_user_id="ben"), "Where does Aurora lie?", "I do not know."
    )


def test_a_memory_that_is_read_only_stores_nothing(memory: AgentMemory, client: Client) -> None:
    opened = MemorybaseMemory(memory, read_only=True)
    assert opened.remember("Aurora is blue.") is None
    deliver(memory)
    with pytest.raises(errors.NotFound):
        client.get_flow(memory.flow_id)


def test_a_crew_goes_on_without_a_server_is_told_so_and_loses_nothing(
    stack: Stack, memory: AgentMemory, client: Client
) -> None:
    opened = MemorybaseMemory(memory)
    ask(opened, "My boat lies at berth 12.", "Noted.")
    deliver(memory)
    stack.kill()
    assert "Memory is unavailable" in ask(opened, "Where does it lie?", "I do not know.")
    stack.restart()
    deliver(memory)
    said = [str(message.content) for message in client.list_messages(flow_id=memory.flow_id)]
    assert ["berth 12" in said[0], "I do not know." in said[1], len(said)] == [True, True, 2]


def test_the_guide_and_the_example_recall_in_another_session(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, stack, tmp_path)
    run_guide("python-frameworks.md", mark="crewai", model=model())
    first, second = run_example("crewai_crew.py", stack, tmp_path).splitlines()
    assert first == "first session: no memories"
    assert second == "second session: My boat Aurora lies at berth 12."
