"""For LangGraph: memory as nodes of a graph, and a hook that captures each run. Needs the extra `langgraph`.

    memory = OverHttp.connect("http://127.0.0.1:8000", key, "support")      # or InProcess(services, user_id, "support")
    graph.add_node("answer", Agent(model=model, node_id="answer", memory=memory, use_memory=True))
    app = graph.compile(checkpointer=checkpointer).with_config(callbacks=[RunHook(memory)])
    app.invoke({"messages": [("user", "Hello")]}, {"configurable": {"thread_id": "session-1"}})

The state is a TypedDict. Templates name its values, as in {{ messages[-1].content }}, and `session_id` and `run_id`. A
node writes what it reads from memory under the state's key `into`. While memory is away, nodes read nothing and writes
wait (integrations/outbox.py): the flow goes on.

    calls          the session, run and execution of a node
    prompts        the state's values for templates, and what the model is asked
    chat_nodes     ChatMemory, AddMemory, GetMemory, DeleteMemory, Recall
    model_nodes    Agent, IntentClassification
    run_messages   which messages of a run's state are new
    hook           RunHook
"""

from __future__ import annotations

from memorybase.integrations.langgraph.calls import NodeCall
from memorybase.integrations.langgraph.chat_nodes import AddMemory, ChatMemory, DeleteMemory, GetMemory, Recall
from memorybase.integrations.langgraph.hook import ReadRun, RunHook, messages_of_run
from memorybase.integrations.langgraph.model_nodes import Agent, IntentClassification
from memorybase.integrations.langgraph.prompts import LATEST_MESSAGE

__all__ = [
    "LATEST_MESSAGE",
    "AddMemory",
    "Agent",
    "ChatMemory",
    "DeleteMemory",
    "GetMemory",
    "IntentClassification",
    "NodeCall",
    "ReadRun",
    "Recall",
    "RunHook",
    "messages_of_run",
]
