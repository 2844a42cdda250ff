"""Remember: a Langflow component that stores what was said and answered, in memorybase.

Paste this file into the code editor of a custom component. It needs httpx, which Langflow has.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import sys
import threading
import time
import types
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import httpx
from lfx.custom.custom_component.component import Component
from lfx.io import HandleInput, MessageTextInput, Output, SecretStrInput
from lfx.schema.message import Message

Json = dict[str, Any]

TIMEOUT_SECONDS = 10.0  # of a call in the background
GRACE_SECONDS = 0.25  # that the flow waits for the result of a capture, so that the status can say it
EXIT_SECONDS = 5.0  # that the process waits at its end for runs on their way
PAUSE_SECONDS = 2.0  # after a call without an answer; doubles
LONGEST_PAUSE_SECONDS = 30.0
IDLE_SECONDS = 60.0  # after which the thread ends
MOST_WAITING = 200  # runs, of one address and key
ID_LENGTH = 128
OUTBOXES = "memorybase_langflow_outboxes"  # a module that is no file
STREAMED = "A streamed answer cannot be stored here. Connect the output of Chat Output to Answer instead"

# This part is the same in recall.py and remember.py, because Langflow runs each file alone. A test compares them.


class CallFailed(Exception):
    """Why a call did not succeed, in words for people."""


class Unavailable(CallFailed):
    """The same call can succeed later."""


class Refused(CallFailed):
    """The same call will not succeed."""

    def __init__(self, text: str, *, status: int = 0, field: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.field = field

    @property
    def is_unknown_flow(self) -> bool:
        return self.status == httpx.codes.NOT_FOUND and self.field == "flow_id"


class Memory(NamedTuple):
    """memorybase at this address, as the owner of this key."""

    url: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def shown(self) -> str:
        """The address without a password."""
        return self.url.rpartition("@")[2]


class Place(NamedTuple):
    """Whose memory a component reaches."""

    flow: str
    session: str
    end_user: str


def text_of(value: Any) -> str:
    """The text of a field, typed or connected."""
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    value = getattr(value, "text", value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def memory_of(component: Any) -> Memory:
    """The memory that the fields name. Raises Refused."""
    url = text_of(component.url).strip().rstrip("/").removesuffix("/v1")
    key = text_of(component.api_key).strip()
    if not url:
        raise Refused("Enter the address of memorybase in Address")
    if not is_address(url):
        raise Refused(f"Address must be like http://HOST:8000 (got {Memory(url, key).shown!r})")
    if not key:
        raise Refused("Enter an API key of memorybase in API key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Refused("API key must be a key of memorybase; this one has characters that no key has")
    return Memory(url, key)


def is_address(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in {"http", "https"} and bool(parsed.host) and (parsed.port or 0) < 65_536


def place_of(component: Any) -> Place:
    """What the fields say, else what Langflow knows. Raises Refused.

    An end user whom Langflow knows cannot be replaced by the field, which callers of the flow may be able to set.
    """
    known = {name: str(getattr(component.graph, name, None) or "") for name in ("flow_id", "session_id", "end_user_id")}
    place = Place(
        flow=text_of(component.flow).strip() or known["flow_id"],
        session=text_of(component.session_id).strip() or known["session_id"],
        end_user=known["end_user_id"] or text_of(component.end_user).strip(),
    )
    if not place.flow:
        raise Refused("Langflow did not say which flow this is. Enter any name in Flow")
    if not place.session:
        raise Refused("Langflow did not say which session this is. Enter any name in Session ID")
    return place


def answer_of(response: httpx.Response) -> Json:
    """What memorybase answered. Raises Unavailable or Refused."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if response.is_success and isinstance(answer, dict):
        return answer
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        text = f"{response.url.host} answers {response.status_code}, but not as memorybase does. Check Address"
        if response.is_success or response.is_server_error:
            raise Unavailable(text)
        raise Refused(text, status=response.status_code)
    field = str(error.get("field") or "")
    text = f"{field}: {error.get('message')}" if field else str(error.get("message"))
    if error.get("retryable"):
        raise Unavailable(text)
    raise Refused(text, status=response.status_code, field=field)


def no_answer(memory: Memory, error: Exception) -> Unavailable:
    """The failure of a call that got no answer."""
    return Unavailable(f"memorybase does not answer at {memory.shown}: {error or type(error).__name__}")


# End of the part that is the same.


