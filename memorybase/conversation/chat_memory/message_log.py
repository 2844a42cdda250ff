"""The log of a chat: written, read as it is stored, deleted by request. Seq orders it; it is never trimmed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors, messages
from memorybase.conversation.chat_memory.config import ChatMemoryConfig
from memorybase.conversation.chat_memory.memories import MemoryKey, Who, checked_chat_id, config_of, found_memory
from memorybase.conversation.chat_memory.templates import render
from memorybase.conversation.chat_memory.views import keep_standing, read_view
from memorybase.conversation.view.files import FileRef, read_files
from memorybase.conversation.view.records import Record, call_ids
from memorybase.conversation.view.tokens import ESTIMATE
from memorybase.database import clock
from memorybase.database.paging import MAX_INTEGER, MAX_SIZE, MAX_SKIP
from memorybase.messages import NewMessage
from memorybase.models import Chat, ChatRecord
from memorybase.queries import chats, memory_uses
from memorybase.queries.chats import Gone
from memorybase.queries.ownership import not_found
from memorybase.services import Services
from memorybase.telemetry import get_logger

log = get_logger(__name__)

DeletedRole = Literal["user", "assistant"]
DeleteMode = Literal["latest_request", "all"]

ERASE_PAGE = 200  # chats looked up at once
_CURSOR = re.compile(r"(before|after):(\d{1,19})")


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """`created`: it was not there before."""

    id: UUID
    external_id: str | None
    seq: int
    created: bool


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a post. After it a view of the chat costs `tokens` and leaves out `trimmed` of its messages."""

    chat_id: str
    messages: list[PostedMessage]
    trimmed: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ChatMessageView:
    """A message of a chat as it is stored. `request_id`: the run, else the one call, that wrote it."""

    id: UUID
    external_id: str | None
    seq: int
    run_id: UUID | None
    request_id: UUID
    role: str
    content: str | list[Any] | None
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    files: list[Any]
    metadata: dict[str, Any]
    status: str
    tokens: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ChatPage:
    """A part of a log, oldest first. `next_offset` and `next_cursor` lead on, in the direction that was begun with."""

    items: list[ChatMessageView]
    total: int
    has_more: bool
    next_offset: int | None = None
    next_cursor: str | None = None


class ErasedChats(NamedTuple):
    """How many, with how many messages and summaries."""

    chats: int
    messages: int
    summaries: int


@dataclass(frozen=True, slots=True)
class Deleted:
    deleted: list[UUID]
    remaining_count: int


# Writing.


def post_messages(
    services: Services,
    key: MemoryKey,
    who: Who,
    raw: Sequence[Any],
    *,
    run_id: UUID | None = None,
    end_user_id: str | None = None,
) -> Posted:
    """Append messages; those whose id the chat has already, with equal content, are skipped. A user message without
    content is made of the variables, by the memory's template.

    Raises NotFound, InvalidRequest, MessageConflict, Conflict for another end user; nothing is stored then.
    """
    with services.database.reading() as db:
        config = config_of(found_memory(db, key))
    chat_id = who.resolve(config.chat_id)
    said = _normalised(services, key, _filled(raw, config, who.variables))
    with services.database.transaction() as db:
        memory = found_memory(db, key)
        if not chats.share_memory(db, memory.id):
            raise not_found("chat memory", key.node_id)
        chat = chats.open_chat(db, memory, chat_id, clock.now(db))
        _bind_end_user(chat, end_user_id)
        posted = _append(db, chat, said, run_id)
        keep_standing(db, memory, config_of(memory), chat)
    with services.database.reading() as db:
        written = chats.fetch_chat(db, memory.id, chat_id)
        report = read_view(db, memory, config, written).report
        trimmed = 0 if written is None else written.messages - len(report.kept)
    return Posted(chat_id, posted, trimmed, report.tokens_after)


def _filled(raw: Sequence[Any], config: ChatMemoryConfig, variables: Mapping[str, Any] | None) -> list[Any]:
    """With the content that the template makes, where a user's message brings none."""
    if variables is None:
        return list(raw)
    return [
        {**one, "content": render(config.user_message_content, variables, field="variables")}
        if isinstance(one, Mapping) and one.get("role") == "user" and one.get("content") is None
        else one
        for one in raw
    ]


def _normalised(services: Services, key: MemoryKey, raw: Sequence[Any]) -> dict[UUID, NewMessage]:
    """By id: the caller's, or one made here."""
    if not raw:
        raise errors.InvalidRequest("There is no message to add", field="messages", limit=1)
    bounds = services.settings
    said = messages.normalise_all(
        raw,
        user_id=key.user_id,
        max_messages=bounds.max_messages_per_run,
        max_message_bytes=bounds.max_message_bytes,
    )
    by_id: dict[UUID, NewMessage] = {}
    for index, message in enumerate(said):
        where = f"messages[{index}]"
        check_says_something(message, where)
        first = by_id.setdefault(message.id or uuid4(), message)
        if first is not message and messages.message_fingerprint(first) != messages.message_fingerprint(message):
            raise errors.InvalidRequest(
                "The same message id stands twice in this request with other content", field=f"{where}.id"
            )
    return by_id


