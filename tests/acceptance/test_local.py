"""`memorybase.local()`: the promises of the stack inside a program, whose process stays as it was."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from harness.pieces import sqlite_writer_blocked
from harness.stack import ROOT, EmbeddedStack, environment, run_memorybase
from harness.waiting import wait_until
from memorybase_client import AgentMemory, AsyncAgentMemory, Client, errors
from memorybase_client.integrations.model_clients import CapturingTransport, conversation
from shown import blocks_of

import memorybase
from memorybase import in_program, one_process
from memorybase.core.embedding.background import BackgroundEmbedder
from memorybase.core.ingestion import job_runner
from memorybase.core.process_queue import ProcessQueue
from memorybase.core.services import JobMessage, Services
from memorybase.core.vectors.chroma_in_process import InProcessChroma
from worker import process as worker_process
from worker import thread as worker_thread

SECONDS = 240.0
NOTES = 60


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        if name.startswith("MEMORYBASE_"):
            monkeypatch.setenv(name, value)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Client]:
    with memorybase.local(tmp_path / "memory") as client:
        yield client


def test_a_program_captures_ingests_searches_and_gives_a_model_its_context(memory: Client) -> None:
    base = prepared(memory)
    capture(memory, "My boat lies at berth 12.")
    assert memory.wait_until_searchable(base).total_processed == 1

    (found,) = memory.search_flow(flow_id="flow", query="Where is the boat?", include_pending=False).results
    context = memory.build_context(flow_id="flow", session_id="later", query="Where is the boat?", token_budget=500)
    assert (found.content, found.pending) == ("My boat lies at berth 12.", False)
    assert "berth 12" in context.text
    assert memory.check_mismatch(base).state == "ok"


@pytest.fixture
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("_sync", "_async"):
        for name in ("SETTLE_SECONDS", "LONGEST_SETTLE_SECONDS"):
            monkeypatch.setattr(f"memorybase_client.{kind}.agent_memory.{name}", SECONDS)


@pytest.mark.usefixtures("_patience")
def test_an_agents_memory_and_an_adapter_work_over_it_and_leave_it_open(memory: Client) -> None:
    said = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Noted: berth 12."}}]}
    model = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(json.dumps(said).encode())))
    with AgentMemory("agent", client=memory, timeout_seconds=SECONDS) as agent:
        with httpx.Client(transport=CapturingTransport(agent, model)) as http, conversation("monday"):
            asked = {"model": "m", "messages": [{"role": "user", "content": "My boat lies at berth 12."}]}
            http.post("http://model/v1/chat/completions", json=asked)
        context = agent.context("tuesday", query="Where is the boat?")
        assert context is not None
        assert "My boat lies at berth 12." in context.text
    assert [message.content for message in memory.list_messages(flow_id="agent")] == [
        "My boat lies at berth 12.",
        "Noted: berth 12.",
    ]


@pytest.mark.usefixtures("_patience")
def test_the_async_memory_of_an_agent_works_over_it(tmp_path: Path) -> None:
    async def main() -> list[str]:
        async with await memorybase.local_async(tmp_path) as client:
            async with AsyncAgentMemory("agent", client=client, timeout_seconds=SECONDS) as agent:
                await agent.capture("monday", [{"role": "user", "content": "My boat lies at berth 12."}])
                hits = await agent.recall("Where is the boat?")
            assert (await client.get_flow("agent")).name == "agent"
        return [hit.snippet for hit in hits or ()]

    assert asyncio.run(main()) == ["My boat lies at berth 12."]


@pytest.mark.slow
def test_the_fixture_of_the_guide_gives_each_test_a_memory_of_its_own(tmp_path: Path) -> None:
    (block,) = [each for each in blocks_of(ROOT / "docs/howto/python-client.md") if "pytest.fixture" in each.code]
    again = "\n\ndef test_another_one_is_empty(memory):\n    assert list(memory.list_flows()) == []\n"
    (tmp_path / "test_agent.py").write_text(block.code + again)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment(), check=False)
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.slow
class TestDirectories:
    def test_two_at_once_and_a_third_one_later_know_nothing_of_each_other(self, tmp_path: Path) -> None:
        with memorybase.local(tmp_path / "a") as a, memorybase.local(tmp_path / "b") as b:
            bases = {client: prepared(client) for client in (a, b)}
            capture(a, "The anchor is red.")
            capture(b, "The buoy is green.")
            for client, base in bases.items():
                client.wait_until_searchable(base)
            assert [texts(client) for client in (a, b)] == [["The anchor is red."], ["The buoy is green."]]
        with memorybase.local(tmp_path / "c") as c:
            prepared(c)
            assert texts(c) == []

    def test_clients_of_one_share_it_until_the_last_is_closed_or_dropped(self, tmp_path: Path) -> None:
        first, dropped = memorybase.local(tmp_path), memorybase.local(tmp_path)
        prepared(first)
        with memorybase.local(tmp_path / "." / ".." / tmp_path.name) as second:
            assert len(second.list_flows().page().items) == 1
        with pytest.raises(ValueError, match=r"settings must be those of the clients that have"):
            memorybase.local(tmp_path, chunk_tokens=64)
        del dropped
        assert len(in_program._open) == 1
        first.close()
        assert in_program._open == {}
        with pytest.raises(RuntimeError, match="closed"):
            first.get_flow("flow")
        with memorybase.local(tmp_path, chunk_tokens=64) as again:
            assert len(again.list_flows().page().items) == 1

    def test_a_setting_that_is_none_and_one_that_is_invalid_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"embeding_model must be a setting"):
            memorybase.local(tmp_path, embeding_model="x")
        with pytest.raises(ValueError, match="chroma_url must be a setting of memorybase that a program can choose"):
            memorybase.local(tmp_path, chroma_url="http://127.0.0.1:8001")
        with pytest.raises(ValueError, match="CHUNK_TOKENS: Input should be greater"):
            memorybase.local(tmp_path, chunk_tokens=1)
        with memorybase.local(tmp_path):  # nothing holds the directory
            pass

    def test_another_process_is_refused_and_told_who_has_it(self, memory: Client, tmp_path: Path) -> None:
        holder = rf"\(process {os.getpid()}\) as `memorybase.local` since 2\S+\. Stop it first"
        for form in ([], ["--one-process"]):
            refused = run_memorybase("up", *form, "--port", "0", "--data-dir", str(tmp_path / "memory"))
            assert refused.returncode == 1
            assert re.search(holder, refused.stderr + refused.stdout), refused
        refused = run("memorybase.local(folder)", tmp_path / "memory")
        assert re.search(rf"memorybase_client.errors.Conflict: .*{holder}", refused.stderr), refused
        command = run_memorybase("status", "--data-dir", str(tmp_path / "memory"))
        assert f"is open in process {os.getpid()}, which serves no address. Close `memorybase.local`" in command.stdout
        prepared(memory)  # it has not noticed

    def test_the_stack_reads_what_a_program_has_stored_and_the_other_way_round(self, tmp_path: Path) -> None:
        stack = EmbeddedStack(tmp_path)
        stack.changes = {"MEMORYBASE_ONE_PROCESS": "true"}
        with memorybase.local(stack.data, api_key="mb_" + "k" * 40) as client:
            client.wait_until_searchable(prepared_with(client, "The anchor is red."))
        try:
            stack.start()
            with Client(stack.url, "mb_" + "k" * 40) as served:
                assert texts(served) == ["The anchor is red."]
                capture(served, "The buoy is green.", session="t")
        finally:
            stack.close()
        with memorybase.local(stack.data, api_key="mb_" + "k" * 40) as client:
            client.wait_until_searchable(base_of(client))
            assert sorted(texts(client)) == ["The anchor is red.", "The buoy is green."]


@pytest.mark.slow
class TestTheEnd:
    def test_a_close_lets_the_running_job_end_and_leaves_the_rest_for_the_next_start(self, tmp_path: Path) -> None:
        with memorybase.local(tmp_path) as client:
            prepared(client, threshold=1)
            for session in "abcdefgh":
                capture(client, *notes(), session=session)
        database = tmp_path / "memorybase.db"
        assert query(database, "SELECT count(*) FROM ingestion_jobs WHERE state = 'running'") == 0
        assert query(database, "SELECT count(*) FROM heartbeats WHERE kind IN ('worker', 'sweeper')") == 0
        assert not (tmp_path / "run" / "stack.json").exists()
        assert ingested_exactly(tmp_path, 8 * NOTES)

    @pytest.mark.parametrize("end", ["raise SystemExit", "1 / 0", "import os; os._exit(1)"])
    def test_a_program_that_ends_without_a_close_loses_and_doubles_nothing(self, tmp_path: Path, end: str) -> None:
        ended = run(f"{BACKLOG}\nprint('captured', flush=True)\n{end}", tmp_path / "memory")
        assert ended.stdout == "captured\n"
        assert ended.stderr == "" or "ZeroDivisionError" in ended.stderr.splitlines()[-1]
        assert "task_failed" not in (tmp_path / "memory" / "logs" / "memorybase.log").read_text()
        assert ingested_exactly(tmp_path / "memory", NOTES)

    def test_what_waits_in_the_outbox_at_a_kill_is_stored_once_at_the_next_start(self, tmp_path: Path) -> None:
        said = '[{"role": "user", "content": "The anchor is red."}]'
        put = f"memorybase.local(folder).capture('flow', session_id='s', messages={said})\nimport os; os._exit(1)"
        assert run(put, tmp_path).stderr == ""
        with memorybase.local(tmp_path) as client:
            assert client.outbox is not None
            assert client.outbox.flush(SECONDS) == 0
            assert [message.content for message in client.list_messages(flow_id="flow")] == ["The anchor is red."]

    def test_a_kill_between_upsert_and_advance_loses_and_doubles_nothing(self, tmp_path: Path) -> None:
        database, vectors = tmp_path / "memorybase.db", tmp_path / "chroma" / "chroma.sqlite3"
        with started(f"{BACKLOG}\nprint('captured', flush=True)\nimport time; time.sleep(600)", tmp_path) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "captured\n"
            embedding = "SELECT count(*) FROM ingestion_jobs WHERE embedding_started"
            wait_until(lambda: query(database, embedding), SECONDS, "the job is embedded")
            with sqlite_writer_blocked(database):
                stored = "SELECT count(*) FROM embeddings WHERE embedding_id != 'check'"
                wait_until(lambda: query(vectors, stored) == NOTES, SECONDS, "the upsert")
                program.kill()
                program.wait()
        assert ingested_exactly(tmp_path, NOTES)

    def test_a_job_that_hangs_does_not_end_the_program_and_keeps_the_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker_process, "DRAIN_SECONDS", 0.2)
        is_hanging, release = threading.Event(), threading.Event()

        def hang(*_: object) -> Any:
            is_hanging.set()
            release.wait(SECONDS)
            raise errors.MemorybaseError("released")

        monkeypatch.setattr(BackgroundEmbedder, "embed_with_tokens", hang)
        monkeypatch.setattr(BackgroundEmbedder, "embed", hang)
        monkeypatch.setattr(worker_thread, "STOP_SECONDS", 5.0)
        client = memorybase.local(tmp_path)
        prepared(client, threshold=1)
        capture(client, "The anchor is red.")
        assert is_hanging.wait(SECONDS)
        with pytest.raises(errors.NotReady, match=r"The worker did not end. .* is locked until this program ends"):
            client.close()
        with pytest.raises(errors.Conflict, match=rf"process {os.getpid()}"):
            memorybase.local(tmp_path)
        release.set()


@pytest.mark.slow
class TestTheProgram:
    def test_its_process_stays_as_it_was_and_its_output_is_its_own(self, tmp_path: Path) -> None:
        ended = run(STATE, tmp_path / "memory")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the same\n", "")
        assert "cursor_advanced" in (tmp_path / "memory" / "logs" / "memorybase.log").read_text()

    def test_what_it_stores_is_private_whatever_the_umask(self, tmp_path: Path) -> None:
        folder = tmp_path / "shared"
        folder.mkdir(mode=0o755)
        (folder / "other.txt").touch()
        before = os.umask(0o022)
        try:
            with memorybase.local(folder) as client:
                client.wait_until_searchable(prepared_with(client, "The anchor is red."))
                kept = [each for each in folder.iterdir() if each.name != "other.txt"]
                assert {oct(each.stat().st_mode & 0o077) for each in kept} == {"0o0"}
        finally:
            os.umask(before)

    def test_a_running_event_loop_around_it_does_no_harm(self, tmp_path: Path) -> None:
        async def cell() -> list[str]:
            client = memorybase.local(tmp_path)
            client.wait_until_searchable(prepared_with(client, "The anchor is red."))
            found = texts(client)
            client.close()
            return found

        assert asyncio.run(cell()) == ["The anchor is red."]

    def test_the_async_form_waits_for_many_calls_at_once_and_shares_the_directory(self, tmp_path: Path) -> None:
        async def main() -> int:
            async with await memorybase.local_async(tmp_path) as client:
                await client.put_flow("flow", name="flow")
                base = await client.put_memory_base("flow", "memory", capture="all")
                said = [{"role": "user", "content": "The anchor is red."}]
                await asyncio.gather(*(client.capture_run("flow", session_id=str(n), messages=said) for n in range(20)))
                waiting = asyncio.create_task(client.wait_until_searchable(base.id))
                states = [job.state async for job in client.watch_job((await first_job(client, base.id)).id)]
                assert states[-1] == "done"
                with memorybase.local(tmp_path) as other:
                    assert other.get_flow("flow").name == "flow"
                return (await waiting).total_processed

        assert asyncio.run(main()) == 20

    def test_a_notification_that_comes_again_during_and_after_its_job_does_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run_jobs, upsert = job_runner.run_jobs, InProcessChroma.upsert
        taken: list[tuple[Services, JobMessage]] = []
        again: list[job_runner.JobOutcome] = []

        def delivered(services: Services, message: JobMessage, **options: Any) -> job_runner.JobOutcome:
            taken.append((services, message))
            return run_jobs(services, message, **options)

        def repeat(times: int) -> None:
            services, message = taken[0]
            again.extend(run_jobs(services, message, owner="other", may_continue=lambda: True) for _ in range(times))

        def upsert_between_others(*given: Any) -> None:
            repeat(5)
            upsert(*given)
            repeat(5)

        monkeypatch.setattr(job_runner, "run_jobs", delivered)
        monkeypatch.setattr(InProcessChroma, "upsert", upsert_between_others)
        with memorybase.local(tmp_path / "memory") as client:
            base = prepared(client, threshold=NOTES)
            capture(client, *notes())
            client.wait_until_searchable(base, timeout_seconds=SECONDS)
            repeat(5)
            (job,) = client.list_jobs(base).page().items
            assert (job.state, job.attempts) == ("done", 1)

        assert len(again) > 10
        assert set(again) == {job_runner.JobOutcome.STALE}
        assert ingested_exactly(tmp_path / "memory", NOTES)

    def test_a_part_that_ends_is_said_by_each_later_call(self, memory: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(_: ProcessQueue) -> None:
            raise OSError("no more threads")

        base = prepared(memory)
        monkeypatch.setattr(ProcessQueue, "take", broken)
        capture(memory, "The anchor is red.")
        with pytest.raises(errors.NotReady, match=r"The worker ended: OSError: no more threads. What was captured is"):
            memory.wait_until_searchable(base)  # the queue wakes the worker
        with pytest.raises(errors.NotReady):
            memory.get_flow("flow")

    def test_a_directory_that_is_deleted_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(one_process, "LOOK_SECONDS", 0.05)
        with memorybase.local(tmp_path / "memory") as client:
            shutil.rmtree(tmp_path / "memory", ignore_errors=True)
            wait_until(lambda: raises(errors.NotReady, lambda: client.list_flows().page()), SECONDS, "it is said")
            with pytest.raises(errors.NotReady, match=r"The data directory .* was deleted"):
                client.list_flows().page()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
    def test_a_fork_is_refused_and_does_not_keep_the_directory(self, tmp_path: Path) -> None:
        ended = run(FORKING, tmp_path / "memory")
        assert ended.stdout == "a fork has none of its threads\nopened again\n", ended.stderr


BACKLOG = f"""
client = memorybase.local(folder, lease_seconds=300)  # longer than any pause of a busy machine
client.put_flow("flow", name="flow")
client.put_memory_base("flow", "memory", capture="all", threshold={NOTES})
said = [{{"role": "user", "content": f"note number {{n}} is about the harbour"}} for n in range({NOTES})]
client.capture_run("flow", session_id="s", messages=said)
"""
# What of a process a program may care for, while memorybase is open and after it was closed.
STATE = """
import gc, logging, os, resource, signal, structlog, sys, warnings

