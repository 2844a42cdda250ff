"""Found messages as runs, ready to post: checked as the API checks them, and repaired where nothing is lost by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memorybase_client import errors
from memorybase_client._ids import MAX_ID_CHARS
from memorybase_client.importers.records import NO_CONTENT, Found, Json, Report, read_time

MESSAGES_PER_PART = 200
PART_BYTES = 1_000_000
MAX_NAME_CHARS = 200  # the server's bounds, as those of ids
MAX_DEPTH = 64

# The bytes of a message's JSON. Raises InvalidRequest for a message that the API would refuse.
Check = Callable[[Json], int]


def json_bytes(message: Json) -> int:
    """A check that leaves it to the API what to refuse."""
    try:
        return len(json.dumps(message, ensure_ascii=False).encode(errors="replace"))
    except RecursionError as exc:
        raise errors.InvalidRequest("a message must not be nested so deep") from exc


@dataclass(frozen=True, slots=True)
class Part:
    """Messages of one run, ready to post. A long run is posted in parts: new ids append to a known run."""

    flow: str
    flow_name: str | None
    session_id: str
    end_user_id: str | None
    run_id: str
    session_metadata: Json
    messages: tuple[Json, ...]
    places: tuple[str, ...]  # of each message


def runs_of(
    found: Iterable[Found], *, flow: str, into_one_flow: bool, report: Report, check: Check = json_bytes
) -> Iterator[Part]:
    """The parts of all runs, in order. `flow` is that of messages without one, or of all of them."""
    builder = _Builder(flow, report, check, into_one_flow=into_one_flow)
    for each in found:
        yield from builder.add(each)
    yield from builder.finish()


class _Builder:
    def __init__(self, flow: str, report: Report, check: Check, *, into_one_flow: bool) -> None:
        self._flow = flow
        self._into_one_flow = into_one_flow
        self._report = report
        self._check = check
        self._runs: dict[tuple[str, str], str] = {}  # the current run of each session
        self._dropped: dict[str, str | None] = {}  # of the current session: what a dropped message follows
        self._session: tuple[str, str] | None = None
        self._key: tuple[str, str, str] | None = None
        self._messages: list[Json] = []
        self._places: list[str] = []
        self._bytes = 0
        self._head: Found | None = None

    def add(self, found: Found) -> Iterator[Part]:
        flow = self._flow if self._into_one_flow or found.flow is None else found.flow
        flow, session = self._bounded(flow, found, "flow"), self._bounded(found.session_id, found, "session_id")
        if self._session != (flow, session):
            self._session, self._dropped = (flow, session), {}
        checked = self._checked(found)
        if checked is None:
            return
        message, size = checked
        key = (flow, session, self._run(flow, session, found, message))
        full = len(self._messages) == MESSAGES_PER_PART or self._bytes + size > PART_BYTES
        if self._key != key or full:
            yield from self.finish()
            self._key, self._head = key, found
        self._messages.append(message)
        self._places.append(found.where)
        self._bytes += size

    def finish(self) -> Iterator[Part]:
        if self._key is not None and self._head is not None and self._messages:
            flow, session, run = self._key
            head = self._head
            end_user = head.end_user_id and self._bounded(head.end_user_id, head, "end_user_id")
            yield Part(
                flow,
                head.flow_name,
                session,
                end_user or None,
                run,
                head.session_metadata,
                tuple(self._messages),
                tuple(self._places),
            )
        self._messages, self._places, self._bytes = [], [], 0

    def _run(self, flow: str, session: str, found: Found, message: Json) -> str:
        if found.run_id is not None:
            return bounded(found.run_id)
        if found.run is not None:
            return bounded(f"{session}#{found.run}")
        if _is_users(message) or (flow, session) not in self._runs:
            self._runs[flow, session] = bounded(f"{session}#{message['id']}")
        return self._runs[flow, session]

    def _checked(self, found: Found) -> tuple[Json, int] | None:
        """The message as it can be posted, and its bytes; None if it is reported and left out."""
        message = self._linked(found)
        if not found.dropped and _says_nothing(message):
            self._report.skip(found.where, NO_CONTENT)
        if found.dropped or _says_nothing(message):
            self._drop(message)
            return None
        try:
            message = self._repaired(found, message)
            return message, self._valid(found, message)
        except errors.InvalidRequest as exc:
            self._report.lose(found.where, exc.message, field=exc.field, value=exc.value, limit=exc.limit)
            self._drop(message)
            return None

    def _valid(self, found: Found, message: Json) -> int:
        """The message's bytes. Raises InvalidRequest for what the API would refuse."""
        if not found.session_id.strip():
            raise errors.InvalidRequest("session_id must not be blank", field="session_id")
        return self._check(message)

    def _linked(self, found: Found) -> Json:
        """The message with bounded ids. Its parent is the next one above it that was imported."""
        message = {**found.message, "id": bounded(str(found.message["id"]))}
        if "parent_message_id" in message:
            parent = message["parent_message_id"]
            parent = None if parent is None else bounded(parent)
            while parent in self._dropped:
                parent = self._dropped[parent]
            message["parent_message_id"] = parent
        return message

    def _drop(self, message: Json) -> None:
        if "parent_message_id" in message:
            self._dropped[message["id"]] = message["parent_message_id"]

    def _repaired(self, found: Found, message: Json) -> Json:
        message, repaired = _storable(message)
        if repaired:
            self._report.change(found.where, "NUL characters and lone surrogates are replaced with U+FFFD")
        for name in ("name", "sender_name"):
            value = message.get(name)
            if isinstance(value, str) and len(value) > MAX_NAME_CHARS:
                text = f"{name} is cut to {MAX_NAME_CHARS} characters"
                self._report.change(found.where, text, field=name, value=len(value), limit=MAX_NAME_CHARS)
                message[name] = value[:MAX_NAME_CHARS]
        try:
            if read_time(message.get("timestamp")) is None:
                self._report.change(found.where, "without a time, it gets the time of the import")
        except errors.InvalidRequest as exc:
            text = f"{exc.message}; it gets the time of the import"
            self._report.change(found.where, text, field="timestamp", value=message["timestamp"])
            del message["timestamp"]
        return message

    def _bounded(self, value: str, found: Found, name: str) -> str:
        value = _storable(value)[0]
        if len(value) > MAX_ID_CHARS:
            text = f"a longer {name} than {MAX_ID_CHARS} characters is replaced by its SHA-256"
            self._report.change(found.where, text, field=name, value=value, limit=MAX_ID_CHARS)
        return bounded(value)


