"""Work on every session of a memory base's flow, in pages: no transaction grows with the flow.

A new memory base with history, a regenerate, its abandonment and a change of the idle rule each start one, and so do
features. The request does the first page, which covers a small flow; the sweeper continues, also after a
process was killed. Between two pages a capture inserts the row of its own session, as the page would have:
`progress_rows.ensure_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.models import Preparation, PreparationKind
from memorybase.core.queries import cursors, jobs, memory_bases, preparations, progress_rows, sessions
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.preparations import PreparationKey
from memorybase.core.services import Services

PAGE = 500  # sessions in one transaction, some 50 ms
PAGES_A_PASS = 40
ABANDONED = "the build was abandoned"


def begin(db: OrmSession, services: Services, base_id: UUID, generation: int, kind: str, now: datetime) -> BaseRow:
    """Do the first page in the caller's transaction, which has locked the memory base exclusively or inserted it."""
    preparations.delete(db, PreparationKey(base_id, generation, kind))
    preparation = Preparation(memory_base_id=base_id, generation=generation, kind=kind, started_at=now)
    db.add(preparation)
    db.flush()
    base = memory_bases.read_row(db, base_id)
    _do_page(db, services, base, preparation, now)
    return base


def go_on(services: Services) -> int:
    """Do the next pages of preparations, up to PAGES_A_PASS, and return their number."""
    with services.database.reading() as db:
        waiting = preparations.waiting(db)
    pages = 0
    for key in waiting:
        while pages < PAGES_A_PASS and _go_on(services, key):
            pages += 1
    return pages


def _go_on(services: Services, key: PreparationKey) -> bool:
    """Do a page; False if there was nothing to do."""
    with services.database.transaction() as db:
        base = memory_bases.share_base(db, key.memory_base_id)
        if base is None or base.deleting_at is not None:
            return False
        preparation = preparations.lock(db, key)
        if preparation is None:
            return False
        _do_page(db, services, base, preparation, clock.now(db))
        return True


def _do_page(db: OrmSession, services: Services, base: BaseRow, preparation: Preparation, now: datetime) -> None:
    page = preparations.sessions_after(db, base.flow_id, preparation, limit=PAGE)
    living = sessions.lock_ids(db, [each.id for each in page])
    if living:
        _steps(db, services, base, preparation, now)[preparation.kind](list(living.values()))
        if preparation.kind in (PreparationKind.HISTORY, PreparationKind.ALL):
            preparations.unmark_passed(db, list(living))
    if len(page) < PAGE:
        db.delete(preparation)
    else:
        preparation.after_created_at, preparation.after_id = page[-1].created_at, page[-1].id
    db.flush()


def _steps(
    db: OrmSession, services: Services, base: BaseRow, preparation: Preparation, now: datetime
) -> dict[str, Callable[[Sequence[str]], object]]:
    """For each kind of preparation, what it does with the sessions of a page, which are locked."""
    return {
        PreparationKind.HISTORY: lambda _: None,
        PreparationKind.ALL: partial(_make_due, db, base, now),
        PreparationKind.SKIP: partial(progress_rows.ensure_rows, db, base),
        PreparationKind.BUILD: partial(_build, db, base, now),
        PreparationKind.ABANDON: partial(_abandon, db, base, preparation.generation, now),
        PreparationKind.IDLE: partial(cursors.recheck_idle_sessions, db, base, now),
        **{kind: partial(step, db, base, now) for hooks in services.hooks for kind, step in hooks.preparations.items()},
    }


def _build(db: OrmSession, base: BaseRow, now: datetime, session_ids: Sequence[str]) -> None:
    progress_rows.copy_to_build(db, base, session_ids)
    # Those of a capture since then are the build's own.
    stale = (jobs.waits_to_ingest(), jobs.not_of_generation(cursors.write_generation(base)))
    jobs.cancel_jobs_of_sessions(db, base.id, session_ids, now, "superseded by a regenerate", *stale)


def _abandon(db: OrmSession, base: BaseRow, abandoned: int, now: datetime, session_ids: Sequence[str]) -> None:
    progress_rows.move_pending(db, base, abandoned, session_ids)
    jobs.cancel_jobs_of_sessions(db, base.id, session_ids, now, ABANDONED, jobs.of_generation(abandoned))


def _make_due(db: OrmSession, base: BaseRow, now: datetime, session_ids: Sequence[str]) -> None:
    """Let the whole history of these sessions be ingested, without what the memory base would forget."""
    generation = memory_bases.projection(db, base, cursors.write_generation(base))
    days = memory_bases.retain_days_of(db, base.id)
    counted = sessions.with_counted(db, base.flow_id, session_ids, generation.capture)
    # For the messages of a capture that ran during the creation and did not see the memory base.
    idle_due_at = now + timedelta(seconds=base.idle_after) if base.auto_capture and base.idle_after else None
    progress_rows.set_targets(
        db, base, counted, idle_due_at=idle_due_at, skipped_before=None if days is None else now - timedelta(days=days)
    )
