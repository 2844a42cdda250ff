"""The sweeper's pass: recover lost jobs, ingest idle sessions, finish deletions and builds.

Any number of sweeper processes may run. Every step uses its own short transactions. No threshold is evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import partial

from memorybase import errors, idempotency
from memorybase.audit import chain
from memorybase.conversation.node_object_memory import node_memory as node_objects
from memorybase.conversation.summarizers import job as summary_job
from memorybase.database import clock
from memorybase.database.due import change_if_due
from memorybase.facts import distill
from memorybase.ingestion import build, recovery
from memorybase.keyword_index import orphans, packing
from memorybase.memory_bases import consistency, deletion, planned_deletion, preparation, purging
from memorybase.memory_bases.deletion import finish_deletion
from memorybase.memory_map import job as map_job
from memorybase.operations import clock_steps
from memorybase.queries import credentials, due_steps, flows, jobs, memory_bases, pending
from memorybase.queries.pending import SessionBehind
from memorybase.quotas import recount
from memorybase.retention import forgetting, passes, receipts, uses
from memorybase.services import Services
from memorybase.sessions import bulk, renaming, restoring
from memorybase.sessions import deletion as session_deletion
from memorybase.sessions.deletion import finish_flow_deletion
from memorybase.telemetry import get_logger
from memorybase.vectors.collection_names import store_of
from memorybase.webhooks import deliveries

# Every pass runs these, and what `due_steps` finds. Any other step is left out for a while after it found nothing.
PROMPT = frozenset({"distillations"})
REST_SECONDS = 30.0
# The rows that they delete have been useless for a day or more.
SELDOM = frozenset(
    {"ids_forgotten", "memory_uses", "receipts", "tickets_forgotten", "requests_forgotten", "deliveries_deleted"}
    | {"jobs_deleted", "audit_pruned", "quota_windows_deleted"}
)
SELDOM_SECONDS = 600.0

LIMIT = 500  # sessions that one pass looks at; the next pass continues after them


@dataclass(slots=True)
class _Reached:
    session: SessionBehind | None = None


def mark_passed(services: Services) -> int:
    """Mark sessions that every memory base has passed, and return their number."""
    database, reached = services.database, services.state.of(_Reached)
    with database.reading() as db:
        found = pending.sessions_behind(db, reached.session, LIMIT)
    reached.session = found[-1] if len(found) == LIMIT else None
    passed = [each for each in found if each.is_passed]
    if not passed:
        return 0
    with database.transaction(durable=False) as db:
        return pending.mark_passed(db, passed)


KEPT = timedelta(days=90)  # an ended job
DELETE_LIMIT = 2_000  # rows in one pass


def delete_old(services: Services) -> int:
    """The sweeper's step: delete old jobs that have ended, and return their number."""
    return change_if_due(
        services.database,
        lambda db, now: jobs.has_ended(db, now - KEPT),
        lambda db, now: jobs.delete_ended(db, now - KEPT, limit=DELETE_LIMIT),
        durable=False,
    )


log = get_logger(__name__)


@dataclass(slots=True)
class SweepReport:
    """Results of one pass, by step, in their order."""

    clamped: int = 0
    requeued: int = 0
    idle: int = 0
    prepared: int = 0
    renames_finished: int = 0
    planned: int = 0
    notified: int = 0
    memories_deleted: int = 0
    deletions: int = 0
    builds: int = 0
    retired: int = 0
    sessions_deleted: int = 0
    expired: int = 0
    forgotten: int = 0
    memory_uses: int = 0
    receipts: int = 0
    sessions_erased: int = 0
    logs_purged: int = 0
    sessions_removed: int = 0
    ids_forgotten: int = 0
    deleted_emptied: int = 0
    passed: int = 0
    packed: int = 0
    orphans_removed: int = 0
    mismatches: int = 0
    summaries: int = 0
    maps: int = 0
    distillations: int = 0
    tickets_forgotten: int = 0
    requests_forgotten: int = 0
    node_memory: int = 0
    deliveries_deleted: int = 0
    jobs_deleted: int = 0
    audit_sealed: int = 0
    audit_pruned: int = 0
    quotas_recounted: int = 0
    quota_windows_deleted: int = 0
    failed_steps: list[str] = field(default_factory=list)
    database_failed: bool = False

    def idle_steps(self) -> set[str]:
        """The steps that found nothing to do, or were left out."""
        steps = {each.name for each in fields(self)} - {"failed_steps", "database_failed", *self.failed_steps}
        return {name for name in steps if not getattr(self, name)}

    @property
    def is_behind(self) -> bool:
        """Whether more waits than one pass takes, jobs or deletions: the next one should follow at once."""
        is_expiring = self.expired >= passes.MESSAGES or self.forgotten >= forgetting.PAGE
        has_old_jobs = self.jobs_deleted >= DELETE_LIMIT
        has_old_uses = self.memory_uses >= uses.PAGE * uses.PAGES
        is_late = self.planned >= recovery.SESSIONS_WITHOUT_JOB or self.idle >= recovery.SWEEP_LIMIT
        is_cut_off = self.sessions_erased > 0 or self.prepared >= preparation.PAGES_A_PASS
        is_unpacked = self.packed >= packing.PAGES_A_PASS
        return is_late or is_expiring or has_old_jobs or has_old_uses or is_cut_off or is_unpacked


