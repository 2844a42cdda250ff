"""Two sweepers over one database: they share the work, and one that hangs does not hold up the other."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
import sqlalchemy as sa
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.constants import SWEEP
from harness.gates import Change
from harness.pieces import PATIENCE, SweeperServer, Topology, topology
from harness.world import message_of

from memorybase.core.ingestion import claim
from memorybase.core.models import IngestionJob, JobState, SessionProgress
from worker.queue import QUEUE

pytestmark = pytest.mark.slow  # processes are started and stopped

HANGS_SECONDS = 25.0  # the database cuts a statement after 30 s
EACH = 30  # sessions of each kind: with an expired lease, without a job for pending messages, with a lost notification
ONE_SESSION = Change("session_progress", "NEW.session_id = 's0' AND NEW.epoch > OLD.epoch")


@pytest.fixture
def stack(
    tmp_path: Path, redis_server: RedisServer, chroma_server: ChromaServer, postgres_server: PostgresServer
) -> Iterator[Topology]:
    stores: Any = {"redis": redis_server, "chroma": chroma_server, "postgres": postgres_server}
    with topology(tmp_path, **stores, log_format="json", values={SWEEP: 0.3}) as built:
        yield built


def leave_work_behind(stack: Topology) -> UUID:
    """The memory base that all the work is of."""
    world = stack.world
    world.flow_id = world.new_flow()
    base_id = world.new_base(threshold=1)
    for number in range(3 * EACH):
        world.say(f"s{number}", "hello")
    jobs = world.jobs(base_id)
    for job in jobs[:EACH]:
        assert claim.claim_job(world.services, message_of(job), "a worker that is lost") is not None
    with world.services.database.transaction() as db:
        for number, job in enumerate(jobs[EACH:]):
            change = {"state": JobState.CANCELLED} if number < EACH else {"notify_at": job.created_at}
            db.execute(sa.update(IngestionJob).where(IngestionJob.id == job.id).values(**change))
        an_hour_ago = SessionProgress.lease_until - sa.text("interval '1 hour'")
        leased = sa.update(SessionProgress).where(SessionProgress.lease_until.is_not(None))
        db.execute(leased.values(lease_until=an_hour_ago))
    return base_id


def notified(client: redis.Redis) -> Counter[UUID]:
    """How often each job waits in the broker."""
    waiting: Any = client.lrange(QUEUE, 0, -1)
    return Counter(UUID(json.loads(base64.b64decode(json.loads(raw)["body"]))[1]["job_id"]) for raw in waiting)


def test_two_sweepers_share_the_work_and_one_that_hangs_delays_nobody(stack: Topology, tmp_path: Path) -> None:
    sweepers = [stack.sweeper, SweeperServer(stack.services)]
    for number, sweeper in enumerate(sweepers):
        sweeper.log = tmp_path / f"sweeper-{number}.log"
        stack.cleanup.callback(sweeper.close)
    base_id = leave_work_behind(stack)

    def epochs() -> Counter[int]:
        return Counter(row.epoch for row in stack.world.rows(base_id))

    client = stack.cleanup.enter_context(redis.Redis.from_url(stack.redis.url))
    client.flushdb()  # all notifications so far are lost
    with stack.gate(ONE_SESSION) as held:
        for sweeper in sweepers:
            sweeper.launch()
        wait_until(held.reached, PATIENCE, "one sweeper hangs in the middle of a session")
        wait_until(lambda: len(notified(client)) == 3 * EACH - 1, HANGS_SECONDS, "the other does all the rest")
        assert epochs() == {0: 2 * EACH, 1: 1, 2: EACH - 1}
        assert held.reached()
    wait_until(lambda: len(notified(client)) == 3 * EACH, PATIENCE, "the last one is notified too")
    for sweeper in sweepers:
        sweeper.wait_until_it_answers()
        sweeper.stop()

    active = stack.world.active_jobs(base_id)
    assert len({job.session_id for job in active}) == len(active) == 3 * EACH
    assert {(job.state, job.lost_workers) for job in active} == {(JobState.QUEUED, 0)}
    # A recovered job is due at once: it is enqueued with its requeue and by the same pass.
    assert notified(client) == {job.id: 2 if job.attempts else 1 for job in active}
    assert epochs() == {0: 2 * EACH, 2: EACH}
    said = [json.loads(line) for sweeper in sweepers for line in sweeper.log.read_text().splitlines()]
    assert {line["level"] for line in said} <= {"info", "warning"}
    assert {line["event"] for line in said if line["level"] == "warning"} <= {"job_requeued"}
    swept = [line for line in said if line["event"] == "swept"]
    assert [sum(line.get(what, 0) for line in swept) for what in ("requeued", "planned", "notified")] == [
        EACH,
        EACH,
        2 * EACH,
    ]
