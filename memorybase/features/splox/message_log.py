"""The log of a chat: post, read and delete messages. Ordered by seq, never trimmed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args
from uuid import UUID, uuid4, uuid5

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import deletions, errors, messages
from memorybase.core.callers import Caller, charge_messages, charged
from memorybase.core.caveats import Redacted
from memorybase.core.conversation.view.files import FileRef
from memorybase.core.conversation.view.records import Record, call_ids
from memorybase.core.conversation.view.token_counters import counter_for
from memorybase.core.conversation.view.tokens import ESTIMATE, stored_counter
from memorybase.core.database import clock
from memorybase.core.database.paging import MAX_INTEGER, MAX_SIZE, MAX_SKIP
from memorybase.core.deletions import OfChat
from memorybase.core.described import Content, CounterName, CreatedAt, ExternalId, Id, Metadata, Seq, SpeakerRole
from memorybase.core.extension import Charge
from memorybase.core.ids import CallerId
from memorybase.core.messages import NewMessage
from memorybase.core.models import Chat, ChatMemory, ChatRecord
from memorybase.core.queries import chats
from memorybase.core.queries.chats import DeletedRecord
from memorybase.core.queries.ownership import not_found
from memorybase.core.read_models.views import view_of
from memorybase.core.screening import screen_messages
from memorybase.core.services import Services
from memorybase.core.sessions import chat_deletion
from memorybase.features.splox import queries
from memorybase.features.splox.config import ChatMemoryConfig
from memorybase.features.splox.memories import (
    ChatSelector,
    MemoryKey,
    checked_chat_id,
    config_of,
    require_memory,
)
from memorybase.features.splox.templates import render
from memorybase.features.splox.views import message_fields, read_view, store_cut

DeletedRole = Literal["user", "assistant"]
DeleteMode = Literal["latest_request", "all"]

_CURSOR = re.compile(r"(before|after):(\d{1,19})")


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A posted message."""

    id: Id
    external_id: ExternalId
    seq: Seq
    created: Annotated[bool, Field(description="Whether it is new; false for a repeat.")]


@dataclass(frozen=True, slots=True)
class Posted:
    """The result of a post, and what a view of the chat has now."""

    chat_id: Annotated[str, Field(description="The chat's id, chosen by the caller.")]
    messages: Annotated[list[PostedMessage], Field(description="The result for each message, in order.")]
    trimmed: Annotated[int, Field(description="Number of messages of the log that a view now leaves out.")]
    tokens: Annotated[int, Field(description="Tokens of a view of the chat now.")]
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True)
class ChatMessageView:
    """A stored message of a chat."""

    id: Id
    external_id: ExternalId
    seq: Seq
    run_id: Annotated[UUID | None, Field(description="The run that wrote the message; null if none was named.")]
    request_id: Annotated[
        UUID, Field(description="The run that wrote the message, or a new id for each call without a run.")
    ]
    role: SpeakerRole
    content: Content
    tool_calls: Annotated[list[Any] | None, Field(description="Calls of tools by the model, in OpenAI's format.")]
    tool_call_id: Annotated[str | None, Field(description="The tool call that this message answers.")]
    name: Annotated[str | None, Field(description="The name of the speaker or the tool, as in OpenAI's format.")]
    files: Annotated[list[Any], Field(description="Files of the message, as they were sent.")]
    metadata: Metadata
    status: Annotated[str, Field(description="Whether the message is complete: `completed`, `failed` or `stopped`.")]
    tokens: Annotated[int, Field(description="Number of tokens.")]
    created_at: CreatedAt


@dataclass(frozen=True, slots=True)
class ChatPage:
    """A page of a log, oldest first. Both ways to continue go in the same direction."""

    items: Annotated[list[ChatMessageView], Field(description="The items of this page.")]
    total: Annotated[int, Field(description="Number of messages in the log.")]
    has_more: Annotated[bool, Field(description="Whether more messages follow in the same direction.")]
    counter: CounterName
    next_offset: Annotated[int | None, Field(description="Send it as `offset` to continue; null on the last page.")] = (
        None
    )
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to get the next page; null on the last one.")
    ] = None


