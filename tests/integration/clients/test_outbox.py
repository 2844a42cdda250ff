"""The outbox of the Python client: servers that die, disks that fail, several processes in one directory."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import uvicorn
from harness.api import Api
from harness.clients import connected, http_answer, read_request, scripted
from harness.rows import each_row
from harness.served import Served, serve_api
from harness.waiting import wait_until
from memorybase_client import Client, Outbox
from memorybase_client import outbox as outbox_module

from memorybase.core.settings import Settings

SOURCE = Path(outbox_module.__file__).parents[1]
DONE = {
    "run_id": str(uuid4()),
    "run_external_id": None,
    "session_id": "s",
    "created": True,
    "messages": [],
    "ingestion": [],
}
ACCEPTED = http_answer("201 Created", json.dumps(DONE).encode())


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "LONGEST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(outbox_module, "OTHER_SENDER_SECONDS", 0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "outbox"


@pytest.fixture
def served(api_settings: Settings) -> Iterator[Served]:
    with serve_api(api_settings) as opened:
        yield opened


def flush(client: Client, seconds: float = 20) -> int:
    """How many captures wait after so long."""
    assert client.outbox is not None
    return client.outbox.flush(seconds)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def refusal(status: str, code: str, *, retryable: bool = False) -> bytes:
    error = {"code": code, "message": "no", "retryable": retryable, "request_id": "r"}
    return http_answer(status, json.dumps({"error": error}).encode())


def stored(api: Api, flow: str = "f", session: str = "s") -> list[str]:
    return [each["content"] for each in api.get("/messages", flow_id=flow, session_id=session, size=200)["items"]]


def memory_bases(api: Api, flow: str = "f") -> list[str]:
    return [each["name"] for each in api.get("/memories", flow_id=flow)["items"]]


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def serving(app: Any, port: int) -> Iterator[None]:
    """The application at a port of the test's choice, as after a restart."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, what="the server listens")
        yield
    finally:
        server.should_exit = True
        thread.join(60)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_was_captured_without_a_server_is_delivered_in_order(kind: str, api: Api, folder: Path) -> None:
    port = unused_port()
    with connected(kind, f"http://127.0.0.1:{port}", api.secret, outbox=folder) as client:
        runs = [client.capture("f", session_id="s", messages=said(f"text {number}")) for number in range(20)]
        assert len(set(runs)) == 20
        assert client.outbox.waiting == 20
        with serving(api.client.app, port):
            assert client.outbox.flush(20) == 0
    assert stored(api) == [f"text {number}" for number in range(20)]
    assert api.get("/flows/f")["name"] == "f"


LEAVING = """
import os, sys
from memorybase_client import Client
client = Client(sys.argv[1], sys.argv[2], outbox=sys.argv[3])
client.capture("f", session_id="s", messages=[{"role": "user", "content": "left behind"}], run_id="r")
os._exit(9)
"""


def test_a_new_process_delivers_what_an_earlier_one_left(api: Api, folder: Path) -> None:
    port = unused_port()
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, url, api.secret, str(folder)], env=environment, check=False, timeout=60
    )
    assert done.returncode == 9
    with serving(api.client.app, port), Client(url, api.secret, outbox=folder) as client:
        wait_until(lambda: client.outbox is not None and client.outbox.waiting == 0, what="it is delivered")
    assert stored(api) == ["left behind"]


@pytest.mark.slow
def test_a_server_that_restarts_again_and_again_gets_every_capture_once(api: Api, folder: Path) -> None:
    port = unused_port()
    with Client(f"http://127.0.0.1:{port}", api.secret, outbox=folder) as client:
        for round_ in range(3):
            with serving(api.client.app, port):
                for number in range(10):
                    client.capture("f", session_id="s", messages=said(f"{round_}.{number}"))
                wait_until(lambda: stored_or_none(api), what="something is delivered")
        with serving(api.client.app, port):
            assert flush(client) == 0
    assert stored(api) == [f"{round_}.{number}" for round_ in range(3) for number in range(10)]


