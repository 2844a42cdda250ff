"""Read conversations from the text of a file: JSON lines of messages, or a LoCoMo data set. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from memorybase_client.importers.runs import Part, bounded

from memorybase.core import errors
from memorybase.core.messages import MAX_MESSAGE_BYTES, NewMessage, message_bytes, normalise
from memorybase.core.models import ID_LENGTH

LOCOMO_TIME = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"
_LOCOMO_SESSION = re.compile(r"session_(\d+)")

NOBODY = UUID(int=0)  # ids are only checked here, not resolved

Json = dict[str, Any]


def checked_message(message: Json) -> tuple[NewMessage, int]:
    """The message as it will be stored, and its bytes. Raises InvalidRequest for what the API would refuse."""
    checked = normalise(message, user_id=NOBODY, where="")
    if (size := message_bytes(checked)) > MAX_MESSAGE_BYTES:
        text = f"a message must have at most {MAX_MESSAGE_BYTES} bytes of JSON"
        raise errors.InvalidRequest(text, value=size, limit=MAX_MESSAGE_BYTES)
    return checked, size


@dataclass(frozen=True, slots=True)
class _Line:
    """A message, and what groups it into a run."""

    where: str
    session_id: str
    end_user_id: str | None
    run_id: str | None
    message: Json

    @property
    def run(self) -> tuple[str, str | None, str | None]:
        return self.session_id, self.end_user_id, self.run_id


def read_runs(text: str, *, namespace: str, source: str = "the file") -> list[Part]:
    """The runs of a file in either format, in order. Raises InvalidRequest that names the source with the line, or the
    field.

    `namespace` makes the generated ids of two files different; it is the flow."""
    document = _document(text, source)
    if document is None:
        return _runs_of_lines(_lines(text, source), namespace)
    items = document if isinstance(document, list) else [document]
    if items and all(isinstance(item, dict) and "session_id" in item for item in items):
        return _runs_of_lines(((f"{source}[{index}]", item) for index, item in enumerate(items)), namespace)
    return [run for number, item in enumerate(items) for run in _runs_of_conversation(item, number, namespace)]


def _document(text: str, source: str) -> Any:
    """The file as one JSON document, LoCoMo or a list of messages; None if it is JSON lines."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as exc:
        if text.lstrip().startswith("["):
            raise errors.InvalidRequest(f"{source} starts as a JSON list but is not valid JSON: {exc}.") from None
        return None
    # A single line of JSON lines is a valid document too.
    return None if isinstance(document, dict) and "conversation" not in document else document


# JSON lines


def _runs_of_lines(lines: Iterable[tuple[str, Any]], namespace: str) -> list[Part]:
    counters: dict[str, int] = {}
    run_counts: dict[str, int] = {}
    runs: list[Part] = []
    read = (_line(where, value, counters, namespace) for where, value in lines)
    for (session_id, _, run_id), group in groupby(read, key=lambda line: line.run):
        for turns in [list(group)] if run_id is not None else _turns(group):
            number = run_counts[session_id] = run_counts.get(session_id, 0) + (run_id is None)
            runs.append(_part(turns, namespace, run_id or f"{namespace}/{session_id}#run-{number}"))
    return runs


def _part(lines: Sequence[_Line], flow: str, run_id: str) -> Part:
    return Part(
        flow,
        None,
        lines[0].session_id,
        lines[0].end_user_id,
        bounded(run_id),
        {},
        tuple(line.message for line in lines),
        tuple(line.where for line in lines),
    )


def _lines(text: str, source: str) -> Iterator[tuple[str, Any]]:
    # Not splitlines(): JSON strings may contain other line separators, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{source} line {number}"
        try:
            yield where, json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise errors.InvalidRequest(f"{where}: the line must be valid JSON: {exc}.") from exc


def _line(where: str, value: Any, counters: dict[str, int], namespace: str) -> _Line:
    """A message without an id gets one from its position in the session."""
    if not isinstance(value, dict):
        raise errors.InvalidRequest(f"{where}: the line must be a JSON object.")
    ids = {name: value.get(name) for name in ("session_id", "end_user_id", "run_id")}
    message = {name: each for name, each in value.items() if name not in ids}
    for name, given in ids.items():
        is_given = given is not None or name == "session_id"
        if is_given and not (isinstance(given, str) and given.strip() and len(given) <= ID_LENGTH):
            text = f"{where}: {name} must be a string that is not blank, of at most {ID_LENGTH} characters."
            raise errors.InvalidRequest(text, field=name, limit=ID_LENGTH)
    session_id = str(ids["session_id"])
    position = counters[session_id] = counters.get(session_id, 0) + 1
    message.setdefault("id", bounded(f"{namespace}/{session_id}#{position}"))
    try:
        checked_message(message)
    except errors.InvalidRequest as exc:
        raise errors.InvalidRequest(
            f"{where}: {exc.message}", field=exc.field, value=exc.value, limit=exc.limit
        ) from exc
    return _Line(where, session_id, ids["end_user_id"], ids["run_id"], message)


def _turns(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Split before each user message: a run is one input with what followed it."""
    turns: list[_Line] = []
    for line in lines:
        if turns and line.message.get("role") == "user":
            yield turns
            turns = []
        turns.append(line)
    if turns:
        yield turns


# LoCoMo


def _runs_of_conversation(document: Any, number: int, flow: str) -> Iterator[Part]:
    conversation = document.get("conversation") if isinstance(document, dict) else None
    if not isinstance(conversation, dict):
        text = f"Conversation {number} has no 'conversation' object: the file is neither JSON lines nor LoCoMo."
        raise errors.InvalidRequest(text, field=f"[{number}].conversation")
    sample_id = str(document.get("sample_id", f"conversation-{number}"))
    found = (_LOCOMO_SESSION.fullmatch(name) for name in conversation)
    for session in sorted(int(match[1]) for match in found if match):
        session_id = f"{sample_id}/session_{session}"
        lines = [
            _Line(f"{sample_id}: session_{session}[{index}]", session_id, None, None, message)
            for index, message in enumerate(_locomo_messages(conversation, sample_id, session))
        ]
        for position, turns in enumerate(_turns(lines), start=1):
            yield _part(turns, flow, f"{session_id}#run-{position}")


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