def check_says_something(message: NewMessage, where: str) -> None:
    """Its files are files, and there is something to remember."""
    for index, file in enumerate(message.files):
        if not isinstance(file, Mapping):
            raise errors.InvalidRequest("A file is an object", field=f"{where}.files[{index}]")
        FileRef.from_mapping(file, where=f"{where}.files[{index}]")
    if _record(message, seq=0).is_empty:
        raise errors.InvalidRequest("A message has content, files or tool calls", field=f"{where}.content")


def _record(message: NewMessage, seq: int) -> Record:
    return Record(
        id="",
        seq=seq,
        role=message.role,  # type: ignore[arg-type]  # checked when it was read
        content=message.content,
        tool_calls=message.tool_calls or (),
        tool_call_id=message.tool_call_id,
        name=message.name,
        files=read_files(message.files),
    )


def _bind_end_user(chat: Chat, end_user_id: str | None) -> None:
    """A chat belongs to one end user from its first post on."""
    if chat.last_seq == 0:
        chat.end_user_id = end_user_id
    elif end_user_id is not None and end_user_id != chat.end_user_id:
        raise errors.Conflict(
            "The chat belongs to another end user, or was begun without one", field="end_user_id", value=end_user_id
        )


def _append(db: OrmSession, chat: Chat, said: Mapping[UUID, NewMessage], run_id: UUID | None) -> list[PostedMessage]:
    known = chats.known_records(db, chat, said.keys())
    for message_id, stored in known.items():
        message = said[message_id]
        if stored.fingerprint != messages.message_fingerprint(message):
            raise errors.MessageConflict(field="messages.id", value=message.id or message_id)
    new = {message_id: message for message_id, message in said.items() if message_id not in known}
    now = clock.now(db)
    rows = _rows(chat, new, run_id, now)
    chats.insert_records(db, rows)
    seqs = {stored.message_id: stored.seq for stored in known.values()} | {
        row["message_id"]: row["seq"] for row in rows
    }
    if rows:
        chat.last_seq += len(rows)
        chat.messages += len(rows)
        chat.tokens += sum(row["tokens"] for row in rows)
        chat.updated_at = now
        db.flush()
    return [
        PostedMessage(message_id, message.external_id, seqs[message_id], message_id in new)
        for message_id, message in said.items()
    ]


def _rows(chat: Chat, said: Mapping[UUID, NewMessage], run_id: UUID | None, now: datetime) -> list[dict[str, Any]]:
    request_id = run_id or uuid4()
    return [
        {
            "chat_row_id": chat.id,
            "seq": seq,
            "flow_id": chat.flow_id,
            "message_id": message_id,
            "external_id": message.external_id,
            "run_id": run_id,
            "request_id": request_id,
            "role": message.role,
            "content": message.content,
            "tool_calls": message.tool_calls,
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "files": message.files,
            "meta": message.metadata,
            "status": message.status,
            "tokens": ESTIMATE.count(_record(message, seq)),
            "fingerprint": messages.message_fingerprint(message),
            "created_at": now,
        }
        for seq, (message_id, message) in enumerate(said.items(), chat.last_seq + 1)
    ]


# Reading.


def read_messages(
    services: Services,
    key: MemoryKey,
    chat_id: str,
    *,
    limit: int = 50,
    offset: int | None = None,
    cursor: str | None = None,
) -> ChatPage:
    """The last messages; with an offset, 0 too, those behind so many from the beginning. Raises NotFound."""
    checked_chat_id(chat_id)
    _bounded("limit", limit, MAX_SIZE)
    _bounded("offset", offset or 0, MAX_SKIP)
    if cursor is not None and offset is not None:
        raise errors.InvalidRequest("A cursor stands alone, without offset", field="cursor")
    direction, seq = _read_cursor(cursor)
    with services.database.reading() as db:
        memory = found_memory(db, key)
        chat = chats.fetch_chat(db, memory.id, chat_id)
        if chat is None:
            return ChatPage([], 0, has_more=False)
        if offset is not None or direction == "after":
            rows = chats.oldest(db, chat, limit=limit + 1, after=seq or 0, offset=offset or 0)
            return _page(chat, rows[:limit], len(rows) > limit, "after", offset)
        rows = chats.newest(db, chat, limit=limit + 1, before=seq)
        return _page(chat, rows[:limit][::-1], len(rows) > limit, "before", None)