TICKETS_LIMIT = 5_000  # in one pass: API keys may create links at any rate


class Agenda:
    """The work of one process's passes. Times are in seconds on any one clock."""

    def __init__(self, now: float) -> None:
        self._from = {"requeued": now}  # a step is left out until then

    def leave(self, due: Collection[str], now: float) -> set[str]:
        """The steps that a pass leaves out, by those that have work."""
        resting = {name for name, at in self._from.items() if at > now}
        return resting | (due_steps.NAMES - set(due))

    def rest(self, report: SweepReport, now: float) -> None:
        """Leave out what found nothing for a while."""
        for name in report.idle_steps() - due_steps.NAMES - PROMPT:
            if self._from.get(name, now) <= now:
                self._from[name] = now + (SELDOM_SECONDS if name in SELDOM else REST_SECONDS)

    def defer(self, name: str, until: float) -> None:
        self._from[name] = until


def due_now(services: Services) -> set[str]:
    """The steps of `due_steps` that have work. Raises DatabaseUnavailable."""
    with services.database.reading(snapshot=False) as db:
        return due_steps.find(db, clock.now(db))


def sweep(
    services: Services, confirm: Callable[[], object] = lambda: None, *, leave: Collection[str] = ()
) -> SweepReport:
    """Run one pass without the steps to leave out; `confirm` is called after each step. A step that fails is named in
    the report; the next pass runs it again."""
    report = SweepReport()
    steps: dict[str, Callable[[Services], int]] = {
        "clamped": clock_steps.clamp_timestamps,
        "requeued": recovery.requeue_expired,
        "idle": recovery.flush_idle,
        "prepared": preparation.go_on,
        "renames_finished": renaming.finish_all,
        "planned": recovery.schedule_missing,
        "notified": recovery.enqueue_waiting,
        "memories_deleted": planned_deletion.start_due_deletions,
        "deletions": finish_deletions,
        "builds": build.finish_builds,
        "retired": deletion.delete_retired_collections,
        "sessions_deleted": bulk.delete_due_sessions,
        "expired": expire,
        "forgotten": forgetting.forget_expired,
        "memory_uses": uses.delete_expired,
        "receipts": receipts.clean_up,
        "sessions_erased": session_deletion.finish_erasures,
        "logs_purged": purging.purge_logs,
        "sessions_removed": session_deletion.remove_deleted_sessions,
        "ids_forgotten": session_deletion.delete_expired_ids,
        "deleted_emptied": restoring.delete_expired,
        "passed": mark_passed,
        "packed": packing.pack,
        "orphans_removed": orphans.collect,
        "mismatches": consistency.compare_counts,
        "summaries": summary_job.enqueue_due,
        "maps": map_job.enqueue_due,
        "distillations": distill.enqueue_due,
        "tickets_forgotten": delete_expired_tickets,
        "requests_forgotten": idempotency.delete_expired,
        "node_memory": node_objects.enqueue_clean_up,
        "deliveries_deleted": deliveries.delete_old,
        "jobs_deleted": delete_old,
        "audit_sealed": chain.seal,
        "audit_pruned": chain.prune,
        "quotas_recounted": recount.recount,
        "quota_windows_deleted": recount.forget_windows,
    }
    for name, step in steps.items():
        if name in leave:
            continue
        try:
            setattr(report, name, step(services))
        except errors.EnvironmentFailure as error:
            log.warning("sweep_step_failed", step=name, error_code=error.code)
            report.failed_steps.append(name)
            report.database_failed |= isinstance(error, errors.DatabaseUnavailable)
        except Exception:  # a defect in one step must not block the others
            log.exception("sweep_step_broken", step=name)
            report.failed_steps.append(name)
        confirm()
    return report


def expire(services: Services) -> int:
    """Delete rows that have expired by the rules of flows and sessions, and return their number."""
    return passes.expire_due_sessions(services) + passes.expire_flows(services)


def delete_expired_tickets(services: Services) -> int:
    """Delete expired links and sessions of the web page, and return their number."""
    delete = partial(credentials.forget_expired, limit=TICKETS_LIMIT)
    return change_if_due(services.database, credentials.has_expired, delete)


def finish_deletions(services: Services) -> int:
    """Finish deletions that requests left unfinished. Returns the number of memory bases and flows."""
    with services.database.reading() as db:
        bases = memory_bases.bases_in_deletion(db)
    steps = [(store_of(collection), partial(finish_deletion, services, base_id)) for base_id, collection in bases]
    return deletion.each([*steps, (None, partial(_finish_flows, services))])


def _finish_flows(services: Services) -> int:
    with services.database.reading() as db:
        flow_ids = flows.flows_in_deletion(db)
    return sum(finish_flow_deletion(services, flow_id) for flow_id in flow_ids)
