"""Chats as JSON lines of types chat_memory, chat and chat_message, read in short transactions.

Each line has every stored field and is self-contained: it names its flow, node and chat.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from uuid import UUID

from memorybase.conversation.chat_memory.memories import MemoryKey, config_of, require_memory
from memorybase.conversation.chat_memory.message_log import ChatMessageView, message_view
from memorybase.import_export.lines import PAGE, pages
from memorybase.models import Chat, ChatMemory, Flow
from memorybase.queries import chats
from memorybase.services import Services

KINDS = ("chat_memories", "chats", "chat_messages")  # counted in the last line


def export_memory(services: Services, key: MemoryKey, *, chat_id: str | None = None) -> Iterator[bytes]:
    """One chat memory, or one of its chats, and a last line of type end. Raises NotFound before the first line."""
    with services.database.reading() as db:
        memory = require_memory(db, key)
        flow = db.get_one(Flow, key.flow_id)
    return _memory_export(services, flow, memory, chat_id)


def _memory_export(services: Services, flow: Flow, memory: ChatMemory, chat_id: str | None) -> Iterator[bytes]:
    counts: Counter[str] = Counter()
    yield from _memory_lines(services, flow, memory, counts, chat_id=chat_id)
    yield _line("end", **{kind: counts[kind] for kind in KINDS})


def flow_lines(
    services: Services, flow: Flow, counts: Counter[str], *, end_user_id: str | None = None
) -> Iterator[bytes]:
    """A flow's chat memories with all their chats, or those of one end user."""
    for page in pages(services, lambda db, after, limit: chats.memories_after(db, flow.id, after, limit=limit)):
        for memory in page:
            yield from _memory_lines(services, flow, memory, counts, end_user_id=end_user_id)


def _memory_lines(
    services: Services,
    flow: Flow,
    memory: ChatMemory,
    counts: Counter[str],
    *,
    chat_id: str | None = None,
    end_user_id: str | None = None,
) -> Iterator[bytes]:
    where = {"flow_id": flow.id, "flow_external_id": flow.external_id, "node_id": memory.node_id}
    counts["chat_memories"] += 1
    yield _line("chat_memory", **where, **config_of(memory).model_dump(), created_at=memory.created_at)
    for chat in _chats(services, memory.id, chat_id, end_user_id):
        counts["chats"] += 1
        chat_ids = {**where, "chat_id": chat.chat_id, "end_user_id": chat.end_user_id}
        yield _line("chat", **chat_ids, **_chat_fields(chat))
        for message in _messages(services, chat):
            counts["chat_messages"] += 1
            yield _line("chat_message", **chat_ids, **asdict(message))


def _chats(services: Services, memory_id: UUID, chat_id: str | None, end_user_id: str | None) -> Iterator[Chat]:
    for page in pages(
        services,
        lambda db, after, limit: chats.chats_after(
            db, memory_id, after, chat_id=chat_id, end_user_id=end_user_id, limit=limit
        ),
    ):
        yield from page


def _chat_fields(chat: Chat) -> dict[str, Any]:
    covers = {"from_seq": chat.summary_from_seq, "to_seq": chat.summary_to_seq}
    return {
        "summary": chat.summary,
        "covers": None if chat.summary is None else covers,
        "created_at": chat.created_at,
        "updated_at": chat.updated_at,
    }


def _messages(services: Services, chat: Chat) -> Iterator[ChatMessageView]:
    seq = 0
    while True:
        with services.database.reading() as db:
            page = [message_view(row) for row in chats.oldest(db, chat, limit=PAGE, after=seq)]
        yield from page
        if len(page) < PAGE:
            return
        seq = page[-1].seq


def _line(kind: str, **fields: Any) -> bytes:
    # Not orjson, which fails on integers beyond 64 bits; messages may contain some.
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"
