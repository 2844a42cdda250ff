"""Small samples of what other systems export, in their formats."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)

Json = dict[str, Any]


def write_json(folder: Path, name: str, value: Any) -> Path:
    file = folder / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def chatgpt_node(node_id: str, parent: str | None, role: str, *parts: Any, **more: Any) -> Json:
    """A node of ChatGPT's mapping; `content` replaces the parts."""
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {
        "id": node_id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1700000000.5,
        "content": content,
        "status": "finished_successfully",
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {"id": node_id, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(*nodes: Json, session: str = "c-1", **more: Any) -> Json:
    root = {"id": "root", "parent": None, "children": [], "message": None}
    return {
        "conversation_id": session,
        "id": session,
        "title": "Sourdough",
        "create_time": 1700000000.0,
        "mapping": {node["id"]: node for node in (root, *nodes)},
        "current_node": nodes[-1]["id"],
        **more,
    }


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
        session="c-2",
        title=None,
    )
    return [first, second]


def claude_message(message_id: str, sender: str, *content: Any, **more: Any) -> Json:
    return {
        "uuid": message_id,
        "sender": sender,
        "text": "",
        "content": list(content),
        "attachments": [],
        "files": [],
        "created_at": "2024-05-01T10:00:00.000000Z",
        **more,
    }


def claude() -> list[Json]:
    """A conversation with a tool and an attachment, and an older one of plain text."""

    def text(words: str) -> Json:
        return {"type": "text", "text": words, "citations": []}

    first = {
        "uuid": "k-1",
        "name": "Leeks",
        "created_at": "2024-05-01T09:59:00Z",
        "account": {"uuid": "u"},
        "chat_messages": [
            claude_message(
                "m-1",
                "human",
                text("When do I plant leeks?"),
                attachments=[{"file_name": "garden.txt", "extracted_content": "clay soil"}],
            ),
            claude_message(
                "m-2",
                "assistant",
                {"type": "thinking", "thinking": "soil"},
                text("I look it up."),
                {"type": "tool_use", "id": "tu-1", "name": "web_search", "input": {"query": "leeks"}},
                {
                    "type": "tool_result",
                    "tool_use_id": "tu-1",
                    "name": "web_search",
                    "content": [text("sow in April")],
                    "is_error": False,
                },
                text("Sow them in April."),
                parent_message_uuid="m-1",
            ),
            claude_message("m-3", "human", text("Thanks"), parent_message_uuid="m-2"),
        ],
    }
    second = {
        "uuid": "k-2",
        "name": "",
        "created_at": "2023-01-01T00:00:00Z",
        "chat_messages": [claude_message("m-4", "human", text="Only text"), claude_message("m-5", "assistant")],
    }
    return [first, second]


def langchain_messages() -> list[Json]:
    """Messages as LangChain's own package writes them; the first five are one session."""
    messages = [
        HumanMessage("What is 6 times 7?"),
        AIMessage("", id="run-1", tool_calls=[{"name": "multiply", "args": {"a": 6, "b": 7}, "id": "call-1"}]),
        ToolMessage("42", tool_call_id="call-1", name="multiply"),
        AIMessage("It is 42.", response_metadata={"model_name": "gpt"}),
        HumanMessage("Thanks", name="ada"),
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "a"}}]),
        FunctionMessage(name="look", content="a cat"),
        ChatMessage(role="assistant", content="A cat."),
    ]
    return [message_to_dict(message) for message in messages]


def langchain(folder: Path) -> Path:
    """The table of SQLChatMessageHistory (langchain-community 0.4) in SQLite; two sessions take turns."""
    file = folder / "chat.db"
    rows = [("s-1" if n < 5 else "s-2", json.dumps(message)) for n, message in enumerate(langchain_messages())]
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE message_store (id INTEGER NOT NULL, session_id TEXT, message TEXT, PRIMARY KEY (id))")
        in_turn = [*rows[:3], *rows[5:], *rows[3:5]]
        db.executemany("INSERT INTO message_store (session_id, message) VALUES (?, ?)", in_turn)
    return file


