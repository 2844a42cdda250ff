"""Redact quotations of a deleted message: text in its session's node executions and memory uses that repeats it.

Such text names no message, so it is found by comparison. A string that equals the message's text becomes "[deleted]".
Within a longer string the text is replaced if it has more than SHORT characters. If another message of the session has
the same content, quotations stay: the text is still stored, and nothing says which of the two is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import json_text
from memorybase.core.messages import message_text
from memorybase.core.models import MemoryUse, Message, NodeExecution
from memorybase.core.queries import memory_uses, messages, node_executions
from memorybase.core.queries.memory_uses import DELETED

SHORT = 12  # characters; shorter text is replaced only where it is a whole string
_NOT_TEXT = frozenset({"role", "type", "id", "tool_call_id", "name"})  # keys that hold no quotation
MOST_SEARCHED = 20  # texts and parts of a message; beyond, every row of the session is read


@dataclass(frozen=True, slots=True)
class _Quoted:
    """Quotable parts of a message: its texts, the longest first, and its parts without text."""

    texts: tuple[str, ...]
    parts: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, content: Any) -> _Quoted:
        parts = content if isinstance(content, list) else []
        texts = {message_text(content).strip(), *(message_text([part]).strip() for part in parts)} - {""}
        return cls(
            tuple(sorted(texts, key=len, reverse=True)), tuple(part for part in parts if not message_text([part]))
        )

    @property
    def search_texts(self) -> list[str] | None:
        """Each quotation contains one of these, for the database to search; None if it cannot."""
        in_parts = (
            max((json_text.searchable(each) or "" for each in _strings(part)), key=len, default="")
            for part in self.parts
        )
        found = [*(json_text.searchable(text) or "" for text in self.texts), *in_parts]
        return found if len(found) <= MOST_SEARCHED and all(found) else None

    def redacted(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.redacted(item) for item in value]
        if isinstance(value, dict):
            if value in self.parts:
                return {"type": "text", "text": DELETED}
            return {key: item if key in _NOT_TEXT else self.redacted(item) for key, item in value.items()}
        if isinstance(value, str):
            for text in self.texts:
                if value.strip() == text:
                    return DELETED
                if len(text) > SHORT:
                    value = value.replace(text, DELETED)
        return value


def _strings(value: Any) -> Iterator[str]:
    """The strings in a part, without its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def redact_quotes(db: OrmSession, message: Message, now: datetime) -> int:
    """Redact the quotations of a message that is being deleted; returns how many rows changed.

    The caller holds the session's lock and has redacted what names the message."""
    quoted = _Quoted.of(message.content)
    if not (quoted.texts or quoted.parts):
        return 0
    where = (db, message.flow_id, message.session_id, quoted.search_texts)
    executions = _changes(node_executions.executions_with_text(*where), quoted, ("outputs", "few_shots"))
    uses = _changes(memory_uses.uses_with_text(*where), quoted, ("messages", "query", "memory_use_summary"))
    if not (executions or uses) or messages.has_identical_message(db, message):
        return 0
    for row, values in [*executions, *uses]:
        for name, value in values.items():
            setattr(row, name, value)
        if isinstance(row, NodeExecution):
            row.updated_at = now
    return len(executions) + len(uses)


def _changes(
    rows: Iterable[NodeExecution | MemoryUse], quoted: _Quoted, columns: Sequence[str]
) -> list[tuple[NodeExecution | MemoryUse, dict[str, Any]]]:
    """The rows with a quotation, and the new values of their columns."""
    values = ((row, {name: quoted.redacted(getattr(row, name)) for name in columns}) for row in rows)
    return [(row, new) for row, new in values if any(new[name] != getattr(row, name) for name in columns)]
