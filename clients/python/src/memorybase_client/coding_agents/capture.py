"""New messages of a transcript, or of an event that has its text itself, posted to memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote

from memorybase_client.coding_agents import memory
from memorybase_client.coding_agents.events import MAX_TEXT, SAID, Json, as_text, digest
from memorybase_client.coding_agents.files import forget_oldest, read_json, remove, write_json
from memorybase_client.coding_agents.given import record_given, take_given
from memorybase_client.coding_agents.memory import Away, Refused
from memorybase_client.coding_agents.transcripts import READERS

FLUSH_SECONDS = 5.0  # agents run the stop hook before the answer is in their transcript
MAX_LINE_BYTES = 8_000_000  # a longer line of a transcript is a tool's output, and skipped
MAX_RESULT = 4_000  # characters of a tool's arguments or result, if they are kept
BATCH_MESSAGES = 50
BATCH_CHARS = 100_000
MAX_PLACES = 2_000  # in transcripts

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


def send_text(config: Json, event: Json) -> int:
    """Capture a text that came with the event itself. Cursor's ids: the conversation and the generation."""
    if not event["text"].strip() or not event["turn"]:
        return 0
    what = "user" if event["role"] == "user" else digest(event["text"])[:16]
    entry = {"role": event["role"], "id": f"{event['turn']}:{what}", "text": event["text"], "timestamp": event["at"]}
    return post(config, event, event["turn"], [message_of(event, entry, [])])


def send_transcript(config: Json, event: Json, until: float) -> int:
    """Capture what is new in the event's transcript. Waits until the answer that the event names is there."""
    patience = time.monotonic() + float(config.get("flush_seconds", FLUSH_SECONDS))
    capture = Capture(config, event)
    if not event["said"] and not os.path.exists(event["transcript"]):
        return 0  # a session that ended before anything was said
    while True:
        capture.read(until)
        if not event["said"] or capture.answer[:SAID] == event["said"] or time.monotonic() > patience:
            break
        time.sleep(0.1)
    if capture.refused:
        raise Refused(capture.refused, capture.stored)
    if event["said"] and not capture.answer:
        raise Refused(f"no message was recognized in the transcript {event['transcript']}")
    return capture.stored


class Capture:
    """Reads a transcript from where the last capture ended. The place is kept in a file, and may be lost: then the
    transcript is sent again, and memory skips what it has."""

    def __init__(self, config: Json, event: Json) -> None:
        self.config, self.event, self.stored, self.refused = config, event, 0, ""
        name = digest(f"{event['agent']} {event['transcript']} {event['session']}")[:32]
        self._state_file = os.path.join(config["state_dir"], "transcripts", f"{name}.json")
        self._state = read_json(self._state_file) or _first_place(os.path.dirname(self._state_file))
        self._saved = self._state.get("offset")
        self._entries = READERS[event["agent"]]
        self._messages: list[Json] = []
        self._given: list[tuple[str, Json]] = []  # to record, by run
        self.answer = as_text(self._state.get("answer"))  # the beginning of the newest answer that was read

    def read(self, until: float) -> None:
        """Capture to the end of the file, or until the time is over."""
        state = self._state
        for place, line in _lines_after(self.event, state.get("offset")):
            if time.monotonic() > until:
                raise Away("the transcript was not read to its end in time; the next event continues")
            for entry in self._entries(line, state.setdefault("context", {})):
                self._take(entry)
            state["offset"] = place
            chars = sum(len(message["content"] or "") for message in self._messages)
            if len(self._messages) >= BATCH_MESSAGES or chars > BATCH_CHARS:
                self._flush()
        self._flush()
        for run, each in self._given:
            with contextlib.suppress(Exception):  # a record is worth no repetition of what is captured
                record_given(self.config, identity(self.event, run), each)
        self._given.clear()

    def _take(self, entry: Json) -> None:
        if is_left_out(self.config, entry, self._state):
            return
        if begins_run(entry, self._state):
            self._flush()
            self._given += ((entry["id"], each) for each in take_given(self.config, self.event, entry))
        self._messages.append(message_in_run(self.event, entry, self._state))
        if entry["role"] == "assistant":
            self.answer = self._state["answer"] = entry["text"].strip()[:SAID]

    def _flush(self) -> None:
        if self._messages:
            try:
                self.stored += post(self.config, self.event, self._state["run"], self._messages)
            except Refused as error:  # the place moves on: at the old one every later event would be refused too
                self.stored += error.stored
                self.refused = str(error)
            self._messages = []
        if self._state.get("offset") != self._saved:
            write_json(self._state_file, self._state)
            self._saved = self._state.get("offset")


