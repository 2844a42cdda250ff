"""A LangGraph graph with two LLM nodes, each with its own node memory, run twice in one session.

    user -> writer <-> reviewer -> user

The writer drafts, the reviewer asks for changes or accepts. Each node remembers its earlier inputs and answers, in the
next iteration of the loop and in the next run. The run hook captures the messages, and a search finds them.

    memorybase up                                                            # prints where the key is
    MEMORYBASE_API_KEY=... python examples/two_llm_nodes.py                  # with MEMORYBASE_URL for another address
    MEMORYBASE_API_KEY=... python examples/two_llm_nodes.py --model gpt-5-mini  # with langchain-openai installed

Without --model the models are scripted and no service is called. langchain-openai reads OPENAI_BASE_URL and
OPENAI_API_KEY, so any endpoint with that protocol works. Needs: pip install './clients/python[langgraph]'
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from memorybase_client import AgentMemory
from memorybase_client.integrations.langgraph import Agent, RunHook

FLOW = "two-llm-nodes"
QUESTIONS = (
    "Write a slogan for a shop that repairs violins in Cremona.",
    "And one for its branch that repairs cellos.",
)
WRITER = (
    "We repair every violin in Cremona, and we do it with great care, every day.",
    "Your violin, whole again.",
    "Your cello, whole again.",
)
REVIEWER = ("REVISE: too long, five words at most.", "GOOD.", "GOOD.")
MAX_DRAFTS = 3


class State(MessagesState):
    """`review`: the reviewer's last answer."""

    review: list[BaseMessage]


class Models(NamedTuple):
    """The models of the two nodes."""

    writer: BaseChatModel
    reviewer: BaseChatModel


class Listener(BaseCallbackHandler):
    """Records the messages sent to each node's model, except the system prompt."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, list[str]]] = []

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        del serialized
        node = (metadata or {})["langgraph_node"]
        self.prompts.append((node, [message.text for message in messages[0] if message.type != "system"]))


def scripted() -> Models:
    return Models(FakeListChatModel(responses=list(WRITER)), FakeListChatModel(responses=list(REVIEWER)))


def build_graph(memory: AgentMemory, models: Models) -> CompiledStateGraph[State, None, State, State]:
    graph = StateGraph(State)
    writer = Agent(
        model=models.writer,
        node_id="writer",
        system="You write slogans. Answer with the slogan alone.",
        prompt=lambda state: (state["review"] or state["messages"])[-1].text,
        memory=memory,
        use_memory=True,
        remembers="node",
    )
    reviewer = Agent(
        model=models.reviewer,
        node_id="reviewer",
        system="You review slogans. Answer GOOD, or REVISE and why.",
        memory=memory,
        use_memory=True,
        remembers="node",
        into="review",
    )
    graph.add_node("writer", writer)
    graph.add_node("reviewer", reviewer)
    graph.add_edge(START, "writer")
    graph.add_edge("writer", "reviewer")
    graph.add_conditional_edges("reviewer", _next, ["writer", END])
    return graph.compile()


def _next(state: State) -> str:
    drafts = sum(message.type == "ai" for message in state["messages"])
    needs_revision = state["review"][-1].text.startswith("REVISE")
    return "writer" if needs_revision and drafts < MAX_DRAFTS else END


def run_all(memory: AgentMemory, session_id: str, models: Models) -> list[list[tuple[str, list[str]]]]:
    """One run per question; returns the messages sent to each node in it."""
    graph = build_graph(memory, models)
    hook = RunHook(memory)
    runs = []
    for question in QUESTIONS:
        listener = Listener()
        config = hook.config(session_id)
        config["callbacks"] = [hook, listener]
        graph.invoke(State(messages=[HumanMessage(question)], review=[]), config)
        runs.append(listener.prompts)
    return runs


def show(runs: list[list[tuple[str, list[str]]]]) -> None:
    for number, run in enumerate(runs, 1):
        print(f"run {number}")
        for node, prompt in run:
            print(f"  {node} remembers {len(prompt) - 1} messages, reads: {prompt[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model of langchain-openai (default: scripted models)")
    arguments = parser.parse_args()
    models = scripted()
    if arguments.model:
        from langchain_openai import ChatOpenAI

        models = Models(ChatOpenAI(model=arguments.model), ChatOpenAI(model=arguments.model))

    with AgentMemory(FLOW, outbox="memorybase-outbox") as memory:
        memory.client.put_flow(FLOW, name=FLOW)
        base = memory.client.put_memory_base(FLOW, "slogans", threshold=2)
        show(run_all(memory, f"session {uuid4()}", models))
        memory.flush()
        memory.client.wait_until_searchable(base.id)
        print("a search for cellos finds")
        for hit in memory.client.search_memory_base(base.id, query="cello", top_k=1).results:
            print(f"  {hit.content}")


if __name__ == "__main__":
    main()
