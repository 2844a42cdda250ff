"""The form of a made conversation, and those of bench/conversations, which were written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NotRequired, TypedDict

FOLDER = Path(__file__).parents[1] / "conversations"


class Message(TypedDict):
    """One turn; `sender_name` only where several people talk."""

    id: str
    session: str
    role: str
    sender_name: NotRequired[str]
    content: str
    timestamp: str


class Question(TypedDict):
    """`evidence`: the ids of all messages that answer it, none for an abstention."""

    question: str
    category: str
    evidence: list[str]


class MadeConversation(TypedDict):
    """What a file of bench/conversations holds, and what `by_rule` makes."""

    id: str
    kind: str
    messages: list[Message]
    questions: list[Question]


def by_hand() -> list[dict[str, Any]]:
    """The conversations of bench/conversations, in the order of the files' names."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))]
