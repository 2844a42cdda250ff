"""A LangGraph agent whose memories live in memorybase: what it learns in one thread it knows in the next.

    memorybase up                                                        # prints where the key is
    MEMORYBASE_API_KEY=... python examples/langgraph_store.py            # with MEMORYBASE_URL for another address

The model is scripted; no service is called. Needs: pip install './clients/python[langgraph]'
"""

from __future__ import annotations

from uuid import uuid4

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from memorybase_client import Client, MemorybaseError
from memorybase_client.integrations.langgraph import MemorybaseStore

USER = f"anna-{uuid4()}"  # another person at each run, of whom nothing is known
MODEL = FakeListChatModel(responses=["Noted: berth 12.", "Your boat lies at berth 12."])


def answer(state: MessagesState, *, store: BaseStore) -> MessagesState:
    """Answer with what is known of the user, and remember what they said."""
    said = state["messages"][-1].text
    try:
        known = [item.value["text"] for item in store.search(("memories", USER), query=said, limit=5)]
        store.put(("memories", USER), str(uuid4()), {"text": said})
    except MemorybaseError:  # this agent answers without its memory too
        known = []
    print(f"  known of her: {known}")
    prompt = [SystemMessage("You know of the user:\n" + "\n".join(known)), *state["messages"]]
    return {"messages": [MODEL.invoke(prompt)]}


def build(store: BaseStore) -> CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=InMemorySaver(), store=store)


def main() -> None:
    with Client() as client:
        app = build(MemorybaseStore(client, "langgraph-store-example"))
        for thread, said in (("first", "My boat lies at berth 12."), ("second", "Where is my boat?")):
            state = app.invoke({"messages": [("user", said)]}, {"configurable": {"thread_id": thread}})
            print(f"anna's {thread} thread: {state['messages'][-1].text}")


if __name__ == "__main__":
    main()