def stored_or_none(api: Api) -> list[str]:
    return stored(api) if api.get("/flows")["total"] else []


def test_a_capture_whose_answer_was_lost_is_stored_once(served: Served, folder: Path) -> None:
    cut = cut_after_request(served.port)
    with cut as url, Client(url, served.api.secret, outbox=folder) as client:
        client.capture("f", session_id="s", messages=said("first"))
        client.capture("f", session_id="s", messages=said("second"))
        assert flush(client) == 0
    assert stored(served.api) == ["first", "second"]
    assert memory_bases(served.api) == ["f memory"]


@contextmanager
def cut_after_request(port: int) -> Iterator[str]:
    """A proxy that carries out each request twice, and drops the answer of the first."""
    proxy = socket.create_server(("127.0.0.1", 0))
    seen: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                client, _ = proxy.accept()
            except OSError:
                return
            with client:
                request = read_request(client)
                answer = carried_out(request.replace(b"keep-alive", b"close"), port) if request else b""
                if request in seen:
                    client.sendall(answer)
                seen.append(request)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.getsockname()[1]}"
    finally:
        proxy.shutdown(socket.SHUT_RDWR)
        proxy.close()
        thread.join(60)


def carried_out(request: bytes, port: int) -> bytes:
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as upstream:
        upstream.sendall(request)
        while part := upstream.recv(65_536):
            answer += part
    return answer


def test_beyond_its_bounds_the_oldest_are_lost_and_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    outbox = Outbox(folder, max_captures=3)
    with Client(f"http://127.0.0.1:{unused_port()}", "k", outbox=outbox) as client:
        for number in range(5):
            client.capture("f", session_id="s", messages=said(f"a secret text {number}"))
        assert (outbox.waiting, outbox.lost) == (3, 2)
    assert texts_on_disk(folder) == [f"a secret text {number}" for number in (2, 3, 4)]
    assert "1 captures are lost" in caplog.text
    assert "secret" not in caplog.text


def test_bytes_are_bounded_too_and_a_capture_beyond_the_bound_displaces_no_others(folder: Path) -> None:
    outbox = Outbox(folder, max_bytes=1_000)
    with Client(f"http://127.0.0.1:{unused_port()}", "k", outbox=outbox) as client:
        client.capture("f", session_id="s", messages=said("x" * 500))
        client.capture("f", session_id="s", messages=said("y" * 500))
        assert (outbox.waiting, outbox.lost) == (1, 1)
        client.capture("f", session_id="s", messages=said("z" * 5_000))
        assert (outbox.waiting, outbox.lost) == (1, 2)
    assert texts_on_disk(folder) == ["y" * 500]


def texts_on_disk(folder: Path) -> list[str]:
    db = sqlite3.connect(folder / "outbox.db")
    bodies = [json.loads(body) for (body,) in db.execute("SELECT body FROM captures ORDER BY id")]
    db.close()
    return [body["messages"][0]["content"] for body in bodies]


def test_the_files_are_private_and_hold_no_delivered_text(served: Served, folder: Path) -> None:
    with Client(served.url, served.api.secret, outbox=folder) as client:
        assert client.outbox is not None
        client.capture("f", session_id="s", messages=said("a very secret text"))
        assert holding(folder, b"secret")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert client.outbox.flush(20) == 0
        wait_until(lambda: not holding(folder, b"secret"), what="the files are without the text")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes["outbox.db"] == 0o600
    assert set(modes.values()) == {0o600}
    assert stored(served.api) == ["a very secret text"]


def holding(folder: Path, text: bytes) -> list[str]:
    return [path.name for path in folder.iterdir() if text in path.read_bytes()]


@each_row("messages", [[{"role": "user", "content": object()}], [{"content": "\ud800"}], 7])
def test_what_cannot_be_stored_is_lost_and_does_not_fail_the_caller(folder: Path, messages: Any) -> None:
    with Client(f"http://127.0.0.1:{unused_port()}", "k", outbox=folder) as client:
        client.capture("f", session_id="s", messages=messages)
        assert client.outbox is not None
        assert client.outbox.waiting + client.outbox.lost == 1


