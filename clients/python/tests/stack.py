"""A real memorybase for tests that run in another environment than the server's."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from memorybase_client import AgentMemory, AsyncAgentMemory, Client
from memorybase_client.integrations._messages import texts

ROOT = Path(__file__).resolve().parents[3]
# An interpreter whose environment has the server.
PYTHON = os.environ.get("MEMORYBASE_PYTHON") or str(ROOT / ".venv" / "bin" / "python")
KEY = "mb_test_key_of_the_adapters"
START_SECONDS = 180.0  # the first start on a machine exports the embedding model
PATIENCE_SECONDS = 60.0


class Relay:
    """Passes connections on to the server. It can refuse them, accept them and stay silent, or lose the answers."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._is_frozen = self._is_mute = False
        self._open_sockets: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.port = 0
        self.accept()

    def accept(self) -> None:
        """Pass connections on, from now on."""
        self.refuse()
        self._is_frozen = self._is_mute = False
        self._listening = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, args=[self._listening], daemon=True).start()

    def freeze(self) -> None:
        """Accept connections and never answer."""
        self.accept()
        self._is_frozen = True

    def mute(self) -> None:
        """Pass requests on and lose the answers."""
        self.accept()
        self._is_mute = True

    def refuse(self) -> None:
        """Break all connections and refuse new ones."""
        ended, self._open_sockets = self._open_sockets, []
        if self._listening is not None:
            ended.append(self._listening)
            self._listening = None
        for each in ended:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            self._open_sockets.append(client)
            if self._is_frozen:
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self._open_sockets.append(server)
            for source, sink, is_lost in ((client, server, False), (server, client, self._is_mute)):
                threading.Thread(target=_copy, args=[source, sink, is_lost], daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket, is_lost: bool) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65_536):
            if not is_lost:
                sink.sendall(part)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class Stack:
    """`memorybase up` on a free port, behind a relay."""

    key = KEY

    def __init__(self, directory: Path) -> None:
        self._data = directory / "data"
        self._log = directory / "stack.log"
        self._port = _free_port()
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("MEMORYBASE_", "PYTHON"))
        }
        environment |= {
            "MEMORYBASE_API_KEY": KEY,
            "XDG_STATE_HOME": str(directory / "state"),
            "MEMORYBASE_MODEL_DIR": str(Path(tempfile.gettempdir(), f"memorybase-test-models-{os.getuid()}")),
            "PYTHONPATH": f"{ROOT}:{ROOT / 'clients' / 'python' / 'src'}",
        }
        command = [PYTHON, "-m", "memorybase", "up", "--port", str(self._port), "--data-dir", str(self._data)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        self._wait_until_ready(START_SECONDS)
        self._relay = Relay(self._port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._relay.port}"

    @property
    def direct_url(self) -> str:
        """Past the relay."""
        return f"http://127.0.0.1:{self._port}"

    def kill(self) -> None:
        """kill -9 of the API. Connections are refused until restart()."""
        self._relay.refuse()
        os.kill(int((self._data / "run" / "api.pid").read_text()), signal.SIGKILL)

    def freeze(self) -> None:
        """Connections are accepted, and never answered, until restart()."""
        self._relay.freeze()

    def mute(self) -> None:
        """Requests are carried out, and their answers lost, until restart()."""
        self._relay.mute()

    def restart(self) -> None:
        """Return when the API answers again."""
        self._wait_until_ready(PATIENCE_SECONDS)  # `up` has started it again
        self._relay.accept()

    def stop(self) -> None:
        self._relay.refuse()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _wait_until_ready(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            try:
                opener.open(f"http://127.0.0.1:{self._port}/health/ready", timeout=5).close()
            except OSError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    said = self._log.read_text(errors="replace")[-2000:]
                    raise AssertionError(f"`memorybase up` is not ready:\n{said}") from error
                time.sleep(0.1)
            else:
                return


def turns(memory: AgentMemory, client: Client, session_id: str) -> list[tuple[list[str], dict[str, str]]]:
    """The session's runs, oldest first: what each says, and what the model of each node was given."""
    deliver(memory)
    said: dict[UUID, list[str]] = {}
    for message in client.list_messages(flow_id=memory.flow_id, session_id=session_id):
        said.setdefault(message.run_id, []).append("\n".join(texts(message.content)))
    return [(each, given(memory, client, run_id)) for run_id, each in said.items()]


def given(memory: AgentMemory, client: Client, run_id: UUID) -> dict[str, str]:
    """What the model of each node of a run was given, and only as long as its sources are stored."""
    nodes = client.get_run_memory(memory.flow_id, run_id).nodes
    return {node.node_id: "\n".join(str(each["content"]) for each in node.messages) for node in nodes}


def until(condition: Callable[[], bool]) -> None:
    """Return when the condition is true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def deliver(memory: AgentMemory | AsyncAgentMemory) -> None:
    """Return when the server has all that was captured."""
    outbox = memory.client.outbox
    assert outbox is not None
    assert outbox.flush(PATIENCE_SECONDS) == 0
    assert outbox.refused() == []


@dataclass
class Stored:
    """What the server has of a flow, past the adapter."""

    memory: AgentMemory
    client: Client

    def messages(self, session_id: str = "s1") -> list[tuple[str, Any]]:
        """Role and content of a session's captured messages."""
        deliver(self.memory)
        listed = self.client.list_messages(flow_id=self.memory.flow_id, session_id=session_id)
        return [(message.role, message.content) for message in listed]

    def texts(self, session_id: str = "s1") -> list[Any]:
        return [content for _, content in self.messages(session_id)]

    def thread(self, session_id: str = "s1") -> list[Any]:
        """The texts of the history that a model reads next."""
        deliver(self.memory)
        view = self.client.get_history(flow_id=self.memory.flow_id, session_id=session_id)
        return [message["content"] for message in view.messages]

    def node(self, node_id: str, session_id: str = "s1") -> list[Any]:
        """The texts of what a node's next run reads of its own."""
        deliver(self.memory)
        view = self.client.get_history(
            flow_id=self.memory.flow_id, session_id=session_id, mode="node", node_id=node_id, run_id="next"
        )
        return [message["content"] for message in view.messages]

    def chat(self, chat_id: str = "s1") -> list[Any]:
        """The contents of a chat of the node `chat`."""
        deliver(self.memory)
        listed = self.client.list_chat_messages(self.memory.flow_id, "chat", chat_id=chat_id)
        return [message.content for message in listed]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
