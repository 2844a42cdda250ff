"""Reading conversations from a file: JSON lines of messages, or a LoCoMo data set. Pure: text in, runs out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from memorybase import errors

# The longest id the API accepts; a longer one is replaced by its hash, which stays the same at every import.
ID_LENGTH = 128
LOCOMO_TIME = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"
_LOCOMO_SESSION = re.compile(r"session_(\d+)")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run, ready to be posted: ids are the same whenever the same file is read."""

    session_id: str
    run_id: str
    messages: tuple[Json, ...]


def read_runs(text: str, *, namespace: str) -> list[ImportedRun]:
    """The runs of a file in either format, in order; raises InvalidRequest naming the line or the field.

    `namespace` keeps the made-up ids of two files apart."""
    whole = _whole_document(text)
    if whole is None:
        return _runs_of_lines(text, namespace)
    conversations = whole if isinstance(whole, list) else [whole]
    return [run for number, one in enumerate(conversations) for run in _runs_of_conversation(one, number)]


def _whole_document(text: str) -> Any:
    """The file as one LoCoMo document; None when it is JSON lines."""
    try:
        document = json.loads(text)
    except ValueError:
        if text.lstrip().startswith("["):
            raise errors.InvalidRequest("The file starts as a JSON list but is not valid JSON.") from None
        return None
    # A single line of JSON lines is a valid document too.
    return None if isinstance(document, dict) and "conversation" not in document else document


# JSON lines


def _runs_of_lines(text: str, namespace: str) -> list[ImportedRun]:
    counters: dict[str, int] = {}
    runs_made: dict[str, int] = {}
    runs: list[ImportedRun] = []
    stated = (_identified(line, counters, namespace) for line in _lines(text))
    for session_id, run_id, messages in _grouped(stated):
        if run_id is not None:
            runs.append(ImportedRun(session_id, run_id, tuple(messages)))
            continue
        for turns in _turns(messages):
            number = runs_made[session_id] = runs_made.get(session_id, 0) + 1
            runs.append(ImportedRun(session_id, _bounded(f"{namespace}/{session_id}#run-{number}"), tuple(turns)))
    return runs


def _lines(text: str) -> Iterator[tuple[int, Json]]:
    # Not splitlines(): JSON strings may hold other line separators, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as exc:
            raise errors.InvalidRequest(f"Line {number} is not valid JSON: {exc}.", field=f"line {number}") from exc
        if not isinstance(value, dict):
            raise errors.InvalidRequest(f"Line {number} is not a JSON object.", field=f"line {number}")
        yield number, value


def _identified(numbered: tuple[int, Json], counters: dict[str, int], namespace: str) -> tuple[str, str | None, Json]:
    """A line as (session, run or None, message); a message without an id gets one from its place in the session."""
    number, message = numbered[0], dict(numbered[1])
    session_id = message.pop("session_id", None)
    run_id = message.pop("run_id", None)
    for name, value in (("session_id", session_id), ("run_id", run_id)):
        if not (isinstance(value, str) and value) and not (name == "run_id" and value is None):
            text = f"Line {number}: {name} must be a string that is not empty."
            raise errors.InvalidRequest(text, field=f"line {number}.{name}")
    position = counters[session_id] = counters.get(session_id, 0) + 1
    message.setdefault("id", _bounded(f"{namespace}/{session_id}#{position}"))
    return session_id, run_id, message


def _grouped(stated: Iterable[tuple[str, str | None, Json]]) -> Iterator[tuple[str, str | None, list[Json]]]:
    for (session_id, run_id), group in groupby(stated, key=lambda one: (one[0], one[1])):
        yield session_id, run_id, [message for _, _, message in group]


def _turns(messages: Iterable[Json]) -> Iterator[list[Json]]:
    """Cut before each user message: a run is what one input led to."""
    turns: list[Json] = []
    for message in messages:
        if turns and message.get("role") == "user":
            yield turns
            turns = []
        turns.append(message)
    if turns:
        yield turns


# LoCoMo


def _runs_of_conversation(document: Any, number: int) -> Iterator[ImportedRun]:
    conversation = document.get("conversation") if isinstance(document, dict) else None
    if not isinstance(conversation, dict):
        text = f"Conversation {number} has no 'conversation' object: this is neither JSON lines nor LoCoMo's format."
        raise errors.InvalidRequest(text, field=f"[{number}].conversation")
    sample_id = str(document.get("sample_id", f"conversation-{number}"))
    found = (_LOCOMO_SESSION.fullmatch(name) for name in conversation)
    for session in sorted(int(match[1]) for match in found if match):
        session_id = f"{sample_id}/session_{session}"
        messages = _locomo_messages(conversation, sample_id, session)
        for position, turns in enumerate(_turns(messages), start=1):
            yield ImportedRun(session_id, _bounded(f"{session_id}#run-{position}"), tuple(turns))


def _locomo_messages(conversation: Json, sample_id: str, session: int) -> Iterator[Json]:
    field = f"session_{session}"
    began = _locomo_time(conversation.get(f"{field}_date_time"), f"{field}_date_time")
    for index, turn in enumerate(conversation[field]):
        try:
            speaker, dia_id, content = turn["speaker"], turn["dia_id"], turn["text"]
        except (KeyError, TypeError) as exc:
            text = f"{sample_id}: {field}[{index}] needs speaker, dia_id and text."
            raise errors.InvalidRequest(text, field=f"{field}[{index}]") from exc
        if turn.get("blip_caption"):
            content = f"{content}\n[image: {turn['blip_caption']}]"
        yield {
            "id": f"{sample_id}:{dia_id}",
            "role": "user" if speaker == conversation.get("speaker_a") else "assistant",
            "sender_name": speaker,
            "content": content,
            "timestamp": (began + timedelta(seconds=index)).isoformat(),
        }


def _locomo_time(value: Any, field: str) -> datetime:
    try:
        return datetime.strptime(str(value), LOCOMO_TIME).replace(tzinfo=UTC)
    except ValueError as exc:
        text = f"{field} must look like '1:56 pm on 8 May, 2023'."
        raise errors.InvalidRequest(text, field=field, value=value) from exc


def _bounded(text: str) -> str:
    return text if len(text) <= ID_LENGTH else hashlib.sha256(text.encode()).hexdigest()