def test_a_disk_that_fails_does_not_fail_the_caller(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Client(f"http://127.0.0.1:{unused_port()}", "k", outbox=folder) as client:
        outbox = client.outbox
        assert outbox is not None
        outbox._store._connection.execute("PRAGMA max_page_count = 12")  # a full disk
        for _ in range(5):
            client.capture("f", session_id="s", messages=said("x" * 20_000))
        assert outbox.lost >= 4
    assert "it cannot be stored" in caplog.text


def test_a_client_without_outbox_says_so() -> None:
    with Client("http://127.0.0.1:1", "k") as client, pytest.raises(ValueError, match="needs an outbox"):
        client.capture("f", session_id="s", messages=[])


def test_what_the_server_refuses_is_kept_aside_and_the_rest_goes_on(served: Served, folder: Path) -> None:
    with Client(served.url, served.api.secret, outbox=folder) as client:
        outbox = client.outbox
        assert outbox is not None
        client.capture("f", session_id="s", messages=[{"role": "nobody", "content": "?"}], run_id="bad")
        client.capture("f", session_id="s", messages=said("good"))
        assert outbox.flush(20) == 0
        (refused,) = outbox.refused()
        assert (refused.flow_id, refused.code, refused.run["run_id"]) == ("f", "invalid_request", "bad")
        assert outbox.retry_refused() == 1
        assert outbox.flush(20) == 0
        assert len(outbox.refused()) == 1
    assert stored(served.api) == ["good"]


def test_refused_runs_wait_again_all_or_none(folder: Path) -> None:
    outbox = Outbox(folder, max_captures=2)
    for number in range(3):
        outbox.put("f", {"messages": said(f"{number}")})
        outbox._store.refuse(outbox._store.newest(""), "invalid_request", "no")
    with closing(sqlite3.connect(folder / "outbox.db")) as db:
        db.execute(
            "CREATE TRIGGER fails BEFORE INSERT ON captures WHEN EXISTS (SELECT 1 FROM captures)"
            " BEGIN SELECT RAISE(ABORT, 'the second fails'); END"
        )
        with pytest.raises(sqlite3.IntegrityError, match="the second fails"):
            outbox.retry_refused()
        assert (outbox.waiting, len(outbox.refused()), outbox.lost) == (0, 3, 0)
        db.execute("DROP TRIGGER fails")
    assert outbox.retry_refused() == 3
    assert (outbox.waiting, len(outbox.refused()), outbox.lost) == (2, 0, 1)
    outbox.close(0)


def test_what_a_model_was_given_is_delivered_and_a_refused_record_holds_nothing_up(
    served: Served, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    use = {"session_id": "s", "messages": [{"role": "system", "content": "Berth 12."}], "sources": [{}]}
    with Client(served.url, served.api.secret, outbox=folder) as client:
        client.record_memory("new", run_id="r", node_id="the agent/1", **use)
        client.record_memory("new", run_id="r", node_id="refused", **{**use, "sources": []})
        client.capture("new", session_id="s", run_id="r", messages=said("Where?"))
        assert flush(client, 30) == 0
        assert client.outbox.refused() == []
        nodes = client.get_run_memory("new", "r").nodes
    assert [(each.node_id, each.messages[0]["content"]) for each in nodes] == [("the agent/1", "Berth 12.")]
    assert "what a model was given is not recorded: invalid_request" in caplog.text
    assert stored(served.api, "new") == ["Where?"]


@each_row("kind", ["sync", "async"])
def test_other_calls_of_a_flow_are_sent_in_order_and_kept_if_refused(kind: str, served: Served, folder: Path) -> None:
    flow, said_once = f"calls, {kind}", [{"id": "m", "role": "user", "content": "Berth 12."}]
    with connected(kind, served.url, served.api.secret, outbox=folder / kind) as client:
        client.later(flow, lambda calls: calls.put_chat_memory(flow, "chat", name="c", chat_id="{{ chat_id }}"))
        for node in ("chat", "chat", "other"):
            client.later(
                flow, lambda calls, node=node: calls.post_chat_messages(flow, node, chat_id="c", messages=said_once)
            )
        client.later(flow, lambda calls: calls.post_chat_messages(flow, "chat", messages=[{"content": object()}]))
        assert client.outbox.flush(30) == 0
        assert [each["content"] for each in client.view_chat(flow, "chat", chat_id="c").messages] == ["Berth 12."]
        assert ([each.code for each in client.outbox.refused()], client.outbox.lost) == (["not_found"], 1)


def test_an_outage_of_any_length_has_a_bounded_pause(folder: Path) -> None:
    """A thread that ended here would leave what is captured later to the next process."""
    outbox = Outbox(folder)
    pauses = [outbox._pause_after(outbox_module._Outcome.FAILED) for _ in range(2000)]
    outbox.close()
    assert max(pauses) <= outbox_module.LONGEST_PAUSE_SECONDS


def test_a_key_that_is_refused_loses_nothing(served: Served, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Client(served.url, "a wrong key", outbox=folder) as client:
        client.capture("f", session_id="s", messages=said("kept"))
        wait_until(lambda: "unauthorized" in caplog.text, what="it was tried")
    with Client(served.url, served.api.secret, outbox=folder) as client:
        assert client.outbox is not None
        assert "1 captures of another address or key wait" in caplog.text
        assert client.outbox.waiting == 0, "another key may be another user's"
        client.outbox.adopt()
        assert client.outbox.flush(20) == 0
    assert stored(served.api) == ["kept"]


def test_a_server_that_always_fails_at_one_run_does_not_stop_the_others(folder: Path) -> None:
    broken = [refusal("500 Internal Server Error", "internal_error")] * outbox_module.MAX_ATTEMPTS
    with scripted([*broken, ACCEPTED]) as server, Client(server.url, "k", outbox=folder) as client:
        assert client.outbox is not None
        client.capture("f", session_id="s", messages=said("one"))
        client.capture("f", session_id="s", messages=said("two"))
        assert client.outbox.flush(20) == 0
        assert [refused.code for refused in client.outbox.refused()] == ["internal_error"]


def test_an_outage_before_such_a_failure_does_not_count_against_the_run(folder: Path) -> None:
    away = refusal("503 Service Unavailable", "database_unavailable", retryable=True)
    broken = refusal("500 Internal Server Error", "internal_error")
    answers = [*[away] * outbox_module.MAX_ATTEMPTS, broken, ACCEPTED]
    with scripted(answers) as server, Client(server.url, "k", outbox=folder) as client:
        assert client.outbox is not None
        client.capture("f", session_id="s", messages=said("one"))
        assert client.outbox.flush(20) == 0
        assert client.outbox.refused() == []


@pytest.mark.slow
def test_settling_does_not_wait_for_what_is_captured_meanwhile(folder: Path) -> None:
    with scripted([]) as server, Client(server.url, "k", outbox=folder) as client:

        def answer(_request: bytes) -> bytes:
            client.capture("f", session_id="s", messages=said("more"))
            return ACCEPTED

        server.answer = answer
        client.capture("f", session_id="s", messages=said("one"))
        assert client.outbox is not None
        assert client.outbox.settle(20) == 0
        assert client.outbox.waiting > 0


@dataclass
class Clock:
    """Advances while something is sent, once the caller has read it."""

    now: float = 0.0
    read: threading.Event = field(default_factory=threading.Event)

    def monotonic(self) -> float:
        if threading.current_thread() is threading.main_thread():
            self.read.set()
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.read.clear()
        self.read.wait(2)


def settled_slowly(folder: Path, monkeypatch: pytest.MonkeyPatch, *, answers: bool) -> int:
    """How many captures wait after settle(1), up to ten, of one that takes five steps of 0.9 seconds."""
    clock = Clock()

    class Steps:
        def __init__(self, answered: Callable[[], None], *_: object) -> None:
            self._answered = answered

        def __call__(self, *_: object) -> None:
            for _ in range(5):
                clock.advance(0.9)
                if answers:
                    self._answered()

        def close(self) -> None: ...

    outbox = Outbox(folder)
    monkeypatch.setattr(outbox_module.time, "monotonic", clock.monotonic)
    outbox.bind("http://memorybase", "key", Steps)
    outbox.put("f", {"session_id": "s", "messages": said("one")})
    return outbox.settle(1.0, longest_seconds=10)


def test_settling_goes_on_while_memorybase_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled_slowly(folder, monkeypatch, answers=True) == 0


def test_settling_ends_when_nothing_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled_slowly(folder, monkeypatch, answers=False) == 1


def test_settling_waits_for_a_model_that_is_being_prepared(folder: Path) -> None:
    preparing = refusal("503 Service Unavailable", "model_preparing", retryable=True)
    with scripted([preparing, preparing, ACCEPTED]) as server, Client(server.url, "k", outbox=folder) as client:
        client.capture("f", session_id="s", messages=said("one"))
        assert client.outbox is not None
        assert client.outbox.settle(20) == 0


def test_an_answer_that_is_not_memorybases_is_no_delivery(folder: Path) -> None:
    portal = http_answer("200 OK", b"<html>Please sign in</html>")
    busy = refusal("503 Service Unavailable", "overloaded", retryable=True)
    with scripted([portal, busy, ACCEPTED]) as server, Client(server.url, "k", outbox=folder) as client:
        assert client.outbox is not None
        client.capture("f", session_id="s", messages=said("one"))
        assert client.outbox.flush(20) == 0
        assert (len(server.requests), client.outbox.refused()) == (3, [])


def shown_flow(name: str) -> dict[str, Any]:
    created_at = "2026-01-01T00:00:00Z"
    return {"id": str(uuid4()), "external_id": "f", "name": name, "created_at": created_at, "retain_days": None}


def test_an_existing_flow_keeps_its_name_if_something_else_is_missing(folder: Path) -> None:
    missing = refusal("404 Not Found", "not_found")
    answers = [missing, http_answer("200 OK", json.dumps(shown_flow("Mine")).encode())]
    with scripted(answers) as server, Client(server.url, "k", outbox=folder) as client:
        assert client.outbox is not None
        client.capture("f", session_id="s", messages=said("one"))
        assert client.outbox.flush(20) == 0
        assert [request.split(b" ")[0] for request in server.requests] == [b"POST", b"GET"]
        assert [refused.code for refused in client.outbox.refused()] == ["not_found"]


WRITER = """
import sys, time
from memorybase_client import Client, outbox
outbox.OTHER_SENDER_SECONDS = 0.05
url, key, folder, name = sys.argv[1:]
with Client(url, key, outbox=folder) as client:
    for number in range(25):
        client.capture("f", session_id=name, messages=[{"role": "user", "content": f"{number}"}])
    client.outbox.flush(60)
"""


@pytest.mark.slow
def test_two_processes_share_a_directory(served: Served, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, served.url, served.api.secret, str(folder), name], env=environment
        )
        for name in ("a", "b")
    ]
    assert [writer.wait(90) for writer in writers] == [0, 0]

    for name in ("a", "b"):
        assert stored(served.api, session=name) == [str(number) for number in range(25)]


@pytest.mark.slow
def test_another_process_takes_over_when_the_sender_is_killed(served: Served, folder: Path) -> None:
    with silent_server() as (silent, was_asked):
        script = WRITER.replace("client.outbox.flush(60)", "open(folder + '/both', 'w').close(); time.sleep(600)")
        script = script.replace("range(25)", "range(2)")
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        holder = subprocess.Popen(
            [sys.executable, "-c", script, silent, served.api.secret, str(folder), "held"], env=environment
        )
        try:
            assert was_asked.wait(60)
            wait_until((folder / "both").exists, 60, "both captures")
            with Client(served.url, served.api.secret, outbox=folder) as client:
                assert client.outbox is not None
                client.outbox.adopt()
                assert client.outbox.flush(0.5) == 2, "the other process sends"
                holder.kill()
                holder.wait(60)
                assert client.outbox.flush(60) == 0
        finally:
            holder.kill()
            holder.wait(60)
    assert stored(served.api, session="held") == ["0", "1"]


@contextmanager
def silent_server() -> Iterator[tuple[str, threading.Event]]:
    """A server that takes a request and never answers."""
    was_asked = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))
    connections = []

    def serve() -> None:
        try:
            while True:
                connection, _ = server.accept()
                connections.append(connection)
                was_asked.set()
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", was_asked
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(60)
        for connection in connections:
            connection.close()


