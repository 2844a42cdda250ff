"""Measures the processor time of a capture, of authenticating its API key, and of claiming and advancing a job.

    python bench/capture_cost.py [--database URL] [--captures 400] [--against PATH [--pairs 5]]

Each is measured in one process without HTTP and without a model, by `time.process_time`: the time of this process on a
processor, which other work on the machine hardly changes. A run captures two messages of thirty words; every tenth run
of a session reaches the threshold, and its job is claimed and advanced. Captures are plain, `recorded` with an entry in
the audit log, and `limited` by all quotas, in turn. `statements` is how many one call sends.

Without --database, it measures on SQLite and on a PostgreSQL of its own. With --against, another checkout is measured
with this one, in as many pairs of runs: each by its own script, because other versions have other modules, and the two
processes of a pair take turns, so that other work on the machine slows both.
`ratio` is this checkout's time to the other's: the median of the pairs, and their middle half. Parts that the other
script does not know are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID, uuid4

import sqlalchemy as sa
from ingesting.doubles import FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors
from ingesting.postgresql import running_postgresql

from memorybase import features
from memorybase.core.auth import api_keys
from memorybase.core.callers import acting_as, caller_of
from memorybase.core.calls import Actor, Call, Effect
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.ingestion import capture as ingestion
from memorybase.core.ingestion.advance import advance
from memorybase.core.ingestion.capture import CaptureRequest
from memorybase.core.ingestion.claim import Claim, claim_job
from memorybase.core.ingestion.lease import LeaseKeeper
from memorybase.core.ingestion.settlement import WriteResult
from memorybase.core.memory_bases.manage import NewMemoryBase, create_memory_base
from memorybase.core.messages import NewMessage, normalise
from memorybase.core.queries import ledger
from memorybase.core.queries import messages as message_queries
from memorybase.core.services import JobMessage, Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.features.audit_log.recording import Recorder
from memorybase.features.quotas.bounds import NAMES

ROOT = Path(__file__).resolve().parents[1]
KEY = "the-key-of-the-benchmark"
KEY_ID = UUID(int=1)
THRESHOLD = 10
RUNS_IN_SESSION = 20
WARM_UP = 40  # captures before the measured ones: what is built once is built then
TURN_SECONDS = 0.1  # of each of two processes that are compared
TEXT = (
    "the a our their quick brown lazy morning evening garden market teacher doctor engine bridge river "
    "kitchen travelled promised repaired remembered painted forgotten colourful happily quietly probably "
    "everyone something between letters mountains holidays musicians children questions answers tickets "
    "stations recipes memories"
)

Result = TypeVar("Result")


class Cost(NamedTuple):
    """One call's processor time in milliseconds, and its statements."""

    milliseconds: float
    statements: float


class Meter:
    """Adds up the processor time and the statements of calls, by name."""

    def __init__(self, engine: sa.Engine) -> None:
        self._sent = 0
        self._calls: dict[str, list[Cost]] = defaultdict(list)
        sa.event.listen(engine, "before_cursor_execute", self._note)

    def measured(self, name: str, call: Callable[[], Result]) -> Result:
        sent, started = self._sent, time.process_time()
        result = call()
        self._calls[name].append(Cost((time.process_time() - started) * 1000, self._sent - sent))
        return result

    def reset(self) -> None:
        self._calls.clear()

    def costs(self) -> dict[str, Cost]:
        """The mean of each."""
        return {name: Cost(*map(statistics.fmean, zip(*calls, strict=True))) for name, calls in self._calls.items()}

    def _note(self, *_: object) -> None:
        self._sent += 1


class Benchmark:
    """Captures into one flow with one memory base, and its jobs."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._user_id = api_keys.ensure_local_user(services, KEY)
        self._flow_id = flows.create_flow(services, self._user_id, name="captures").id
        new = NewMemoryBase(name="base", flow_id=self._flow_id, threshold=THRESHOLD)
        create_memory_base(services, self._user_id, new)
        self._random = random.Random(1)  # the same texts in every run
        self._turn = 0
        self._keeper = LeaseKeeper(services)
        self._meter = Meter(services.database.engine)

    def run(self, captures: int) -> dict[str, Cost]:
        for number in range(WARM_UP + captures):
            if number == WARM_UP:
                self._meter.reset()
            self._capture(f"session {number // RUNS_IN_SESSION}")
        return self._meter.costs()

    def _capture(self, session_id: str) -> None:
        services, user_id, measured = self._services, self._user_id, self._meter.measured
        request = CaptureRequest(session_id=session_id, messages=[self._message("user"), self._message("assistant")])
        caller = measured("authenticate", lambda: api_keys.authenticate(services, KEY)).charged
        with acting_as(caller), self._part() as part:
            measured(part, lambda: ingestion.capture(services, user_id, self._flow_id, request))
        queue = services.queue
        assert isinstance(queue, InMemoryQueue)
        notified, queue.enqueued = queue.enqueued, []
        for message in notified:
            self._ingest(message)

    @contextmanager
    def _part(self) -> Iterator[str]:
        """The name of a capture: a plain one, one with its entry in the audit log, one with quotas."""
        self._turn += 1
        kind = self._turn % 3
        if kind == 0:
            yield "capture"
            return
        if kind == 1:
            with limited(self._services, self._user_id):
                yield "limited"
            return
        actor = Actor("api", self._user_id, uuid4(), address="192.0.2.1", request_id=uuid4().hex)
        recorder = Recorder(Call(actor, Effect.CAPTURE, "capture_run", {"flow_id": str(self._flow_id)}))
        with self._services.database.before_commit(recorder):
            yield "recorded"

    def _ingest(self, message: JobMessage) -> None:
        services = self._services
        claim = self._meter.measured("claim", lambda: claim_job(services, message, "the worker of the benchmark"))
        assert claim is not None
        done, cursor_id = self._written(claim)
        self._meter.measured("advance", lambda: advance(services, claim, self._keeper, done, cursor_id=cursor_id))

    def _written(self, claim: Claim) -> tuple[WriteResult, UUID]:
        """What a worker would have written of the job."""
        with self._services.database.reading() as db:
            messages = message_queries.fetch_range(
                db,
                flow_id=claim.flow_id,
                session_id=claim.session_id,
                capture=claim.capture,
                from_seq=claim.job.from_seq,
                to_seq=claim.job.to_seq,
            )
        held = [ledger.HeldMessage(message.id, message.version, 1) for message in messages]
        return WriteResult(held=held), messages[-1].id

    def _message(self, role: str) -> NewMessage:
        text = " ".join(self._random.choices(TEXT.split(), k=30))
        return normalise({"role": role, "content": text}, user_id=self._user_id, where="messages")


@contextmanager
def limited(services: Services, user_id: UUID) -> Iterator[None]:
    """A caller with all quotas, of the user and of the key."""
    quotas: dict[str, int] = dict.fromkeys(NAMES, 1_000_000)
    with acting_as(caller_of(services.settings, user_id, quotas, KEY_ID, quotas)):
        yield


def measure_here(url: str, captures: int) -> dict[str, Cost]:
    """The costs of the memorybase that this process imports, in an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), database_url=url, api_key=KEY)
        migrate.upgrade(settings.resolved_database_url)
        database = Database(settings.resolved_database_url)
        services = Services(
            settings, database, InMemoryVectors(), FakeEmbedders(), InMemoryLocks(), InMemoryQueue(), features.hooks()
        )
        costs = Benchmark(services).run(captures)
        database.dispose()
    return costs


