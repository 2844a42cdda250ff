"""A LangChain chain whose history is in memorybase, and another session that recalls what was said there.

    memorybase up                                                        # prints where the key is
    MEMORYBASE_API_KEY=... python examples/langchain_chat.py             # with MEMORYBASE_URL for another address

The model is scripted; no service is called. Needs: pip install './clients/python[langchain]'
"""

from __future__ import annotations

from uuid import uuid4

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from memorybase_client import AgentMemory
from memorybase_client.integrations.langchain import MemorybaseChatMessageHistory, MemorybaseRetriever

MODEL = FakeListChatModel(responses=["Noted: berth 12.", "Your boat lies at berth 12."])


def turn(memory: AgentMemory, session_id: str, said: str) -> AIMessage:
    history = MemorybaseChatMessageHistory(memory, session_id)
    question = HumanMessage(said)
    answer = MODEL.invoke([*history.messages, question])
    history.add_messages([question, answer])
    return answer


def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    with AgentMemory("langchain-example", outbox="memorybase-outbox", end_user_id=anna) as memory:
        for said in ("My boat lies at berth 12.", "Where is my boat?"):
            print(f"monday: {said}\nmodel: {turn(memory, f'{anna}-monday', said).text}")
        for document in MemorybaseRetriever(memory=memory, top_k=4).invoke("Where is the boat?"):
            print(f"another session recalls: {document.page_content}")


if __name__ == "__main__":
    main()
