"""The calls to memorybase, and the runs that wait for it. They raise Unavailable and Refused, and nothing else.

This module knows nothing of Dify.
"""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import httpx

TIMEOUT_SECONDS = 10.0
MOST_WAITING = 200  # runs, of one address and key
PAUSE_SECONDS = 2.0  # after a call that got no answer
ID_LENGTH = 128

Json = dict[str, Any]


class CallFailed(Exception):
    """Why a call did not succeed, in words for people."""


class Unavailable(CallFailed):
    """The same call can succeed later."""


class Refused(CallFailed):
    """The same call will not succeed."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Memory:
    """memorybase at this address, as the owner of this key."""

    url: str
    key: str

    @classmethod
    def of(cls, credentials: Mapping[str, Any]) -> Memory:
        url = str(credentials.get("url") or "").strip().rstrip("/").removesuffix("/v1")
        return cls(url, str(credentials.get("api_key") or "").strip())

    def check(self) -> None:
        """Raises Unavailable or Refused if no flow can be listed."""
        self._call("GET", "/flows?size=1")

    def search(
        self, flow: str, query: str, *, top_k: int, min_score: float, end_user: str, session: str | None
    ) -> list[Json]:
        """The best messages of one end user. A flow of which nothing was stored yet has none."""
        body = {
            "flow_id": flow,
            "query": query,
            "top_k": top_k,
            "end_user_id": end_user,
            "min_score": min_score,
            "fold_alike": True,
        }
        if session is not None:
            body["session_id"] = session
        try:
            found = self._call("POST", "/search", body).get("results")
        except Refused as error:
            if error.status == httpx.codes.NOT_FOUND:
                return []
            raise
        return found if isinstance(found, list) else []

    def record_given(self, flow: str, run_id: str, node_id: str, given: Json) -> None:
        """Record in the background what a run's model was given; whether that fails, nobody learns."""
        path = "/".join(quote(each, safe="") for each in ("flows", flow, "runs", run_id[:ID_LENGTH], "memory", node_id))

        def record() -> None:
            with suppress(CallFailed):  # such as a flow that begins with this run
                self._call("PUT", f"/{path}", given)

        threading.Thread(target=record, name="memorybase-record", daemon=True).start()

    def capture(self, flow: str, run: Json) -> None:
        """Store a run. The flow and its memory base are created with their first run."""
        path = f"/flows/{quote(flow, safe='')}"
        if (self, flow) in _without_memory_base:
            self._create_memory_base(flow)
        try:
            self._call("POST", f"{path}/runs", run)
        except Refused as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise
            self._call("PUT", path, {"name": f"Dify {flow}"})
            _without_memory_base.add((self, flow))
            self._create_memory_base(flow)
            self._call("POST", f"{path}/runs", run)

    def _create_memory_base(self, flow: str) -> None:
        # Another process was faster, or the key may capture only: the run is stored all the same.
        with suppress(Refused):
            self._call("POST", "/memories", {"name": f"Dify {flow}", "flow_id": flow, "capture": "all"})
        _without_memory_base.discard((self, flow))

    def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        headers = {"Authorization": f"Bearer {self.key}"}
        try:
            _ = urlsplit(self.url).port  # ValueError: 65536 and more would reach the port that is left of it
            answer = httpx.request(method, f"{self.url}/v1{path}", headers=headers, json=body, timeout=TIMEOUT_SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise Unavailable(f"memorybase does not answer at {self.url}: {error or type(error).__name__}") from error
        try:
            said = answer.json()
        except ValueError:
            said = None
        if answer.is_success and isinstance(said, dict):
            return said
        raise _error(answer, said)


# Flows that were created here when memorybase went away, before they had a memory base.
_without_memory_base: set[tuple[Memory, str]] = set()


def _error(answer: httpx.Response, said: Any) -> CallFailed:
    details = said.get("error") if isinstance(said, dict) else None
    if not isinstance(details, dict):
        text = f"{answer.url.host} answers {answer.status_code}, and not as memorybase does. Check the address"
        # Without the status: a 404 of another server says nothing about a flow.
        return Unavailable(text) if answer.is_server_error or answer.is_success else Refused(text, 0)
    where = f"{details['field']}: " if details.get("field") else ""
    text = f"{where}{details.get('message')}"
    return Unavailable(text) if details.get("retryable") else Refused(text, answer.status_code)


# Runs


def new_run(session: str, end_user: str, run_id: str | None, said: list[tuple[str, str]]) -> Json:
    """The body of a capture. Its ids come from the run and the texts, so that a repetition stores nothing twice."""
    run_id = (run_id or str(uuid.uuid4()))[:ID_LENGTH]
    now = datetime.now(UTC).isoformat()
    messages = [
        {"id": _message_id(run_id, role, text), "role": role, "content": text, "timestamp": now} for role, text in said
    ]
    return {"session_id": session, "end_user_id": end_user, "run_id": run_id, "messages": messages}


def _message_id(run_id: str, role: str, text: str) -> str:
    return hashlib.sha256(f"{run_id}\0{role}\0{text}".encode(errors="replace")).hexdigest()


@dataclass
class Run:
    """A run on its way. `error`: why it waits, or why it is lost."""

    flow: str
    body: Json
    state: Literal["waiting", "stored", "dropped"] = "waiting"
    error: str = ""


class Outbox:
    """Runs for one memorybase, sent in the order in which they came. While it is away they wait in this process."""

    def __init__(self, memory: Memory, *, most: int = MOST_WAITING, pause: float = PAUSE_SECONDS) -> None:
        self._memory = memory
        self._most = most
        self._pause = pause
        self._runs: deque[Run] = deque()
        self._guard = threading.Lock()
        self._sending = threading.Lock()
        self._away_until = 0.0
        self._reason = ""

    def __len__(self) -> int:
        return len(self._runs)

    def send(self, flow: str, body: Json) -> Run:
        """Send what waits, then this run; what cannot be sent waits for the next call."""
        run = Run(flow, body)
        with self._guard:
            self._runs.append(run)
            if len(self._runs) > self._most:
                _drop(self._runs.popleft(), f"More than {self._most} runs waited, and the oldest was dropped")
        # Another call may be sending; it sends this run too.
        if self._sending.acquire(timeout=TIMEOUT_SECONDS):
            try:
                self._send_all()
            finally:
                self._sending.release()
        if run.state == "waiting":
            run.error = self._reason or "Other runs are sent first"
        return run

    def _send_all(self) -> None:
        # Not at each call while memorybase is away: a time-out would delay every one.
        while time.monotonic() >= self._away_until:
            with self._guard:
                run = self._runs[0] if self._runs else None
            if run is None:
                return
            try:
                self._memory.capture(run.flow, run.body)
            except Unavailable as error:
                self._away_until, self._reason = time.monotonic() + self._pause, str(error)
                return
            except Refused as error:
                _drop(run, str(error))
            else:
                run.state = "stored"
            with self._guard:
                if self._runs and self._runs[0] is run:
                    self._runs.popleft()


def _drop(run: Run, error: str) -> None:
    run.state, run.error = "dropped", error


_outboxes: dict[Memory, Outbox] = {}
_opening = threading.Lock()


def outbox_of(memory: Memory) -> Outbox:
    """The one of this process for this address and key."""
    with _opening:
        return _outboxes.setdefault(memory, Outbox(memory))
