"""A backup of a running stack, restored into a new directory and over an old one."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from harness.stack import KEY, EmbeddedStack, environment, memorybase, run_memorybase
from harness.waiting import wait_until

pytestmark = pytest.mark.slow  # processes are started and stopped

REPAIRED_SECONDS = 120.0


in_both_forms = pytest.mark.parametrize("stacks", ["stack", "one process"], indirect=True)


@pytest.fixture
def stacks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[EmbeddedStack, EmbeddedStack]]:
    """A running stack with a flow and a memory base, and another that was never started."""
    both = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        both.append(EmbeddedStack(tmp_path / name))
        both[-1].one_process = getattr(request, "param", "stack") == "one process"
    old, new = both
    try:
        old.start()
        call(old, "PUT", "/flows/boats", json={"name": "boats"})
        new_base = {"name": "memory", "flow_id": "boats", "capture": "all", "threshold": 2, "idle_after": 1}
        call(old, "POST", "/memories", json=new_base)
        yield old, new
    finally:
        for stack in both:
            stack.close()


def call(stack: EmbeddedStack, method: str, path: str, **options: Any) -> Any:
    headers = {"X-API-Key": KEY}
    answer = httpx.request(method, f"{stack.url}/v1{path}", headers=headers, trust_env=False, timeout=60, **options)
    assert answer.is_success, answer.text
    return answer.json()


class Writer(threading.Thread):
    """Captures runs, one after the other, until it is told to stop."""

    def __init__(self, stack: EmbeddedStack, session_id: str) -> None:
        super().__init__(daemon=True)
        self._stack, self._session_id = stack, session_id
        self.acknowledged: list[str] = []
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            ids = [f"m-{uuid4()}" for _ in range(2)]
            messages = [{"id": each, "role": "user", "content": f"Boat {each} is at its berth."} for each in ids]
            call(self._stack, "POST", "/flows/boats/runs", json={"session_id": self._session_id, "messages": messages})
            self.acknowledged += ids


def captured(stack: EmbeddedStack) -> list[str]:
    """The ids of all messages."""
    found: list[str] = []
    page: dict[str, Any] = {"next_cursor": ""}
    while (cursor := page.get("next_cursor")) is not None:
        params = {"flow_id": "boats", "size": 200} | ({"cursor": cursor} if cursor else {})
        page = call(stack, "GET", "/messages", params=params)
        found += [message["external_id"] for message in page["items"]]
    return found


def the_memory(stack: EmbeddedStack) -> dict[str, Any]:
    (memory,) = call(stack, "GET", "/memories")["items"]
    return dict(memory)


def is_repaired(stack: EmbeddedStack) -> bool:
    memory = the_memory(stack)
    return not (stack.data / "restored").exists() and (memory["status"], memory["pending_messages"]) == ("ready", 0)


def assert_whole(stack: EmbeddedStack, expected: set[str]) -> None:
    """Once the store follows: everything is there, once, and is found."""
    wait_until(lambda: is_repaired(stack), REPAIRED_SECONDS, "the store follows the restored database")
    ids = captured(stack)
    assert len(ids) == len(set(ids))
    assert expected <= set(ids)
    memory = the_memory(stack)
    assert memory["total_processed"] == len(ids)
    compared = call(stack, "GET", f"/memories/{memory['id']}/mismatch")
    assert (compared["state"], compared["found"]) == ("ok", len(ids))
    for each in sorted(expected)[:3]:
        query = {"query": f"Boat {each} is at its berth.", "mode": "dense", "top_k": 1}
        (hit,) = call(stack, "POST", f"/memories/{memory['id']}/search", json=query)["results"]
        assert each in hit["content"]


@in_both_forms
def test_a_backup_under_load_restores_what_it_has(stacks: tuple[EmbeddedStack, EmbeddedStack], tmp_path: Path) -> None:
    old, new = stacks
    writers = [Writer(old, f"session {number}") for number in range(2)]
    for writer in writers:
        writer.start()
    wait_until(lambda: sum(len(writer.acknowledged) for writer in writers) > 60, 60, "captures go on")
    before = {each for writer in writers for each in writer.acknowledged}
    backed_up = run_memorybase("backup", str(tmp_path / "backup"), "--data-dir", str(old.data))
    assert backed_up.returncode == 0, backed_up.stderr
    during = {each for writer in writers for each in writer.acknowledged} - before
    for writer in writers:
        writer.stop.set()
        writer.join()
    assert during, "captures were accepted meanwhile"
    after = {each for writer in writers for each in writer.acknowledged}

    refused = run_memorybase("restore", str(tmp_path / "backup"), "--force", "--data-dir", str(old.data))
    assert refused.returncode == 1
    assert "already running" in refused.stderr
    restored = run_memorybase("restore", str(tmp_path / "backup"), "--data-dir", str(new.data))
    assert restored.returncode == 0, restored.stderr
    new.start()
    assert_whole(new, before)
    assert set(captured(new)) <= after
    log = new.worker_log.read_text()
    assert "vectors_reused" in log, "the backup's vectors were taken"
    # Clients repeat what they remember: nothing is doubled.
    messages = [{"id": each, "role": "user", "content": f"Boat {each} is at its berth."} for each in sorted(before)[:2]]
    session = next(writer for writer in writers if messages[0]["id"] in writer.acknowledged)
    mine = [message for message in messages if message["id"] in session.acknowledged]
    answer = call(new, "POST", "/flows/boats/runs", json={"session_id": session._session_id, "messages": mine})
    assert not any(message["created"] for message in answer["messages"])


@in_both_forms
@pytest.mark.parametrize("options", [(), ("--keep-chroma",)], ids=["from-the-backup", "keep-chroma"])
def test_a_stack_goes_back_to_its_backup(
    stacks: tuple[EmbeddedStack, EmbeddedStack], tmp_path: Path, options: tuple[str, ...]
) -> None:
    stack, _ = stacks
    kept = capture(stack, 4)
    backed_up = run_memorybase("backup", str(tmp_path / "backup"), "--data-dir", str(stack.data))
    assert backed_up.returncode == 0, backed_up.stderr
    lost = capture(stack, 4)
    wait_until(lambda: is_repaired(stack), 60, "everything is ingested")
    stack.kill()  # its children live on, with the database open
    restored = run_memorybase("restore", str(tmp_path / "backup"), "--force", *options, "--data-dir", str(stack.data))
    assert restored.returncode == 0, restored.stderr
    stack.start()
    assert_whole(stack, kept)
    assert not lost & set(captured(stack))


def capture(stack: EmbeddedStack, count: int) -> set[str]:
    ids = [f"m-{uuid4()}" for _ in range(count)]
    messages = [{"id": each, "role": "user", "content": f"Boat {each} is at its berth."} for each in ids]
    call(stack, "POST", "/flows/boats/runs", json={"session_id": "s", "messages": messages})
    return set(ids)


def test_a_killed_backup_leaves_nothing_behind(stacks: tuple[EmbeddedStack, EmbeddedStack], tmp_path: Path) -> None:
    stack, _ = stacks
    ids = capture(stack, 4)
    command = memorybase("backup", str(tmp_path / "backup"), "--data-dir", str(stack.data))
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: list(tmp_path.glob(".backup.memorybase-backup/memorybase.db")), 60, "the copy has begun")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "backup").exists()
    again = run_memorybase("backup", str(tmp_path / "backup"), "--data-dir", str(stack.data))
    assert again.returncode == 0, again.stderr
    assert run_memorybase("restore", str(tmp_path / "backup"), "--dry-run").returncode == 0
    assert_whole(stack, ids)
