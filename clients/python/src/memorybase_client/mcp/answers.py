"""Results of the tools. Their fields are the output schemas that clients read, and their size is bounded: what a tool
returns stays in the context of a model for the rest of a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, Field, PlainSerializer, WithJsonSchema
from pydantic_core import to_json

from memorybase_client._corrections import correction_of

if TYPE_CHECKING:
    from memorybase_client import models

TEXT_PARTS = ("text", "input_text", "output_text")  # in which formats of messages keep their text
ITEMS_CHARS = 7_400  # of JSON: the items of an answer, which has at most 8,000
PASSAGE_CHARS = 240  # of a message in a list of results: two sentences

Item = TypeVar("Item", bound=BaseModel)


def _is_empty(value: Any) -> bool:
    return not value


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


# Absent where it says nothing: in each of twenty items it would cost tokens.
Rare = Field(exclude_if=_is_empty)
# Of format "date-time" are only times with seconds, and some agents refuse an answer with another.
Minute = Annotated[datetime, PlainSerializer(_minute), WithJsonSchema({"type": "string", "description": "UTC."})]
LeftOut = Annotated[
    str | None, Rare, Field(description="What the answer would be too long with, and how to get it; null: nothing.")
]


class Line(BaseModel):
    """A message before or after a hit, of a long one the beginning."""

    role: str
    content: str


class Hit(BaseModel):
    """A found message: its text, or of a longer one the passage that matched. get_session(around=id) reads on."""

    id: str
    session_id: str
    role: str
    sender_name: Annotated[str | None, Rare] = None
    time: Minute
    score: float = Field(description="From 0 to 1; above 0.7 nine of ten are right.")
    pending: Annotated[bool, Rare, Field(description="Stored, and not ingested yet.")] = False
    content: str
    chars: Annotated[
        int | None, Rare, Field(description="Characters of the whole message, if `content` is a part.")
    ] = None
    offset: Annotated[int | None, Rare, Field(description="Where `content` begins in the whole message.")] = None
    correction: Annotated[
        str | None,
        Rare,
        Field(description="What another message says about the same: prefer the later one. Null: nothing."),
    ] = None
    before: Annotated[list[Line], Rare] = Field(default_factory=list)
    after: Annotated[list[Line], Rare] = Field(default_factory=list)


class Found(BaseModel):
    """Messages, best first. `warnings` say what the answer may lack, and why."""

    results: list[Hit]
    warnings: list[str]
    left_out: LeftOut = None


class Spent(BaseModel):
    """Tokens of the budget by part."""

    summary: int
    standing: int = 0
    recall: int
    history: int
    unused: int


class ContextReport(BaseModel):
    """How the budget was spent. `degraded` names services that were unavailable, so that the context may lack
    something."""

    tokens: int
    budget: int
    over_budget: bool
    counter: str
    degraded: list[str]
    warnings: list[str]
    below_min_score: int = 0
    spent: Spent


class BuiltContext(BaseModel):
    """Summary, memories and history as a transcript, and how its budget was spent."""

    text: str
    report: ContextReport


class StoredMessage(BaseModel):
    """A message of a session. With `next_offset`, `content` is only a part: get_session(around=id, offset=next_offset)
    reads on."""

    id: str
    role: str
    sender_name: Annotated[str | None, Rare] = None
    time: Minute
    content: str
    chars: Annotated[
        int | None, Rare, Field(description="Characters of the whole message, if `content` is a part.")
    ] = None
    next_offset: Annotated[int | None, Rare, Field(description="Where the rest begins.")] = None


class Transcript(BaseModel):
    """Messages of a session, oldest first. `before` and `after` are the arguments for the messages before and after
    these; null: there are none."""

    session_id: str
    total: int
    messages: list[StoredMessage]
    before: str | None
    after: str | None
    left_out: LeftOut = None


class SessionItem(BaseModel):
    """A session. With a query: its best passage, the message that has it, and its score; else its size and its last
    capture."""

    session_id: str
    messages: Annotated[int | None, Rare] = None
    last_captured_at: Annotated[Minute | None, Rare] = None
    score: Annotated[float | None, Rare] = None
    message_id: Annotated[str | None, Rare] = None
    passage: Annotated[str | None, Rare] = None


class Sessions(BaseModel):
    """Sessions: with a query best first, else latest first. `cursor` is the argument for the next ones; null: none."""

    sessions: list[SessionItem]
    cursor: str | None
    left_out: LeftOut = None


class Remembered(BaseModel):
    """Result of storing messages. `stored` is 0 if all were known. `searchable` is false if no memory base ingests this
    flow."""

    session_id: str
    run_id: str
    stored: int
    message_ids: list[str]
    searchable: bool
    left_out: LeftOut = None


class Corrected(BaseModel):
    """The changed message. Searches find the new text at once; `jobs` update the knowledge bases."""

    message_id: str
    jobs: int


class Receipt(BaseModel):
    """Result of a deletion. No search returns the messages any more; `pending_repairs` jobs delete their chunks."""

    sessions: int = 0
    runs: int = 0
    messages: int = 0
    summaries: int = 0
    chunks: int | None = Field(default=None, description="Chunks in the stores.")
    pending_repairs: int = 0
    restorable_until: datetime | None = Field(default=None, description="Of a message; null if it cannot be restored.")


class MemoryBaseStatus(BaseModel):
    """A memory base of the flow. `delay_seconds`: mean time from capture to ingestion in the last 24 hours."""

    name: str
    status: str
    pending_messages: int
    processed_messages: int
    dead_letters: int
    last_sync_at: datetime | None
    delay_seconds: float | None


class Status(BaseModel):
    """Whether memory works. `state` is ready, degraded (`reason` says why) or unavailable. `last_captured_at` is null
    if nothing was ever captured. The counts are those of the flow, and null for a key that is limited to an end
    user."""

    state: str
    reason: str | None
    last_captured_at: datetime | None
    pending_messages: int | None = None
    dead_letters: int | None = None
    memory_bases: list[MemoryBaseStatus] | None = None
    left_out: LeftOut = None


def size_of(item: BaseModel) -> int:
    """Characters of JSON."""
    return len(item.model_dump_json())


def fitting(items: Iterable[Item], room: int = ITEMS_CHARS) -> list[Item]:
    """The first items that fit into so many characters of JSON together, without the one that does not fit and those
    behind it."""
    kept: list[Item] = []
    for item in items:
        room -= size_of(item) + 1
        if room < 0:
            break
        kept.append(item)
    return kept


def hit(found: models.Hit) -> Hit:
    text = content_text(found.content)
    passage = _beginning(found.snippet, PASSAGE_CHARS)
    is_part = len(passage) < len(text.strip())
    return Hit(
        id=str(found.message_id),
        session_id=found.session_id,
        role=found.role,
        sender_name=found.sender_name,
        time=found.timestamp,
        score=found.score,
        pending=found.pending,
        content=passage if is_part else text,
        chars=len(text) if is_part else None,
        offset=found.snippet_start if is_part else None,
        correction=correction_of(found),
        before=[_line(turn) for turn in found.before],
        after=[_line(turn) for turn in found.after],
    )


def found_session(hit: models.Hit) -> SessionItem:
    """A session by its best hit."""
    passage = _beginning(hit.snippet, PASSAGE_CHARS)
    return SessionItem(session_id=hit.session_id, score=hit.score, message_id=str(hit.message_id), passage=passage)


def session(view: models.SessionView) -> SessionItem:
    return SessionItem(session_id=view.session_id, messages=view.messages, last_captured_at=view.last_captured_at)


def stored_message(message: models.MessageView, room: int, *, offset: int = 0) -> StoredMessage:
    """The message from an offset on, as much as fits into so many characters of JSON."""
    text = text_of(message)
    content = _beginning(text[offset:], room)
    end = offset + len(content)
    is_part = len(content) < len(text)
    return StoredMessage(
        id=str(message.id),
        role=message.role,
        sender_name=message.sender_name,
        time=message.timestamp,
        content=content,
        chars=len(text) if is_part else None,
        next_offset=end if end < len(text) else None,
    )


def text_of(message: models.MessageView) -> str:
    """The text of a message, and the tools that it calls."""
    names = [call.get("function", {}).get("name", "") for call in message.tool_calls or ()]
    calls = f"[calls {', '.join(names)}]" if names else ""
    return "\n".join(part for part in (content_text(message.content), calls) if part)


def content_text(content: str | list[dict[str, Any]] | None) -> str:
    """A content's text, or its text parts, one per line."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") in TEXT_PARTS)


def _beginning(text: str, room: int) -> str:
    """As much of the text as fits into so many characters of JSON, where a line break is two."""
    text = text[:room]
    while (size := len(to_json(text).decode()) - 2) > room:
        text = text[: min(len(text) * room // size, len(text) - 1)]
    return text


def _line(turn: models.Turn) -> Line:
    text = content_text(turn.content)
    shown = _beginning(text, PASSAGE_CHARS)
    return Line(role=turn.role, content=shown if shown == text else f"{shown}…")
