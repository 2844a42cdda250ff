"""One run: mixed load on `memorybase up`, what goes wrong and when, and the report."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import redis
from chaos.clients import Client, Kept, Orders
from chaos.cluster import KEY, chroma_over
from chaos.cluster import Plan as LoadPlan
from chaos.invariants import Chroma, Sampler, check, named, unrest
from chaos.patience import Patience, reached
from chaos.run import flush_all, http_client, listed
from harness.clock import SteppedClock
from harness.one_process import beside
from harness.stack import NAMES, EmbeddedStack
from runs import Run

from memorybase import wiring
from memorybase.core.services import Services
from memorybase.stack.state import DataDir, settings_in_use
from soak.load import Reading, readers
from soak.machine import Ballast, small_disk
from soak.watch import FLOW, HealthWatch, MemoryWatch
from worker.queue import QUEUE

THRESHOLD = 20
IDLE_SECONDS = 3
QUIET_SECONDS = 300.0
HOUR = 3600
MALFORMED = (b"null", b"1", b"{", b"\xff\xfe", b'{"body": "%%%", "properties": {"body_encoding": "base64"}}')
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how much, how large the disk, and how long it stays full."""

    seed: int
    seconds: float
    one_process: bool = False  # which no malformed message can reach
    messages_per_second: float = 20.0
    disk_megabytes: int = 4_000
    full_seconds: float = 45.0
    malformed_every_seconds: float = 60.0

    def faults(self) -> list[tuple[float, str]]:
        """When each fault begins and ends, in order. Everything is whole again after three quarters."""
        full = [(self.seconds * part, "full disk") for part in (0.1, 0.5)]
        free = [(begin + min(self.full_seconds, self.seconds / 8), "disk freed") for begin, _ in full]
        clock = [
            (self.seconds * 0.25, "clock an hour ahead"),
            (self.seconds * 0.4, "clock right again"),
            (self.seconds * 0.65, "clock an hour behind"),
            (self.seconds * 0.75, "clock right again"),
        ]
        count = 0 if self.one_process else int(self.seconds * 0.9 / self.malformed_every_seconds)
        malformed = [(self.malformed_every_seconds * (n + 0.5), "malformed message") for n in range(count)]
        return sorted([*full, *free, *clock, *malformed])


@dataclass
class Report:
    """`violations` empty: nothing lost, nothing doubled, and health said what was true."""

    plan: dict[str, Any]
    faults: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    deleted: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    reads: dict[str, dict[int, int]] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    dead_letters: int = 0
    messages_in_ledgers: int = 0
    health_looks: int = 0
    silent_seconds: int = 0
    false_alarm_seconds: int = 0
    memory: dict[str, list[float]] = field(default_factory=dict)
    rest_seconds: float = 0.0
    directory: str = ""
    violations: list[str] = field(default_factory=list)

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    def kept(self, about: dict[str, Any], plan: Plan) -> Run:
        """For --results."""
        shown = {name: value for name, value in asdict(self).items() if name != "directory"}
        return Run({"about": about} | shown, [{"at": round(at, 2), "what": what} for at, what in plan.faults()])

    def __str__(self) -> str:
        lines = [
            "{seconds:g} s, {messages_per_second:g} messages a second, seed {seed}".format(**self.plan)
            + (", one process" if self.plan["one_process"] else ""),
            f"faults: {listed(self.faults)}",
            f"{self.acknowledged} messages acknowledged, {self.deleted} of them deleted again; {listed(self.calls)}",
            *(f"{name}: {listed({str(s): n for s, n in answers.items()})}" for name, answers in self.reads.items()),
            f"{self.lost} lost, {self.doubled} doubled, {self.dead_letters} dead letters",
            f"{self.messages_in_ledgers} messages in the ledgers",
            f"health: {self.health_looks} looks, {self.silent_seconds} silent, {self.false_alarm_seconds} false alarms",
            *(f"memory of {name} by quarter, MB: {values}" for name, values in self.memory.items()),
            f"at rest {self.rest_seconds:.1f} s after the load",
        ]
        lines += [f"VIOLATION {violation}" for violation in self.violations[:SHOWN]]
        lines += [f"everything is kept in {self.directory}"] if self.violations else []
        return "\n".join(lines)


