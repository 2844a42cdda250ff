"""The sweeper's pass: recover lost jobs, ingest idle sessions, finish deletions and builds.

Any number of sweeper processes may run. Every step uses its own short transactions. No threshold is evaluated here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from memorybase.core import errors, idempotency
from memorybase.core.conversation.session_memory import summaries
from memorybase.core.database import clock
from memorybase.core.database.due import change_if_due
from memorybase.core.extension import Pace, Step
from memorybase.core.ingestion import build, recovery
from memorybase.core.keyword_index import orphans, packing
from memorybase.core.memory_bases import consistency, deletion, preparation, purging
from memorybase.core.memory_bases.deletion import finish_deletion
from memorybase.core.operations import clock_steps
from memorybase.core.queries import credentials, due_steps, flows, jobs, leased_work, memory_bases, pending
from memorybase.core.queries.pending import SessionBehind
from memorybase.core.services import Services
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import planned_deletion, renaming
from memorybase.core.sessions.deletion import finish_flow_deletion
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.collection_names import store_of

REST_SECONDS = {Pace.RESTING: 30.0, Pace.SELDOM: 600.0}  # of a step that found nothing

LIMIT = 500  # sessions that one pass looks at; the next pass continues after them
KEPT = timedelta(days=90)  # an ended job
DELETE_LIMIT = 2_000  # rows in one pass
TICKETS_LIMIT = 5_000  # in one pass: API keys may create links at any rate

log = get_logger(__name__)


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


def delete_old(services: Services) -> int:
    """The sweeper's step: delete old jobs that have ended, and return their number."""
    return change_if_due(
        services.database,
        lambda db, now: jobs.has_ended(db, now - KEPT),
        lambda db, now: jobs.delete_ended(db, now - KEPT, limit=DELETE_LIMIT),
        durable=False,
    )


@dataclass(slots=True)
class SweepReport:
    """Results of one pass: how much each step did, in their order, without those that did nothing."""

    done: Counter[str] = field(default_factory=Counter)
    failed_steps: list[str] = field(default_factory=list)
    database_failed: bool = False
    is_behind: bool = False  # more waits than one pass takes: the next one should follow at once


class Agenda:
    """The work of one process's passes. Times are in seconds on any one clock."""

    def __init__(self, now: float) -> None:
        self._from = {"requeued": now}  # a step is left out until then

    def leave(self, steps: Iterable[Step], due: Collection[str], now: float) -> set[str]:
        """The steps that a pass leaves out, by those that have work."""
        resting = {name for name, at in self._from.items() if at > now}
        return resting | {step.name for step in steps if step.pace is Pace.DUE and step.name not in due}

    def rest(self, steps: Iterable[Step], report: SweepReport, now: float) -> None:
        """Leave out what found nothing for a while."""
        for step in steps:
            seconds = REST_SECONDS.get(step.pace)
            if seconds is None or step.name in report.done or step.name in report.failed_steps:
                continue
            if self._from.get(step.name, now) <= now:
                self._from[step.name] = now + seconds

    def defer(self, name: str, until: float) -> None:
        self._from[name] = until


def due_now(services: Services) -> set[str]:
    """The steps at the pace DUE that have work. Raises DatabaseUnavailable."""
    added = {step.name: step.is_due for hooks in services.hooks for step in hooks.steps if step.is_due is not None}
    with services.database.reading(snapshot=False) as db:
        return due_steps.find(db, clock.now(db), added)


def steps_of(services: Services) -> list[Step]:
    """The steps of a pass, in their order: those of features come last."""
    own = [
        Step("clamped", clock_steps.clamp_timestamps),
        Step("requeued", recovery.requeue_expired, Pace.DUE),
        Step("idle", recovery.flush_idle, Pace.DUE, recovery.SWEEP_LIMIT),
        Step("prepared", preparation.go_on, Pace.DUE, preparation.PAGES_A_PASS),
        Step("renames_finished", renaming.finish_all),
        Step("planned", recovery.schedule_missing, Pace.DUE, recovery.SESSIONS_WITHOUT_JOB),
        Step("notified", recovery.enqueue_waiting, Pace.DUE),
        Step("planned_deletions", planned_deletion.delete_due, Pace.DUE),
        Step("deletions", finish_deletions, Pace.DUE),
        Step("builds", build.finish_builds, Pace.DUE),
        Step("retired", deletion.delete_retired_collections),
        Step("sessions_erased", session_deletion.finish_erasures, Pace.DUE, full=1),
        Step("logs_purged", purging.purge_logs),
        Step("sessions_removed", session_deletion.remove_deleted_sessions, Pace.DUE),
        Step("ids_forgotten", session_deletion.delete_expired_ids, Pace.SELDOM),
        Step("passed", mark_passed),
        Step("packed", packing.pack, full=packing.PAGES_A_PASS),
        Step("orphans_removed", orphans.collect),
        Step("mismatches", consistency.compare_counts),
        Step("summaries", partial(leased_work.enqueue_due, summaries.WORK)),
        Step("tickets_forgotten", delete_expired_tickets, Pace.SELDOM),
        Step("requests_forgotten", idempotency.delete_expired, Pace.SELDOM),
        Step("jobs_deleted", delete_old, Pace.SELDOM, DELETE_LIMIT),
    ]
    return own + [step for hooks in services.hooks for step in hooks.steps]


def sweep(
    services: Services, confirm: Callable[[], object] = lambda: None, *, leave: Collection[str] = ()
) -> SweepReport:
    """Run one pass without the steps to leave out; `confirm` is called after each step. A step that fails is named in
    the report; the next pass runs it again."""
    report = SweepReport()
    for step in steps_of(services):
        if step.name in leave:
            continue
        try:
            if done := step.run(services):
                report.done[step.name] = done
                report.is_behind |= step.full is not None and done >= step.full
        except errors.EnvironmentFailure as error:
            log.warning("sweep_step_failed", step=step.name, error_code=error.code)
            report.failed_steps.append(step.name)
            report.database_failed |= isinstance(error, errors.DatabaseUnavailable)
        except Exception:  # a defect in one step must not block the others
            log.exception("sweep_step_broken", step=step.name)
            report.failed_steps.append(step.name)
        confirm()
    return report


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
