"""A LlamaIndex chat engine whose memory is memorybase, and another session that recalls what was said there.

    memorybase up                                                        # prints where the key is
    MEMORYBASE_API_KEY=... python examples/llama_index_chat.py           # with MEMORYBASE_URL for another address

The model is LlamaIndex's mock, which repeats its prompt; no service is called. Needs:
pip install './clients/python[llama-index]'
"""

from __future__ import annotations

from uuid import uuid4

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from memorybase_client import AgentMemory
from memorybase_client.integrations.llama_index import MemorybaseMemory, MemorybaseRetriever


def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("llama-index-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        for said in ("My boat lies at berth 12.", "Where is my boat?"):
            # A new engine each time: all that it knows comes from memorybase.
            session = MemorybaseMemory(memory=memory, session_id=f"{anna}-monday")
            engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=session)
            print(f"monday: {said}\nmodel read: {engine.chat(said)}")
        for found in MemorybaseRetriever(memory, top_k=4).retrieve("Where is the boat?"):
            print(f"another session recalls: {found.node.get_content()}")


if __name__ == "__main__":
    main()
