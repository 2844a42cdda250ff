"""A Haystack pipeline that keeps its conversation in memorybase, and another session that recalls it.

    memorybase up                                                        # prints where the key is
    MEMORYBASE_API_KEY=... python examples/haystack_chat.py              # with MEMORYBASE_URL for another address

The model is scripted; no service is called. Needs: pip install './clients/python[haystack]'
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from haystack import Pipeline, component
from haystack.dataclasses import ChatMessage
from memorybase_client.integrations.haystack import (
    MemorybaseChatMessageRetriever,
    MemorybaseChatMessageWriter,
    MemorybaseRetriever,
)

FLOW, OUTBOX = "haystack-example", "memorybase-outbox"


@component
class Scripted:
    """In place of a chat generator."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        for message in messages:
            print(f"  model reads: {message.role.value}: {message.text}")
        return {"replies": [ChatMessage.from_assistant("Noted.")]}


def build() -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("history", MemorybaseChatMessageRetriever(FLOW, outbox=OUTBOX))
    pipeline.add_component("model", Scripted())
    pipeline.add_component("writer", MemorybaseChatMessageWriter(FLOW, outbox=OUTBOX))
    pipeline.connect("history.messages", "model.messages")
    pipeline.connect("history.messages", "writer.messages")
    pipeline.connect("model.replies", "writer.replies")
    return pipeline


def main() -> None:
    anna = f"anna-{uuid4()}"  # another person at each run, who has no earlier sessions
    pipeline = build()
    for said in ("My boat lies at berth 12.", "Where is my boat?"):
        print(f"monday: {said}")
        whose = {"session_id": f"{anna}-monday", "end_user_id": anna}
        pipeline.run({"history": whose | {"messages": [ChatMessage.from_user(said)]}, "writer": whose})
    pipeline.get_component("writer").close()
    recall = MemorybaseRetriever(FLOW, outbox=OUTBOX)
    for document in recall.run("Where is the boat?", end_user_id=anna, top_k=4)["documents"]:
        print(f"another session recalls: {document.content}")


if __name__ == "__main__":
    main()