@dataclass(frozen=True, slots=True)
class Deleted:
    """The messages that a deletion removed from a chat's log."""

    deleted: Annotated[list[UUID], Field(description="Ids of the deleted messages.")]
    remaining_count: Annotated[int, Field(description="Number of messages left in the log.")]


# Writing.


class _New(NamedTuple):
    """A message to store, and its fingerprints: to store, and as it was sent. One stored before has either."""

    message: NewMessage
    fingerprint: bytes
    as_sent: bytes


def post_messages(
    services: Services,
    key: MemoryKey,
    selector: ChatSelector,
    raw: Sequence[Any],
    *,
    run_id: CallerId | None = None,
    end_user_id: str | None = None,
    ids_from: UUID | None = None,
) -> Posted:
    """Append messages, all or none; repeated ids of the chat with equal content are skipped. The memory's template
    makes content of the variables for user messages without any. Messages without an id get one that is derived from
    `ids_from` and their position, or a random one.

    Raises NotFound, InvalidRequest, MessageConflict, QuotaExceeded, and Conflict for another end user.
    """
    with services.database.reading() as db:
        config = config_of(require_memory(db, key))
    chat_id = selector.resolve(config.chat_id)
    sent = _normalised(key, _with_content(raw, config, selector.variables), ids_from)
    screened = screen_messages(services, key.user_id, key.flow_id, list(sent.values()))
    new_messages = {
        message_id: _New(message, fingerprint, messages.message_fingerprint(sent[message_id]))
        for message_id, message, fingerprint in zip(sent, screened.messages, screened.fingerprints, strict=True)
    }

    def store(caller: Caller) -> tuple[ChatMemory, list[PostedMessage]]:
        with services.database.transaction() as db:
            memory, chat = _open(db, key, chat_id, end_user_id)
            now = clock.now(db)
            run = None if run_id is None else run_id.own
            posted = _append(db, chat, new_messages, run, now, key_id=caller.attributed_to)
            store_cut(db, memory, config_of(memory), chat)
            new = sum(each.created for each in posted)
            charge = Charge(caller=caller, messages=new, now=now, end_user_id=chat.end_user_id)
            charge_messages(db, services, charge)
            return memory, posted

    memory, posted = charged(services, key.user_id, store)
    with services.database.reading() as db:
        written = queries.fetch_chat(db, memory.id, chat_id)
        report = read_view(db, memory, config, written, counter_for(services.settings)).report
        trimmed = 0 if written is None else written.messages - len(report.kept)
    return Posted(chat_id, posted, trimmed, report.tokens_after)


def _open(db: OrmSession, key: MemoryKey, chat_id: str, end_user_id: str | None) -> tuple[ChatMemory, Chat]:
    """The memory, and its chat, locked. The first post creates the chat and binds it to its end user."""
    memory = require_memory(db, key)
    if not queries.share_memory(db, memory.id):
        raise not_found("chat memory", key.node_id)
    chat = queries.open_chat(db, memory, chat_id, clock.now(db), counter=ESTIMATE.name)
    if chat.last_seq == 0:
        chat.end_user_id = end_user_id
    elif end_user_id is not None and end_user_id != chat.end_user_id:
        raise errors.Conflict("The chat belongs to another end user or to none", field="end_user_id", value=end_user_id)
    return memory, chat


def _with_content(raw: Sequence[Any], config: ChatMemoryConfig, variables: Mapping[str, Any] | None) -> list[Any]:
    """The messages, with the template's content in user messages that have none."""
    lacking = [
        isinstance(message, Mapping) and message.get("role") == "user" and message.get("content") is None
        for message in raw
    ]
    if variables is None or not any(lacking):
        return list(raw)
    content = render(config.user_message_content, variables, field="variables")
    return [{**message, "content": content} if lacks else message for message, lacks in zip(raw, lacking, strict=True)]


