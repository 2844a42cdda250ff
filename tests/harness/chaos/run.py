"""One run: start everything, break it for a while, heal it, wait until it is at rest, check, report."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

from harness.chaos.clients import Client, Kept, Operator, Orders
from harness.chaos.cluster import KEY, Cluster, Plan
from harness.chaos.invariants import Chroma, Sampler, check, unrest
from harness.chaos.nemesis import Nemesis

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
    chunks_in_chroma: int = 0
    stray_collections: int = 0
    samples: int = 0
    heal_seconds: float = 0.0
    directory: str = ""
    violations: list[str] = field(default_factory=list)

    def as_json(self) -> str:
        return json.dumps(asdict(self) | {"faults_total": sum(self.faults.values())}, indent=2)

    def __str__(self) -> str:
        plan = "{seconds:g} s on {database}, seed {seed}, {workers} workers, {sweepers} sweepers, {clients} clients"
        lines = [
            plan.format(**self.plan),
            f"{sum(self.faults.values())} faults: {listed(self.faults)}",
            f"processes that ended by themselves: {listed(self.exits)}",
            f"{self.acknowledged} messages acknowledged, {self.deleted} of them deleted again; {listed(self.calls)}",
            f"{self.lost} lost, {self.doubled} doubled, {self.dead_letters} dead letters",
            f"{self.messages_in_ledgers} messages in the ledgers, {self.chunks_in_chroma} chunks in Chroma",
            f"{self.stray_collections} stray collections; {self.samples} samples of cursors and jobs",
            f"at rest {self.heal_seconds:.1f} s after the last fault",
        ]
        lines += [f"VIOLATION {violation}" for violation in self.violations[:SHOWN]]
        lines += [f"everything is kept in {self.directory}"] if self.violations else []
        return "\n".join(lines)


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def run(plan: Plan, directory: Path | None = None) -> Report:
    """Run the plan, from the main thread. The directory (a fresh one unless given) is kept after a violation."""
    position = Path(tempfile.mkdtemp(prefix="memorybase-chaos-", dir=directory))
    report = Report(plan=asdict(plan), directory=str(position))
    with ExitStack() as cleanup:
        _run(Cluster(plan, position, cleanup), report)
    (position / "report.json").write_text(report.as_json())
    if not report.violations:
        shutil.rmtree(position)
    return report


def _run(cluster: Cluster, report: Report) -> None:
    plan, orders = cluster.plan, Orders(cluster.url)
    bases = _make_bases(cluster)
    clients = [Client(number, plan, orders, bases) for number in range(plan.clients)]
    operator = Operator(plan, orders, bases)
    sampler = Sampler(cluster.settings.resolved_database_url)
    with (cluster.directory / "faults.log").open("w") as log:
        nemesis = Nemesis(cluster, log)
        for thread in (*clients, operator, sampler):
            thread.start()
        nemesis.run()
        healing = time.monotonic()
        orders.stop.set()
        nemesis.heal()
    calm = _settle(cluster, orders, (*clients, operator), healing + plan.heal_seconds)
    report.heal_seconds = round(time.monotonic() - healing, 1)
    sampler.stop()
    kept: dict[str, Kept] = {}
    for client in clients:
        kept |= client.kept
    store = Chroma(cluster.settings.chroma_url, cluster.services.vectors)
    findings = check(cluster.services.database, store, kept, operator.deleted)
    report.violations = [*orders.complaints, *calm, *sampler.violations, *findings.violations]
    report.faults, report.exits = dict(nemesis.faults), dict(nemesis.exits)
    report.acknowledged = sum(client.acknowledged for client in clients)
    report.deleted = sum(client.deleted for client in clients)
    report.calls = dict(orders.counts)
    report.lost, report.doubled = findings.lost, findings.doubled
    report.dead_letters, report.messages_in_ledgers = findings.dead_letters, findings.in_ledgers
    report.chunks_in_chroma, report.stray_collections = findings.chunks, findings.stray_collections
    report.samples = sampler.samples


def _make_bases(cluster: Cluster) -> dict[str, str]:
    """A flow and its lasting memory base, so many times."""
    bases: dict[str, str] = {}
    with http_client(cluster.url) as client:
        for number in range(cluster.plan.flows):
            flow = f"flow-{number}"
            client.put(f"/flows/{flow}", json={"name": flow}).raise_for_status()
            body = {"name": flow, "flow_id": flow, "threshold": THRESHOLD, "idle_after": IDLE_SECONDS, "capture": "all"}
            bases[flow] = client.post("/memories", json=body).raise_for_status().json()["id"]
    return bases


def _settle(cluster: Cluster, orders: Orders, threads: tuple[Client | Operator, ...], deadline: float) -> list[str]:
    """Wait for what was begun, flush, and wait until nothing is left to do; what was not reached in time."""
    for thread in threads:
        thread.join(max(1.0, deadline - time.monotonic()))
    orders.give_up.set()
    late = [thread.name for thread in threads if thread.is_alive()]
    if late:
        return [f"never came to an end: {', '.join(late)}"]
    left = ["never looked"]
    with http_client(cluster.url) as client:
        while time.monotonic() < deadline:
            pending = flush_all(client)
            left = [*unrest(cluster.services.database), *pending]
            if not left:
                return []
            time.sleep(FLUSH_SECONDS)
    return [f"not at rest {cluster.plan.heal_seconds:g} s after the last fault: {', '.join(left)}"]


def flush_all(client: httpx.Client) -> list[str]:
    bases = client.get("/memories", params={"size": 200}).raise_for_status().json()["items"]
    answers = Counter(client.post(f"/memories/{base['id']}/flush").status_code for base in bases)
    return [f"{count} flushes answered {status}" for status, count in answers.items() if status != httpx.codes.OK]


def http_client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=60)