def measure(databases: dict[Path, str], captures: int) -> dict[Path, dict[str, Cost]]:
    """The costs of each checkout, by its own script in a process of its own; the processes take turns."""
    with ExitStack() as running:
        processes = {
            checkout: running.enter_context(started(checkout, url, captures)) for checkout, url in databases.items()
        }
        take_turns(list(processes.values()))
        outputs = {checkout: process.communicate()[0] for checkout, process in processes.items()}
    if any(process.returncode for process in processes.values()):
        raise SystemExit("error: a checkout's script failed; its output is above")
    return {
        checkout: {name: Cost(*cost) for name, cost in json.loads(output).items()}
        for checkout, output in outputs.items()
    }


def started(checkout: Path, url: str, captures: int) -> subprocess.Popen[str]:
    script = checkout / "bench" / Path(__file__).name
    command = [sys.executable, str(script), "--here", "--database", url, "--captures", str(captures)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    return subprocess.Popen(command, env=environment, cwd=checkout, stdout=subprocess.PIPE, text=True)


def take_turns(processes: list[subprocess.Popen[str]]) -> None:
    """Let one process run at a time until all but one have ended, so that other work on the machine slows all alike."""
    try:
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        while sum(process.poll() is None for process in processes) > 1:
            for process in processes:
                process.send_signal(signal.SIGCONT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(TURN_SECONDS)
                process.send_signal(signal.SIGSTOP)
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


@contextmanager
def empty_database(server: str) -> Iterator[str]:
    """The URL of an empty database on the server; the server itself is "" for SQLite, which makes its own file."""
    if not server:
        yield ""
        return
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    name = f"bench_{uuid4().hex}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    engine.dispose()


def report(name: str, server: str, arguments: argparse.Namespace) -> None:
    """Measure in pairs, and print a line for each part."""
    checkouts = [ROOT] if arguments.against is None else [arguments.against.resolve(), ROOT]
    runs: dict[Path, list[dict[str, Cost]]] = {checkout: [] for checkout in checkouts}
    for _ in range(arguments.pairs):
        with ExitStack() as made:
            databases = {checkout: made.enter_context(empty_database(server)) for checkout in checkouts}
            for checkout, costs in measure(databases, arguments.captures).items():
                runs[checkout].append(costs)
    for part in runs[ROOT][0]:
        if any(part not in runs[each][0] for each in checkouts):
            continue
        found = {each: [run[part] for run in runs[each]] for each in checkouts}
        medians = [statistics.median(cost.milliseconds for cost in found[each]) for each in checkouts]
        sent = [f"{found[each][0].statements:.1f}" for each in checkouts]
        pairs = zip(found[ROOT], found[checkouts[0]], strict=True)
        against = spread([mine.milliseconds / other.milliseconds for mine, other in pairs]) if arguments.against else ""
        times = [f"{median:.2f}" for median in medians]
        print(f"{name:<12} {part:<14} {' -> '.join(times):>16} {' -> '.join(sent):>16} {against:>20}", flush=True)


def spread(ratios: list[float]) -> str:
    """The median and the middle half."""
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return f"{median:.3f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", help="a PostgreSQL server on which databases may be created")
    parser.add_argument("--captures", type=int, default=400)
    parser.add_argument("--against", type=Path, help="the checkout to compare with")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(measure_here(arguments.database or "", arguments.captures)))
        return
    print(f"{'database':<12} {'part':<14} {'ms':>16} {'statements':>16} {'ratio' if arguments.against else '':>20}")
    if arguments.only != "postgresql":
        report("SQLite", "", arguments)
    if arguments.database:
        report("PostgreSQL", arguments.database, arguments)
    elif arguments.only != "sqlite":
        with running_postgresql() as url:
            report("PostgreSQL", url, arguments)


if __name__ == "__main__":
    main()