def _page(chat: Chat, rows: Sequence[ChatRecord], has_more: bool, direction: str, offset: int | None) -> ChatPage:
    edge = None if not rows else rows[-1 if direction == "after" else 0].seq
    return ChatPage(
        [message_view(row) for row in rows],
        chat.messages,
        has_more,
        offset + len(rows) if has_more and offset is not None else None,
        f"{direction}:{edge}" if has_more and edge is not None else None,
    )


def _read_cursor(cursor: str | None) -> tuple[str | None, int | None]:
    if cursor is None:
        return None, None
    match = _CURSOR.fullmatch(cursor)
    if match is None or int(match[2]) > MAX_INTEGER:
        raise errors.InvalidRequest("This cursor is not of this list", field="cursor")
    return match[1], int(match[2])


def _bounded(name: str, value: int, high: int) -> None:
    if not 0 <= value <= high:
        raise errors.InvalidRequest(f"{name} is from 0 to {high}", field=name, value=value, limit=high)


def message_view(row: ChatRecord) -> ChatMessageView:
    plain = {
        name: getattr(row, name) for name in ChatMessageView.__dataclass_fields__ if name not in {"id", "metadata"}
    }
    return ChatMessageView(**plain, id=row.message_id, metadata=row.meta)


# Deleting.


def delete_messages(
    services: Services, key: MemoryKey, chat_id: str, *, mode: DeleteMode, roles: Collection[DeletedRole]
) -> Deleted:
    """Delete the messages of the request that wrote last, or all, in these roles; both roles are everything.

    An assistant's tool calls take their results along. What views and summaries held of them goes too. Raises NotFound,
    InvalidRequest.
    """
    checked_chat_id(chat_id)
    if not roles:
        raise errors.InvalidRequest("Say which roles are to be deleted", field="roles", limit=["user", "assistant"])
    with services.database.transaction() as db:
        memory = found_memory(db, key)
        chat = chats.lock_chat(db, memory.id, chat_id)
        if chat is None:
            return Deleted([], 0)
        gone = _deleted(db, chat, mode, set(roles))
        _after_deletion(db, chat, gone)
        return Deleted([each.message_id for each in gone], chat.messages)


def _deleted(db: OrmSession, chat: Chat, mode: DeleteMode, roles: set[DeletedRole]) -> list[Gone]:
    is_whole = {"user", "assistant"} <= roles
    if mode == "all":
        with_results = roles | {"tool"} if "assistant" in roles else roles
        return chats.delete_records(db, chat, roles=None if is_whole else with_results)
    request_id = chats.newest_request(db, chat)
    calls = chats.calls_of(db, chat, request_id) if request_id and "assistant" in roles else []
    gone = chats.delete_records(db, chat, roles=None if is_whole else roles, request_id=request_id)
    if calls:
        made = Record(id="", seq=0, role="assistant", tool_calls=[call for _, some in calls for call in some])
        gone += chats.delete_results(db, chat, call_ids(made), after=calls[0][0])
    return sorted(gone)


def _after_deletion(db: OrmSession, chat: Chat, gone: Sequence[Gone]) -> None:
    """Counters follow; a summary that covered any of it goes, and with it the place that it had moved."""
    if not gone:
        return
    words = [each.message_id for each in gone]
    chat.messages -= len(gone)
    chat.tokens -= sum(each.tokens for each in gone)
    chat.revision += 1
    chat.updated_at = clock.now(db)
    covered = chat.summary_from_seq, chat.summary_to_seq
    if chat.summary is not None and any(covered[0] <= each.seq <= covered[1] for each in gone):
        chat.summary = None
        chat.summary_from_seq = chat.summary_to_seq = 0
        if chat.trimmed_seq <= covered[1]:
            chat.trimmed_seq = min(chat.trimmed_seq, covered[0] - 1)
        words.append(chat.id)  # by this name uses know the summary
    memory_uses.redact_uses(db, words)
    db.flush()
    if chat.messages == 0:
        chats.delete_chat(db, chat)


def erase_chats(services: Services, user_id: UUID, end_user_id: str) -> ErasedChats:
    """Delete every chat of an end user, in all of the user's flows.

    A chat a transaction: what an error leaves behind is what the next call continues from.
    """
    total = ErasedChats(0, 0, 0)
    while True:
        with services.database.reading() as db:
            page = chats.chats_of_end_user(db, user_id, end_user_id, limit=ERASE_PAGE)
        for memory_id, chat_id in page:
            with services.database.transaction() as db:
                chat = chats.lock_chat(db, memory_id, chat_id)
                if chat is None or chat.end_user_id != end_user_id:
                    continue
                summaries = total.summaries + (chat.summary is not None)
                gone = chats.delete_records(db, chat)
                _after_deletion(db, chat, gone)
                total = ErasedChats(total.chats + 1, total.messages + len(gone), summaries)
        if len(page) < ERASE_PAGE:
            return total
