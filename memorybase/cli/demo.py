"""`memorybase demo`: a conversation through a real stack whose worker is killed on the way; all is counted."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
from rich.console import Console
from rich.markup import escape

from memorybase import errors
from memorybase.cli.options import progress
from memorybase.client import Client
from memorybase.import_export.conversation_files import ImportedRun, read_runs
from memorybase.stack.child import StackChild
from memorybase.stack.children import NAMES
from memorybase.stack.processes import end_leftovers
from memorybase.stack.state import DataDir
from memorybase.vectors.chunk_ids import parse_chunk_id

FLOW = "sample-assistant"
MEMORY = "sample"
# Two of the four sessions have 20 messages and reach it by themselves; the two with 14 are flushed.
THRESHOLD = 16
# The worker runs this long between two looks. A job of 16 messages takes about ten times as long.
SLICE_SECONDS = 0.005
LOOKS = 2_000
PATIENCE = 20  # steps after which the paused worker is not what keeps a call from getting through
RESTART_SECONDS = 30.0
MARKER = ".memorybase-demo"

Json = dict[str, Any]
T = TypeVar("T")


def run_demo(directory: Path) -> None:
    """Raises when a count is off or a question finds no answer; leaves nothing running in any case."""
    console = Console(highlight=False, soft_wrap=True)
    data = DataDir(_fresh(directory))
    began = time.monotonic()
    with StackChild(data, lambda line: console.print(f"[dim]  stack: {escape(line)}[/]")) as stack:
        key = data.known_api_key(stack.settings)
        with Client(stack.url, key or "") as client, Client(stack.url, key or "", timeout_seconds=1, tries=1) as hasty:
            demo = Demo(console, data, client, hasty)
            demo.capture()
            demo.ingest()
            demo.count(stack.chroma_url)
            demo.ask()
    console.print(f"\nDone in {time.monotonic() - began:.0f} s; everything is stopped again.")
    _say_how_to_go_on(console, directory, demo.memory_id, from_environment=bool(stack.settings.api_key))


def _fresh(directory: Path) -> Path:
    """An empty directory. Only one that an earlier demo made is emptied; raises InvalidRequest for any other."""
    directory = directory.expanduser().resolve()
    if DataDir(directory).is_locked():
        raise errors.Conflict(f"A stack is running in {directory}. Stop it first, or choose another --data-dir.")
    if directory.exists():
        if not directory.is_dir() or (any(directory.iterdir()) and not (directory / MARKER).exists()):
            raise errors.InvalidRequest(f"{directory} is not a demo's directory. Choose another with --data-dir.")
        # What a killed demo left behind is named in files that are about to go.
        end_leftovers(DataDir(directory), NAMES, lambda _: None)
        _empty(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text("Made by `memorybase demo`, which empties this directory when it runs again.\n")
    return directory


def _empty(directory: Path) -> None:
    """All but the exported model, which is the same every time and takes seconds."""
    for path in directory.iterdir():
        if path.name == "models":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _say_how_to_go_on(console: Console, directory: Path, memory_id: str, *, from_environment: bool) -> None:
    quoted = shlex.quote(str(directory))
    key = "$MEMORYBASE_API_KEY" if from_environment else f"$(cat {shlex.quote(str(directory / 'api_key'))})"
    body = shlex.quote(json.dumps({"query": "Who brings a dog to dinner?", "top_k": 3}))
    console.print("\n[bold]This memory can be opened again:[/]")
    console.print(f"  {_command()} up --data-dir {quoted}", markup=False)
    console.print("and then asked:")
    console.print(
        f'  curl -s http://127.0.0.1:8000/v1/memories/{memory_id}/search -H "Authorization: Bearer {key}" '
        f"-H 'Content-Type: application/json' -d {body}",
        markup=False,
    )


def _command() -> str:
    """How to call memorybase from this shell: by name, else by the path that we were called by."""
    if shutil.which("memorybase"):
        return "memorybase"
    by_module = Path(sys.argv[0]).name == "__main__.py"
    return f"{shlex.quote(sys.executable)} -m memorybase" if by_module else shlex.quote(sys.argv[0])


@dataclass
class Demo:
    """The steps, in the order in which they are called."""

    console: Console
    data: DataDir
    client: Client
    hasty: Client  # one that gives up within a second
    memory_id: str = ""
    captured: set[str] = field(default_factory=set)

    def say(self, text: str) -> None:
        self.console.print(text)

    def capture(self) -> None:
        """The sample, run by run; the worker is killed in the middle of the first job."""
        runs = read_runs(_sample("conversation.jsonl"), namespace=FLOW)
        sessions = list(dict.fromkeys(run.session_id for run in runs))
        self.client.put_flow(FLOW)
        body = {"name": MEMORY, "flow_id": FLOW, "threshold": THRESHOLD, "capture": "all"}
        self.memory_id = self.client.call("POST", "/memories", json=body)["id"]
        total = sum(len(run.messages) for run in runs)
        self.say(f"\n[bold]Capturing {total} messages of {len(sessions)} sessions, run by run over HTTP[/]")
        self.say(f"  a session with {THRESHOLD} messages pending is ingested by itself")
        with progress(self.console) as bar:
            task = bar.add_task("captured", total=total)
            for session in sessions:
                of_session = [run for run in runs if run.session_id == session]
                if session == sessions[0]:
                    self._capture_and_kill(of_session)
                else:
                    self._post(of_session)
                bar.update(task, completed=len(self.captured))
        self._find_pending()

    def _post(self, runs: list[ImportedRun], client: Client | None = None) -> None:
        jobs = 0
        answer: Json = {}
        for run in runs:
            body = {"session_id": run.session_id, "run_id": run.run_id, "messages": list(run.messages)}
            answer = (client or self.client).post_run(FLOW, body)
            self.captured.update(message["id"] for message in answer["messages"] if message["created"])
            jobs += any(state["job_id"] for state in answer["ingestion"])
        pending = answer["ingestion"][0]["pending_messages"]
        how = "threshold reached, job started" if jobs else f"below the threshold, {pending} pending"
        self.say(f"  {runs[0].session_id}: {sum(len(run.messages) for run in runs)} messages captured ({how})")

    # The kill

    def _capture_and_kill(self, runs: list[ImportedRun]) -> None:
        """The worker runs in slices of milliseconds, and each look at its job is taken while it stands still: the
        job is running at the very moment of the kill."""
        worker = _Stepped(self._worker_pid())
        with worker:
            worker.whenever_it_lets(lambda: self._post(runs, self.hasty))
            job = self._step_until_running(worker)
            worker.kill()
        self.say(
            f"[bold red]  kill -9 {worker.pid}[/] [bold]the worker, in the middle of job {job['id']}[/]\n"
            f"    ({escape(job['session_id'])}, messages {job['from_seq'] + 1} to {job['to_seq']}, attempt "
            f"{job['attempts']}, state {job['state']})"
        )
        self.say(f"    the stack has started another worker: {self._next_worker(worker.pid)}")

    def _step_until_running(self, worker: _Stepped) -> Json:
        for _ in range(LOOKS):
            worker.step()
            jobs: list[Json] = worker.whenever_it_lets(self._jobs)
            for job in jobs:
                if job["state"] == "running":
                    return job
            if not any(job["state"] == "queued" for job in jobs):
                raise errors.NotReady("The job ended between two looks; nothing was killed. Run the demo again.")
        raise errors.NotReady("The worker took no job; see the log of the worker in the demo's directory.")

    def _jobs(self) -> list[Json]:
        return list(self.hasty.get(f"/memories/{self.memory_id}/jobs")["items"])

    def _worker_pid(self) -> int:
        return int(self.data.pid_file("worker").read_text())

    def _next_worker(self, old: int) -> int:
        deadline = time.monotonic() + RESTART_SECONDS
        while time.monotonic() < deadline:
            try:
                pid = self._worker_pid()
            except (OSError, ValueError):
                pid = old
            if pid != old:
                return pid
            time.sleep(0.05)
        raise errors.NotReady(f"The killed worker was not replaced within {RESTART_SECONDS:g} s.")

    def _find_pending(self) -> None:
        """What was captured a moment ago, below its threshold, is found before any job has seen it."""
        query = "What can I do when I forget the word turbidity?"
        hits = [hit for hit in self.client.search(self.memory_id, query, 5) if hit["pending"]]
        if not hits:
            raise errors.NotReady("A message captured a moment ago was not found.")
        self.say(f"\n[bold]Captured a moment ago, not ingested yet, found at once:[/] {query}")
        self._show(hits[0])

    # Ingestion and counting

    def ingest(self) -> None:
        self.say("\n[bold]Flushing what is below its threshold, and waiting until all is ingested[/]")
        with progress(self.console) as bar:
            task = bar.add_task("ingested", total=len(self.captured))
            self.client.settle(self.memory_id, lambda memory: bar.update(task, completed=memory["total_processed"]))
        jobs = list(self.client.pages(f"/memories/{self.memory_id}/jobs"))
        for job in sorted(jobs, key=lambda job: job["created_at"]):
            again = f", attempt {job['attempts']}" if job["attempts"] > 1 else ""
            self.say(f"  {job['session_id']}: {job['processed']} of {job['total']} messages, {job['state']}{again}")

    def count(self, chroma_url: str) -> None:
        """Nothing is taken on trust: SQL, the service's own comparison and Chroma's ids are counted one by one."""
        ingested = [
            message["id"]
            for message in self.client.pages("/messages", memory_base_id=self.memory_id)
            if message["ingested"]
        ]
        mismatch = self.client.get(f"/memories/{self.memory_id}/mismatch")
        held, doubled = _count_chunks(_chroma_ids(chroma_url, self.memory_id))
        # A message twice in the listing, or chunks beyond those expected, would be doubled too.
        doubled += len(ingested) - len(set(ingested)) + mismatch["extra"]
        lost = len(self.captured - set(ingested)) + len(self.captured - held)
        self.say("\n[bold]Counted[/]")
        self.say(f"  messages: {len(ingested)} of {len(self.captured)} ingested, says GET /messages")
        self.say(
            f"  chunks:   {mismatch['expected']} expected, {mismatch['found']} found, {mismatch['missing']} missing, "
            f"{mismatch['extra']} extra, says GET /memories/…/mismatch"
        )
        in_store = len(held & self.captured)
        right = in_store == len(self.captured) and not lost and not doubled and mismatch["state"] == "ok"
        colour = "green" if right else "red"
        self.say(
            f"[bold {colour}]  captured {len(self.captured)}, in the store {in_store}, lost {lost}, "
            f"doubled {doubled}[/]  (by the ids in Chroma)"
        )
        if not right:
            raise errors.NotReady("The counts are off: a message was lost or doubled.")

    # Questions

    def ask(self) -> None:
        """Five questions of a new session, each answered by another."""
        self.say("\n[bold]Five questions that need another session's memory[/]")
        unanswered = 0
        for question in json.loads(_sample("questions.json")):
            hits = self.client.search(self.memory_id, question["question"], 3)
            self.say(f"\n  [bold cyan]{escape(question['question'])}[/]")
            for hit in hits:
                self._show(hit)
            unanswered += not any(
                question["expected"] in hit["content"] and question["session"] == hit["session_id"] for hit in hits
            )
        if unanswered:
            raise errors.NotReady(f"{unanswered} of the questions did not find their answer.")

    def _show(self, hit: Json) -> None:
        mark = "  [yellow]pending[/]" if hit["pending"] else ""
        who = escape(hit["sender_name"] or hit["role"])
        self.say(f"    {hit['score']:.2f}  [dim]{escape(hit['session_id'])}[/]{mark}  {who}: {escape(hit['content'])}")


class _Stepped:
    """A process that stands still inside the `with` block, but for steps of milliseconds; it goes on afterwards."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def __enter__(self) -> Self:
        os.kill(self.pid, signal.SIGSTOP)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def step(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        time.sleep(SLICE_SECONDS)
        os.kill(self.pid, signal.SIGSTOP)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def whenever_it_lets(self, call: Callable[[], T]) -> T:
        """It may stand still with the database's lock in hand, which keeps everybody else waiting: let it go on
        until the call gets through."""
        failure = errors.EnvironmentFailure()
        for _ in range(PATIENCE):
            try:
                return call()
            except errors.EnvironmentFailure as exc:
                failure = exc
                self.step()
        raise failure


def _sample(name: str) -> str:
    return files("memorybase").joinpath("samples", name).read_text(encoding="utf-8")


def _chroma_ids(chroma_url: str, memory_id: str) -> list[str]:
    """Every id in the memory base's collection, asked of Chroma itself, past our own adapter."""
    base = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    ids: list[str] = []
    with httpx.Client(base_url=chroma_url, timeout=30, trust_env=False) as chroma:
        for collection in chroma.get(base).raise_for_status().json():
            answer = chroma.post(f"{base}/{collection['id']}/get", json={"limit": 5_000, "include": []})
            ids += answer.raise_for_status().json()["ids"]
    return [found for found in ids if found.startswith(memory_id)]


def _count_chunks(ids: list[str]) -> tuple[set[str], int]:
    """The messages that these chunks belong to, and how many chunks are there more than once or in two versions."""
    chunks = [parsed for parsed in map(parse_chunk_id, ids) if parsed is not None]
    indices = Counter((chunk.message_id, chunk.index) for chunk in chunks)
    doubled = sum(count - 1 for count in indices.values())
    return {str(chunk.message_id) for chunk in chunks}, doubled
