"""The order in which waiting jobs run: fair between memory bases, and new messages before rebuilds.

Self-clocked fair queuing (S. J. Golestani, INFOCOM 1994): the virtual time of a job is that of the base's last waiting
job, or of what runs now if that is later, plus its cost in messages. Jobs run in this order. So a base with a long
backlog gets its share and no more: the first job of another one comes after what runs now. The jobs of rebuilds are in
a separate range, behind all others.

A message of a memory base with a higher priority costs less, so that in each range the base gets a larger share. The
bound of the algorithm holds for the costs: while two bases wait, what each of them has got, times its cost, differs by
no more than one job of each. So however much a base with high priority has to do, one with normal priority that waits
gets one message for every eight of it, and one with low priority one for every 64.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session as OrmSession

from memorybase.core.models import JobKind, Priority
from memorybase.core.queries import jobs

REBUILDS = 2**60  # the virtual time of a rebuild's jobs starts here
END = 2**62
RANGES = ((0, REBUILDS - 1), (REBUILDS, END))
COSTS = {Priority.HIGH: 1, Priority.NORMAL: 8, Priority.LOW: 64}  # of a message


def virtual_time(db: OrmSession, base_id: UUID, kind: JobKind, messages: int, priority: Priority) -> int:
    """When a new job of the base runs, compared with the other waiting ones. One with fewer messages costs less."""
    since, to = RANGES[1] if kind == JobKind.REGENERATE else RANGES[0]
    now, last = jobs.now_and_last_of_base(db, base_id, since=since, to=to)
    return min(max(now, last) + max(messages, 1) * COSTS[priority], to)


def reorder(db: OrmSession, base_id: UUID, *, former: Priority, priority: Priority) -> None:
    """Give the base's queued jobs the places that they would have got with its new priority."""
    for since, to in RANGES:
        now, _ = jobs.now_and_last_of_base(db, base_id, since=since, to=to)
        jobs.rescale(db, base_id, now=now, to=to, times=COSTS[priority], divided_by=COSTS[former])