LANGFLOW_FLOW = "11111111-1111-4111-8111-111111111111"
LANGFLOW_OTHER = "22222222-2222-4222-8222-222222222222"


def langflow_rows() -> list[Json]:
    """Rows of Langflow's messages as its monitor API answers them: two flows, one without a session's id."""

    def row(number: int, sender: str, text: str | None, **more: Any) -> Json:
        return {
            "id": f"00000000-0000-4000-8000-00000000000{number}",
            "flow_id": LANGFLOW_FLOW,
            "session_id": "talk",
            "run_id": f"33333333-3333-4333-8333-33333333333{(number + 1) // 2}",
            "context_id": "",
            "timestamp": f"2026-03-01 10:00:0{number}.000000 UTC",
            "sender": sender,
            "sender_name": sender,
            "text": text,
            "files": [],
            "error": False,
            "edit": False,
            "category": "message",
            "content_blocks": [],
            "properties": {"text_color": "red", "source": {"id": None, "display_name": None, "source": None}},
            "session_metadata": None,
            "is_output": sender == "Machine",
            **more,
        }

    block = {"title": "Agent Steps", "contents": [{"type": "tool_use", "name": "search", "output": "clay"}]}
    model = {"source": {"id": "Agent-1", "display_name": "Agent", "source": "gpt"}, "text_color": "blue"}
    return [
        row(1, "User", "Which soil is it?", files=["talk/garden.png"], sender_name="Ada"),
        row(2, "Machine", "It is clay.", content_blocks=[block], properties=model),
        row(3, "User", "And here?"),
        row(4, "Machine", "The model is away.", error=True, category="error"),
        row(5, "User", "Hello", flow_id=LANGFLOW_OTHER, session_id=""),
        row(6, "Machine", "Hi.", flow_id=LANGFLOW_OTHER, session_id=""),
    ]


def langflow(folder: Path) -> Path:
    """The tables `message` and `flow` of Langflow 1.13 in SQLite: UUIDs without hyphens, JSON as text."""
    file = folder / "langflow.db"
    rows = [
        {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}
        for row in langflow_rows()
    ]
    for row in rows:
        row |= {name: row[name].replace("-", "") for name in ("id", "flow_id", "run_id")}
        row["timestamp"] = row["timestamp"].removesuffix(" UTC")
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(f"CREATE TABLE message ({', '.join(rows[0])}, PRIMARY KEY (id))")
        marks = ", ".join(f":{name}" for name in rows[0])
        db.executemany(f"INSERT INTO message VALUES ({marks})", reversed(rows))
        db.execute("CREATE TABLE flow (id CHAR(32), name VARCHAR)")
        flows = [(LANGFLOW_FLOW.replace("-", ""), "Garden"), (LANGFLOW_OTHER.replace("-", ""), "Garden")]
        db.executemany("INSERT INTO flow VALUES (?, ?)", flows)
    return file


def mem0() -> Json:
    """What mem0 2.2 answers to get_all(): the newest first, messages kept as they were and an extracted memory."""

    def memory(number: int, text: str, **more: Any) -> Json:
        return {
            "id": f"63dbb81a-1be3-497b-b03d-37b7b5f7fda{number}",
            "memory": text,
            "hash": "3e65e094",
            "metadata": None,
            "created_at": f"2026-03-01T10:00:0{number}.717185+00:00",
            "updated_at": None,
            "user_id": "ada",
            **more,
        }

    return {
        "results": [
            memory(4, "Allergic to nuts", agent_id="cook"),
            memory(3, "Lives in Riga", metadata={"topic": "home"}, categories=["places"]),
            memory(2, "Noted.", run_id="r1", role="assistant"),
            memory(1, "I live in Riga", run_id="r1", role="user", actor_id="Ada"),
        ]
    }


