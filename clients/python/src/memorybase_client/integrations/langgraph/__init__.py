"""For LangGraph: a hook that captures each run, nodes that read and write memory, and a store.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    graph.add_node("answer", Agent(model=model, node_id="answer", memory=memory, use_memory=True))
    app = graph.compile(checkpointer=checkpointer).with_config(callbacks=[RunHook(memory)])
    app.invoke({"messages": [("user", "Hello")]}, {"configurable": {"thread_id": "session-1"}})

The state is a TypedDict. A node writes what it reads from memory under the state's key `into`. While memorybase is
unreachable, nodes read nothing, writes wait in the outbox, and the graph continues. Only the store raises.

    calls         the session, run and execution of a node
    asked         what a model is asked, from the state's messages
    chat_nodes    ChatMemory, AddMemory, GetMemory, DeleteMemory, Recall
    model_nodes   Agent, IntentClassification
    session_log   which messages of a run's state are new
    hook          RunHook
    store         MemorybaseStore
"""

from __future__ import annotations

from memorybase_client.integrations.langgraph.chat_nodes import AddMemory, ChatMemory, DeleteMemory, GetMemory, Recall
from memorybase_client.integrations.langgraph.hook import RunHook
from memorybase_client.integrations.langgraph.model_nodes import Agent, IntentClassification
from memorybase_client.integrations.langgraph.store import MemorybaseStore

__all__ = [
    "AddMemory",
    "Agent",
    "ChatMemory",
    "DeleteMemory",
    "GetMemory",
    "IntentClassification",
    "MemorybaseStore",
    "Recall",
    "RunHook",
]