FORKING = """
import os, signal, sys, threading, time
from memorybase_client import Client
url, key, folder = sys.argv[1:]
importing = threading.Event()
class Slow:  # what another thread is importing at a fork can never be imported in the child
    def find_spec(name, path, target=None):
        if name == "memorybase_client.models":
            importing.set()
            time.sleep(0.5)
sys.meta_path.insert(0, Slow)
client = Client(url, key, outbox=folder)
client.capture("f", session_id="parent", messages=[{"role": "user", "content": "parent"}])
importing.wait()
child = os.fork()
signal.alarm(120)
name = "parent" if child else "child"
import memorybase_client.models
client.capture("f", session_id=name, messages=[{"role": "user", "content": f"{name} again"}])
left = client.outbox.flush(30)
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(left or os.waitstatus_to_exitcode(status))
os._exit(left)
"""

# The child goes on when its parent has closed what both use.
CLOSED_BY_THE_PARENT = """
import os, signal, sys
from memorybase_client import Client
url, key, folder = sys.argv[1:]
def capture(text):
    client.capture("f", session_id="s", messages=[{"role": "user", "content": text}])
client = Client(url, key, outbox=folder)
capture("before")
is_ready, is_closed = os.pipe(), os.pipe()
child = os.fork()
signal.alarm(120)
if child:
    os.read(is_ready[0], 1)
    client.outbox.close(0)
    os.write(is_closed[1], b"x")
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
capture("beside the parent")
os.write(is_ready[1], b"x")
os.read(is_closed[0], 1)
capture("after the parent")
os._exit(client.outbox.lost)
"""

