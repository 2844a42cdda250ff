"""The order in which waiting jobs run: fair between memory bases, and new messages before rebuilds.

Self-clocked fair queuing (S. J. Golestani, INFOCOM 1994): the virtual time of a job is that of the base's last waiting
job, or of what runs now if that is later, plus its cost in messages. Jobs run in this order. So a base with a long
backlog gets its share and no more: the first job of another one comes after what runs now. The jobs of rebuilds are in
a range of their own, behind all others.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.models import JobKind
from memorybase.queries import jobs

REBUILDS = 2**60  # the virtual time of a rebuild's jobs starts here
END = 2**62


def virtual_time(db: OrmSession, base_id: UUID, kind: JobKind, messages: int) -> int:
    """When a new job of the base runs, compared with the other waiting ones. One with fewer messages costs less."""
    since, to = (REBUILDS, END) if kind == JobKind.REGENERATE else (0, REBUILDS - 1)
    now, last = jobs.now_and_last_of_base(db, base_id, since=since, to=to)
    return min(max(now, last) + max(messages, 1), to)