class SoakStack(EmbeddedStack):
    """`memorybase up` with the clients' key, on a clock that can be stepped."""

    def __init__(self, directory: Path, clock: SteppedClock, *, one_process: bool) -> None:
        super().__init__(directory)
        self._clock = clock
        self.one_process = one_process

    def environment(self) -> dict[str, str]:
        return super().environment() | {"MEMORYBASE_API_KEY": KEY, **self._clock.environment()}

    def children(self) -> dict[str, int]:
        """The process id of each child that runs, or of the one process."""
        if self.one_process:
            return {self.name: self.pid} if self.running else {}
        found = {}
        for name in NAMES:
            with contextlib.suppress(FileNotFoundError, ValueError):  # it is being restarted
                found[name] = self.child(name)
        return found


def run(plan: Plan) -> Report:
    """Run the plan, from the main thread, as root. Logs are kept after a violation."""
    place = Path(tempfile.mkdtemp(prefix="memorybase-soak-"))
    report = Report(plan=asdict(plan), directory=str(place))
    with ExitStack() as cleanup:
        disk = cleanup.enter_context(small_disk(place / "disk", plan.disk_megabytes))
        clock = SteppedClock(place)
        stack = SoakStack(disk, clock, one_process=plan.one_process)
        stack.log = place / "stack.log"
        cleanup.callback(stack.close)
        stack.start()
        _run(plan, stack, clock, report, place)
        shutil.copytree(stack.data / "logs", place / "logs")
    (place / "report.json").write_text(report.as_json())
    if not report.violations:
        shutil.rmtree(place)
    return report


def _run(plan: Plan, stack: SoakStack, clock: SteppedClock, report: Report, place: Path) -> None:
    begun = time.monotonic()
    log = (place / "faults.log").open("w", buffering=1)

    def note(text: str) -> None:
        log.write(f"{time.monotonic() - begun:8.1f} {text}\n")

    orders = Orders(f"{stack.url}/v1")
    bases, probe = _make_bases(orders.url)
    load = LoadPlan(plan.seed, plan.seconds, messages_per_second=plan.messages_per_second)
    clients = [Client(number, load, orders, bases) for number in range(load.clients)]
    others = readers(orders, bases, plan.seed)
    health = HealthWatch(orders.url, probe, note)
    memory = MemoryWatch(stack.children)
    settings = settings_in_use(stack.data)
    services = wiring.build(settings, role="cli")
    services = beside(services) if plan.one_process else services
    sampler = Sampler(settings.resolved_database_url)
    for thread in (*clients, *others, health, memory, sampler):
        thread.start()
    report.faults = dict(_break(plan, stack, clock, begun, note))
    orders.stop.set()
    resting = time.monotonic()
    report.violations += _settle(services, orders, [*clients, *others])
    report.rest_seconds = round(time.monotonic() - resting, 1)
    for watch in (health, memory, sampler):
        watch.stop()
    report.violations += _settle(services, orders, [])
    with _chroma(stack, services) as chroma:
        _judge(report, services, chroma, clients, others, health, memory)
    report.violations += [*orders.complaints, *sampler.violations]
    report.calls = dict(orders.counts)
    wiring.close(services)
    log.close()


@contextlib.contextmanager
def _chroma(stack: SoakStack, services: Services) -> Iterator[Chroma]:
    """What was stored in Chroma; the one process is stopped for it."""
    if not stack.one_process:
        yield Chroma(services.settings.chroma_url, services.vectors)
        return
    stack.stop()
    with chroma_over(stack.data) as (url, vectors):
        yield Chroma(url, vectors)