def _is_users(message: Json) -> bool:
    """Whether the user says it, in any of the formats that the API accepts."""
    role = message.get("role") or message.get("sender") or message.get("type")
    return isinstance(role, str) and role.lower() in {"user", "human"}


def _says_nothing(message: Json) -> bool:
    content = message.get("text") if "sender" in message else message.get("content")
    return content in (None, "", []) and not message.get("tool_calls") and not message.get("files")


def bounded(text: str) -> str:
    """The id, or its hash if it is longer than the API allows: the same at every import."""
    text = _storable(text)[0]
    return text if len(text) <= MAX_ID_CHARS else hashlib.sha256(text.encode()).hexdigest()


def _storable(value: Any, depth: int = 0) -> tuple[Any, bool]:
    """The value with text that can be stored, and whether that changed it. What is nested too deep stays as it is."""
    if isinstance(value, str):
        # A pair of surrogates that was escaped apart is one character; a lone one is lost.
        text = value.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text, text != value
    if depth > MAX_DEPTH:
        return value, False
    if isinstance(value, list):
        pairs = [_storable(item, depth + 1) for item in value]
        return [item for item, _ in pairs], any(changed for _, changed in pairs)
    if isinstance(value, dict):
        items = [(_storable(key, depth + 1), _storable(item, depth + 1)) for key, item in value.items()]
        return {key: item for (key, _), (item, _) in items}, any(k[1] or v[1] for k, v in items)
    return value, False