SENDING_AT_A_FORK = """
import os, sys, time
from pathlib import Path
from memorybase_client._outbox_store import SenderLock
lock = SenderLock(Path(sys.argv[3]))
assert lock.take()
was_seen, is_released = os.pipe(), os.pipe()
child = os.fork()
if child:
    os.read(was_seen[0], 1)
    if "and dies" in sys.argv[1]:
        os._exit(0)
    lock.release()
    os.write(is_released[1], b"x")
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
os.close(is_released[1])
assert not lock.take()  # the parent sends
os.write(was_seen[1], b"x")
os.read(is_released[0], 1)  # also the end of the parent
until = time.monotonic() + 30
while not lock.take():  # a process that ends may close its pipe before its lock
    if time.monotonic() > until:
        os._exit(1)
    time.sleep(0.01)
Path(sys.argv[3], "taken").touch()
os._exit(0)
"""


def run_in_a_process(script: str, *arguments: object) -> int:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    return subprocess.run(command, env=environment, check=False, timeout=90, stdin=subprocess.DEVNULL).returncode


@pytest.mark.slow
def test_a_forked_process_sends_what_it_captures(served: Served, folder: Path) -> None:
    assert run_in_a_process(FORKING, served.url, served.api.secret, folder) == 0
    assert stored(served.api, session="parent") == ["parent", "parent again"]
    assert stored(served.api, session="child") == ["child again"]


