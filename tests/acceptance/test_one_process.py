"""`memorybase up --one-process`: the promises of the stack, and the same data directory in turn with it."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from harness.constants import SWEEP
from harness.gates import ADVANCE
from harness.pieces import sqlite_writer_blocked, topology
from harness.stack import KEY, ROOT, EmbeddedStack, memorybase, run_memorybase
from harness.waiting import wait_until

from memorybase.core.models import JobState

pytestmark = pytest.mark.slow  # processes are started and stopped

PATIENCE = 180.0
MESSAGES = 60


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path)
    stack.data.mkdir(mode=0o700)
    stack.one_process = True
    try:
        yield stack
    finally:
        stack.close()


@pytest.mark.parametrize(("killed", "next_one"), [("one", "stack"), ("stack", "one")])
def test_a_kill_between_upsert_and_advance_loses_and_doubles_nothing_if_the_other_form_goes_on(
    own: EmbeddedStack, killed: str, next_one: str
) -> None:
    own.changes = {"MEMORYBASE_LEASE_SECONDS": "300"}  # longer than any pause of a busy machine
    own.one_process = killed == "one"
    own.start()
    base = memory_base(own, threshold=MESSAGES)
    capture(own, MESSAGES)
    wait_until(lambda: is_embedding(own.data), PATIENCE, "the job is embedded")
    # While the write lock is held, the worker can upsert and cannot advance.
    with sqlite_writer_blocked(own.data / "memorybase.db"):
        wait_until(lambda: chunks(own.data) == MESSAGES, PATIENCE, "the upsert")
        own.kill()

    own.one_process = next_one == "one"
    own.start()

    wait_until(lambda: call(own, "GET", f"/memories/{base}")["total_processed"] == MESSAGES, PATIENCE, "the ingestion")
    assert chunks(own.data) == MESSAGES
    assert call(own, "GET", f"/memories/{base}/mismatch")["state"] == "ok"
    found = call(own, "POST", f"/memories/{base}/search", json={"query": "note number 17", "top_k": 50})["results"]
    assert "note number 17 is about the harbour" in [each["content"] for each in found]


def test_the_forms_take_turns_on_one_directory_and_exclude_each_other(own: EmbeddedStack) -> None:
    own.start()
    (process,) = [process for process in psutil.process_iter() if process.pid == own.pid]
    assert process.children(recursive=True) == []
    base = memory_base(own, threshold=1)
    capture(own, 3)
    wait_until(lambda: call(own, "GET", f"/memories/{base}")["total_processed"] == 3, PATIENCE, "the ingestion")
    for form in ([], ["--one-process"]):
        refused = run_memorybase("up", *form, "--port", "0", "--data-dir", str(own.data))
        assert refused.returncode == 1
        assert f"(process {own.pid}) as `memorybase up --one-process` since 2" in refused.stderr + refused.stdout
        assert own.url in refused.stderr + refused.stdout
    assert f"one process {own.pid}" in run_memorybase("status", "--data-dir", str(own.data), "--key", KEY).stdout
    assert "checks passed" in run_memorybase("doctor", "--data-dir", str(own.data)).stdout

    own.stop()
    assert own.wait() == 0
    own.one_process = False
    own.start()

    capture(own, 3, session="t")
    wait_until(lambda: call(own, "GET", f"/memories/{base}")["total_processed"] == 6, PATIENCE, "the ingestion")
    refused = run_memorybase("up", "--one-process", "--port", "0", "--data-dir", str(own.data))
    assert "as `memorybase up` since 2" in refused.stderr + refused.stdout
    own.stop()
    own.one_process = True
    own.start()

    capture(own, 3, session="u")
    wait_until(lambda: call(own, "GET", f"/memories/{base}")["total_processed"] == 9, PATIENCE, "the ingestion")
    assert call(own, "GET", f"/memories/{base}/mismatch")["state"] == "ok"
    found = call(own, "POST", f"/memories/{base}/search", json={"query": "the harbour", "top_k": 20})["results"]
    assert sorted({each["session_id"] for each in found}) == ["s", "t", "u"]


@pytest.mark.parametrize("forms", [(True, True), (True, False), (False, False)])
def test_of_two_simultaneous_starts_one_gets_the_directory(own: EmbeddedStack, forms: tuple[bool, bool]) -> None:
    starting = [start_at_once(own, one_process=form) for form in forms]
    try:
        wait_until(lambda: any(each.poll() is not None for each in starting), PATIENCE, "one is refused")
        (refused,) = [each for each in starting if each.poll() is not None]
        (winner,) = [each for each in starting if each is not refused]
        assert "A stack is already running in" in "".join(refused.communicate())
        assert refused.returncode == 1
        assert winner.stdout is not None
        assert any(line.startswith("ready http://") for line in winner.stdout)
        winner.terminate()
        assert winner.wait(PATIENCE) == 0
    finally:
        for each in starting:
            each.kill()
            each.communicate()


def test_a_process_that_was_frozen_past_its_lease_does_each_message_once(tmp_path: Path) -> None:
    """Its own sweeper requeues the job of its own worker, which is about to advance."""
    with topology(tmp_path / "data", one_process=True, lease_seconds=300.0, values={SWEEP: 0.3}) as stack:
        stack.start(stack.worker)
        base = stack.base(threshold=MESSAGES)
        with stack.gate_before(ADVANCE) as held:
            stack.capture(*(f"note number {n} is about the harbour" for n in range(MESSAGES)))
            wait_until(held.reached, PATIENCE, "the worker is about to advance")
            assert len(stack.stored(base)) == MESSAGES
            stack.worker.freeze()
            stack.world.pass_time(301)
            stack.worker.thaw()
            wait_until(lambda: stack.jobs(base)[0].state == JobState.QUEUED, PATIENCE, "the sweeper requeues the job")

        stack.wait_until_ingested(base, MESSAGES)

        stack.assert_exact(base, MESSAGES)
        (job,) = [job for job in stack.jobs(base) if job.kind == "ingest"]
        assert job.attempts == 2


def start_at_once(stack: EmbeddedStack, *, one_process: bool) -> subprocess.Popen[str]:
    form = ["--one-process"] if one_process else []
    command = memorybase("up", *form, "--port", "0", "--data-dir", str(stack.data))
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=stack.environment(), cwd=ROOT
    )


def call(stack: EmbeddedStack, method: str, path: str, **options: Any) -> Any:
    headers = {"Authorization": f"Bearer {KEY}"}
    url = f"{stack.url}/v1{path}"
    answer = httpx.request(method, url, headers=headers, timeout=PATIENCE, trust_env=False, **options)
    assert answer.is_success, answer.text
    return answer.json()


def memory_base(stack: EmbeddedStack, threshold: int) -> str:
    call(stack, "PUT", "/flows/flow", json={"name": "flow"})
    body = {"name": "memory", "flow_id": "flow", "capture": "all", "threshold": threshold}
    return str(call(stack, "POST", "/memories", json=body)["id"])


def capture(stack: EmbeddedStack, count: int, session: str = "s") -> None:
    texts = [f"note number {n} is about the harbour" for n in range(count)]
    body = {"session_id": session, "messages": [{"role": "user", "content": text} for text in texts]}
    call(stack, "POST", "/flows/flow/runs", json=body)


def is_embedding(data: Path) -> bool:
    return bool(query(data / "memorybase.db", "SELECT count(*) FROM ingestion_jobs WHERE embedding_started"))


def chunks(data: Path) -> int:
    """Those in Chroma's files, without the record of the checks."""
    return query(data / "chroma" / "chroma.sqlite3", "SELECT count(*) FROM embeddings WHERE embedding_id != 'check'")


def query(database: Path, statement: str) -> int:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=PATIENCE)) as db:
        (found,) = db.execute(statement).fetchone()
        return int(found)
