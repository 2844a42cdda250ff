"""The broker is lost under captures: Redis behind sentinels, and RabbitMQ."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from harness import ChromaServer, RedisServer, running, wait_until
from harness.pieces import PATIENCE, Topology, topology
from harness.rabbitmq import INSTALLED, RabbitServer
from harness.redis import Sentinels

from memorybase import wiring
from memorybase.cli import doctor
from memorybase.core.operations import health
from memorybase.core.redis_locks import RedisSessionLocks
from memorybase.core.services import INGEST
from memorybase.core.settings import Settings
from memorybase.features.dify.deletion import CLEAN_UP_TASK
from memorybase.features.memory_map.job import MAP
from worker.queue import QUEUE, TIMEOUT_SECONDS, CeleryQueue

pytestmark = pytest.mark.slow  # processes are started and killed

SESSIONS = 3
RUN_MESSAGES = 2


@pytest.fixture
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    with running(Sentinels(tmp_path_factory.mktemp("sentinels"))) as servers:
        yield servers


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitServer]:
    if not INSTALLED:
        pytest.skip("RabbitMQ is not installed: apt-get install --no-install-recommends rabbitmq-server")
    with running(RabbitServer(tmp_path_factory.mktemp("rabbitmq"))) as server:
        yield server


@pytest.fixture
def queue(rabbitmq: RabbitServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[CeleryQueue]:
    """Of RabbitMQ, emptied."""
    monkeypatch.setattr("worker.queue.PAUSE_SECONDS", 0)
    opened = CeleryQueue(Settings(broker_url=rabbitmq.url))
    assert opened.backlog() is not None
    opened._connected().channel.queue_purge(QUEUE)
    yield opened
    opened.close()


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

    def wait_until_captured_anew(self) -> None:
        before = self.acknowledged
        wait_until(lambda: self.acknowledged >= before + SESSIONS * RUN_MESSAGES, PATIENCE, "captures go on")

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


@contextmanager
def captured_all_the_time(stack: Topology) -> Iterator[Captures]:
    """Captures into a stack with two workers. At the end every session is ingested to its end, each message once, and
    no worker has ended."""
    stack.start(stack.api, stack.sweeper, stack.worker)
    second = stack.start_worker()
    base = stack.base(threshold=1)
    captures = Captures(stack, base)
    with captures.going_on():
        captures.wait_until_ingested_anew()
        yield captures
    stack.wait_until_ingested(base, captures.acknowledged)
    stack.assert_exact(base, captures.acknowledged)
    assert stack.call("GET", f"/memories/{base}/dead-letters")["total"] == 0
    assert stack.worker.running
    assert second.running


class TestRedisBehindSentinels:
    def test_captures_go_on_while_the_primary_is_lost_and_no_message_is(
        self, sentinels: Sentinels, chroma_server: ChromaServer, tmp_path: Path
    ) -> None:
        with topology(tmp_path, chroma=chroma_server, redis_url=sentinels.url) as stack:
            with captured_all_the_time(stack) as captures:
                sentinels.fail_over()
                captures.wait_until_ingested_anew()
                sentinels.rejoin()
                sentinels.sentinels[0].kill()  # the one that the URL names first
                sentinels.fail_over(frozen=True)
                captures.wait_until_ingested_anew()
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
        context = doctor.DoctorContext(Settings(data_dir=tmp_path, redis_url=sentinels.url), None)
        for name in ("redis", "queue"):
            (check,) = [each for each in doctor.CHECKS if each.name == name]
            result = check.run(context)
            assert result.ok, result
            assert sentinels.PASSWORD not in result.detail
        wiring.close(context.services)


class TestRabbitMQ:
    def test_captures_go_on_while_it_is_killed_and_nothing_is_lost_or_doubled(
        self, rabbitmq: RabbitServer, redis_url: str, chroma_server: ChromaServer, tmp_path: Path
    ) -> None:
        with topology(tmp_path, chroma=chroma_server, redis_url=redis_url, broker_url=rabbitmq.url) as stack:
            with captured_all_the_time(stack) as captures:
                for _ in range(2):
                    rabbitmq.kill()
                    captures.wait_until_captured_anew()
                    rabbitmq.start()
                    captures.wait_until_ingested_anew()
            wait_until(lambda: all(part.ok for part in health.check_parts(stack.services)), what="every part is up")
            with redis.Redis.from_url(redis_url) as client:
                assert not client.exists(QUEUE)  # locks only

    def test_a_notification_is_published_once_and_counted_until_a_worker_takes_it(self, queue: CeleryQueue) -> None:
        assert queue.notify(CLEAN_UP_TASK) == 1
        assert queue.notify(MAP, [uuid4(), uuid4()]) == 2
        assert queue.backlog() == 3

    def test_one_that_is_frozen_costs_one_timeout_and_takes_the_next_once_it_is_thawed(
        self, queue: CeleryQueue, rabbitmq: RabbitServer
    ) -> None:
        began = time.monotonic()
        rabbitmq.freeze()
        try:
            assert queue.notify(MAP, [uuid4() for _ in range(500)]) == 0
            assert queue.backlog() is None  # its first call, on a new connection
        finally:
            rabbitmq.thaw()
        assert time.monotonic() - began < 500 * TIMEOUT_SECONDS / 2
        wait_until(lambda: queue.notify(CLEAN_UP_TASK) == 1, what="the thawed RabbitMQ takes notifications")

    def test_a_worker_drops_malformed_messages_and_goes_on(
        self, queue: CeleryQueue, rabbitmq: RabbitServer, redis_url: str, chroma_server: ChromaServer, tmp_path: Path
    ) -> None:
        with topology(tmp_path, chroma=chroma_server, redis_url=redis_url, broker_url=rabbitmq.url) as stack:
            stack.start(stack.api, stack.worker)
            base = stack.base(threshold=1)
            headers = {"task": INGEST.name, "id": "1"}
            bodies: list[object] = [None, 1, "x", [], [1, 2, 3], [{}, [], {}]]
            producer = queue._connected()
            for malformed in (None, {}, {"task": INGEST.name}):
                producer.publish([[], {}, {}], routing_key=QUEUE, serializer="json", headers=malformed)
            for body in bodies:
                producer.publish(body, routing_key=QUEUE, serializer="json", headers=headers)
            producer.publish("x", routing_key=QUEUE, serializer="pickle", headers=headers)
            producer.publish(b"\xff{", routing_key=QUEUE, content_type="application/json", content_encoding="utf-8")
            stack.capture("hello")
            stack.wait_until_ingested(base, 1)
            assert stack.worker.running
            assert stack.worker.log.read_text().count("queue_message_dropped") == 3 + len(bodies) + 2
            assert queue.backlog() == 0

    def test_each_part_is_reported_for_itself(
        self, rabbitmq: RabbitServer, own_redis: RedisServer, chroma_server: ChromaServer, tmp_path: Path
    ) -> None:
        urls = {"redis_url": own_redis.url, "chroma_url": chroma_server.url, "broker_url": rabbitmq.url}
        services = wiring.build(Settings(data_dir=tmp_path, **urls))

        def problems() -> dict[str, bool]:
            return {name: health.check_part(services, name).ok for name in ("redis", "broker")}

        assert problems() == {"redis": True, "broker": True}
        (check,) = [each for each in doctor.CHECKS if each.name == "queue"]
        context = doctor.DoctorContext(services.settings, None)
        result = check.run(context)
        wiring.close(context.services)
        assert result.ok
        assert result.detail.startswith("amqp://guest:***@127.0.0.1")
        own_redis.kill()
        assert problems() == {"redis": False, "broker": True}
        rabbitmq.kill()
        assert services.queue.notify(CLEAN_UP_TASK) == 0  # also on a connection that was open before
        assert problems() == {"redis": False, "broker": False}
        rabbitmq.start()
        wiring.close(services)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of 127.0.0.1, signed by itself, with its key."""
    path, subject = tmp_path / "certificate.pem", ["-subj", "/CN=broker", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, "-keyout", str(path)]
    certificate = subprocess.run(made, check=True, capture_output=True).stdout
    path.write_bytes(path.read_bytes() + certificate)
    return path


@pytest.mark.parametrize("scheme", ["rediss", "amqps"])
def test_a_broker_gets_nothing_before_its_certificate_is_verified(
    scheme: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def received(host: str, trusted: str) -> bytes:
        monkeypatch.setenv("SSL_CERT_FILE", trusted)
        with socket.create_server((host, 0)) as server, ThreadPoolExecutor(1) as pool:
            queue = CeleryQueue(Settings(broker_url=f"{scheme}://u:p@{host}:{server.getsockname()[1]}/0"))
            asked, data = pool.submit(queue.backlog), b""
            accepted, _ = server.accept()
            with contextlib.suppress(OSError), accepted, context.wrap_socket(accepted, server_side=True) as connection:
                data = connection.recv(4)
        assert asked.result() is None
        queue.close()
        return data

    assert received("127.0.0.1", os.devnull) == b""
    assert received("127.0.0.2", str(certificate)) == b""
    assert received("127.0.0.1", str(certificate)) in (b"*5\r\n", b"AMQP")