def _judge(
    report: Report,
    services: Services,
    chroma: Chroma,
    clients: list[Client],
    others: list[Reading],
    health: HealthWatch,
    memory: MemoryWatch,
) -> None:
    kept: dict[str, Kept] = dict(health.kept)
    for client in clients:
        kept |= client.kept
    findings = check(services.database, chroma, kept, [])
    report.violations += findings.violations
    report.violations += [f"health was silent: {text}" for text in dict.fromkeys(health.silent)]
    report.violations += [f"false alarm: {text}" for text in dict.fromkeys(health.false_alarms)]
    report.acknowledged = sum(client.acknowledged for client in clients) + len(health.kept)
    report.deleted = sum(client.deleted for client in clients)
    totals: dict[str, Counter[int]] = {}
    for reading in others:
        totals.setdefault(reading.name, Counter()).update(reading.answers)
    report.reads = {name: dict(answers) for name, answers in totals.items()}
    report.lost, report.doubled, report.dead_letters = findings.lost, findings.doubled, findings.dead_letters
    report.messages_in_ledgers = findings.in_ledgers
    report.health_looks = health.looks
    report.silent_seconds, report.false_alarm_seconds = len(health.silent), len(health.false_alarms)
    report.memory = memory.quarters()


def _break(
    plan: Plan, stack: SoakStack, clock: SteppedClock, begun: float, note: Callable[[str], None]
) -> Counter[str]:
    """Do what the plan says when it says so, until the end of the load."""
    done: Counter[str] = Counter()
    ballast: Ballast | None = None
    for moment, what in plan.faults():
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        note(what)
        if what == "full disk":
            ballast = Ballast(stack.directory)
            ballast.start()
        elif what == "disk freed" and ballast is not None:
            ballast.remove()
        elif what.startswith("clock"):
            clock.step({"clock an hour ahead": HOUR, "clock an hour behind": -HOUR}.get(what, 0))
        elif what == "malformed message":
            _send_malformed(stack, note)
        done[what] += 1
    time.sleep(max(0.0, begun + plan.seconds - time.monotonic()))
    return done


def _send_malformed(stack: SoakStack, note: Callable[[str], None]) -> None:
    running = DataDir(stack.data).running()
    assert running is not None, "the stack has ended"
    try:
        with redis.Redis.from_url(running.redis_url, socket_timeout=5) as client:
            client.lpush(QUEUE, *MALFORMED)
    except redis.RedisError as error:
        note(f"redis refused it: {type(error).__name__}")


def _make_bases(url: str) -> tuple[dict[str, str], str]:
    """Two flows with a memory base each, and the memory base of the health watch."""
    bases = {}
    with http_client(url) as client:
        for flow in ("flow-0", "flow-1", FLOW):
            client.put(f"/flows/{flow}", json={"name": flow}).raise_for_status()
            threshold = 1 if flow == FLOW else THRESHOLD
            body = {"name": flow, "flow_id": flow, "threshold": threshold, "idle_after": IDLE_SECONDS, "capture": "all"}
            bases[flow] = client.post("/memories", json=body).raise_for_status().json()["id"]
    return bases, bases.pop(FLOW)


def _settle(services: Services, orders: Orders, threads: list[Client | Reading]) -> list[str]:
    """Wait until the callers have ended and nothing is left to do; what is left when nothing moves any more."""
    deadline = time.monotonic() + QUIET_SECONDS
    for thread in threads:
        thread.join(max(1.0, deadline - time.monotonic()))
    if late := [thread.name for thread in threads if thread.is_alive()]:
        orders.give_up.set()
        return [f"never came to an end: {', '.join(late)}"]
    patience, left = Patience(QUIET_SECONDS), ["never looked"]
    with http_client(orders.url) as client:
        while not patience.is_over:
            pending, counts = flush_all(client), unrest(services.database)
            left = [*named(counts), *pending]
            if not left:
                return []
            patience.look(counts, reached(services.database))
            time.sleep(1.0)
    return [f"not at rest, and nothing has moved for {QUIET_SECONDS:g} s: {', '.join(left)}"]