def _first_place(folder: str) -> Json:
    """The place in a new transcript: its beginning. Forgets the oldest places if there are too many."""
    forget_oldest(folder, MAX_PLACES)
    return {}


def _lines_after(event: Json, place: Any) -> Iterator[tuple[Any, Json]]:
    """The lines of a transcript, or the messages of a database, after a place, each with the place where it ends."""
    if event["agent"] == "opencode":
        from memorybase_client.coding_agents.opencode import messages_after

        yield from messages_after(event["transcript"], event["session"], place)
        return
    with open(event["transcript"], "rb") as file:
        start = place or 0
        file.seek(start if start <= os.fstat(file.fileno()).st_size else 0)
        for line in lines(file):
            yield file.tell(), line


def lines(file: BinaryIO) -> Iterator[Json]:
    """The lines that are objects. A line that is still being written is none yet: the next capture begins before it."""
    for line in raw_lines(file):
        if (value := object_in(line)) is not None:
            yield value


def raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines; nothing of one that is too long."""
    while line := file.readline(MAX_LINE_BYTES):
        is_long = len(line) == MAX_LINE_BYTES and not line.endswith(b"\n")
        while is_long and line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
        yield b"" if is_long else line


def object_in(line: bytes) -> Json | None:
    """The object; None for anything else."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(line)
        return value if isinstance(value, dict) else None
    return None


def is_left_out(config: Json, entry: Json, state: Json) -> bool:
    """Whether this is of a tool, and tools are not captured: then only the tool's name is kept, for the next answer."""
    if entry["role"] != "tool" or config.get("tools"):
        return False
    names = state.setdefault("tools", [])
    if entry.get("name") and entry["name"] not in names:
        names.append(entry["name"])
    return True


def begins_run(entry: Json, state: Json) -> bool:
    """A run is a user's message and what follows it."""
    return entry["role"] == "user" or not state.get("run")


def message_in_run(event: Json, entry: Json, state: Json) -> Json:
    """The next entry of a transcript as a message of the API, of the run `state["run"]`."""
    if begins_run(entry, state):
        state["run"] = entry["id"]
    return message_of(event, entry, state.pop("tools", []) if entry["role"] == "assistant" else [])


