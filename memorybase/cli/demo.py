"""`memorybase demo`: capture a conversation, kill the worker during a job, check that nothing is lost."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Self, TypeVar
from uuid import UUID

import httpx
import psutil
from memorybase_client import Client, models
from memorybase_client import errors as client_errors
from memorybase_client.importers.runs import Part
from rich.console import Console
from rich.markup import escape

from memorybase.cli.memory_bases import ingest_pending
from memorybase.cli.options import progress
from memorybase.core import errors
from memorybase.core.import_export import sample
from memorybase.core.vectors.chunk_ids import parse_chunk_id
from memorybase.stack.child import StackChild
from memorybase.stack.children import NAMES
from memorybase.stack.processes import end_leftovers
from memorybase.stack.state import DataDir

# Two of the four sessions have 20 messages and reach the threshold; the two with 14 are flushed.
THRESHOLD = 16
# The worker runs this long between two checks. A job of 16 messages takes about ten times as long.
SLICE_SECONDS = 0.005
PROGRESS_SECONDS = 10.0  # between two lines on what it waits for
LOOK_SECONDS = 0.05
MARKER = ".memorybase-demo"

T = TypeVar("T")


def run_demo(directory: Path) -> None:
    """Raises if a message is lost or doubled or a question finds no answer. Always stops the stack."""
    console = Console(highlight=False, soft_wrap=True)
    data = DataDir(_fresh(directory))
    began = time.monotonic()
    console.print(f"[bold]Starting the stack[/] [dim](Redis, Chroma, a worker, the sweeper, the API)[/] in {data.path}")
    with StackChild(data, lambda line: console.print(f"[dim]  stack: {escape(line)}[/]")) as stack:
        key = data.known_api_key(stack.settings)
        with (
            Client(stack.url, key or "") as client,
            Client(stack.url, key or "", timeout_seconds=1, tries=1) as impatient,
        ):
            demo = Demo(console, data, client, impatient, lambda: stack.is_running)
            demo.capture()
            demo.ingest()
            demo.count(stack.chroma_url)
            demo.ask()
    console.print(f"\nDone in {time.monotonic() - began:.0f} s. All processes are stopped.")
    _print_next_steps(console, directory, demo.memory.id, from_environment=bool(stack.settings.api_key))


def _fresh(directory: Path) -> Path:
    """An empty directory. Empties one that an earlier demo created; raises InvalidRequest for any other."""
    directory = directory.expanduser().resolve()
    if DataDir(directory).is_locked():
        raise errors.Conflict(f"A stack is running in {directory}. Stop it first, or choose another --data-dir.")
    if directory.exists():
        if not directory.is_dir() or (any(directory.iterdir()) and not (directory / MARKER).exists()):
            raise errors.InvalidRequest(
                f"{directory} was not created by a demo. Choose another directory with --data-dir."
            )
        # The pid files of processes that a killed demo left behind are about to be deleted.
        end_leftovers(DataDir(directory), NAMES, lambda _: None)
        _empty(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text(
        "Created by `memorybase demo`, which empties this directory when it runs again.\n", encoding="utf-8"
    )
    return directory


def _empty(directory: Path) -> None:
    """Deletes everything but the exported model, which takes seconds to export and never changes."""
    for path in directory.iterdir():
        if path.name == "models":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _print_next_steps(console: Console, directory: Path, memory_id: UUID, *, from_environment: bool) -> None:
    quoted = shlex.quote(str(directory))
    key = "$MEMORYBASE_API_KEY" if from_environment else f"$(cat {shlex.quote(str(directory / 'api_key'))})"
    body = shlex.quote(json.dumps({"query": "Who brings a dog to dinner?", "top_k": 3}))
    console.print("\n[bold]To keep this memory base running:[/]")
    console.print(f"  {_command()} up --data-dir {quoted}", markup=False)
    console.print("To search it then:")
    console.print(
        f'  curl -s http://127.0.0.1:8000/v1/memories/{memory_id}/search -H "Authorization: Bearer {key}" '
        f"-H 'Content-Type: application/json' -d {body}",
        markup=False,
    )


def _command() -> str:
    """The command for calling memorybase from this shell: by name, else by the path of this process."""
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
    impatient: Client  # gives up within a second
    stack_is_running: Callable[[], bool]
    memory: models.MemoryBaseView = field(init=False)
    captured: set[UUID] = field(default_factory=set)

    def say(self, text: str) -> None:
        self.console.print(text)

    def wait(self, what: str, found: Callable[[], T | None]) -> T:
        """Wait until the object is found, however slow the machine is. Raises NotReady if the stack ends."""
        began = said = time.monotonic()
        while (value := found()) is None:
            now = time.monotonic()
            if not self.stack_is_running():
                raise errors.NotReady(f"The stack ended. Its logs are in {self.data.logs}.")
            if now - said >= PROGRESS_SECONDS:
                said = now
                self.say(f"    [dim]waiting for {what} ({now - began:.0f} s)[/]")
            time.sleep(LOOK_SECONDS)
        return value

    def capture(self) -> None:
        """Capture the sample run by run; the worker is killed during the first job."""
        runs = sample.runs()
        sessions = list(dict.fromkeys(run.session_id for run in runs))
        self.client.put_flow(sample.FLOW, name=sample.FLOW_NAME)
        self.memory = self.client.put_memory_base(sample.FLOW, sample.NAME, threshold=THRESHOLD, capture="all")
        total = sum(len(run.messages) for run in runs)
        self.say(f"\n[bold]1. Capture {total} messages in {len(sessions)} sessions, one run at a time over HTTP[/]")
        self.say(f"  A session with {THRESHOLD} pending messages is ingested automatically.")
        with progress(self.console) as bar:
            task = bar.add_task("captured", total=total)
            was_killed = False
            for session in sessions:
                of_session = [run for run in runs if run.session_id == session]
                if was_killed or sum(len(run.messages) for run in of_session) < THRESHOLD:
                    self._post(of_session)
                else:
                    was_killed = self._capture_and_kill(of_session)
                bar.update(task, completed=len(self.captured))
        if not was_killed:
            raise errors.NotReady("Each job ended between two checks, so no worker was killed. Run the demo again.")
        self._search_pending()

    def _post(self, runs: list[Part], client: Client | None = None) -> None:
        jobs = pending = 0
        for run in runs:
            answer = (client or self.client).capture_run(
                sample.FLOW, session_id=run.session_id, run_id=run.run_id, messages=run.messages
            )
            self.captured.update(message.id for message in answer.messages if message.created)
            jobs += any(each.job_id for each in answer.ingestion)
            pending = answer.ingestion[0].pending_messages
        state = "threshold reached, job queued" if jobs else f"below the threshold, {pending} pending"
        self.say(f"  {runs[0].session_id}: {sum(len(run.messages) for run in runs)} messages captured ({state})")

    # The kill

    def _capture_and_kill(self, runs: list[Part]) -> bool:
        """The worker runs for milliseconds at a time, and its job is checked while it is paused. So the job is still
        running at the moment of the kill. False if it ended before: on a busy machine milliseconds may be seconds."""
        worker = _SteppedProcess(self._worker_pid(), self.stack_is_running)
        with worker:
            worker.call_between_steps(lambda: self._post(runs, self.impatient))
            job = self._step_until_running(worker, runs[0].session_id)
            if job is None:
                return False
            worker.kill()
        self.say(
            f"[bold red]  kill -9 {worker.pid}[/]: [bold]killed the worker during job {job.id}[/]\n"
            f"    ({escape(job.session_id)}, messages {job.from_seq + 1} to {job.to_seq}, attempt "
            f"{job.attempts}, state {job.state})"
        )
        next_pid = self.wait("the stack to start a new worker", lambda: self._another_worker(worker.pid))
        self.say(f"    The stack has started a new worker, process {next_pid}.")
        return True

    def _step_until_running(self, worker: _SteppedProcess, session_id: str) -> models.JobView | None:
        """The session's job once it runs; None if it has ended."""

        def step() -> tuple[models.JobView | None] | None:
            worker.step()
            jobs = [job for job in worker.call_between_steps(self._jobs) if job.session_id == session_id]
            running = next((job for job in jobs if job.state == "running"), None)
            has_ended = not any(job.state in ("queued", "running") for job in jobs)
            return (running,) if running is not None or has_ended else None

        return self.wait("the worker to claim the job", step)[0]

    def _jobs(self) -> list[models.JobView]:
        return self.impatient.list_jobs(self.memory.id).page().items

    def _worker_pid(self) -> int:
        return int(self.data.pid_file("worker").read_text(encoding="utf-8"))

    def _another_worker(self, old: int) -> int | None:
        try:
            pid = self._worker_pid()
        except (OSError, ValueError):
            return None
        return None if pid == old else pid

    def _all_parts_work(self) -> bool | None:
        return None if any(each.kind == "part" for each in self.client.list_problems().problems) else True

    def _search_pending(self) -> None:
        """A message below its threshold is found before any job has processed it."""
        query = "What can I do when I forget the word turbidity?"
        hits = [hit for hit in self._search(query, 5) if hit.pending]
        if not hits:
            raise errors.NotReady("The search did not find a pending message.")
        self.say(f"\n[bold]2. Search messages that are not ingested yet:[/] {query}")
        self._show(hits[0])

    # Ingestion and counting

    def ingest(self) -> None:
        self.say("\n[bold]3. Flush the sessions below the threshold, and wait until everything is ingested[/]")
        with progress(self.console) as bar:
            task = bar.add_task("ingested", total=len(self.captured))
            while True:
                self.wait("every part to work again", self._all_parts_work)
                found = ingest_pending(
                    self.client, self.memory.id, lambda memory: bar.update(task, completed=memory.total_processed)
                )
                if found.status == "ready":
                    break
        for job in sorted(self.client.list_jobs(self.memory.id), key=lambda job: job.created_at):
            attempt = f" on attempt {job.attempts}" if job.attempts > 1 else ""
            self.say(f"  {job.session_id}: {job.processed} of {job.total} messages, {job.state}{attempt}")

    def count(self, chroma_url: str) -> None:
        """Count the messages in SQL, in the service's own comparison and by the ids in Chroma."""
        messages = self.client.list_messages(memory_base_id=self.memory.id)
        ingested = [message.id for message in messages if message.ingested]
        mismatch = self.client.check_mismatch(self.memory.id)
        held, doubled = _count_chunks(_chroma_ids(chroma_url, self.memory.id))
        # A message listed twice and extra chunks count as doubled too.
        doubled += len(ingested) - len(set(ingested)) + mismatch.extra
        lost = len(self.captured - set(ingested)) + len(self.captured - held)
        self.say("\n[bold]4. Check that nothing was lost or doubled[/]")
        self.say(f"  messages: {len(ingested)} of {len(self.captured)} ingested  (GET /messages)")
        self.say(
            f"  chunks:   {mismatch.expected} expected, {mismatch.found} found, {mismatch.missing} missing, "
            f"{mismatch.extra} extra  (GET /memories/…/mismatch)"
        )
        in_store = len(held & self.captured)
        is_correct = in_store == len(self.captured) and not lost and not doubled and mismatch.state == "ok"
        colour = "green" if is_correct else "red"
        self.say(
            f"[bold {colour}]  captured {len(self.captured)}, in the store {in_store}, lost {lost}, "
            f"doubled {doubled}[/]  (by the ids in Chroma)"
        )
        if not is_correct:
            raise errors.NotReady("The counts differ: a message was lost or doubled.")

    # Questions

    def ask(self) -> None:
        """Ask five questions, each answered by an earlier session."""
        self.say("\n[bold]5. Ask five questions about earlier sessions[/] [dim](score, session, message)[/]")
        questions = json.loads(files("memorybase").joinpath("samples", "questions.json").read_text(encoding="utf-8"))
        unanswered = 0
        for question in questions:
            hits = self._search(question["question"], 3)
            self.say(f"\n  [bold cyan]{escape(question['question'])}[/]")
            for hit in hits:
                self._show(hit)
            unanswered += not any(
                question["expected"] in str(hit.content) and question["session"] == hit.session_id for hit in hits
            )
        if unanswered:
            raise errors.NotReady(f"{unanswered} of {len(questions)} searches did not find the answer.")

    def _search(self, query: str, top_k: int) -> list[models.Hit]:
        return self.client.search_memory_base(self.memory.id, query=query, top_k=top_k).results

    def _show(self, hit: models.Hit) -> None:
        mark = "  [yellow]pending[/]" if hit.pending else ""
        speaker = escape(hit.sender_name or hit.role)
        text = escape(str(hit.content))
        self.say(f"    {hit.score:.2f}  [dim]{escape(hit.session_id)}[/]{mark}  {speaker}: {text}")


