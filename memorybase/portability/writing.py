"""Import: the lines of an export, through capture like everything else. Ids are kept, and repeating changes nothing.

What has an id of its owner's is known by that id again, whoever imports it; the rest keeps its UUID. What memorybase
gives out itself is given anew: seq, version, and the times of capture.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from memorybase import capturing, errors, ingestion, lifecycle, messages
from memorybase.conversation import chat_log, chat_memory
from memorybase.conversation.chat_config import ChatMemoryConfig
from memorybase.conversation.chat_memory import MemoryKey, Who
from memorybase.ingestion import CapturedMessage, CaptureRequest
from memorybase.messages import IdKind, NewMessage
from memorybase.models import ID_LENGTH, NAME_LENGTH
from memorybase.portability.reading import FORMAT
from memorybase.queries import conversations
from memorybase.services import Services

OnConflict = Literal["error", "keep", "update"]

_MESSAGE_FIELDS = (
    "role", "content", "tool_calls", "tool_call_id", "name", "sender_name", "files", "metadata", "status", "timestamp",
    "is_output",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MessageTally:
    """`deleted`: were deleted out of a session that lives on, and stay so."""

    created: int = 0
    known: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """How many lines were read, of what; of the messages, how many were new."""

    lines: int = 0
    flows: int = 0
    sessions: int = 0
    runs: int = 0
    messages: MessageTally = field(default_factory=MessageTally)
    chat_memories: int = 0
    chat_messages: MessageTally = field(default_factory=MessageTally)


@dataclass(frozen=True, slots=True)
class _Place:
    """A session, as a line names it."""

    flow_id: UUID
    session_id: str
    end_user_id: str | None


@dataclass(frozen=True, slots=True)
class _Flow:
    line: int
    id: UUID
    external_id: str | None
    name: str


@dataclass(frozen=True, slots=True)
class _Session:
    line: int
    place: _Place
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Capture:
    """A run, or messages of one."""

    line: int
    place: _Place
    run_id: UUID
    run_external_id: str | None
    messages: list[NewMessage]
    is_run: bool


@dataclass(frozen=True, slots=True)
class _Memory:
    line: int
    key: MemoryKey
    config: ChatMemoryConfig


@dataclass(frozen=True, slots=True)
class _ChatPlace:
    """A request to a chat, as a line names it."""

    key: MemoryKey
    chat_id: str
    end_user_id: str | None
    request_id: str


@dataclass(frozen=True, slots=True)
class _ChatPost:
    """Messages of a chat that one request has written."""

    line: int
    place: _ChatPlace
    run_id: UUID | None
    messages: list[dict[str, Any]]
    is_run: bool = False


_Item = _Flow | _Session | _Capture | _Memory | _ChatPost


def import_lines(services: Services, user_id: UUID, body: bytes, *, on_conflict: OnConflict = "error") -> ImportAnswer:
    """Read every line, then store item by item; what an error leaves behind is what the next import continues from.

    Raises InvalidRequest naming the line, before anything is stored; later what a capture raises, with `details.line`.
    """
    lines = list(_lines(body))
    items = [item for number, line in lines if (item := _read(services, user_id, number, line)) is not None]
    answer = ImportAnswer(lines=len(lines))
    for item in _joined(items, services.settings.max_messages_per_run):
        try:
            answer = _store(services, user_id, item, answer, on_conflict)
        except errors.MemorybaseError as error:
            error.details["line"] = item.line
            raise
    return answer


def _lines(body: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, raw in enumerate(body.split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            raise errors.InvalidRequest("The line is not valid JSON", field=f"line {number}") from None
        if not isinstance(value, dict):
            raise errors.InvalidRequest("The line is not a JSON object", field=f"line {number}")
        yield number, value


def _read(services: Services, user_id: UUID, number: int, line: dict[str, Any]) -> _Item | None:
    kind, reader = line.get("type"), _Line(user_id, number, line)
    if kind == "export":
        if line.get("format") != FORMAT:
            raise errors.InvalidRequest("This format is not known", field=f"line {number}.format", limit=FORMAT)
        return None
    if kind in {"end", "chat"}:  # a chat is made by its messages, and its summary anew
        return None
    if kind in {"chat_memory", "chat_message"}:
        return _read_of_chats(reader, is_memory=kind == "chat_memory")
    return _read_captured(services, reader)


def _read_of_chats(reader: _Line, *, is_memory: bool) -> _Memory | _ChatPost:
    if is_memory:
        return _Memory(reader.number, reader.memory_key(), reader.memory_config())
    return _ChatPost(reader.number, reader.chat_place(), reader.optional_uuid("run_id"), [reader.raw_message()])


def _read_captured(services: Services, reader: _Line) -> _Flow | _Session | _Capture:
    kind, number = reader.values.get("type"), reader.number
    if kind == "flow":
        flow_id, external_id = reader.identity("flow", "id", "external_id")
        return _Flow(number, flow_id, external_id, reader.text("name", NAME_LENGTH))
    if kind == "session":
        return _Session(number, reader.place(), reader.metadata())
    if kind == "run":
        return _Capture(number, reader.place(), *reader.identity("run", "id", "external_id"), [], is_run=True)
    if kind == "message":
        message = reader.message(services.settings.max_message_bytes)
        run = reader.identity("run", "run_id", "run_external_id")
        return _Capture(number, reader.place(), *run, [message], is_run=False)
    raise errors.InvalidRequest("The line's type is none of an export's", field=f"line {number}.type")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line, read field by field; every error names it."""

    user_id: UUID
    number: int
    values: dict[str, Any]

    def text(self, name: str, limit: int) -> str:
        value, where = self.values.get(name), f"line {self.number}.{name}"
        if not isinstance(value, str) or not value.strip():
            raise errors.InvalidRequest("This is a string that is not blank", field=where)
        if len(value) > limit:
            raise errors.InvalidRequest("This is too long", field=where, value=len(value), limit=limit)
        messages.check_json(value, where)
        return value

    def identity(self, kind: IdKind, name: str, external_name: str) -> tuple[UUID, str | None]:
        """The UUID that the line's ids stand for with this user, and the owner's id."""
        chosen = name if self.values.get(external_name) is None else external_name
        return messages.resolve_id(self.user_id, kind, self.text(chosen, ID_LENGTH))

    def place(self) -> _Place:
        flow_id, _ = self.identity("flow", "flow_id", "flow_external_id")
        ours = None if self.values.get("end_user_id") is None else self.text("end_user_id", ID_LENGTH)
        return _Place(flow_id, self.text("session_id", ID_LENGTH), ours)

    def metadata(self) -> dict[str, Any]:
        value, where = self.values.get("metadata") or {}, f"line {self.number}.metadata"
        if not isinstance(value, dict):
            raise errors.InvalidRequest("This is an object", field=where)
        messages.check_json(value, where)
        return value

    def memory_key(self) -> MemoryKey:
        flow_id, _ = self.identity("flow", "flow_id", "flow_external_id")
        return MemoryKey(self.user_id, flow_id, self.text("node_id", ID_LENGTH))

    def memory_config(self) -> ChatMemoryConfig:
        fields = {name: self.values[name] for name in ChatMemoryConfig.model_fields if name in self.values}
        try:
            return ChatMemoryConfig.of(fields)
        except errors.InvalidRequest as error:
            error.field = f"line {self.number}.{error.field}"
            raise

    def chat_place(self) -> _ChatPlace:
        ours = None if self.values.get("end_user_id") is None else self.text("end_user_id", ID_LENGTH)
        return _ChatPlace(self.memory_key(), self.text("chat_id", ID_LENGTH), ours, self.text("request_id", ID_LENGTH))

    def optional_uuid(self, name: str) -> UUID | None:
        if self.values.get(name) is None:
            return None
        try:
            return UUID(self.text(name, ID_LENGTH))
        except ValueError:
            raise errors.InvalidRequest("This is a UUID", field=f"line {self.number}.{name}") from None

    def raw_message(self) -> dict[str, Any]:
        raw = {name: self.values[name] for name in _MESSAGE_FIELDS if name in self.values}
        raw["id"] = self.values.get("external_id") or self.values.get("id")
        if not isinstance(raw["id"], str):
            raise errors.InvalidRequest("A message needs its id", field=f"line {self.number}.id")
        return raw

    def message(self, max_bytes: int) -> NewMessage:
        where = f"line {self.number}"
        raw = self.raw_message()
        raw["parent_message_id"] = self.values.get("parent_external_id") or self.values.get("parent_message_id")
        message = messages.normalise(raw, user_id=self.user_id, where=where)
        size = messages.message_bytes(message)
        if size > max_bytes:
            raise errors.InvalidRequest("The message is too large", field=where, value=size, limit=max_bytes)
        return message