@dataclass(eq=False)
class Run:
    """A run on its way. `error`: why it is lost."""

    flow: str
    flow_name: str
    body: Json
    state: Literal["waiting", "stored", "lost"] = "waiting"
    error: str = ""
    tried: threading.Event = field(default_factory=threading.Event)

    def settle(self, state: Literal["stored", "lost"], error: str = "") -> None:
        self.state, self.error = state, error
        self.tried.set()


class Outbox:
    """Runs for one memory, sent in their order by a thread. While memorybase is away they wait in this process."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._runs: deque[Run] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.reason = ""  # why the last call got no answer; empty while memorybase answers
        self.lost = 0
        atexit.register(self.finish)

    def __len__(self) -> int:
        return len(self._runs)

    def put(self, run: Run) -> None:
        """Send the run in the background. Beyond MOST_WAITING the oldest one is lost."""
        with self._changed:
            self._runs.append(run)
            if len(self._runs) > MOST_WAITING:
                self._lose(self._runs.popleft(), f"More than {MOST_WAITING} runs waited, and the oldest was dropped")
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._send_all, name="memorybase", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def finish(self) -> None:
        """At the end of the process: wait a moment for runs on their way, unless memorybase is away."""
        with self._changed:
            self._changed.wait_for(lambda: not self._runs or self.reason, EXIT_SECONDS)

    def _send_all(self) -> None:
        client: httpx.Client | None = None
        pause = PAUSE_SECONDS
        while (run := self._next()) is not None:
            try:
                client = client or httpx.Client(headers=self._memory.headers, timeout=TIMEOUT_SECONDS)
                capture(client, self._memory, run)
            except Unavailable as error:
                with self._changed:
                    self.reason = str(error)
                    self._changed.notify_all()
                run.tried.set()
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                continue
            except CallFailed as error:
                self._done(run, str(error))
            except Exception as error:  # noqa: BLE001  one bad run must not end the thread
                self._done(run, type(error).__name__)
            else:
                self._done(run)
            pause = PAUSE_SECONDS
        if client is not None:
            client.close()

    def _next(self) -> Run | None:
        with self._changed:
            if self._changed.wait_for(lambda: self._runs, IDLE_SECONDS):
                return self._runs[0]
            self._thread = None
            return None

    def _done(self, run: Run, error: str = "") -> None:
        with self._changed:
            self.reason = ""
            # A run that was dropped on its way is not the first one any more.
            if self._runs and self._runs[0] is run:
                self._runs.popleft()
            if error:
                self._lose(run, error)
            else:
                run.settle("stored")
            self._changed.notify_all()

    def _lose(self, run: Run, error: str) -> None:
        self.lost += 1
        run.settle("lost", error)


def outbox_of(memory: Memory) -> Outbox:
    """The one of this process. Langflow runs this file again for each build, so no variable of the file can keep it."""
    kept = sys.modules.setdefault(OUTBOXES, types.ModuleType(OUTBOXES))
    outboxes: dict[Memory, Outbox] = vars(kept).setdefault("by_memory", {})
    if memory not in outboxes:
        outboxes.setdefault(memory, Outbox(memory))
    return outboxes[memory]


def capture(client: httpx.Client, memory: Memory, run: Run) -> None:
    """Store a run. The flow and its memory base are created with their first run. Raises Unavailable or Refused."""

    def call(method: str, path: str, body: Json | None = None) -> Json:
        try:
            response = client.request(method, f"{memory.url}/v1{path}", json=body)
        except httpx.HTTPError as error:
            raise no_answer(memory, error) from error
        return answer_of(response)

    path = f"/flows/{quote(run.flow, safe='')}"
    try:
        stored = call("POST", f"{path}/runs", run.body)
    except Refused as error:
        if not error.is_unknown_flow:
            raise
        call("PUT", path, {"name": run.flow_name})
        stored = call("POST", f"{path}/runs", run.body)
    if stored.get("ingestion") or call("GET", f"/memories?size=1&flow_id={quote(run.flow, safe='')}").get("total"):
        return
    try:
        call("POST", "/memories", {"name": f"Langflow {run.flow}", "flow_id": run.flow, "capture": "all"})
    except Refused as error:
        if error.status != httpx.codes.CONFLICT:  # another process was faster
            raise


def new_body(place: Place, run_id: str, said: list[tuple[str, str]]) -> Json:
    """The body of a capture. Its ids come from the run and the texts, so that a repetition stores nothing twice."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    messages = [
        {"id": message_id(place, run_id, role, text), "role": role, "content": text, "timestamp": now}
        for role, text in said
    ]
    body: Json = {"session_id": place.session, "run_id": run_id, "messages": messages}
    if place.end_user:
        body["end_user_id"] = place.end_user
    return body


