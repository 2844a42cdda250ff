"""Conversations with questions and their answering messages: chats and histories. formats.py reads files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import runs

WEEK = timedelta(days=7)
BETWEEN_MESSAGES = timedelta(minutes=2)  # of a history, which tells when its sessions start


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: the ids of the messages that answer the question; empty if none does. `pattern`: what an answer
    contains, if the file says so. `sessions`: in which the answer is, if the file says so."""

    text: str
    category: str
    evidence: frozenset[str]
    pattern: str | None = None
    sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation: its runs, ready to be posted, and its questions."""

    corpus: str
    name: str
    runs: Sequence[Mapping[str, Any]]  # session_id, run_id, messages
    questions: Sequence[Question]

    @property
    def messages(self) -> Iterator[Mapping[str, Any]]:
        for run in self.runs:
            yield from run["messages"]

    @property
    def session_of(self) -> Mapping[str, str]:
        """The session of each message."""
        return {message["id"]: run["session_id"] for run in self.runs for message in run["messages"]}


@dataclass(frozen=True, slots=True)
class Corpus:
    """The conversations of one file, or generated ones."""

    name: str
    conversations: Sequence[Conversation]
    sha256: str | None = None
    people: bool = False  # chats between people instead of with an assistant

    def line(self, conversation: Conversation, question: Question) -> dict[str, Any]:
        """A question in the results of a run; the texts of files that the repository does not have are left out."""
        return {
            "corpus": self.name,
            "conversation": conversation.name,
            **runs.asked(question.text, ours=self.sha256 is None),
            "category": question.category,
            "evidence": sorted(question.evidence),
        }


def chat(corpus: str, document: Mapping[str, Any]) -> Conversation:
    """A chat: messages (id, session, role, content, and maybe sender_name and timestamp) and questions."""
    name = str(document["id"])
    runs: list[dict[str, Any]] = []
    for session, messages in groupby(document["messages"], key=lambda message: message["session"]):
        posted = [_posted(name, message) for message in messages]
        runs.append({"session_id": f"{name}:{session}", "run_id": f"{name}:{posted[0]['id']}", "messages": posted})
    questions = [
        Question(question["question"], question["category"], frozenset(f"{name}:{id_}" for id_ in question["evidence"]))
        for question in document["questions"]
    ]
    return Conversation(corpus, name, runs, questions)


def history(corpus: str, name: str, document: Mapping[str, Any], now: datetime) -> Conversation:
    """The sessions of one person with an assistant: today, sessions with their start, and questions by kind. Times are
    moved by whole weeks, so that "yesterday" is the day before today."""
    moved = weeks_since(datetime.fromisoformat(document["today"]).replace(tzinfo=UTC), now)
    runs = [
        {"session_id": each["session_id"], "run_id": f"{each['session_id']}-run", "messages": _dated(each, moved)}
        for each in document["sessions"]
    ]
    questions = [
        Question(question["question"], question["kind"], frozenset(question["answers"]), question.get("pattern"))
        for question in document["questions"]
    ]
    return Conversation(corpus, name, runs, questions)


def weeks_since(today: datetime, now: datetime) -> timedelta:
    return (now - today) // WEEK * WEEK


def _dated(session: Mapping[str, Any], moved: timedelta) -> list[dict[str, Any]]:
    start = datetime.fromisoformat(session["start"]) + moved
    return [
        {
            "id": message["id"],
            "role": message["role"],
            "content": message["content"],
            "timestamp": (start + number * BETWEEN_MESSAGES).isoformat(),
        }
        for number, message in enumerate(session["messages"])
    ]


def _posted(name: str, message: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: message[key] for key in ("role", "content", "sender_name", "timestamp") if message.get(key)}
    return {"id": f"{name}:{message['id']}", **kept}
