"""One upgrade under load: migrate, forward, back, forward again; then wait until all is at rest, check, report."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.clients import WORDS, Caller, Client, GivenUp, Kept, Operator, Orders
from chaos.cluster import DatabaseKind, Plan
from chaos.history import History, check_history, read_history
from chaos.invariants import Chroma, Findings, Sampler, check
from chaos.run import SHOWN, listed, make_bases, settle
from harness.receiver import Receiver, receiving

from upgrade.features import Features
from upgrade.rollout import CONSUMERS_FIRST, Rollout
from upgrade.versions import Version, newer_version

PRODUCERS_FIRST = CONSUMERS_FIRST[::-1]
MODES = ("hybrid", "dense", "keyword")
SEARCH_SECONDS = 0.1
FAILED_QUIET_SECONDS = 20.0


@dataclass
class Report:
    """What happened. `violations` empty: no call failed, nothing was lost, nothing doubled, all is ready."""

    plan: dict[str, Any]
    old: str
    new: str
    steps: dict[str, float] = field(default_factory=dict)  # seconds
    migration_tries: int = 0
    acknowledged: int = 0
    deleted: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    at_rest: Findings = field(default_factory=Findings)
    directory: str = ""
    violations: list[str] = field(default_factory=list)

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        found = self.at_rest
        lines = [
            f"{self.old} to {self.new} on {self.plan['database']}, seed {self.plan['seed']}",
            ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.steps.items()),
            f"{self.migration_tries} tries at the migration",
            f"{self.acknowledged} messages acknowledged, {self.deleted} of them deleted again; {listed(self.calls)}",
            f"at rest {found.lost} lost, {found.doubled} doubled, {found.in_ledgers} in the ledgers",
        ]
        lines += [f"VIOLATION {violation}" for violation in self.violations[:SHOWN]]
        lines += [f"everything is kept in {self.directory}"] if Path(self.directory).exists() else []
        return "\n".join(lines)


class Searcher(threading.Thread):
    """Searches, and reads what pages and tools read, until it is stopped."""

    def __init__(self, plan: Plan, orders: Orders, bases: dict[str, str]) -> None:
        super().__init__(name="searcher", daemon=True)
        self._rng = random.Random(f"{plan.seed}/searcher")
        self._bases = list(bases.values())
        self._orders = orders
        self._caller = Caller(orders, self._rng, plan.call_seconds)

    def run(self) -> None:
        while not self._orders.stop.wait(SEARCH_SECONDS):
            try:
                self._look()
            except GivenUp:
                return  # it stands in the complaints
        self._caller.close()

    def _look(self) -> None:
        base = self._rng.choice(self._bases)
        body = {"query": " ".join(self._rng.choices(WORDS, k=3)), "mode": self._rng.choice(MODES)}
        self._caller.call("POST", f"/memories/{base}/search", 200, json=body)
        reads = (
            "/memories",
            f"/memories/{base}",
            f"/memories/{base}/sessions",
            "/jobs",
            "/flows",
            "/problems",
            "/keys",
        )
        self._caller.call("GET", self._rng.choice(reads), 200)
        self._orders.counts["searches"] += 1


def plan_of(seed: int, database: DatabaseKind, seconds: float = 3.0) -> Plan:
    """A load that two cores carry beside two versions: a call that waits for a processor says nothing."""
    return Plan(
        seed,
        seconds,
        database,
        apis=2,
        clients=3,
        messages_per_second=6.0,
        operator_every_seconds=10.0,
        quiet_seconds=300.0,
    )


def run(plan: Plan, old: Version, directory: Path | None = None, *, keep: bool = False) -> Report:
    """Upgrade from the old version to this one, from the main thread; `plan.seconds` of load in each step."""
    position = Path(tempfile.mkdtemp(prefix="memorybase-upgrade-", dir=directory))
    new = newer_version(old, position / "new")
    named = f"{old.name} (revision {old.revision})", f"{new.name} (revision {new.revision})"
    report = Report(asdict(plan), *named, directory=str(position))
    with ExitStack() as cleanup:
        receiver = cleanup.enter_context(receiving())
        _run(Rollout(plan, position, cleanup, old), old, new, receiver, report)
    (position / "report.json").write_text(report.as_json())
    if not report.violations and not keep:
        shutil.rmtree(position)
    return report


def _run(rollout: Rollout, old: Version, new: Version, receiver: Receiver, report: Report) -> None:
    plan, history = rollout.plan, History(rollout.directory / "history.jsonl")
    orders = Orders(rollout.urls[0], tuple(rollout.urls[1:]), is_spread=True, history=history)
    bases = make_bases(rollout)
    features = Features(rollout, bases, receiver)
    clients = [Client(number, plan, orders, bases) for number in range(plan.clients)]
    operator, sampler = Operator(plan, orders, bases), Sampler(rollout.settings.resolved_database_url, history)
    threads = (*clients, operator, Searcher(plan, orders, bases))
    for thread in (*threads, sampler):
        thread.start()
    _upgrade(rollout, old, new, features, report)
    orders.stop.set()
    # After a call that failed there is nothing to wait for: it may be what keeps everything from coming to rest.
    calm = settle(rollout, orders, threads, FAILED_QUIET_SECONDS if orders.complaints else plan.quiet_seconds)
    if not calm:
        calm = features.undelivered()
    sampler.stop()
    history.close()
    kept: dict[str, Kept] = {}
    for client in clients:
        kept |= client.kept
    store = Chroma(rollout.settings.chroma_url, rollout.services.vectors)
    is_audited = "audit" in old.settings
    findings = check(rollout.services.database, store, kept, operator.deleted, is_audited=is_audited)
    report.violations += [*orders.complaints, *orders.refusals, *calm, *sampler.violations, *findings.violations]
    report.violations += [*rollout.violations, *check_history(read_history(history.path)), *_tracebacks(rollout)]
    report.migration_tries = rollout.migrations
    report.acknowledged = sum(client.acknowledged for client in clients)
    report.deleted = sum(client.deleted for client in clients)
    report.calls = dict(orders.counts)
    report.at_rest = findings


def _upgrade(rollout: Rollout, old: Version, new: Version, features: Features, report: Report) -> None:
    began = time.monotonic()

    def step(name: str) -> None:
        """What ran until now, and then the load alone for a while."""
        nonlocal began
        time.sleep(rollout.plan.seconds)
        rollout.look_at_processes()
        report.steps[name] = round(time.monotonic() - began, 1)
        began = time.monotonic()

    step("old")
    rollout.migrate(new)
    step("old on new tables")
    rollout.replace(new, numbers=slice(0, 1))
    step("beside each other")
    rollout.replace(new, numbers=slice(1, None))
    features.use()
    step("new")
    rollout.replace(old, PRODUCERS_FIRST)
    report.violations += features.beyond_limits()
    step("back")
    rollout.replace(new)
    step("new again")
    report.violations += features.end()


def _tracebacks(rollout: Rollout) -> list[str]:
    logs = [each for each in sorted(rollout.directory.glob("*.log")) if each.name.startswith(CONSUMERS_FIRST)]
    return [f"{log.name} has a traceback" for log in logs if "Traceback" in log.read_text(errors="replace")]