def message_id(place: Place, run_id: str, role: str, text: str) -> str:
    return hashlib.sha256(f"{place.session}\0{run_id}\0{role}\0{text}".encode()).hexdigest()


def run_id_of(graph: Any) -> str:
    """The id of Langflow's run; outside of a run a new one."""
    try:
        found = graph.run_id
    except (AttributeError, ValueError):
        found = None
    return str(found or uuid.uuid4())[:ID_LENGTH]


def is_streamed(value: Any) -> bool:
    text = getattr(value, "text", value)
    return text is not None and not isinstance(text, str)


class MemorybaseRemember(Component):
    display_name = "Remember"
    description = "Stores in memorybase what was said and answered, and passes the answer on."
    icon = "Save"
    name = "MemorybaseRemember"

    inputs = [
        HandleInput(
            name="user_message",
            display_name="User's message",
            info="Connect the message of Chat Input.",
            input_types=["Message"],
        ),
        HandleInput(
            name="answer",
            display_name="Answer",
            info="Connect the model's or agent's answer.",
            input_types=["Message"],
        ),
        MessageTextInput(
            name="url",
            display_name="Address",
            info="The address of memorybase, such as http://HOST:8000.",
            value="http://127.0.0.1:8000",
        ),
        SecretStrInput(
            name="api_key",
            display_name="API key",
            info="A key of memorybase with the scopes read and write.",
            value="",
        ),
        MessageTextInput(
            name="end_user",
            display_name="End user",
            info="Whose memory this is. An end user whom Langflow itself knows takes precedence.",
        ),
        MessageTextInput(
            name="flow",
            display_name="Flow",
            info="The flow in memorybase. Empty: this flow's id.",
            advanced=True,
        ),
        MessageTextInput(
            name="session_id",
            display_name="Session ID",
            info="Empty: the session of this run.",
            advanced=True,
        ),
    ]
    outputs = [Output(name="message", display_name="Message", method="remember")]

    async def remember(self) -> Message:
        """Capture in the background, and return the answer, or else the user's message, unchanged."""
        try:
            status = await self._capture()
        except CallFailed as error:
            status = f"Not stored. {error}"
        except Exception as error:  # noqa: BLE001  the flow goes on whatever memory does
            status = f"Not stored. {type(error).__name__}"  # its text may quote a message
        self.status = status
        self.log(status, name="Memory")
        given = self.user_message if self.answer is None or self.answer == "" else self.answer
        return Message(text=given or "") if given is None or isinstance(given, str) else given

    async def _capture(self) -> str:
        """What the status says."""
        if is_streamed(self.answer):
            raise Refused(STREAMED)
        if getattr(self.graph, "persist_messages", True) is False:
            return "Not stored, because this run keeps no messages."
        memory, place = memory_of(self), place_of(self)
        # An error is no answer of a model.
        answer = "" if getattr(self.answer, "error", False) else text_of(self.answer)
        said = [("user", text_of(self.user_message)), ("assistant", answer)]
        said = [(role, text) for role, text in said if text.strip()]
        if not said:
            return "Not stored, because there is no text."
        name = str(getattr(self.graph, "flow_name", None) or f"Langflow {place.flow}")[:ID_LENGTH]
        run = Run(place.flow, name, new_body(place, run_id_of(self.graph), said))
        outbox = outbox_of(memory)
        # Behind others, or while memorybase is away, there is nothing to wait for.
        may_wait = not len(outbox)
        outbox.put(run)
        if may_wait:
            await asyncio.to_thread(run.tried.wait, GRACE_SECONDS)
        return status_of(run, outbox)


def status_of(run: Run, outbox: Outbox) -> str:
    if run.state == "lost":
        return f"Not stored. {run.error}"
    if run.state == "stored":
        status = "Stored."
    elif outbox.reason:
        status = f"Not stored yet; it is sent again. Waiting runs: {len(outbox)}. {outbox.reason.rstrip('.')}."
    else:
        status = "Being stored."
    return f"{status} Lost runs so far: {outbox.lost}." if outbox.lost else status
