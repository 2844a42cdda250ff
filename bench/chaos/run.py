"""One run: start everything, break it for a while, heal it, wait until it is at rest, check, report."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
from runs import Run

from chaos import expiring, limited, webhooks
from chaos.clients import Client, FlowOwner, Kept, Operator, Orders
from chaos.cluster import KEY, OPERATOR, Cluster, Plan
from chaos.expiring import Expiring
from chaos.failing import Failing, Losing, check_dead_letters
from chaos.history import History, check_history, read_history
from chaos.invariants import Chroma, PgVector, Sampler, check, named, unrest
from chaos.limited import Limited
from chaos.nemesis import Nemesis
from chaos.patience import Patience, reached
from chaos.readiness import Readiness
from chaos.webhooks import Endpoint, Got
from memorybase.core import deadlines, errors
from memorybase.features.webhooks.outbox import EventType

THRESHOLD = 20
IDLE_SECONDS = 3
FLUSH_SECONDS = 1.0
SHOWN = 20


@dataclass
class Report:
    """What happened. `violations` empty: nothing was lost, nothing doubled."""

    plan: dict[str, Any]
    faults: dict[str, int] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    deleted: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    doubled: int = 0
    dead_letters: int = 0
    messages_in_ledgers: int = 0
    chunks_in_store: int = 0
    stray_collections: int = 0
    expired: int = 0
    receipts: int = 0
    events: dict[str, int] = field(default_factory=dict)
    requests_of_events: int = 0
    audit_entries: int = 0
    blocks_of_postings: int = 0
    under_quota: int = 0
    collections_moved: int = 0
    samples: int = 0
    readiness: dict[str, int] = field(default_factory=dict)
    skewed_clocks: str = ""
    heal_seconds: float = 0.0
    directory: str = ""
    violations: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)  # each fault and its end, after its seconds

    def as_dict(self) -> dict[str, Any]:
        """Everything but the log."""
        return {name: value for name, value in asdict(self).items() if name != "log"} | {
            "faults_total": sum(self.faults.values())
        }

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)

    def kept(self, about: dict[str, Any]) -> Run:
        """For --results."""
        shown = {name: value for name, value in self.as_dict().items() if name != "directory"}
        moments = (line.split(maxsplit=1) for line in self.log)
        return Run({"about": about} | shown, [{"at": float(at), "what": what} for at, what in moments])

    def __str__(self) -> str:
        parts = "one process" if self.plan["one_process"] else "{apis} APIs, {workers} workers, {sweepers} sweepers"
        plan = f"{{seconds:g}} s on {{database}} with {{vectors}}, seed {{seed}}, {parts}, {{clients}} clients"
        lines = [
            plan.format(**self.plan),
            f"{sum(self.faults.values())} faults: {listed(self.faults)}",
            f"processes that ended by themselves: {listed(self.exits)}",
            f"{self.acknowledged} messages acknowledged, {self.deleted} of them deleted again; {listed(self.calls)}",
            f"{self.lost} lost, {self.doubled} doubled, {self.dead_letters} dead letters",
            f"{self.messages_in_ledgers} messages in the ledgers, {self.chunks_in_store} chunks in the store",
            f"{self.stray_collections} stray collections, {self.collections_moved} that moved",
            f"{self.expired} messages expired, {self.receipts} receipts, {self.audit_entries} audit entries",
            f"{self.blocks_of_postings} blocks of postings",
            f"{self.under_quota} messages stored under a quota of {limited.QUOTA}",
            f"events: {listed(self.events)}; {self.requests_of_events} requests for them",
            f"{self.samples} samples of cursors and jobs",
            *([f"readiness: {listed(self.readiness)}"] if self.readiness else []),
            *([f"clocks: {self.skewed_clocks}"] if self.skewed_clocks else []),
            f"at rest {self.heal_seconds:.1f} s after the last fault",
        ]
        lines += [f"VIOLATION {violation}" for violation in self.violations[:SHOWN]]
        lines += [f"everything is kept in {self.directory}"] if Path(self.directory).exists() else []
        return "\n".join(lines)


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def run(plan: Plan, directory: Path | None = None, *, keep: bool = False) -> Report:
    """Run the plan, from the main thread. Logs, faults and history are kept after a violation, or if asked for."""
    position = Path(tempfile.mkdtemp(prefix="memorybase-chaos-", dir=directory))
    report = Report(plan=asdict(plan), directory=str(position))
    with ExitStack() as cleanup:
        _run(Cluster(plan, position, cleanup), report)
    report.log = (position / "faults.log").read_text().splitlines()
    (position / "report.json").write_text(report.as_json())
    if not report.violations and not keep:
        shutil.rmtree(position)
    return report


def _run(cluster: Cluster, report: Report) -> None:
    with webhooks.listening(cluster.plan.seed, cluster.address) as endpoint:
        _run_with(endpoint, cluster, report)


@dataclass(frozen=True)
class Callers:
    """Everybody who calls the API during the run."""

    clients: list[Client]
    operator: Operator
    expiring: Expiring
    limited: Limited
    failing: Failing | None  # not where only kills end a process
    losing: Losing | None  # not beside one process: nobody else may write to its Chroma

    def __iter__(self) -> Iterator[Client | Operator | FlowOwner]:
        return iter((*self.writers, self.operator))

    @property
    def owners(self) -> list[FlowOwner]:
        return [each for each in (self.expiring, self.limited, self.failing, self.losing) if each]

    @property
    def writers(self) -> list[Client | FlowOwner]:
        """Those to whom something was acknowledged."""
        return [*self.clients, *self.owners]


def _callers(cluster: Cluster, orders: Orders) -> Callers:
    plan, bases = cluster.plan, make_bases(cluster)
    at = cluster.network.nodes if cluster.network else {}
    database_url = cluster.settings.resolved_database_url
    callers = Callers(
        [Client(n, plan, orders, bases, at.get(f"client-{n}")) for n in range(plan.clients)],
        Operator(plan, orders, bases, at.get(OPERATOR)),
        Expiring(plan, orders, database_url),
        Limited(plan, orders),
        None if plan.kills else Failing(plan, orders),
        None if plan.one_process else Losing(plan, orders, database_url, cluster.services.vectors),
    )
    for owner in callers.owners:
        owner.prepare()
    return callers


def _run_with(endpoint: Endpoint, cluster: Cluster, report: Report) -> None:
    plan, history = cluster.plan, History(cluster.directory / "history.jsonl")
    orders = Orders(cluster.urls[0], tuple(cluster.urls[1:]), history=history)
    secret = _subscribe(cluster, endpoint)
    callers = _callers(cluster, orders)
    sampler = Sampler(cluster.settings.resolved_database_url, history)
    with (cluster.directory / "faults.log").open("w") as log:
        nemesis = Nemesis(cluster, log)
        watches = _readiness(cluster, nemesis)
        for thread in (*callers, sampler, *watches):
            thread.start()
        nemesis.run()
        healing = time.monotonic()
        orders.stop.set()
        nemesis.heal()
    endpoint.heal()
    calm = settle(cluster, orders, tuple(callers), plan.quiet_seconds)
    report.heal_seconds = round(time.monotonic() - healing, 1)
    sampler.stop()
    for watch in watches:
        watch.stop()
    history.close()
    report.violations += [violation for watch in watches for violation in watch.violations]
    report.violations += check_history(read_history(history.path))
    report.violations += [*orders.complaints, *calm, *sampler.violations]
    report.readiness = _readiness_counts(watches)
    report.faults, report.exits = dict(nemesis.faults), dict(nemesis.exits)
    report.calls, report.samples = dict(orders.counts), sampler.samples
    _check_quota(cluster, report, callers.limited)
    _check_stores(cluster, report, callers)
    _check_events(cluster, report, endpoint.got(secret), callers)


def _check_quota(cluster: Cluster, report: Report, bounded: Limited) -> None:
    """What was stored under a quota against it."""
    with cluster.services.database.reading() as db:
        bounded.settle(db)
        report.violations += limited.check_quota(db)
    report.under_quota = len(bounded.kept)


def _check_stores(cluster: Cluster, report: Report, callers: Callers) -> None:
    """What was acknowledged against everything that is stored."""
    kept: dict[str, Kept] = {}
    for writer in callers.writers:
        kept |= writer.kept
    with _store(cluster) as store:
        findings = check(cluster.services.database, store, kept, callers.operator.deleted)
        report.collections_moved = store.moved() if isinstance(store, PgVector) else 0
    report.violations += findings.violations
    report.acknowledged = sum(writer.acknowledged for writer in callers.writers)
    report.deleted = sum(client.deleted for client in callers.clients)
    report.lost, report.doubled = findings.lost, findings.doubled
    report.dead_letters, report.messages_in_ledgers = findings.dead_letters, findings.in_ledgers
    report.chunks_in_store, report.stray_collections = findings.chunks, findings.stray_collections
    report.audit_entries = findings.audit_entries
    report.blocks_of_postings = findings.blocks_of_postings
    if cluster.network:
        report.skewed_clocks = f"{len(cluster.clocks)} may be skewed" if cluster.clocks else _why_not_skewed(cluster)


@contextmanager
def _store(cluster: Cluster) -> Iterator[Chroma | PgVector]:
    if cluster.plan.vectors == "pgvector":
        yield PgVector(cluster.settings.resolved_pgvector_url, cluster.services.vectors)
        return
    with cluster.chroma_at_rest() as (url, vectors):
        yield Chroma(url, vectors)


def _check_events(cluster: Cluster, report: Report, got: Got, callers: Callers) -> None:
    """What happened against the events that were delivered, and what expired against the receipts."""
    erased = {session for client in callers.clients for session in client.erased}
    with cluster.services.database.reading() as db:
        report.violations += webhooks.check(db, got, erased, callers.losing.lost if callers.losing else set())
        report.violations += check_dead_letters(db, callers.failing) if callers.failing else []
        report.violations += expiring.check_receipts(db, callers.expiring.expired)
        report.receipts = expiring.count_receipts(db)
        report.events = webhooks.count_events(db)
    report.expired = len(callers.expiring.expired)
    report.requests_of_events = len(got.requests)


def _subscribe(cluster: Cluster, endpoint: Endpoint) -> str:
    """Subscribe the endpoint to every event; its secret."""
    body = {"url": endpoint.receiver.url, "event_types": list(EventType)}
    with http_client(cluster.urls[0]) as client:
        return str(client.post("/webhooks", json=body).raise_for_status().json()["secret"])


def _readiness(cluster: Cluster, nemesis: Nemesis) -> list[Readiness]:
    """A watch for each API; none without a network, where nothing is known to be cut."""
    if cluster.network is None:
        return []
    links, processes = cluster.network, {role: cluster.names(role) for role in ("worker", "sweeper")}
    stale = deadlines.HEARTBEAT_STALE_SECONDS
    return [Readiness(api.name, api.url, links, nemesis.down, cluster.stores, processes, stale) for api in cluster.apis]


def _readiness_counts(watches: list[Readiness]) -> dict[str, int]:
    if not watches:
        return {}
    return {
        "looks": sum(watch.looks for watch in watches),
        "not ready": sum(watch.not_ready for watch in watches),
        "certainly not": sum(watch.certain for watch in watches),
    }


def _why_not_skewed(cluster: Cluster) -> str:
    return "NOT SKEWED, there is no C compiler" if cluster.postgres else "one for all, as on one machine"


def make_bases(cluster: Cluster) -> dict[str, str]:
    """A flow and its lasting memory base, so many times."""
    bases: dict[str, str] = {}
    with http_client(cluster.urls[0]) as client:
        for number in range(cluster.plan.flows):
            flow = f"flow-{number}"
            client.put(f"/flows/{flow}", json={"name": flow}).raise_for_status()
            body = {"name": flow, "flow_id": flow, "threshold": THRESHOLD, "idle_after": IDLE_SECONDS, "capture": "all"}
            bases[flow] = client.post("/memories", json=body).raise_for_status().json()["id"]
    return bases


def settle(cluster: Cluster, orders: Orders, threads: Sequence[threading.Thread], quiet_seconds: float) -> list[str]:
    """Wait for what was begun, flush, and wait until nothing is left to do; what is left when nothing moves any more.

    A deadly message ends workers after the last fault too, so what has ended is started again all the time.
    """
    if late := _late(cluster, orders, threads, quiet_seconds):
        return [f"never came to an end: {', '.join(late)}"]
    database, patience, left = cluster.services.database, Patience(quiet_seconds), ["never looked"]
    with ExitStack() as cleanup:
        apis = [cleanup.enter_context(http_client(url)) for url in cluster.urls]
        while not patience.is_over:
            cluster.relaunch()
            counts = unrest(database) | _unrest(cluster, threads)
            try:
                left = [*named(counts), *flush_all(apis[0]), *_not_ready(apis)]
            except httpx.TransportError as error:  # a deadly message has ended the one process
                left = [*named(counts), str(error)]
            if not left:
                return []
            patience.look(counts, reached(database))
            time.sleep(FLUSH_SECONDS)
    return [f"not at rest, and nothing has moved for {quiet_seconds:g} s: {', '.join(left)}"]


def _late(cluster: Cluster, orders: Orders, threads: Sequence[threading.Thread], quiet_seconds: float) -> Sequence[str]:
    """The threads that do not end, though nothing else moves."""
    patience = Patience(quiet_seconds)
    while (alive := [thread for thread in threads if thread.is_alive()]) and not patience.is_over:
        cluster.relaunch()
        alive[0].join(FLUSH_SECONDS)
        with suppress(errors.DatabaseUnavailable):  # it may still be starting
            patience.look({"threads": len(alive)}, reached(cluster.services.database))
    orders.give_up.set()
    return [thread.name for thread in alive]


def _unrest(cluster: Cluster, threads: Sequence[threading.Thread]) -> dict[str, int]:
    """What retention and the sender of webhooks still have to do."""
    expired = {each for thread in threads if isinstance(thread, Expiring) for each in thread.expired}
    with cluster.services.database.reading() as db:
        return expiring.unrest(db, expired) | webhooks.unrest(db)


def _not_ready(apis: list[httpx.Client]) -> list[str]:
    answers = [api.get("/health/ready") for api in apis]
    return [f"{answer.url}: {answer.text}" for answer in answers if answer.status_code != httpx.codes.OK]


def flush_all(client: httpx.Client) -> list[str]:
    bases = client.get("/memories", params={"size": 200}).raise_for_status().json()["items"]
    answers = Counter(client.post(f"/memories/{base['id']}/flush").status_code for base in bases)
    return [f"{count} flushes answered {status}" for status, count in answers.items() if status != httpx.codes.OK]


def http_client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=60)
