"""Jobs in a stack that runs, as they look while one of them holds others up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from harness.stack import EmbeddedStack
from memorybase.core.database.engine import Database
from memorybase.core.models import Heartbeat, IngestionJob, JobKind, Message, SessionProgress

# A lease of the stack must be as long: the sweeper moves timestamps back that lie further ahead.
SECONDS = 300


def add_job(stack: EmbeddedStack, base: UUID, session: str, *, minutes: int = 0, **values: Any) -> UUID:
    """An active job for what waits of a session, which no worker takes; the messages and the job are so old. With
    `started_at` the worker runs it."""
    database = Database(f"sqlite:///{stack.data / 'memorybase.db'}", pool_size=1)
    now = datetime.now(UTC)
    then, later = now - timedelta(minutes=minutes), now + timedelta(seconds=SECONDS)
    try:
        with database.transaction() as db:
            row = db.scalars(sa.select(SessionProgress).filter_by(memory_base_id=base, session_id=session)).one()
            found = db.scalars(sa.select(Message).where(Message.session_id == session).order_by(Message.seq)).all()
            for message in found:
                message.captured_at = then
            row.target_seq = found[-1].seq
            if values.get("started_at"):
                # Of a worker without heartbeats the sweeper would take it back.
                worker = db.scalars(sa.select(Heartbeat.name).filter_by(kind="worker")).one()
                row.lease_until, row.lease_owner = later, worker
            job = {
                "id": uuid4(),
                "memory_base_id": base,
                "progress_id": row.id,
                "active_in": session,
                "kind": JobKind.INGEST,
                "state": "running" if values.get("started_at") else "queued",
                "generation": row.generation,
                "from_seq": row.cursor_seq,
                "to_seq": row.target_seq,
                "embedder": "all-MiniLM-L6-v2",
                "chunker": "v1",
                "total": len(found),
                "available_at": later,
                "notify_at": later,
                "created_at": then,
            }
            db.add(IngestionJob(**job | values))
            return job["id"]
    finally:
        database.dispose()
