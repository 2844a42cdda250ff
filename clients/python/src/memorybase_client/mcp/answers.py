"""Results of the tools. Their fields are the output schemas that clients read."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from memorybase_client._corrections import correction_of

if TYPE_CHECKING:
    from memorybase_client import models

TEXT_PARTS = ("text", "input_text", "output_text")  # in which formats of messages keep their text
MAX_CHARS = 4_000  # of a message in an answer: a longer one would fill the context of the model


class Line(BaseModel):
    """A message before or after a hit."""

    role: str
    content: str


class Hit(BaseModel):
    """A found message. `content` of a long message is the passage that matched, and `truncated` is true."""

    id: str
    session_id: str
    role: str
    sender_name: str | None
    time: datetime
    score: float = Field(description="From 0 to 1; above 0.7 nine of ten are right.")
    pending: bool = Field(description="Stored, and not ingested yet.")
    content: str
    truncated: bool
    correction: str | None = Field(
        default=None, description="What another message says about the same: prefer the later one. Null: nothing."
    )
    before: list[Line]
    after: list[Line]


class Found(BaseModel):
    """Messages, best first. `warnings` say what the answer may lack, and why."""

    results: list[Hit]
    warnings: list[str]


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
    """A message of a session. `truncated`: `content` is only its beginning."""

    id: str
    role: str
    sender_name: str | None
    time: datetime
    content: str
    truncated: bool


class Transcript(BaseModel):
    """Messages of a session, oldest first. `before` is the argument for the messages before these; null: there are
    none."""

    session_id: str
    total: int
    messages: list[StoredMessage]
    before: str | None


class SessionItem(BaseModel):
    """A session. With a query: its best passage and the score of that; else its size and its last capture."""

    session_id: str
    messages: int | None = None
    last_captured_at: datetime | None = None
    score: float | None = None
    passage: str | None = None


class Sessions(BaseModel):
    """Sessions: with a query best first, else latest first. `cursor` is the argument for the next ones; null: none."""

    sessions: list[SessionItem]
    cursor: str | None


class Remembered(BaseModel):
    """Result of storing messages. `stored` is 0 if all were known. `searchable` is false if no memory base ingests this
    flow."""

    session_id: str
    run_id: str
    stored: int
    message_ids: list[str]
    searchable: bool


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
    if nothing was ever captured."""

    state: str
    reason: str | None
    last_captured_at: datetime | None
    pending_messages: int
    dead_letters: int
    memory_bases: list[MemoryBaseStatus]


def shortened(text: str) -> tuple[str, bool]:
    """At most MAX_CHARS of the text, and whether something was cut off."""
    return (text, False) if len(text) <= MAX_CHARS else (text[:MAX_CHARS] + "…", True)


def hit(found: models.Hit) -> Hit:
    text = content_text(found.content)
    content, truncated = (text, False) if len(text) <= MAX_CHARS else (shortened(found.snippet)[0], True)
    return Hit(
        id=str(found.message_id),
        session_id=found.session_id,
        role=found.role,
        sender_name=found.sender_name,
        time=found.timestamp,
        score=found.score,
        pending=found.pending,
        content=content,
        truncated=truncated,
        correction=correction_of(found),
        before=[_line(turn) for turn in found.before],
        after=[_line(turn) for turn in found.after],
    )


def stored_message(message: models.MessageView) -> StoredMessage:
    content, truncated = shortened(text_of(message))
    return StoredMessage(
        id=str(message.id),
        role=message.role,
        sender_name=message.sender_name,
        time=message.timestamp,
        content=content,
        truncated=truncated,
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


def _line(turn: models.Turn) -> Line:
    return Line(role=turn.role, content=shortened(content_text(turn.content))[0])