def state():
    root = logging.getLogger()
    return [
        {number: signal.getsignal(number) for number in signal.valid_signals()},
        dict(os.environ), os.umask(os.umask(0)), resource.getrlimit(resource.RLIMIT_NOFILE), sys.getswitchinterval(),
        gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), root.handlers[:], root.level, sys.excepthook,
        warnings.showwarning, structlog.is_configured(), os.getcwd(), os.getpriority(os.PRIO_PROCESS, 0),
    ]

os.umask(0o022)
before = state()
with memorybase.local(folder) as client:
    client.put_flow("flow", name="flow")
    base = client.put_memory_base("flow", "memory", capture="all")
    client.capture_run("flow", session_id="s", messages=[{"role": "user", "content": "The anchor is red."}])
    client.wait_until_searchable(base.id)
    client.search_flow(flow_id="flow", query="anchor")
    assert state() == before
assert state() == before
print("the same")
"""
FORKING = """
import os
client = memorybase.local(folder)
reading, writing = os.pipe()
if os.fork() == 0:
    try:
        client.list_flows().page()
    except memorybase_client.errors.NotReady as error:
        print("a fork has none of its threads" if "a fork has none of its threads" in error.message else error)
    sys.stdout.flush()
    os.close(writing)
    os.read(reading, 1)  # until the parent has ended
    os._exit(0)
