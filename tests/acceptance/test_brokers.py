"""The broker is lost under captures: Redis behind sentinels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from harness import ChromaServer, wait_until
from harness.pieces import PATIENCE, Topology, topology
from harness.redis import Sentinels

from memorybase import wiring
from memorybase.cli import doctor
from memorybase.locks import RedisSessionLocks
from memorybase.operations import health
from memorybase.settings import Settings

pytestmark = pytest.mark.slow  # processes are started and killed

SESSIONS = 3
RUN_MESSAGES = 2


@pytest.fixture
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    servers = Sentinels(tmp_path_factory.mktemp("sentinels"))
    try:
        servers.start()
        yield servers
    finally:
        servers.close()


class Captures:
    """Captures runs into each of several sessions, all the time. Each call must succeed."""

    def __init__(self, stack: Topology, base: str) -> None:
        self._stack, self._base = stack, base
        self._ended = threading.Event()
        self._counts = [0] * SESSIONS

    @property
    def acknowledged(self) -> int:
        """Messages."""
        return sum(self._counts)

    def wait_until_ingested_anew(self) -> None:
        """Until more is ingested than has been captured by now: the notification of some of it reached a worker."""
        before = self.acknowledged
        wait_until(
            lambda: self._stack.status(self._base)["total_processed"] > before, PATIENCE, "later messages are ingested"
        )

    @contextmanager
    def going_on(self) -> Iterator[None]:
        with ThreadPoolExecutor(SESSIONS) as pool:
            try:
                writers = [pool.submit(self._write, number) for number in range(SESSIONS)]
                yield
            finally:
                self._ended.set()
            for writer in writers:
                writer.result()

    def _write(self, number: int) -> None:
        for turn in count():
            if self._ended.wait(0.3):
                return
            self._stack.capture(*(f"{turn} {part}" for part in range(RUN_MESSAGES)), session=f"session {number}")
            self._counts[number] += RUN_MESSAGES


def finish(stack: Topology, base: str, captures: Captures) -> None:
    """Every session is ingested to its end, and each message once."""
    stack.wait_until_ingested(base, captures.acknowledged)
    stack.assert_exact(base, captures.acknowledged)
    assert stack.call("GET", f"/memories/{base}/dead-letters")["total"] == 0


class TestRedisBehindSentinels:
    def test_captures_go_on_while_the_primary_is_lost_and_no_message_is(
        self, sentinels: Sentinels, chroma_server: ChromaServer, tmp_path: Path
    ) -> None:
        with topology(tmp_path, chroma=chroma_server, redis_url=sentinels.url) as stack:
            stack.start(stack.api, stack.sweeper, stack.worker)
            second = stack.start_worker()
            base = stack.base(threshold=1)
            captures = Captures(stack, base)
            with captures.going_on():
                captures.wait_until_ingested_anew()
                sentinels.fail_over()
                captures.wait_until_ingested_anew()
                sentinels.rejoin()
                sentinels.sentinels[0].kill()  # the one that the URL names first
                sentinels.fail_over(frozen=True)
                captures.wait_until_ingested_anew()
            finish(stack, base, captures)
            assert stack.worker.running
            assert second.running
            parts = {part.name: part.problem for part in health.check_parts(stack.services)}
            assert (parts["redis"], parts["worker"], parts["sweeper"]) == (None, None, None)
            logs = "".join(each.log.read_text() for each in (stack.api, stack.sweeper, stack.worker))
            assert not [word for word in (sentinels.PASSWORD, sentinels.SENTINEL_PASSWORD) if word in logs]

    def test_a_lock_that_was_not_replicated_is_lost_to_its_holder(self, sentinels: Sentinels, tmp_path: Path) -> None:
        settings = Settings(data_dir=tmp_path, redis_url=sentinels.url)
        base, client = uuid4(), wiring.redis_client(settings)
        locks = RedisSessionLocks(client, ttl_seconds=600)
        kept = locks.acquire(base, "kept")
        assert client.wait(1, 0) == 1  # replicated
        sentinels.stop_replication()
        lost = locks.acquire(base, "lost")
        assert kept
        assert lost

        sentinels.fail_over()

        assert [lost.extend(), kept.extend()] == [False, True]
        assert locks.acquire(base, "lost")
        locks.close()

    def test_doctor_names_the_sentinels_without_passwords(self, sentinels: Sentinels, tmp_path: Path) -> None:
        context = doctor.DoctorContext(Settings(data_dir=tmp_path, redis_url=sentinels.url), "")
        for name in ("redis", "queue"):
            (check,) = [each for each in doctor.CHECKS if each.name == name]
            result = check.run(context)
            assert result.ok, result
            assert sentinels.PASSWORD not in result.detail
        wiring.close(context.services)
