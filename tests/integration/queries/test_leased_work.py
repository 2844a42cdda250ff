"""Leased work, whatever the kind: each row is worked on by one worker at a time, and no notification is needed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.world import World

from memorybase.core import deadlines
from memorybase.core.database import clock
from memorybase.core.models import SessionSummary
from memorybase.core.queries import leased_work
from memorybase.core.queries.leased_work import Claim, Work
from memorybase.core.services import Task

LEASE = timedelta(seconds=60)
WORK = Work(SessionSummary, Task("test.work", "id"), lambda _: LEASE)
WITHOUT_IDS = replace(WORK, task=Task("test.work"))

pytestmark = pytest.mark.both_databases


class Rows:
    """Rows of one session, and what workers do to them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.services = world.services
        world.say("s", "hello")
        with world.services.database.reading() as db:
            self.now = clock.now(db)

    def add(self, **fields: Any) -> UUID:
        given = {"id": uuid4(), "flow_id": self.world.flow_id, "session_id": "s", "summarizer": "x"}
        given |= {"preset": uuid4().hex, "requested_seq": 1, "created_at": self.now, "updated_at": self.now}
        with self.services.database.transaction() as db:
            db.add(SessionSummary(**given | {"notify_at": self.now} | fields))
        return given["id"]

    def row(self, id_: UUID) -> SessionSummary:
        with self.services.database.reading() as db:
            return db.get_one(SessionSummary, id_)

    def claim(self, id_: UUID, *, now: datetime | None = None, **options: Any) -> Claim[SessionSummary] | None:
        with self.services.database.transaction() as db:
            return leased_work.claim(db, db.get(SessionSummary, id_), now or self.now, LEASE, **options)

    def must_claim(self, id_: UUID, **options: Any) -> Claim[SessionSummary]:
        claimed = self.claim(id_, **options)
        assert claimed is not None
        return claimed

    def call(self, function: Any, *args: Any, **values: Any) -> Any:
        with self.services.database.transaction() as db:
            return function(db, *args, **values)

    def due(self, now: datetime, work: Work[SessionSummary] = WORK) -> list[UUID]:
        with self.services.database.transaction() as db:
            return [row.id for row in leased_work.due(work, db, now, limit=10)]


@pytest.fixture
def rows(world: World) -> Rows:
    return Rows(world)


def test_one_worker_has_a_claim_until_its_lease_ends(rows: Rows) -> None:
    id_ = rows.add()
    first = rows.must_claim(id_, error="claimed")
    assert (rows.row(id_).version, rows.row(id_).attempts, rows.row(id_).error) == (1, 1, "claimed")
    assert rows.claim(id_) is None
    later = rows.now + LEASE + timedelta(seconds=1)
    assert rows.due(rows.now) == []
    assert rows.due(later) == [id_]

    second = rows.must_claim(id_, now=later)

    assert not rows.call(leased_work.write, first, text="late")
    assert not rows.call(leased_work.finish, first, text="late")
    assert not rows.call(leased_work.put_off, first, None)
    other = rows.add()
    assert rows.call(leased_work.write, second, text="part")
    assert rows.call(leased_work.finish, second, text="whole")
    assert not rows.call(leased_work.finish, second, text="again")
    row = rows.row(id_)
    assert (row.text, row.notify_at, row.lease_until, row.attempts) == ("whole", None, None, 0)
    assert rows.row(other).text is None


def test_what_is_not_pending_is_claimed_only_if_asked(rows: Rows) -> None:
    id_ = rows.add(notify_at=None)
    assert rows.claim(id_) is None
    assert rows.claim(uuid4()) is None
    assert rows.claim(id_, is_asked=True) is not None
    assert rows.claim(id_, is_asked=True) is None


def test_work_that_is_put_off_waits_and_counts_its_attempts(rows: Rows) -> None:
    id_ = rows.add()
    until = rows.now + timedelta(seconds=100)
    assert rows.call(leased_work.put_off, rows.must_claim(id_), until, error="away")
    assert (rows.due(rows.now), rows.due(until)) == ([], [id_])
    assert (rows.row(id_).error, rows.must_claim(id_).attempts) == ("away", 2)
    assert [leased_work.backoff(attempts).total_seconds() for attempts in (1, 99)] == [
        2 * deadlines.BACKOFF_SECONDS,
        deadlines.NOTIFY_MAX_SECONDS,
    ]


def test_a_change_of_what_a_worker_reads_ends_its_claim(rows: Rows) -> None:
    id_ = rows.add()
    claimed = rows.must_claim(id_)
    with rows.services.database.transaction() as db:
        leased_work.outdate(db.get_one(SessionSummary, id_))
    assert not rows.call(leased_work.finish, claimed, text="of before")

    until = rows.now + timedelta(seconds=100)
    rows.call(leased_work.delay, claimed.row, until)
    assert rows.row(id_).notify_at == until
    rows.must_claim(id_)
    rows.call(leased_work.delay, claimed.row, rows.now)
    assert rows.row(id_).notify_at == until, "another worker is at it"


def test_a_change_of_a_fixed_column_ends_a_claim(rows: Rows) -> None:
    rows.world.say("other", "hello")
    id_ = rows.add()
    claimed = rows.must_claim(id_)
    with rows.services.database.transaction() as db:
        db.get_one(SessionSummary, id_).session_id = "other"
    assert not rows.call(leased_work.write, claimed, text="of s")


def test_rows_are_due_in_their_order_and_only_those_that_may_be_worked_on(rows: Rows) -> None:
    later, first = rows.add(), rows.add(notify_at=rows.now - LEASE)
    rows.add(notify_at=None)
    assert rows.due(rows.now) == [first, later]
    assert rows.due(rows.now, replace(WORK, only=(SessionSummary.id != first,))) == [later]


def test_the_sweeper_notifies_of_each_row_or_once_for_all(rows: Rows) -> None:
    ids = {rows.add(), rows.add()}
    rows.must_claim(rows.add())
    notified = rows.world.queue.notified["test.work"]
    assert leased_work.enqueue_due(WITHOUT_IDS, rows.services) == 1
    del notified[:]
    assert leased_work.enqueue_due(WORK, rows.services) == 2
    assert set(notified) == ids
    assert leased_work.enqueue_due(WORK, rows.services) == 0, "a worker may still take the notifications"
    assert leased_work.enqueue_due(WITHOUT_IDS, rows.services) == 0


def test_the_limits_of_its_timestamps(rows: Rows) -> None:
    def found(work: Work[SessionSummary]) -> dict[str, timedelta]:
        return {limit.column.key: limit.ahead for limit in leased_work.limits(work, rows.services)}

    longest = leased_work.longest_notify(rows.services.settings)
    assert found(WORK) == {"notify_at": longest, "lease_until": LEASE}
    day = timedelta(days=1)
    assert found(replace(WORK, longest_pause=day)) == {"notify_at": day, "lease_until": LEASE}