os.close(reading)
client.close()
memorybase.local(folder).close()
print("opened again")
"""


def arguments(code: str, folder: Path) -> dict[str, Any]:
    head = "import sys, pathlib, memorybase, memorybase_client.errors\nfolder = pathlib.Path(sys.argv[1])\n"
    words = [sys.executable, "-c", head + code, str(folder)]
    return {"args": words, "env": environment(), "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program that does this, to its end."""
    return subprocess.run(**arguments(code, folder), timeout=SECONDS, check=False)


def started(code: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(**arguments(code, folder))


def prepared(client: Client, threshold: int = 50) -> str:
    client.put_flow("flow", name="flow")
    return str(client.put_memory_base("flow", "memory", capture="all", threshold=threshold).id)


def prepared_with(client: Client, text: str) -> str:
    base = prepared(client)
    capture(client, text)
    return base


def base_of(client: Client) -> str:
    return str(client.list_memory_bases().page().items[0].id)


def capture(client: Client, *said: str, session: str = "s") -> None:
    client.capture_run("flow", session_id=session, messages=[{"role": "user", "content": text} for text in said])


def notes() -> list[str]:
    return [f"note number {n} is about the harbour" for n in range(NOTES)]


def texts(client: Client) -> list[str]:
    return [hit.content for hit in client.search_flow(flow_id="flow", query="What colour is it?").results]


def ingested_exactly(folder: Path, count: int) -> bool:
    with memorybase.local(folder) as client:
        base = base_of(client)
        assert client.wait_until_searchable(base, timeout_seconds=SECONDS).total_processed == count
        compared = client.check_mismatch(base)
        return (compared.state, compared.expected, compared.found) == ("ok", count, count)


async def first_job(client: Any, base: Any) -> Any:
    while True:
        async for job in client.list_jobs(base):
            return job
        await asyncio.sleep(0.01)


def raises(kind: type[Exception], call: Callable[[], object]) -> bool:
    try:
        call()
    except kind:
        return True
    return False


def query(database: Path, statement: str) -> int:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=SECONDS)) as db:
        (found,) = db.execute(statement).fetchone()
        return int(found)