def _joined(items: Sequence[_Item], most: int) -> Iterator[_Item]:
    """Messages of one run that follow each other, and the run before them, as one capture."""
    waiting: _Capture | _ChatPost | None = None
    for item in items:
        if isinstance(item, _Capture) and isinstance(waiting, _Capture) and _same_run(waiting, item, most):
            waiting.messages.extend(item.messages)
            continue
        if isinstance(item, _ChatPost) and isinstance(waiting, _ChatPost) and _same_run(waiting, item, most):
            waiting.messages.extend(item.messages)
            continue
        if waiting is not None:
            yield waiting
        waiting = item if isinstance(item, _Capture | _ChatPost) else None
        if waiting is None:
            yield item
    if waiting is not None:
        yield waiting


def _same_run(one: _Capture | _ChatPost, other: _Capture | _ChatPost, most: int) -> bool:
    return (one.place, one.run_id) == (other.place, other.run_id) and len(one.messages) < most and not other.is_run


def _store(
    services: Services, user_id: UUID, item: _Item, answer: ImportAnswer, on_conflict: OnConflict
) -> ImportAnswer:
    if isinstance(item, _Flow):
        lifecycle.put_flow(services, user_id, name=item.name, flow_id=item.id, external_id=item.external_id,
                           rename=False)  # fmt: skip
        return replace(answer, flows=answer.flows + 1)
    if isinstance(item, _Session):
        _open_session(services, user_id, item)
        return replace(answer, sessions=answer.sessions + 1)
    if isinstance(item, _Memory):
        chat_memory.put_memory(services, item.key, item.config, replace=False)  # as it is, if it is there
        return replace(answer, chat_memories=answer.chat_memories + 1)
    if isinstance(item, _ChatPost):
        return _store_chat_messages(services, item, answer)
    request = CaptureRequest(
        session_id=item.place.session_id, messages=item.messages, run_id=item.run_id,
        run_external_id=item.run_external_id, end_user_id=item.place.end_user_id, on_conflict=on_conflict,
    )  # fmt: skip
    result = ingestion.capture(services, user_id, item.place.flow_id, request)
    tally = _counted(answer.messages, result.messages)
    return replace(answer, runs=answer.runs + item.is_run, messages=tally)


