"""The sweeper's part of retention: delete expired rows, a bounded part in each pass.

It deletes whatever a flow with a rule, or a session with an expiry, stored until then: messages with all that is
derived from them, node executions, recorded uses, copies of deleted messages, and chat messages. A session without
newer messages is deleted as a whole, others lose a page of messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database import clock
from memorybase.core.deletions import OfChat, OfSession
from memorybase.core.extension import Edited
from memorybase.core.ingestion import scheduler
from memorybase.core.models import Flow, Message
from memorybase.core.queries import (
    chats,
    cursors,
    ledger,
    memory_bases,
    memory_uses,
    message_changes,
    restorable_messages,
    sessions,
)
from memorybase.core.queries.expiry import Expiry, expiry_of
from memorybase.core.queries.memory_bases import BaseRow
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.services import Services
from memorybase.core.sessions import chat_deletion, edits, erasure
from memorybase.features.retention import receipts
from memorybase.features.retention.budget import NOTHING, Budget, Deleted
from memorybase.features.retention.queries import expired, holds
from memorybase.features.retention.queries import receipts as receipt_rows
from memorybase.features.retention.receipts import COUNTED, Subject

FLOWS = 20  # in one pass
MESSAGES = 20  # in one transaction, about 0.2 s: while it runs, captures into the session wait, on SQLite all of them
INTERVAL = timedelta(hours=1)  # between two looks at a flow or memory base with `retain_days`
LEASE = timedelta(minutes=1)  # in which no other sweeper takes the flow; deletions do not rely on it


def expire(services: Services) -> int:
    """Delete rows that have expired by the rules of sessions and flows, and return their number."""
    return expire_due_sessions(services) + expire_flows(services)


def expire_flows(services: Services) -> int:
    """Delete rows that have expired by the rules of flows, and return their number. A flow that is not finished comes
    again after the others."""
    with services.database.reading() as db:
        due = expired.due_flows(db, clock.now(db), limit=FLOWS)
    return Budget().over(due, partial(_expire_flow, services))


def _expire_flow(services: Services, flow_id: UUID, budget: Budget) -> None:
    with services.database.transaction() as db:
        now = clock.now(db)
        if not expired.take_flow(db, flow_id, now, now + LEASE):
            return
    is_complete = _expire_sessions_of_flow(services, flow_id, budget)
    is_complete &= _expire_chats_of_flow(services, flow_id, budget)
    is_complete &= budget.spend(_expire_loose_uses, services, flow_id)
    with services.database.transaction() as db:
        now = clock.now(db)
        if is_complete:
            receipts.close(db, services, "flow", flow_id, now)
            now += INTERVAL
        expired.release_flow(db, flow_id, now)


def _expire_sessions_of_flow(services: Services, flow_id: UUID, budget: Budget) -> bool:
    with services.database.reading() as db:
        rule = _rule(db, flow_id)
        limit = budget.left + 1
        found, is_complete = ([], True) if rule is None else expired.expired_sessions(db, *rule, limit=limit)
    for session_id in found:
        if budget.is_spent:
            return False
        is_complete &= budget.spend(expire_session, services, flow_id, session_id)
    return is_complete


def _expire_chats_of_flow(services: Services, flow_id: UUID, budget: Budget) -> bool:
    with services.database.reading() as db:
        rule = _rule(db, flow_id)
        found = [] if rule is None else expired.expired_chats(db, *rule, limit=budget.left + 1)
    is_complete = True
    for chat_memory_id, chat_id in found:
        if budget.is_spent:
            return False
        is_complete &= budget.spend(expire_chat, services, flow_id, chat_memory_id, chat_id)
    return is_complete


def expire_due_sessions(services: Services) -> int:
    """Delete expired sessions, but keep what was captured after they expired. Returns the number of rows deleted."""
    budget = Budget()
    limit = budget.left
    with services.database.reading() as db:
        due = expired.due_sessions(db, clock.now(db), limit=limit)
        interrupted = receipt_rows.open_subjects(db, "session", limit=FLOWS)
    unfinished = {
        flow_id for flow_id, session_id in due if not budget.spend(expire_session, services, flow_id, session_id)
    }
    if len(due) < limit:
        for flow_id in {*interrupted, *(each.flow_id for each in due)} - unfinished:
            with services.database.transaction() as db:
                receipts.close(db, services, "session", flow_id, clock.now(db))
    return budget.deleted


def expire_session(services: Services, flow_id: UUID, session_id: str) -> Deleted:
    """Delete what has expired of a session, at most MESSAGES of each kind unless all of it has; with its receipt."""
    with services.database.transaction() as db:
        flow = expired.share_flow(db, flow_id)
        if flow is None:
            return NOTHING
        bases = memory_bases.share_bases_of_flow(db, flow_id)
        session = sessions.lock_session(db, flow_id, session_id)
        if session is None or session.deleted_at is not None or holds.is_held(db, flow.user_id, OfSession(session)):
            return NOTHING
        now = clock.now(db)
        expiry = expiry_of(flow, session, now)
        if expiry is None:
            return NOTHING
        if expired.has_later(db, session, expiry.before):
            deleted = _expire_part(db, services, bases, session, expiry, now)
        else:
            erased, _ = erasure.begin(db, services, bases, session, now)  # the step sessions_erased finishes it
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
    found = expired.expired_messages(db, session, before, limit=MESSAGES)
    chunks = ledger.chunks_of_messages(db, session.flow_id, session.session_id, [message.id for message in found])
    changes = 0
    for message in found:
        changes += message_changes.delete_of_message(db, message.flow_id, message.id)
        edits.remove_message(db, session, message, now)
    executions = expired.expired_executions(db, session, before, limit=MESSAGES)
    memory_uses.redact_uses(db, session.flow_id, executions)
    expired.delete_executions(db, executions)
    uses = expired.delete_uses(db, session.flow_id, session.session_id, before, limit=MESSAGES)
    copies = restorable_messages.delete_captured_before(db, session, before, limit=MESSAGES)
    runs = expired.delete_empty_runs(db, session, before)
    derived = _mark_deleted(db, services, bases, session, found, now)
    counts = {
        "runs": runs,
        "messages": len(found),
        "chunks": chunks,
        "node_executions": len(executions),
        "memory_uses": uses,
        "message_changes": changes,
        "restorable_messages": copies,
        **derived,
    }
    return Deleted(counts, is_complete=max(len(found), len(executions), uses, copies) < MESSAGES)


def _mark_deleted(
    db: OrmSession,
    services: Services,
    bases: list[BaseRow],
    session: SessionRow,
    deleted: Sequence[Message],
    now: datetime,
) -> Counter[str]:
    """Let repairs and features follow the deletion of these messages, oldest first. Returns the numbers of rows that
    features delete."""
    if not deleted:
        return Counter()
    base_ids = [base.id for base in bases]
    locked = cursors.lock_rows(db, base_ids, session.session_id)  # in the common order
    first, last = deleted[0].seq, deleted[-1].seq
    edited = Edited(base_ids=base_ids, session_id=session.session_id, seq=first, to_seq=last, now=now)
    derived = scheduler.tell_edited(db, services, edited)
    scheduler.mark_dirty(db, services, bases, locked, edited)
    return derived


def expire_chat(services: Services, flow_id: UUID, chat_memory_id: UUID, chat_id: str) -> Deleted:
    """Delete the messages of a chat that have expired by its flow's rule, at most MESSAGES; with its receipt."""
    with services.database.transaction() as db:
        flow = expired.share_flow(db, flow_id)
        chat = None if flow is None else chats.lock_chat(db, chat_memory_id, chat_id)
        if flow is None or flow.retain_days is None or chat is None:
            return NOTHING
        if holds.is_held(db, flow.user_id, OfChat(flow_id, chat.end_user_id)):
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
        flow = expired.share_flow(db, flow_id)
        if (
            flow is None
            or flow.retain_days is None
            or holds.has_any(db, flow.user_id, holds.keeps_anything_of(flow_id))
        ):
            return NOTHING
        now = clock.now(db)
        before = now - timedelta(days=flow.retain_days)
        counts = {"memory_uses": expired.delete_uses(db, flow_id, None, before, limit=MESSAGES)}
        receipts.add(db, Subject("flow", flow.user_id, flow_id, flow.retain_days), before, counts, now)
        return Deleted(counts, is_complete=counts["memory_uses"] < MESSAGES)


def _rule(db: OrmSession, flow_id: UUID) -> tuple[Flow, datetime] | None:
    flow = db.get(Flow, flow_id)
    if flow is None or flow.retain_days is None:
        return None
    return flow, clock.now(db) - timedelta(days=flow.retain_days)
