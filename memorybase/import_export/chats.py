"""Chats as JSON lines: every stored field, every message unmodified, any number of short reads.

Lines of types chat_memory, chat and chat_message. Each stands alone: it names its flow, its node and its chat.
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
from memorybase.models import Chat, ChatMemory, Flow
from memorybase.queries import chats
from memorybase.services import Services

PAGE = 100  # rows a read: a message may be megabytes
KINDS = ("chat_memories", "chats", "chat_messages")  # counted in the last line


def export_memory(services: Services, key: MemoryKey, *, chat_id: str | None = None) -> Iterator[bytes]:
    """One memory, or one chat of it, and a last line of type end. Raises NotFound before the first line."""
    with services.database.reading() as db:
        memory = require_memory(db, key)
        flow = db.get_one(Flow, key.flow_id)
    return _whole(services, flow, memory, chat_id)


def _whole(services: Services, flow: Flow, memory: ChatMemory, chat_id: str | None) -> Iterator[bytes]:
    counts: Counter[str] = Counter()
    yield from _memory_lines(services, flow, memory, counts, chat_id=chat_id)
    yield _line("end", **{kind: counts[kind] for kind in KINDS})


def flow_lines(
    services: Services, flow: Flow, counts: Counter[str], *, end_user_id: str | None = None
) -> Iterator[bytes]:
    """The memories of a flow, and their chats, or those of an end user."""
    after: UUID | None = None
    while True:
        with services.database.reading() as db:
            page = chats.memories_after(db, flow.id, after, limit=PAGE)
        for memory in page:
            yield from _memory_lines(services, flow, memory, counts, end_user_id=end_user_id)
        if len(page) < PAGE:
            return
        after = page[-1].id


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
        which = {**where, "chat_id": chat.chat_id, "end_user_id": chat.end_user_id}
        yield _line("chat", **which, **_chat_fields(chat))
        for each in _messages(services, chat):
            counts["chat_messages"] += 1
            yield _line("chat_message", **which, **asdict(each))


def _chats(services: Services, memory_id: UUID, chat_id: str | None, end_user_id: str | None) -> Iterator[Chat]:
    after: UUID | None = None
    while True:
        with services.database.reading() as db:
            page = chats.chats_after(db, memory_id, after, chat_id=chat_id, end_user_id=end_user_id, limit=PAGE)
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].id


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
    # Not orjson: it knows no integers beyond 64 bits, and what was sent may hold some.
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"
