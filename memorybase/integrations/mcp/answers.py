"""What the tools return. Their fields are the output schemas that clients read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from memorybase.messages import message_text

MAX_CHARS = 4_000  # of a message in an answer: a longer one would fill the context of the model

Json = dict[str, Any]


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
    before: list[Line]
    after: list[Line]


class Found(BaseModel):
    """Messages, best first."""

    results: list[Hit]


class Spent(BaseModel):
    """Tokens of the budget by part."""

    summary: int
    recall: int
    history: int
    unused: int


class Further(BaseModel):
    """What a budget larger by `budget` tokens would add."""

    budget: int
    history_messages: int
    history_tokens: int
    recall_messages: int
    recall_tokens: int


class ContextReport(BaseModel):
    """How the budget was spent. `degraded` names what was unavailable: the context may lack something of it."""

    tokens: int
    budget: int
    over_budget: bool
    counter: str
    degraded: list[str]
    spent: Spent
    further: Further


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
    """What was stored. `stored` is 0 if all of it was known. `searchable` is false if no memory base ingests this
    flow."""

    session_id: str
    run_id: str
    stored: int
    message_ids: list[str]
    searchable: bool


class Corrected(BaseModel):
    """The corrected message. Searches find the new text at once; `jobs` update the knowledge bases."""

    message_id: str
    jobs: int


class Receipt(BaseModel):
    """What was deleted. No search returns it from now on; `pending_repairs` jobs delete its chunks."""

    sessions: int = 0
    runs: int = 0
    messages: int = 0
    summaries: int = 0
    chunks: int | None = Field(default=None, description="Chunks in the stores; null for a single message.")
    pending_repairs: int = 0


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
    """At most MAX_CHARS of the text, and whether that is less than all of it."""
    return (text, False) if len(text) <= MAX_CHARS else (text[:MAX_CHARS] + "…", True)


def hit(found: Json) -> Hit:
    text = message_text(found["content"])
    content, truncated = (text, False) if len(text) <= MAX_CHARS else (shortened(found["snippet"])[0], True)
    return Hit(
        id=found["message_id"],
        time=found["timestamp"],
        content=content,
        truncated=truncated,
        before=[_line(turn) for turn in found["before"]],
        after=[_line(turn) for turn in found["after"]],
        **{name: found[name] for name in ("session_id", "role", "sender_name", "score", "pending")},
    )


def stored_message(message: Json) -> StoredMessage:
    content, truncated = shortened(text_of(message))
    named = {name: message[name] for name in ("id", "role", "sender_name")}
    return StoredMessage(time=message["timestamp"], content=content, truncated=truncated, **named)


def text_of(message: Json) -> str:
    """The text of a message, and the tools that it calls."""
    names = [call.get("function", {}).get("name", "") for call in message["tool_calls"] or () if isinstance(call, dict)]
    calls = f"[calls {', '.join(names)}]" if names else ""
    return "\n".join(part for part in (message_text(message["content"]), calls) if part)


def _line(turn: Json) -> Line:
    return Line(role=turn["role"], content=shortened(message_text(turn["content"]))[0])
