"""Lines of exports of types chat_memory, chat and chat_message, and their import.

Each line has every stored field and is self-contained: it names its flow, node and chat.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from memorybase.core import errors
from memorybase.core.extension import Lines
from memorybase.core.ids import CallerId
from memorybase.core.import_export.lines import PAGE, Item, Line, MessageTally, pages
from memorybase.core.models import ID_LENGTH, Chat, ChatMemory, Flow
from memorybase.core.services import Services
from memorybase.features.splox import queries
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import ChatSelector, MemoryKey, config_of, put_memory, require_memory
from memorybase.features.splox.message_log import ChatMessageView, message_view, post_messages

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


def flow_lines(services: Services, flow: Flow, counts: Counter[str], end_user_id: str | None = None) -> Iterator[bytes]:
    """A flow's chat memories with all their chats, or those of one end user."""
    for page in pages(services, lambda db, after, limit: queries.memories_after(db, flow.id, after, limit=limit)):
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
        lambda db, after, limit: queries.chats_after(
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
            page = [message_view(row) for row in queries.oldest(db, chat, limit=PAGE, after=seq)]
        yield from page
        if len(page) < PAGE:
            return
        seq = page[-1].seq


def _line(kind: str, **fields: Any) -> bytes:
    # Not orjson, which fails on integers beyond 64 bits; messages may contain some.
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"


# Import.


@dataclass(frozen=True, slots=True)
class _Memory(Item):
    line: int
    key: MemoryKey
    config: ChatMemoryConfig

    def store(self, services: Services) -> Mapping[str, int | MessageTally]:
        """An existing one is kept."""
        put_memory(services, self.key, self.config, replace=False)
        return {"chat_memories": 1}


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that wrote to a chat."""

    key: MemoryKey
    chat_id: str
    end_user_id: str | None
    request_id: str
    run_id: CallerId | None


@dataclass(frozen=True, slots=True)
class _Post(Item):
    """Messages that one request wrote."""

    line: int
    request: _Request
    messages: list[dict[str, Any]]

    def takes(self, other: object, limit: int) -> bool:
        if not isinstance(other, _Post) or other.request != self.request or len(self.messages) >= limit:
            return False
        self.messages.extend(other.messages)
        return True

    def store(self, services: Services) -> Mapping[str, int | MessageTally]:
        to = self.request
        posted = post_messages(
            services, to.key, ChatSelector(to.chat_id), self.messages, run_id=to.run_id, end_user_id=to.end_user_id
        )
        created = sum(message.created for message in posted.messages)
        return {"chat_messages": MessageTally(created, len(posted.messages) - created)}


def _read_memory(line: Line) -> _Memory:
    key = _key(line)
    fields = {name: line.values[name] for name in ChatMemoryConfig.model_fields if name in line.values}
    try:
        return _Memory(line.number, key, ChatMemoryConfig.of(fields))
    except errors.InvalidRequest as error:
        error.field = f"line {line.number}.{error.field}"
        raise


def _read_message(line: Line) -> _Post:
    end_user_id = None if line.values.get("end_user_id") is None else line.text("end_user_id", ID_LENGTH)
    key, chat_id, request_id = _key(line), line.text("chat_id", ID_LENGTH), line.text("request_id", ID_LENGTH)
    return _Post(line.number, _Request(key, chat_id, end_user_id, request_id, _run(line)), [line.raw_message()])


def _key(line: Line) -> MemoryKey:
    return MemoryKey(line.user_id, line.flow(), line.text("node_id", ID_LENGTH))


def _run(line: Line) -> CallerId | None:
    if line.values.get("run_id") is None:
        return None
    try:
        return CallerId.of(line.user_id, "run", UUID(line.text("run_id", ID_LENGTH)))
    except ValueError:
        raise errors.InvalidRequest("run_id must be a UUID", field=f"line {line.number}.run_id") from None


LINES = Lines(
    kinds=KINDS,
    of_flow=flow_lines,
    # A chat is created by its messages.
    read={"chat_memory": _read_memory, "chat_message": _read_message, "chat": lambda _: None},
)
