"""Small samples of what other systems export, in their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write_json(folder: Path, name: str, value: Any) -> Path:
    file = folder / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def chatgpt_node(node_id: str, parent: str | None, role: str, *parts: Any, **more: Any) -> Json:
    """A node of ChatGPT's mapping; `content` replaces the parts."""
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {
        "id": node_id, "author": {"role": role, "name": None, "metadata": {}}, "create_time": 1700000000.5,
        "content": content, "status": "finished_successfully", "recipient": "all", "metadata": {}, **more,
    }  # fmt: skip
    return {"id": node_id, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(*nodes: Json, session: str = "c-1", **more: Any) -> Json:
    root = {"id": "root", "parent": None, "children": [], "message": None}
    return {
        "conversation_id": session, "id": session, "title": "Sourdough", "create_time": 1700000000.0,
        "mapping": {node["id"]: node for node in (root, *nodes)}, "current_node": nodes[-1]["id"], **more,
    }  # fmt: skip


def chatgpt() -> list[Json]:
    """A conversation with an answer that was regenerated, a tool and an image; and one without times."""
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 640}
    code = {"content_type": "code", "language": "python", "text": "print(75 / 100)"}
    first = chatgpt_conversation(
        chatgpt_node("sys", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt_node("q1", "sys", "user", "How much water for 100 g of flour?"),
        chatgpt_node("a1-new", "q1", "assistant", "75 g.", create_time=1700000020.0),
        chatgpt_node("a1-old", "q1", "assistant", "About 60 g.", create_time=1700000010.0),
        chatgpt_node(
            "q2", "a1-new", "user", content={"content_type": "multimodal_text", "parts": [image, "And here?"]}
        ),
        chatgpt_node("t2", "q2", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "Hm"}]}),
        chatgpt_node("call", "t2", "assistant", content=code, recipient="python"),
        chatgpt_node(
            "result",
            "call",
            "tool",
            author={"role": "tool", "name": "python"},
            content={"content_type": "execution_output", "text": "0.75"},
        ),
        chatgpt_node("a2", "result", "assistant", "75 %.", metadata={"model_slug": "gpt-4o"}),
    )
    second = chatgpt_conversation(
        chatgpt_node("q1", "root", "user", "Hello", create_time=None),
        chatgpt_node("a1", "q1", "assistant", "Hi!", create_time=None),
        session="c-2", title=None,
    )  # fmt: skip
    return [first, second]


def claude_message(message_id: str, sender: str, *content: Any, **more: Any) -> Json:
    return {"uuid": message_id, "sender": sender, "text": "", "content": list(content), "attachments": [],
            "files": [], "created_at": "2024-05-01T10:00:00.000000Z", **more}  # fmt: skip


def claude() -> list[Json]:
    """A conversation with a tool and an attachment, and an older one of plain text."""

    def text(words: str) -> Json:
        return {"type": "text", "text": words, "citations": []}

    first = {
        "uuid": "k-1", "name": "Leeks", "created_at": "2024-05-01T09:59:00Z", "account": {"uuid": "u"},
        "chat_messages": [
            claude_message("m-1", "human", text("When do I plant leeks?"),
                           attachments=[{"file_name": "garden.txt", "extracted_content": "clay soil"}]),
            claude_message("m-2", "assistant", {"type": "thinking", "thinking": "soil"}, text("I look it up."),
                           {"type": "tool_use", "id": "tu-1", "name": "web_search", "input": {"query": "leeks"}},
                           {"type": "tool_result", "tool_use_id": "tu-1", "name": "web_search",
                            "content": [text("sow in April")], "is_error": False},
                           text("Sow them in April."), parent_message_uuid="m-1"),
            claude_message("m-3", "human", text("Thanks"), parent_message_uuid="m-2"),
        ],
    }  # fmt: skip
    second = {
        "uuid": "k-2", "name": "", "created_at": "2023-01-01T00:00:00Z",
        "chat_messages": [claude_message("m-4", "human", text="Only text"), claude_message("m-5", "assistant")],
    }  # fmt: skip
    return [first, second]