class _SteppedProcess:
    """A process that is paused inside the `with` block, except for steps of milliseconds."""

    def __init__(self, pid: int, stack_is_running: Callable[[], bool]) -> None:
        self.pid = pid
        self._process = psutil.Process(pid)
        self._stack_is_running = stack_is_running

    def __enter__(self) -> Self:
        self._process.suspend()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process.resume()

    def step(self) -> None:
        self._process.resume()
        time.sleep(SLICE_SECONDS)
        self._process.suspend()

    def kill(self) -> None:
        self._process.kill()

    def call_between_steps(self, call: Callable[[], T]) -> T:
        """The paused process may hold the database's lock, which blocks other writers: step until the call succeeds."""
        while True:
            try:
                return call()
            except client_errors.MemorybaseError as exc:
                if not (exc.retryable and self._stack_is_running()):
                    raise
                self.step()


def _chroma_ids(chroma_url: str, memory_id: UUID) -> list[str]:
    """Every id in the memory base's collection, read from Chroma directly and not through our adapter."""
    base = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    ids: list[str] = []
    with httpx.Client(base_url=chroma_url, timeout=30, trust_env=False) as chroma:
        for collection in chroma.get(base).raise_for_status().json():
            answer = chroma.post(f"{base}/{collection['id']}/get", json={"limit": 5_000, "include": []})
            ids += answer.raise_for_status().json()["ids"]
    return [chunk_id for chunk_id in ids if chunk_id.startswith(str(memory_id))]


def _count_chunks(ids: list[str]) -> tuple[set[UUID], int]:
    """The messages of these chunks, and how many chunks are duplicates or old versions."""
    chunks = [parsed for parsed in map(parse_chunk_id, ids) if parsed is not None]
    indices = Counter((chunk.message_id, chunk.index) for chunk in chunks)
    doubled = sum(count - 1 for count in indices.values())
    return {chunk.message_id for chunk in chunks}, doubled