def _store_chat_messages(services: Services, item: _ChatPost, answer: ImportAnswer) -> ImportAnswer:
    place = item.place
    posted = chat_log.post_messages(
        services, place.key, Who(place.chat_id), item.messages, run_id=item.run_id, end_user_id=place.end_user_id
    )
    created = sum(message.created for message in posted.messages)
    before = answer.chat_messages
    tally = MessageTally(before.created + created, before.known + len(posted.messages) - created)
    return replace(answer, chat_messages=tally)


def _counted(tally: MessageTally, captured: Sequence[CapturedMessage]) -> MessageTally:
    created = sum(message.created for message in captured)
    kept_out = sum(message.deleted for message in captured)
    return MessageTally(
        tally.created + created, tally.known + len(captured) - created - kept_out, tally.deleted + kept_out
    )


def _open_session(services: Services, user_id: UUID, item: _Session) -> None:
    """The session, made when new; metadata that it has stays."""
    place = item.place
    with services.database.transaction() as session:
        if conversations.fetch_flow(session, user_id, place.flow_id) is None:
            raise errors.NotFound("There is no such flow", field="flow_id", value=str(place.flow_id))
        conversation = conversations.open_session(
            session, flow_id=place.flow_id, session_id=place.session_id, end_user_id=place.end_user_id
        )
        capturing.bind_end_user(conversation, place.end_user_id)
        if not conversation.meta:
            conversation.meta = item.metadata
