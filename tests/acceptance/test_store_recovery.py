"""Chroma answers and does not work: the stack restarts it, and nothing acknowledged is lost. In one process too, where
nobody restarts it."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness.gates import UPSERT, FileGate, opened_at_the_end, with_gates
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until

from memorybase.core.errors import VectorStoreUnavailable
from memorybase.core.vectors.chroma import ChromaStore

pytestmark = pytest.mark.slow

DISK = "160m"
RECOVERY_SECONDS = 240.0  # the restart takes a minute; the jobs wait for a busy machine
FULL_CAPTURES = 20


class Client:
    """What a user captures, and sees of one memory base."""

    def __init__(self, stack: EmbeddedStack) -> None:
        self._stack = stack
        headers = {"Authorization": f"Bearer {KEY}"}
        self._http = httpx.Client(base_url=f"{stack.url}/v1", headers=headers, timeout=30, trust_env=False)
        self._numbers = itertools.count()
        self.acknowledged = 0
        self._call("PUT", "/flows/f", {"name": "f"}).raise_for_status()
        self.base = self._call("POST", "/memories", {"name": "b", "flow_id": "f", "threshold": 2}).json()["id"]

    def capture(self) -> bool:
        """One run of a message; whether it was acknowledged."""
        number = next(self._numbers)
        message = {"id": f"m{number}", "role": "assistant", "content": f"message number {number}"}
        done = self._call("POST", "/flows/f/runs", {"session_id": f"s{number % 3}", "messages": [message]})
        self.acknowledged += done.status_code == 201
        return done.status_code == 201

    def flush(self) -> None:
        self._call("POST", f"/memories/{self.base}/flush", {})

    def create(self, number: int) -> httpx.Response:
        """Another memory base, with a collection of its own."""
        return self._call("POST", "/memories", {"name": f"another {number}", "flow_id": "f"})

    def memory(self) -> dict[str, Any]:
        shown: dict[str, Any] = self._call("GET", f"/memories/{self.base}").json()
        return shown

    def has_ingested_everything(self) -> bool:
        self.flush()
        return bool(self.memory().get("total_processed") == self.acknowledged)

    def search(self, mode: str) -> httpx.Response:
        return self._call("POST", f"/memories/{self.base}/search", {"query": "number 1", "mode": mode})

    def mismatch(self) -> dict[str, Any]:
        found: dict[str, Any] = self._call("GET", f"/memories/{self.base}/mismatch").json()
        return found

    def failing(self) -> list[str]:
        answer = httpx.get(f"{self._stack.url}/health/ready", timeout=30, trust_env=False)
        return [] if answer.status_code == 200 else answer.json()["error"]["details"]["failing"]

    def _call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self._http.request(method, path, json=body)

    def close(self) -> None:
        self._http.close()


@pytest.fixture(params=["stack", "one process"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedStack]:
    """A stack whose data directory is a small disk of its own."""
    stack = EmbeddedStack(tmp_path)
    stack.one_process = request.param == "one process"
    stack.data.mkdir()
    if stack.one_process:
        stack.changes = with_gates({"PYTHONPATH": stack.environment()["PYTHONPATH"]}, tmp_path / "gates")
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", stack.data], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("mounting a disk requires root")
    try:
        stack.start()
        yield stack
    finally:
        stack.close()
        subprocess.run(["umount", "--lazy", stack.data], check=True)


@pytest.fixture
def client(stack: EmbeddedStack) -> Iterator[Client]:
    client = Client(stack)
    yield client
    client.close()


def test_after_a_full_disk_all_that_was_acknowledged_is_ingested(stack: EmbeddedStack, client: Client) -> None:
    for _ in range(10):
        assert client.capture()
    wait_until(client.has_ingested_everything, RECOVERY_SECONDS, "all is ingested before")

    ballast = stack.data / "ballast"
    if stack.one_process:
        _fail_own_writes(stack, client, ballast)
    else:
        _fill(ballast)
        _fail_writes(stack)
    for _ in range(FULL_CAPTURES):
        client.capture()
        _fill(ballast)
    ballast.unlink()

    wait_until(client.capture, RECOVERY_SECONDS, "captures are accepted again")
    wait_until(client.has_ingested_everything, RECOVERY_SECONDS, "all is ingested after")
    wait_until(lambda: client.failing() == [], RECOVERY_SECONDS, "every part works")
    # Until here Chroma may have worked by chance: it hangs after its next few writes, if it was not restarted.
    for _ in range(5):
        assert client.capture()
        wait_until(client.has_ingested_everything, RECOVERY_SECONDS, "the next run is ingested")
    found = client.mismatch()
    assert (found["state"], found["missing"], found["extra"]) == ("ok", 0, 0)


def test_a_deleted_directory_of_chroma_is_shown_and_not_ready(stack: EmbeddedStack, client: Client) -> None:
    for _ in range(4):
        assert client.capture()
    wait_until(client.has_ingested_everything, RECOVERY_SECONDS, "all is ingested before")
    shutil.rmtree(stack.data / "chroma")

    if not stack.one_process:  # which opens new files with its next write
        wait_until(lambda: "chroma" in client.failing(), RECOVERY_SECONDS, "readiness names Chroma")
        wait_until(lambda: "chroma runs but does not work" in stack.output(), RECOVERY_SECONDS, "it is restarted")
    wait_until(lambda: client.memory()["mismatch"] is True, RECOVERY_SECONDS, "the mismatch is shown")
    wait_until(lambda: client.failing() == [], RECOVERY_SECONDS, "every part works")
    assert client.search("dense").json()["error"]["code"] == "collection_missing"
    assert client.search("keyword").status_code == 200


def _fill(ballast: Path) -> None:
    with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


def _fail_writes(stack: EmbeddedStack) -> None:
    """Deletes and creations that the full disk fails make Chroma hang, also once there is room again."""
    url = json.loads((stack.data / "run" / "stack.json").read_text())["chroma_url"]
    chroma = ChromaStore(url, timeout_seconds=2)
    refs = [collection.ref for collection in chroma.list_collections()]
    for number in range(6):
        with pytest.raises(VectorStoreUnavailable):
            chroma.create_collection(f"another{number}", {})
        for ref in refs:
            with pytest.raises(VectorStoreUnavailable):
                chroma.delete(ref, [f"id{number}"])
    chroma.close()


def _fail_own_writes(stack: EmbeddedStack, client: Client, ballast: Path) -> None:
    """The same to the Chroma of one process, which has no address: by a job that is about to write, and new bases."""
    with opened_at_the_end(FileGate(stack.directory / "gates", UPSERT)) as held:
        while not held.reached():
            assert client.capture()
        _fill(ballast)
    for number in range(6):
        assert client.create(number).status_code == httpx.codes.SERVICE_UNAVAILABLE
