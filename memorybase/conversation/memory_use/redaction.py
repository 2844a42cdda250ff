"""What nodes gave out, and what their models were given, quotes messages without naming them: by their words alone.

So a deleted message is struck out by its words, in its session. Where another message of the session says the same,
the words are still stored, and nothing tells which of the two a quotation is of: then it stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session as OrmSession

from memorybase.messages import message_text
from memorybase.models import Message
from memorybase.queries import memory_uses, node_executions, sessions
from memorybase.queries.memory_uses import DELETED

SHORT = 12  # characters: text up to this length is struck where it stands alone, not within other text
_FORM = frozenset({"role", "type", "id", "tool_call_id", "name"})  # what these hold are no words
_PLAIN = re.compile(r"[A-Za-z0-9 ]{4,60}")  # spelt alike in each database's JSON


@dataclass(frozen=True, slots=True)
class _Words:
    """What a message says: its whole text, its parts of text, and its other parts."""

    texts: tuple[str, ...]
    parts: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, content: Any) -> _Words:
        parts = content if isinstance(content, list) else []
        texts = {message_text(content).strip(), *(message_text([part]).strip() for part in parts)} - {""}
        others = [part for part in parts if not message_text([part])]
        return cls(tuple(sorted(texts, key=len, reverse=True)), tuple(others))

    @property
    def plain(self) -> str | None:
        """Letters that stand in any quotation of it; None where a quotation may be without."""
        if self.parts or len(self.texts) != 1:
            return None
        return max(_PLAIN.findall(self.texts[0]), key=len, default=None)

    def struck_from(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._struck_from_text(value)
        if isinstance(value, list):
            return [self.struck_from(each) for each in value]
        if isinstance(value, dict):
            if value in self.parts:
                return {"type": "text", "text": DELETED}
            return {key: each if key in _FORM else self.struck_from(each) for key, each in value.items()}
        return value

    def _struck_from_text(self, value: str) -> str:
        for text in self.texts:
            if value.strip() == text:
                return DELETED
            if len(text) > SHORT:
                value = value.replace(text, DELETED)
        return value


def redact_quotes(db: OrmSession, message: Message, now: datetime) -> int:
    """Take the words of a message that is being deleted out of what quotes it; how many rows did. The session's lock
    is held, and what names the message is redacted already."""
    words = _Words.of(message.content)
    where = (db, message.flow_id, message.session_id)
    executions = [
        (row, fields)
        for row in node_executions.holding(*where, words.plain)
        if (fields := _changed(row, words, ("outputs", "few_shots")))
    ]
    uses = [
        (row, fields)
        for row in memory_uses.holding(*where, words.plain)
        if (fields := _changed(row, words, ("messages", "memory_use_summary")))
    ]
    if not (executions or uses) or sessions.has_identical_message(db, message):
        return 0
    for row, fields in [*executions, *uses]:
        for name, value in fields.items():
            setattr(row, name, value)
    for row, _ in executions:
        row.updated_at = now
    return len(executions) + len(uses)


def _changed(row: object, words: _Words, names: Sequence[str]) -> dict[str, Any]:
    found = {name: words.struck_from(getattr(row, name)) for name in names}
    return {name: value for name, value in found.items() if value != getattr(row, name)}