@pytest.mark.slow
def test_a_child_loses_nothing_when_its_parent_closes_the_outbox(folder: Path) -> None:
    assert run_in_a_process(CLOSED_BY_THE_PARENT, "http://127.0.0.1:1", "k", folder) == 0
    with Client("http://127.0.0.1:1", "k", outbox=folder) as client:
        assert client.outbox is not None
        assert client.outbox.waiting == 3


@pytest.mark.slow
@pytest.mark.parametrize("parent", ["ends its sending", "sends and dies"])
def test_a_child_sends_after_its_parent(folder: Path, parent: str) -> None:
    folder.mkdir()
    assert run_in_a_process(SENDING_AT_A_FORK, parent, "", folder) == 0
    wait_until((folder / "taken").exists, 60, "the child's turn")


@pytest.mark.slow
def test_closing_does_not_wait_for_a_server_that_is_away(folder: Path) -> None:
    with silent_server() as (silent, was_asked):
        client = Client(silent, "k", outbox=folder)
        client.capture("f", session_id="s", messages=said("one"))
        assert was_asked.wait(60)
        assert client.outbox is not None
        closed = threading.Thread(target=client.outbox.close, args=[0.1])
        closed.start()
        closed.join(60)
        assert not closed.is_alive()
        client._http.close()