def _normalised(key: MemoryKey, raw: Sequence[Any], ids_from: UUID | None) -> dict[UUID, NewMessage]:
    """The messages by id, which is the caller's or a new one."""
    if not raw:
        raise errors.InvalidRequest("messages must not be empty", field="messages", limit=1)
    normalised = messages.normalise_all(
        raw,
        user_id=key.user_id,
    )
    by_id: dict[UUID, NewMessage] = {}
    for index, message in enumerate(normalised):
        where = f"messages[{index}]"
        check_content(message, where)
        new_id = uuid4() if ids_from is None else uuid5(ids_from, f"message:{index}")
        first = by_id.setdefault(new_id if message.id is None else message.id.own, message)
        if first is not message and messages.message_fingerprint(first) != messages.message_fingerprint(message):
            raise errors.InvalidRequest(
                "Two messages of this request have the same id and different content", field=f"{where}.id"
            )
    return by_id


def check_content(message: NewMessage, where: str) -> None:
    """Raises InvalidRequest unless the files are valid and the message is not empty."""
    for index, file in enumerate(message.files):
        if not isinstance(file, Mapping):
            raise errors.InvalidRequest("A file must be an object", field=f"{where}.files[{index}]")
        FileRef.from_mapping(file, where=f"{where}.files[{index}]")
    if _record(message).is_empty:
        raise errors.InvalidRequest("A message must have content, files or tool calls", field=f"{where}.content")


def _record(message: NewMessage) -> Record:
    return Record(id="", seq=0, **message_fields(message))


def _append(
    db: OrmSession,
    chat: Chat,
    new_messages: Mapping[UUID, _New],
    run_id: UUID | None,
    now: datetime,
    *,
    key_id: UUID | None,
) -> list[PostedMessage]:
    stored_by_id = queries.stored_records(db, chat, new_messages.keys())
    for message_id, stored in stored_by_id.items():
        message, *fingerprints = new_messages[message_id]
        if stored.fingerprint not in fingerprints:
            raise errors.MessageConflict(
                field="messages.id", value=message_id if message.id is None else message.id.sent
            )
    new = {message_id: message for message_id, message in new_messages.items() if message_id not in stored_by_id}
    rows = [row | {"key_id": key_id} for row in _rows(chat, new, run_id, now)]
    queries.insert_records(db, rows)
    seqs = {stored.message_id: stored.seq for stored in stored_by_id.values()} | {
        row["message_id"]: row["seq"] for row in rows
    }
    if rows:
        chat.last_seq += len(rows)
        chat.messages += len(rows)
        chat.tokens += sum(row["tokens"] for row in rows)
        chat.updated_at = now
        db.flush()
    return [
        PostedMessage(message_id, _external_id(each.message), seqs[message_id], message_id in new)
        for message_id, each in new_messages.items()
    ]


def _external_id(message: NewMessage) -> str | None:
    return None if message.id is None else message.id.external_id


