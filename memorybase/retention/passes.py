"""The sweeper's part of retention: delete expired rows, a bounded part in each pass.

It deletes whatever a flow with a rule, or a session with an expiry, stored until then: messages with all that is
derived from them, node executions, recorded uses, copies of deleted messages, and chat messages. A session without
newer messages is deleted as a whole, others lose a page of messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase import errors
from memorybase.database import clock
from memorybase.ingestion import scheduler
from memorybase.models import Flow
from memorybase.queries import (
    chats,
    cursors,
    distillations,
    holds,
    ledger,
    memory_bases,
    memory_uses,
    message_changes,
    restorable_messages,
    retention,
    sessions,
)
from memorybase.queries.memory_bases import BaseRow
from memorybase.queries.retention import Expiry
from memorybase.queries.sessions import SessionRow
from memorybase.retention import receipts
from memorybase.retention.receipts import COUNTED, Subject
from memorybase.services import Services
from memorybase.sessions import chat_deletion, edits, erasure
from memorybase.telemetry import get_logger

log = get_logger(__name__)

FLOWS = 20  # in one pass
SESSIONS = 50  # sessions and chats in one pass
MESSAGES = 20  # in one transaction, about 0.2 s: while it runs, captures into the session wait, on SQLite all of them
MOST_FAILURES = 3  # in one pass
INTERVAL = timedelta(hours=1)  # between two looks at a flow or memory base with `retain_days`
LEASE = timedelta(minutes=1)  # in which no other sweeper takes the flow; deletions do not rely on it


@dataclass(frozen=True, slots=True)
class Deleted:
    """The rows that one transaction deleted. `is_complete`: nothing expired is left."""

    counts: dict[str, int]
    is_complete: bool = True


@dataclass(slots=True)
class Budget:
    """Remaining transactions of this pass, the rows that they have deleted, and the number that failed."""

    left: int = SESSIONS
    deleted: int = 0
    failures: int = 0

    @property
    def is_spent(self) -> bool:
        return self.left <= 0

    def spend(self, expire: Callable[..., Deleted], *args: object) -> bool:
        """Run one transaction. Returns whether it was complete. One that fails must not keep the next ones waiting,
        unless the database is down: raises EnvironmentFailure for the last of MOST_FAILURES."""
        self.left -= 1
        try:
            deleted = expire(*args)
        except errors.EnvironmentFailure as error:
            self.failures += 1
            if self.failures >= MOST_FAILURES:
                raise
            log.warning("expiry_failed", step=expire.__name__, error_code=error.code)
            return False
        self.deleted += sum(deleted.counts.values())
        return deleted.is_complete


NOTHING = Deleted({})


def expire_flows(services: Services) -> int:
    """Delete rows that have expired by the rules of flows, and return their number. A flow that is not finished comes
    again after the others."""
    with services.database.reading() as db:
        due = retention.due_flows(db, clock.now(db), limit=FLOWS)
    budget = Budget()
    for flow_id in due:
        if budget.is_spent:
            break
        _expire_flow(services, flow_id, budget)
    return budget.deleted


def _expire_flow(services: Services, flow_id: UUID, budget: Budget) -> None:
    with services.database.transaction() as db:
        now = clock.now(db)
        if not retention.take_flow(db, flow_id, now, now + LEASE):
            return
    is_complete = _expire_sessions_of_flow(services, flow_id, budget)
    is_complete &= _expire_chats_of_flow(services, flow_id, budget)
    is_complete &= budget.spend(_expire_loose_uses, services, flow_id)
    with services.database.transaction() as db:
        now = clock.now(db)
        if is_complete:
            receipts.close(db, services, "flow", flow_id, now)
            now += INTERVAL
        retention.release_flow(db, flow_id, now)


def _expire_sessions_of_flow(services: Services, flow_id: UUID, budget: Budget) -> bool:
    with services.database.reading() as db:
        rule = _rule(db, flow_id)
        found, is_complete = ([], True) if rule is None else retention.expired_sessions(db, *rule, limit=SESSIONS)
    for session_id in found:
        if budget.is_spent:
            return False
        is_complete &= budget.spend(expire_session, services, flow_id, session_id)
    return is_complete


def _expire_chats_of_flow(services: Services, flow_id: UUID, budget: Budget) -> bool:
    with services.database.reading() as db:
        rule = _rule(db, flow_id)
        found = [] if rule is None else retention.expired_chats(db, *rule, limit=budget.left + 1)
    is_complete = True
    for chat_memory_id, chat_id in found:
        if budget.is_spent:
            return False
        is_complete &= budget.spend(expire_chat, services, flow_id, chat_memory_id, chat_id)
    return is_complete


def expire_due_sessions(services: Services) -> int:
    """Delete expired sessions, but keep what was captured after they expired. Returns the number of rows deleted."""
    with services.database.reading() as db:
        due = retention.due_sessions(db, clock.now(db), limit=SESSIONS)
        interrupted = retention.open_subjects(db, "session", limit=FLOWS)
    budget = Budget()
    unfinished = {
        flow_id for flow_id, session_id in due if not budget.spend(expire_session, services, flow_id, session_id)
    }
    if len(due) < SESSIONS:
        for flow_id in {*interrupted, *(each.flow_id for each in due)} - unfinished:
            with services.database.transaction() as db:
                receipts.close(db, services, "session", flow_id, clock.now(db))
    return budget.deleted


def expire_session(services: Services, flow_id: UUID, session_id: str) -> Deleted:
    """Delete what has expired of a session, at most MESSAGES of each kind unless all of it has; with its receipt."""
    with services.database.transaction() as db:
        flow = retention.share_flow(db, flow_id)
        if flow is None:
            return NOTHING
        bases = memory_bases.share_bases_of_flow(db, flow_id)
        session = sessions.lock_session(db, flow_id, session_id)
        if session is None or session.deleted_at is not None or holds.is_session_held(db, flow.user_id, session):
            return NOTHING
        now = clock.now(db)
        expiry = retention.expiry_of(flow, session, now)
        if expiry is None:
            return NOTHING
        if retention.has_later(db, session, expiry.before):
            deleted = _expire_part(db, services, bases, session, expiry, now)
        else:
            erased, _ = erasure.begin(db, services, bases, session, now)  # a later step of the pass finishes it
            deleted = Deleted({name: getattr(erased, name) for name in COUNTED})
        if deleted.is_complete and session.expires_at is not None and session.expires_at <= now:
            sessions.update(db, session, expires_at=None)
        subject = Subject(expiry.rule, flow.user_id, flow_id, flow.retain_days if expiry.rule == "flow" else None)
        receipts.add(db, subject, expiry.before, deleted.counts, now)
        return deleted


def _expire_part(
    db: OrmSession,
    services: Services,
    bases: list[BaseRow],
    session: SessionRow,
    expiry: Expiry,
    now: datetime,
) -> Deleted:
    """Delete the oldest messages of a session that stays, and other rows that are as old."""
    before = expiry.before
    found = retention.expired_messages(db, session, before, limit=MESSAGES)
    chunks = ledger.chunks_of_messages(db, session.flow_id, session.session_id, [message.id for message in found])
    changes = 0
    for message in found:
        changes += message_changes.delete_of_message(db, message.flow_id, message.id)
        edits.remove_message(db, session, message, now)
    executions = retention.expired_executions(db, session, before, limit=MESSAGES)
    memory_uses.redact_uses(db, session.flow_id, executions)
    retention.delete_executions(db, executions)
    uses = retention.delete_uses(db, session.flow_id, session.session_id, before, limit=MESSAGES)
    copies = restorable_messages.delete_captured_before(db, session, before, limit=MESSAGES)
    runs = retention.delete_empty_runs(db, session, before)
    facts = 0
    if found:
        base_ids = [base.id for base in bases]
        cursors.lock_rows(db, base_ids, session.session_id)  # in the common order
        facts = distillations.delete_unsupported(db, base_ids, session.flow_id, session.session_id)
        first, last = found[0].seq, found[-1].seq
        scheduler.mark_edited(db, services, bases, session.session_id, first, now, to_seq=last)
    counts = {
        "runs": runs,
        "messages": len(found),
        "chunks": chunks,
        "node_executions": len(executions),
        "memory_uses": uses,
        "message_changes": changes,
        "restorable_messages": copies,
        "facts": facts,
    }
    return Deleted(counts, is_complete=max(len(found), len(executions), uses, copies) < MESSAGES)


def expire_chat(services: Services, flow_id: UUID, chat_memory_id: UUID, chat_id: str) -> Deleted:
    """Delete the messages of a chat that have expired by its flow's rule, at most MESSAGES; with its receipt."""
    with services.database.transaction() as db:
        flow = retention.share_flow(db, flow_id)
        chat = None if flow is None else chats.lock_chat(db, chat_memory_id, chat_id)
        if flow is None or flow.retain_days is None or chat is None:
            return NOTHING
        if holds.is_chat_held(db, flow.user_id, flow_id, chat.end_user_id):
            return NOTHING
        now = clock.now(db)
        before = now - timedelta(days=flow.retain_days)
        erased = chat_deletion.expire_messages(db, chat, before, limit=MESSAGES)
        counts = {"chats": erased.chats, "chat_messages": erased.messages, "summaries": erased.summaries}
        receipts.add(db, Subject("flow", flow.user_id, flow_id, flow.retain_days), before, counts, now)
        return Deleted(counts, is_complete=erased.messages < MESSAGES)


def _expire_loose_uses(services: Services, flow_id: UUID) -> Deleted:
    """Delete recorded uses without a session, as those of chats are. While a hold keeps anything of the flow they stay:
    they do not name what they show."""
    with services.database.transaction() as db:
        flow = retention.share_flow(db, flow_id)
        if (
            flow is None
            or flow.retain_days is None
            or holds.has_any(db, flow.user_id, holds.keeps_anything_of(flow_id))
        ):
            return NOTHING
        now = clock.now(db)
        before = now - timedelta(days=flow.retain_days)
        counts = {"memory_uses": retention.delete_uses(db, flow_id, None, before, limit=MESSAGES)}
        receipts.add(db, Subject("flow", flow.user_id, flow_id, flow.retain_days), before, counts, now)
        return Deleted(counts, is_complete=counts["memory_uses"] < MESSAGES)


def _rule(db: OrmSession, flow_id: UUID) -> tuple[Flow, datetime] | None:
    flow = db.get(Flow, flow_id)
    if flow is None or flow.retain_days is None:
        return None
    return flow, clock.now(db) - timedelta(days=flow.retain_days)
