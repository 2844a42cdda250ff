"""`memorybase up --one-process`: the promises of the stack, and the same data directory in turn with it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import psutil
import pytest
from harness import exports, running
from harness.browser import chromium, reader
from harness.coding_agents import TRANSCRIPTS, machine_at, shared_fields
from harness.constants import SWEEP
from harness.gates import ADVANCE
from harness.mcp import McpClient
from harness.pieces import sqlite_writer_blocked, topology
from harness.receiver import receiving
from harness.stack import KEY, ROOT, EmbeddedStack, environment, memorybase, run_memorybase
from harness.waiting import wait_until
from mcp import StdioServerParameters
from memorybase_client import Client
from memorybase_client.coding_agents import install
from memorybase_client.coding_agents.events import FLOW
from playwright.sync_api import expect

from memorybase.core.models import JobState
from memorybase.core.vectors.shared import StoreElsewhere
from memorybase.core.vectors.store import CHECK_COLLECTION, VectorStore
from memorybase.stack.state import DataDir

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # processes are started and stopped

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


def test_commands_reach_the_vectors_of_a_running_process_and_of_a_directory_at_rest(
    own: EmbeddedStack, tmp_path: Path
) -> None:
    own.start()
    base = memory_base(own, threshold=1)
    capture(own, 3)
    wait_until(lambda: call(own, "GET", f"/memories/{base}")["total_processed"] == 3, PATIENCE, "the ingestion")
    assert f"memory ({base}): ok, 3 chunks expected, 3 found" in command(own, "reconcile", "--deep").stdout
    lose_one_chunk(own.data / "run")
    assert "1 missing" in command(own, "reconcile", exit_code=1).stdout
    assert "repairs" in command(own, "reconcile", "--repair").stdout
    wait_until(lambda: "3 found" in command(own, "reconcile", exit_code=None).stdout, PATIENCE, "the repair")

    own.stop()
    assert own.wait() == 0
    assert "ok, 3 chunks expected, 3 found" in command(own, "reconcile").stdout
    assert "ok, 3 chunks expected, 3 found" in command(own, "restore", "--apply").stdout
    assert "3 vectors" in command(own, "backup", str(tmp_path / "backup")).stdout
    with DataDir(own.data).locked():
        refused = command(own, "reconcile", exit_code=1).stderr
    assert "A command or a stack that starts has" in refused
    own.one_process = False
    own.start()
    own.kill()  # its Chroma goes on, and has the files
    assert "ok, 3 chunks expected, 3 found" in command(own, "reconcile").stdout


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """A running one for what a person uses it for."""
    stack = EmbeddedStack(tmp_path_factory.mktemp("used"))
    stack.one_process = True
    stack.changes = {"MEMORYBASE_WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]'}
    with running(stack):
        yield stack


def test_what_one_session_of_a_coding_agent_said_the_next_one_recalls(used: EmbeddedStack, tmp_path: Path) -> None:
    with machine_at(tmp_path / "home") as machine, Client(used.url, KEY) as client:
        install.prepare_flow(client, FLOW)
        machine.install("claude-code", used.url, KEY)
        first = TRANSCRIPTS["claude-code"](machine.home, "s-1")
        first.user("We deploy the shop on Thursdays, from the branch albatross.")
        first.assistant("Understood: Thursdays, from albatross.")
        machine.run("claude-code", "Stop", **shared_fields(first), last_assistant_message="Understood.")
        machine.settle()
        (base,) = client.list_memory_bases(flow_id=FLOW)
        client.wait_until_searchable(base.id)
        second = TRANSCRIPTS["claude-code"](machine.home, "s-2")
        prompt = "Which branch do we deploy the shop from?"
        assert "albatross" in machine.run("claude-code", "UserPromptSubmit", **shared_fields(second), prompt=prompt)


def test_mcp_by_address_and_as_a_program_that_finds_the_process_by_itself(used: EmbeddedStack) -> None:
    program = {**environment(), "XDG_STATE_HOME": str(used.state)}
    words = ["-m", "memorybase_client.mcp", "--flow", "agent"]
    with Client(used.url, KEY) as client:
        client.put_flow("agent", name="agent")
        base = client.create_memory_base(name="agent", flow_id="agent", capture="all", threshold=1)
        said = [{"role": "user", "content": "The spare key is with Mrs. Lund."}]
        client.capture_run("agent", session_id="s", messages=said)
        client.wait_until_searchable(base.id)
    for target in (
        f"{used.url}/mcp/flows/agent",
        StdioServerParameters(command=sys.executable, args=words, env=program),
    ):
        found = McpClient(target, KEY).call("search_memory", query="Who has the spare key?")
        assert "Mrs. Lund" in str(found)


def test_an_import_is_ingested_tells_a_webhook_and_is_rebuilt(used: EmbeddedStack, tmp_path: Path) -> None:
    with receiving() as receiver, Client(used.url, KEY) as client:
        client.create_webhook(url=receiver.url, event_types=["job.completed"])
        file = exports.write_json(tmp_path, "conversations.json", exports.chatgpt())
        imported = command(used, "import", str(file), "--flow", "history", "--memory", "history", "--key", KEY)
        assert "imported" in imported.stdout, imported.stdout
        (base,) = client.list_memory_bases(flow_id="history")
        wait_until(lambda: receiver.requests != [], PATIENCE, "the event")
        assert receiver.requests[0].event["data"]["memory_base_id"] == str(base.id)
        client.regenerate_memory_base(base.id)
        client.wait_until_searchable(base.id)
        compared = client.check_mismatch(base.id)
        assert (str(compared.state), compared.found) == ("ok", base.total_processed)


def test_the_page_in_a_browser_searches_and_shows_the_parts_that_there_are(used: EmbeddedStack) -> None:
    with Client(used.url, KEY) as client:
        client.put_flow("page", name="page")
        base = client.create_memory_base(name="page", flow_id="page", capture="all", threshold=1)
        client.capture_run("page", session_id="s", messages=[{"role": "user", "content": "The ferry leaves at noon."}])
        client.wait_until_searchable(base.id)
    with chromium() as browser, reader(browser, used.url) as window:
        window.sign_in(KEY)
        window.open(f"/playground?{urlencode({'q': 'When does the ferry leave?', 'memory': str(base.id)})}")
        expect(window.page.locator(".hit").first).to_contain_text("The ferry leaves at noon.")
        window.open("/settings/health")
        expect(window.page.locator("main")).to_contain_text("All 4 answer")
        assert "Redis" not in window.page.locator("main").inner_text()
        assert window.console == []


def command(stack: EmbeddedStack, *words: str, exit_code: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = run_memorybase(*words, "--data-dir", str(stack.data))
    assert exit_code in (None, done.returncode), done.stdout + done.stderr
    return done


def lose_one_chunk(run: Path) -> None:
    store: VectorStore = StoreElsewhere(run)
    (ref,) = [each.ref for each in store.list_collections() if each.ref.name != CHECK_COLLECTION]
    ids = [id_ for page in store.iter_ids(ref) for id_ in page]
    store.delete(ref, ids[:1])


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