def _rows(chat: Chat, new: Mapping[UUID, _New], run_id: UUID | None, now: datetime) -> list[dict[str, Any]]:
    request_id = run_id or uuid4()
    counter = stored_counter(chat.counter)
    return [
        {
            "chat_row_id": chat.id,
            "seq": seq,
            "flow_id": chat.flow_id,
            "message_id": message_id,
            "external_id": _external_id(message),
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
            "tokens": counter.count(_record(message)),
            "fingerprint": fingerprint,
            "created_at": now,
        }
        for seq, (message_id, (message, fingerprint, _)) in enumerate(new.items(), chat.last_seq + 1)
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
    """The last messages; with an offset, even 0, those after the first `offset`. Raises NotFound."""
    checked_chat_id(chat_id)
    _check_range("limit", limit, MAX_SIZE)
    _check_range("offset", offset or 0, MAX_SKIP)
    if cursor is not None and offset is not None:
        raise errors.InvalidRequest("cursor and offset exclude each other", field="cursor")
    direction, seq = _read_cursor(cursor)
    with services.database.reading() as db:
        memory = require_memory(db, key)
        chat = queries.fetch_chat(db, memory.id, chat_id)
        if chat is None:
            return ChatPage([], 0, has_more=False, counter=ESTIMATE.name)
        if offset is not None or direction == "after":
            rows = queries.oldest(db, chat, limit=limit + 1, after=seq or 0, offset=offset or 0)
            return _page(chat, rows[:limit], len(rows) > limit, "after", offset)
        rows = queries.newest(db, chat, limit=limit + 1, before=seq)
        return _page(chat, rows[:limit][::-1], len(rows) > limit, "before", None)


def _page(chat: Chat, rows: Sequence[ChatRecord], has_more: bool, direction: str, offset: int | None) -> ChatPage:
    edge = None if not rows else rows[-1 if direction == "after" else 0].seq
    return ChatPage(
        [message_view(row) for row in rows],
        chat.messages,
        has_more,
        chat.counter,
        offset + len(rows) if has_more and offset is not None else None,
        f"{direction}:{edge}" if has_more and edge is not None else None,
    )


def _read_cursor(cursor: str | None) -> tuple[str | None, int | None]:
    if cursor is None:
        return None, None
    match = _CURSOR.fullmatch(cursor)
    if match is None or int(match[2]) > MAX_INTEGER:
        raise errors.InvalidRequest("This cursor is not of this list; omit it to start again", field="cursor")
    return match[1], int(match[2])


def _check_range(name: str, value: int, high: int) -> None:
    if not 0 <= value <= high:
        raise errors.InvalidRequest(f"{name} must be from 0 to {high}", field=name, value=value, limit=high)


def message_view(row: ChatRecord) -> ChatMessageView:
    return view_of(ChatMessageView, row, id=row.message_id, metadata=row.meta)


# Deleting.


def delete_messages(
    services: Services,
    key: MemoryKey,
    chat_id: str,
    *,
    mode: DeleteMode,
    roles: Collection[DeletedRole],
    before_commit: Callable[[OrmSession, Deleted], object] | None = None,
) -> Deleted:
    """Delete the latest request's messages, or all, in these roles; both roles include every other. `before_commit` is
    called in the transaction that deletes them.

    Results of deleted tool calls are deleted too, and recorded uses and summaries are redacted. Raises NotFound,
    InvalidRequest, Held.
    """
    checked_chat_id(chat_id)
    check_deletion(mode, roles)
    with services.database.transaction() as db:
        memory = require_memory(db, key)
        chat = chats.lock_chat(db, memory.id, chat_id)
        if chat is None:
            return Deleted([], 0)
        deletions.check(db, services, key.user_id, OfChat(key.flow_id, chat.end_user_id))
        records = _delete(db, chat, mode, set(roles))
        chat_deletion.after_deletion(db, chat, records)
        deleted = Deleted([record.message_id for record in records], chat.messages)
        if before_commit is not None:
            before_commit(db, deleted)
        return deleted


def check_deletion(mode: str, roles: Collection[str]) -> None:
    """Raises InvalidRequest for a mode or a role that does not exist."""
    modes, known = get_args(DeleteMode), get_args(DeletedRole)
    if mode not in modes:
        text = f"mode must be one of {', '.join(modes)} (got {mode!r})"
        raise errors.InvalidRequest(text, field="mode", value=mode, limit=list(modes))
    if isinstance(roles, str) or not roles or not set(roles) <= set(known):
        text = f"roles must be a list of user, assistant or both (got {roles!r})"
        raise errors.InvalidRequest(text, field="roles", value=str(roles), limit=list(known))


def _delete(db: OrmSession, chat: Chat, mode: DeleteMode, roles: set[DeletedRole]) -> list[DeletedRecord]:
    is_all_roles = {"user", "assistant"} <= roles
    if mode == "all":
        with_results = roles | {"tool"} if "assistant" in roles else roles
        return chats.delete_records(db, chat, roles=None if is_all_roles else with_results)
    request_id = queries.newest_request(db, chat)
    calls = queries.calls_of(db, chat, request_id) if request_id and "assistant" in roles else []
    deleted = chats.delete_records(db, chat, roles=None if is_all_roles else roles, request_id=request_id)
    if calls:
        tool_calls = [call for _, message_calls in calls for call in message_calls]
        ids = call_ids(Record(id="", seq=0, role="assistant", tool_calls=tool_calls))
        deleted += chats.delete_results(db, chat, ids, after=calls[0][0])
    return sorted(deleted)
