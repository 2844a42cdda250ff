"""Two sweepers over one database: they share the work, and one that hangs does not hold up the other."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis
import sqlalchemy as sa
from harness import PostgresServer, wait_until
from harness.gates import Change, gate
from harness.pieces import PATIENCE, SweeperServer

from memorybase import messages, wiring
from memorybase.auth import api_keys
from memorybase.database import migrate
from memorybase.ingestion import capture, claim, scheduler
from memorybase.ingestion.capture import CaptureRequest
from memorybase.memory_bases import manage
from memorybase.memory_bases.manage import NewMemoryBase
from memorybase.models import ACTIVE_STATES, IngestionJob, JobState, SessionProgress
from memorybase.services import Services
from memorybase.sessions import flows
from memorybase.settings import embedded
from worker.queue import QUEUE

pytestmark = pytest.mark.slow  # processes are started and stopped

HANGS_SECONDS = 25.0  # the database cuts a statement after 30 s
EACH = 30  # sessions of each kind: with an expired lease, without a job for pending messages, with a lost notification
ONE_SESSION = Change("session_progress", "NEW.session_id = 's0' AND NEW.epoch > OLD.epoch")


@dataclass
class Scene:
    """A database full of work, and the sweepers that come upon it."""

    services: Services
    dbname: str
    sweepers: list[SweeperServer] = field(default_factory=list)

    def leave_work_behind(self) -> None:
        user_id = api_keys.ensure_local_user(self.services, "mb_test")
        flow_id = flows.create_flow(self.services, user_id, name="flow").id
        manage.create_memory_base(self.services, user_id, NewMemoryBase(name="base", flow_id=flow_id, threshold=1))
        for number in range(3 * EACH):
            said = messages.normalise({"role": "assistant", "content": "hello"}, user_id=user_id, where="messages")
            request = CaptureRequest(session_id=f"s{number}", messages=[said])
            capture.capture(self.services, user_id, flow_id, request)
        for number, job in enumerate(self.jobs()):
            if number < EACH:
                assert claim.claim_job(self.services, scheduler.job_message(job), "a worker that is lost") is not None
            elif number < 2 * EACH:
                self._execute(sa.update(IngestionJob).values(state=JobState.CANCELLED), job.id)
            else:
                self._execute(sa.update(IngestionJob).values(notify_at=job.created_at), job.id)
        self._execute(
            sa.update(SessionProgress)
            .where(SessionProgress.lease_until.is_not(None))
            .values(lease_until=SessionProgress.lease_until - sa.text("interval '1 hour'"))
        )

    def _execute(self, statement: Any, job_id: UUID | None = None) -> None:
        with self.services.database.transaction() as db:
            db.execute(statement if job_id is None else statement.where(IngestionJob.id == job_id))

    def jobs(self) -> list[IngestionJob]:
        with self.services.database.reading() as db:
            return list(db.scalars(sa.select(IngestionJob).order_by(IngestionJob.created_at)))

    def active(self) -> list[IngestionJob]:
        return [job for job in self.jobs() if job.state in ACTIVE_STATES]

    def notified(self) -> Counter[UUID]:
        """How often each job waits in the broker."""
        with redis.Redis.from_url(self.services.settings.redis_url) as client:
            waiting = [json.loads(raw) for raw in client.lrange(QUEUE, 0, -1)]
        return Counter(UUID(json.loads(base64.b64decode(each["body"]))[1]["job_id"]) for each in waiting)

    def epochs(self) -> Counter[int]:
        with self.services.database.reading() as db:
            return Counter(db.scalars(sa.select(SessionProgress.epoch)))

    def said(self) -> list[dict[str, Any]]:
        """What all sweepers have logged."""
        return [json.loads(line) for sweeper in self.sweepers for line in sweeper.log.read_text().splitlines()]


@pytest.fixture
def scene(
    tmp_path: Path, model_cache: Path, redis_url: str, chroma_url: str, postgres_server: PostgresServer
) -> Iterator[Scene]:
    name = postgres_server.create_database()
    settings = embedded(
        tmp_path, redis_url=redis_url, chroma_url=chroma_url, model_dir=model_cache, sweep_seconds=0.3,
        database_url=postgres_server.url(name), log_format="json",
    )  # fmt: skip
    migrate.upgrade(settings.resolved_database_url)
    with ExitStack() as cleanup:
        cleanup.callback(postgres_server.drop_database, name)
        services = wiring.build(settings, role="cli")
        cleanup.callback(wiring.close, services)
        made = Scene(services, name)
        for number in range(2):
            sweeper = SweeperServer(services)
            sweeper.log = tmp_path / f"sweeper-{number}.log"
            cleanup.callback(sweeper.close)
            made.sweepers.append(sweeper)
        yield made


def test_two_sweepers_share_the_work_and_one_that_hangs_does_not_delay_the_other(
    scene: Scene, postgres_server: PostgresServer, redis_url: str
) -> None:
    scene.leave_work_behind()
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()  # all notifications so far are lost
    with gate(postgres_server, scene.dbname, ONE_SESSION) as held:
        for sweeper in scene.sweepers:
            sweeper.launch()
        wait_until(held.reached, PATIENCE, "one sweeper hangs in the middle of a session")
        wait_until(lambda: len(scene.notified()) == 3 * EACH - 1, HANGS_SECONDS, "the other does all the rest")
        assert scene.epochs() == {0: 2 * EACH, 1: 1, 2: EACH - 1}
        assert held.reached()
    wait_until(lambda: len(scene.notified()) == 3 * EACH, PATIENCE, "the last one is notified too")
    for sweeper in scene.sweepers:
        sweeper.wait_until_it_answers()
        sweeper.stop()

    active = scene.active()
    assert len({job.session_id for job in active}) == len(active) == 3 * EACH
    assert {(job.state, job.lost_workers) for job in active} == {(JobState.QUEUED, 0)}
    # A recovered job is due at once: it is enqueued with its requeue and by the same pass.
    assert scene.notified() == {job.id: 2 if job.attempts else 1 for job in active}
    assert scene.epochs() == {0: 2 * EACH, 2: EACH}
    assert {line["level"] for line in scene.said()} <= {"info", "warning"}
    assert {line["event"] for line in scene.said() if line["level"] == "warning"} <= {"job_requeued"}
    swept = [line for line in scene.said() if line["event"] == "swept"]
    assert [sum(line.get(what, 0) for line in swept) for what in ("requeued", "planned", "notified")] == [
        EACH, EACH, 2 * EACH
    ]  # fmt: skip