def test_what_is_captured_after_closing_waits_for_the_next_client(served: Served, folder: Path) -> None:
    with Client(served.url, served.api.secret, outbox=folder) as client:
        pass
    client.capture("f", session_id="s", messages=said("late"))
    assert client.outbox is not None
    assert (client.outbox.waiting, client.outbox.lost) == (1, 0)
    with Client(served.url, served.api.secret, outbox=folder) as following:
        assert following.outbox is not None
        assert following.outbox.flush(20) == 0
    assert stored(served.api) == ["late"]


def test_an_outbox_belongs_to_one_client(folder: Path) -> None:
    outbox = Outbox(folder)
    with Client("http://127.0.0.1:1", "k", outbox=outbox), pytest.raises(ValueError, match="belongs to one client"):
        Client("http://127.0.0.1:1", "k", outbox=outbox)


def path_of(request: bytes) -> str:
    method, path, _ = request.split(b"\r\n")[0].split(b" ")
    return f"{method.decode()} {path.decode()}"


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost"])
def test_a_new_process_creates_the_memory_base_that_an_earlier_one_could_not(
    address: str, served: Served, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    served.api.vectors.away = True
    with Client(served.url, served.api.secret, outbox=folder) as client:
        client.capture("f", session_id="s", messages=said("one"))
        wait_until(lambda: "vector_store_unavailable" in caplog.text, what="the flow was created")
    assert memory_bases(served.api) == []
    served.api.vectors.away = False
    with Client(served.url.replace("127.0.0.1", address), served.api.secret, outbox=folder) as client:
        assert client.outbox is not None
        client.outbox.adopt()
        assert flush(client) == 0
    assert memory_bases(served.api) == ["f memory"]


def test_a_new_flow_gets_its_memory_base_also_if_the_server_goes_away_in_between(folder: Path) -> None:
    missing = refusal("404 Not Found", "not_found")
    flow = http_answer("201 Created", json.dumps(shown_flow("f")).encode())
    away = refusal("503 Service Unavailable", "database_unavailable", retryable=True)
    busy = refusal("429 Too Many Requests", "rate_limited", retryable=True)
    taken = refusal("409 Conflict", "name_taken")
    with (
        scripted([missing, missing, flow, away, busy, taken, ACCEPTED]) as server,
        Client(server.url, "k", outbox=folder) as client,
    ):
        client.capture("f", session_id="s", messages=said("one"))
        assert flush(client) == 0
        assert [path_of(each) for each in server.requests] == [
            "POST /v1/flows/f/runs",
            "GET /v1/flows/f",
            "PUT /v1/flows/f",
            *["PUT /v1/flows/f/memories/f%20memory"] * 3,
            "POST /v1/flows/f/runs",
        ]