def message_of(event: Json, entry: Json, tools: list[str]) -> Json:
    """An entry of a transcript as a message of the API."""
    metadata = {
        "agent": event["agent"],
        "cwd": entry.get("cwd") or event["cwd"],
        "project": event["project"],
        "branch": entry.get("branch") or event["branch"],
        "model": entry.get("model") or event["model"],
        "tools": tools,
    }
    message = {
        "id": identity(event, entry["id"]),
        "role": entry["role"],
        "content": clean(entry["text"], MAX_TEXT),
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    if _MOMENT.fullmatch(as_text(entry.get("timestamp"))):
        message["timestamp"] = entry["timestamp"]
    if entry["role"] == "tool":
        message["content"] = clean(entry["text"], MAX_RESULT)
        message["tool_call_id"] = entry["call"][:128]
        if entry.get("name"):  # the call itself, as the assistant's
            function = {"name": entry["name"], "arguments": message["content"]}
            made = {"id": message.pop("tool_call_id"), "type": "function", "function": function}
            message.update(role="assistant", content=None, tool_calls=[made], is_output=False)
    return message


def identity(event: Json, name: str) -> str:
    """An id that is unique within the flow: a forked session copies lines with their ids."""
    full = f"{event['agent']}:{event['session']}:{name}"
    return full if len(full) <= 128 else f"{event['agent']}:{digest(full)}"


def clean(text: str, limit: int) -> str:
    """Text that every database stores."""
    text = text.replace("\x00", "").encode("utf-8", "replace").decode()
    return text if len(text) <= limit else text[:limit] + "\n[cut off]"


def post(config: Json, event: Json, run: str, messages: list[Json]) -> int:
    """Capture messages of a run, and return the number of new ones. Raises Away; and Refused if memory refuses some,
    once the others are captured."""
    body = {
        "session_id": event["session"][:128],
        "run_id": identity(event, run),
        "on_conflict": "keep",
        "end_user_id": config.get("end_user"),
        "messages": messages,
    }
    path = f"/v1/flows/{quote(config['flow'], safe='')}/runs"
    if os.path.exists(_unprepared(config)):
        prepare_flow(config)
    status, answer = _call(config, path, body)
    if status == 404 and config.get("makes_flow"):
        prepare_flow(config)
        status, answer = _call(config, path, body)
    if status in (200, 201):
        return sum(bool(message.get("created")) for message in answer["messages"])
    reason = _reason(status, answer)
    if status >= 500 or status in (401, 403, 404, 408, 429):
        raise Away(reason)
    if len(messages) == 1:
        raise Refused(reason)
    stored, refused = 0, ""
    for message in messages:
        try:
            stored += post(config, event, run, [message])
        except Refused as error:
            refused = str(error)
    if refused:
        raise Refused(refused, stored)
    return stored


def prepare_flow(config: Json) -> None:
    """Create the flow, without secrets, and a memory base that makes it searchable, unless they exist. Raises Away: the
    next capture continues. As `install.prepare_flow`, with the standard library."""
    flow, path = config["flow"], f"/v1/flows/{quote(config['flow'], safe='')}"
    write_json(_unprepared(config), {})
    if _call(config, path, None, "GET")[0] == 404:
        _must(config, path, {"name": flow}, "PUT")
    if not _must(config, f"/v1/memories?flow_id={quote(flow, safe='')}", None, "GET")["items"]:
        if _is_untouched(config, path):
            _must(config, path, {"secrets": "redact"}, "PATCH")
        _must(config, "/v1/memories", {"name": flow, "flow_id": flow, "capture": "all"}, "POST")
    remove(_unprepared(config))


def _unprepared(config: Json) -> str:
    """A file that exists while the flow may be incomplete: nothing is captured before it is prepared."""
    return os.path.join(config["state_dir"], "unprepared.json")


def _is_untouched(config: Json, path: str) -> bool:
    """Whether nobody chose what the flow does with secrets, and it has no run: it is new, or was left incomplete."""
    is_chosen = _must(config, path, None, "GET").get("secrets") is not None
    return not is_chosen and not _must(config, f"{path}/runs?size=1", None, "GET")["items"]


def _must(config: Json, path: str, body: Json | None, method: str) -> Json:
    status, answer = _call(config, path, body, method)
    if status not in (200, 201):
        if status < 500 and status not in (401, 408, 429):  # no repetition would succeed: capture without it
            remove(_unprepared(config))
        raise Away(f"{_reason(status, answer)} to {method} {path.partition('?')[0]}")
    return dict(answer)


def _call(config: Json, path: str, body: Json | None, *method: str) -> tuple[int, Any]:
    if config.get("url") == "":
        raise Away("memorybase does not run on this machine")
    try:
        return memory.call(config, path, body, *method)
    except Exception as error:
        raise Away(f"memory does not answer at {config['url']} ({type(error).__name__})") from error


def _reason(status: int, answer: Any) -> str:
    problem = answer.get("error") if isinstance(answer, dict) else None
    return f"memory answered {status} {problem.get('code') if isinstance(problem, dict) else ''}".strip()
