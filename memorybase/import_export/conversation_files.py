"""Read conversations from the text of a file: JSON lines of messages, or a LoCoMo data set. Pure functions."""

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

# The API's limit. A longer id is replaced by its hash, which is the same at every import.
ID_LENGTH = 128
LOCOMO_TIME = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"
_LOCOMO_SESSION = re.compile(r"session_(\d+)")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run, ready to post. Reading the same file again gives the same ids."""

    session_id: str
    run_id: str
    messages: tuple[Json, ...]


def read_runs(text: str, *, namespace: str) -> list[ImportedRun]:
    """The runs of a file in either format, in order. Raises InvalidRequest that names the line or the field.

    `namespace` makes the generated ids of two files different."""
    document = _locomo_document(text)
    if document is None:
        return _runs_of_lines(text, namespace)
    conversations = document if isinstance(document, list) else [document]
    return [run for number, item in enumerate(conversations) for run in _runs_of_conversation(item, number)]


def _locomo_document(text: str) -> Any:
    """The file as one LoCoMo document; None if it is JSON lines."""
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
    run_counts: dict[str, int] = {}
    runs: list[ImportedRun] = []
    identified = (_identified(line, counters, namespace) for line in _lines(text))
    for session_id, run_id, messages in _grouped(identified):
        if run_id is not None:
            runs.append(ImportedRun(session_id, run_id, tuple(messages)))
            continue
        for turns in _turns(messages):
            number = run_counts[session_id] = run_counts.get(session_id, 0) + 1
            runs.append(ImportedRun(session_id, _bounded(f"{namespace}/{session_id}#run-{number}"), tuple(turns)))
    return runs


def _lines(text: str) -> Iterator[tuple[int, Json]]:
    # Not splitlines(): JSON strings may contain other line separators, such as U+2028.
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
    """A line as (session, run or None, message). A message without an id gets one from its position in the session."""
    number, message = numbered[0], dict(numbered[1])
    session_id = message.pop("session_id", None)
    run_id = message.pop("run_id", None)
    for name, value in (("session_id", session_id), ("run_id", run_id)):
        if not (isinstance(value, str) and value) and not (name == "run_id" and value is None):
            text = f"Line {number}: {name} must be a non-empty string."
            raise errors.InvalidRequest(text, field=f"line {number}.{name}")
    position = counters[session_id] = counters.get(session_id, 0) + 1
    message.setdefault("id", _bounded(f"{namespace}/{session_id}#{position}"))
    return session_id, run_id, message


def _grouped(identified: Iterable[tuple[str, str | None, Json]]) -> Iterator[tuple[str, str | None, list[Json]]]:
    for (session_id, run_id), group in groupby(identified, key=lambda line: (line[0], line[1])):
        yield session_id, run_id, [message for _, _, message in group]


def _turns(messages: Iterable[Json]) -> Iterator[list[Json]]:
    """Split before each user message: a run is one input with what followed it."""
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
        text = f"Conversation {number} has no 'conversation' object: the file is neither JSON lines nor LoCoMo."
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