def letta() -> Json:
    """An agent file of Letta: an agent that answers by the tool send_message, with a tool and a block."""

    def message(number: int, role: str, text: str | None, **more: Any) -> Json:
        return {
            "id": f"message-{number}",
            "role": role,
            "content": [{"type": "text", "text": text}] if text else [],
            "created_at": f"2026-03-01T10:00:0{number}+00:00",
            **more,
        }

    def call(call_id: str, name: str, **arguments: Any) -> Json:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    packed = json.dumps({"type": "user_message", "message": "Where is my boat?", "time": "10:00"})
    beat = json.dumps({"type": "heartbeat", "reason": "Automated timer", "time": "10:00"})
    found = json.dumps({"status": "OK", "message": "berth 12", "time": "10:00"})
    return {
        "agents": [
            {
                "id": "agent-0",
                "name": "harbour",
                "block_ids": ["block-0"],
                "in_context_message_ids": ["message-0"],
                "messages": [
                    message(0, "system", "You are the harbour."),
                    message(1, "user", packed, name="Ada"),
                    message(2, "assistant", "I have to look.", tool_calls=[call("c-1", "search", query="boat")]),
                    message(3, "tool", found, tool_call_id="c-1", name="search"),
                    message(
                        4,
                        "assistant",
                        "She wants to know.",
                        tool_calls=[call("c-2", "send_message", message="At berth 12.")],
                    ),
                    message(5, "tool", json.dumps({"status": "OK", "message": "None"}), tool_call_id="c-2"),
                    message(6, "user", beat),
                    message(7, "user", "Thanks"),
                ],
            }
        ],
        "blocks": [{"id": "block-0", "label": "human", "value": "Ada has a boat.", "description": "The person"}],
        "created_at": "2026-03-02T00:00:00+00:00",
    }


def zep(folder: Path) -> Path:
    """A folder with a page of a thread, as Zep 4 answers, and one with the episodes of a graph."""
    thread = "55555555-5555-4555-8555-555555555555"

    def item(number: int, role: str, content: str, **more: Any) -> Json:
        return {
            "uuid": f"66666666-6666-4666-8666-66666666666{number}",
            "role": role,
            "content": content,
            "created_at": "2026-03-05T00:00:00Z",
            "reference_time": f"2026-03-01T10:00:0{number}Z",
            **more,
        }

    page = [
        item(1, "user", "My boat is the Albatross.", name="Ada", metadata={"mood": "glad"}, thread_uuid=thread),
        item(2, "assistant", "A good name.", thread_uuid=thread),
    ]
    episode = {
        "uuid": "77777777-7777-4777-8777-777777777777",
        "name": "note",
        "group_id": "harbour",
        "source": "text",
        "content": "The harbour closes at ten.",
        "valid_at": "2026-03-01T11:00:00Z",
    }
    saved = folder / "zep"
    saved.mkdir(exist_ok=True)
    write_json(saved, "page-1.json", {"items": page, "next_cursor": None, "user_id": "ada"})
    write_json(saved, "episodes.json", {"episodes": [episode]})
    return saved


def agent_memory_server(folder: Path) -> Path:
    """A folder with a working memory and the answer of a search in the long-term memory."""
    saved = folder / "ams"
    saved.mkdir(exist_ok=True)
    said = [
        {
            "id": f"01HX{n}",
            "role": role,
            "content": text,
            "created_at": f"2026-03-01T10:00:0{n}Z",
            "discrete_memory_extracted": "t",
        }
        for n, (role, text) in enumerate((("user", "I prefer tea."), ("assistant", "Noted.")))
    ]
    fact = {
        "id": "01HY1",
        "text": "Ada prefers tea.",
        "memory_type": "semantic",
        "topics": ["drinks"],
        "session_id": "chat-1",
        "user_id": "ada",
        "namespace": "kitchen",
        "created_at": "2026-03-01T10:01:00Z",
    }
    working = {
        "session_id": "chat-1",
        "namespace": "kitchen",
        "user_id": "ada",
        "messages": said,
        "data": {},
        "memories": [fact],
        "context": "Ada talks about tea.",
    }
    repeated = fact | {"id": "01HY2", "memory_type": "message", "text": "I prefer tea."}
    write_json(saved, "chat-1.json", working)
    other = fact | {"id": "01HY3", "text": "The kettle is blue."}
    write_json(saved, "long-term.json", {"memories": [other, repeated], "total": 2})
    return saved
