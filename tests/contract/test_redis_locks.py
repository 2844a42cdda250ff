"""The Redis locks alone: their key, and Redis killed or frozen."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
import redis
from harness import RedisServer
from redis.backoff import NoBackoff
from redis.lock import Lock
from redis.retry import Retry

from memorybase.core.errors import LockUnavailable
from memorybase.core.redis_locks import PAUSE_SECONDS, RedisHeldLock, RedisSessionLocks, lock_key

TIMEOUT = 30.0  # of a Redis that answers
HANGS = 0.2  # of one that never answers
BASE = UUID("11111111-2222-3333-4444-555555555555")


@pytest.fixture
def client(own_redis: RedisServer) -> Iterator[redis.Redis]:
    with client_of(own_redis, TIMEOUT) as client:
        yield client


def client_of(server: RedisServer, timeout: float) -> redis.Redis:
    options = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
    client: redis.Redis = redis.Redis.from_url(server.url, retry=Retry(NoBackoff(), 0), **options)
    return client


@dataclass
class Time:
    """The locks' clock."""

    now: float = 0.0

    def pass_pause(self) -> None:
        self.now += PAUSE_SECONDS


@pytest.fixture
def moment() -> Time:
    return Time()


@pytest.fixture
def locks(client: redis.Redis, moment: Time) -> RedisSessionLocks:
    return RedisSessionLocks(client, ttl_seconds=600, monotonic=lambda: moment.now)


def test_the_key_names_the_base_and_hides_the_session() -> None:
    assert lock_key(BASE, "user 7") == (
        "memorybase:lock:11111111-2222-3333-4444-555555555555:08ae6a73238f8fe2f457320713cb9af5"
    )


def test_one_string_key_with_a_time_to_live(client: redis.Redis, locks: RedisSessionLocks) -> None:
    assert locks.acquire(BASE, "s1") is not None

    assert client.keys() == [lock_key(BASE, "s1").encode()]
    assert client.type(lock_key(BASE, "s1")) == b"string"
    assert 0 < client.pttl(lock_key(BASE, "s1")) <= 600_000


def test_redis_outage_is_lock_unavailable_until_redis_is_back(
    own_redis: RedisServer, locks: RedisSessionLocks, moment: Time
) -> None:
    lock = locks.acquire(BASE, "s1")
    assert lock is not None
    own_redis.stop()  # which flushes the append-only file, as a kill may not

    with pytest.raises(LockUnavailable):
        locks.acquire(BASE, "s2")
    moment.pass_pause()
    with pytest.raises(LockUnavailable):
        locks.held(BASE, "s1")
    moment.pass_pause()
    with pytest.raises(LockUnavailable):
        lock.extend()
    own_redis.start()
    moment.pass_pause()
    # The append-only file kept the lock; the new server does not have the scripts yet.
    assert locks.acquire(BASE, "s1") is None
    assert lock.extend()


def test_release_never_raises(own_redis: RedisServer, locks: RedisSessionLocks) -> None:
    lock = locks.acquire(BASE, "s1")
    assert lock is not None
    own_redis.kill()

    lock.release()


@pytest.mark.slow  # it freezes a process
def test_a_frozen_redis_is_unavailable_until_it_is_thawed(own_redis: RedisServer, moment: Time) -> None:
    with client_of(own_redis, 2.0) as client:
        locks = RedisSessionLocks(client, ttl_seconds=600, monotonic=lambda: moment.now)
        lock = locks.acquire(BASE, "s1")
        assert lock is not None
        own_redis.freeze()

        with pytest.raises(LockUnavailable):
            lock.extend()
        moment.pass_pause()
        with pytest.raises(LockUnavailable):
            locks.acquire(BASE, "s2")
        own_redis.thaw()
        moment.pass_pause()
        assert lock.extend()


def test_one_of_many_calls_waits_for_a_redis_that_does_not_answer() -> None:
    """Otherwise a worker with many sessions would wait for each lock, and its leases would expire."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = redis.Redis(port=silent.getsockname()[1], socket_timeout=HANGS, retry=Retry(NoBackoff(), 0))
        moment = Time()
        locks = RedisSessionLocks(client, ttl_seconds=600, monotonic=lambda: moment.now)
        for lock in [_held(client, locks, f"s{n}") for n in range(20)]:
            with pytest.raises(LockUnavailable):
                lock.extend()
            lock.release()
            locks.free(BASE, "s")
        moment.pass_pause()
        with pytest.raises(LockUnavailable):
            locks.held(BASE, "s")
        assert _connections(silent) == 2


def test_a_lock_that_was_to_be_released_meanwhile_is_released_afterwards(
    own_redis: RedisServer, locks: RedisSessionLocks, moment: Time
) -> None:
    locks_held = [locks.acquire(BASE, f"s{n}") for n in range(3)]
    own_redis.stop()  # which flushes the append-only file, as a kill may not
    for lock in locks_held:
        assert lock is not None
        lock.release()
    own_redis.start()
    moment.pass_pause()
    assert not locks.held(BASE, "other")
    assert not any(locks.held(BASE, f"s{n}") for n in range(3))


def test_a_lock_is_acquired_although_one_from_before_cannot_be_released(
    own_redis: RedisServer, locks: RedisSessionLocks, moment: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = locks.acquire(BASE, "s1")
    assert earlier is not None
    own_redis.stop()
    earlier.release()
    own_redis.start()
    moment.pass_pause()

    def fail(_: Lock) -> None:
        raise redis.ConnectionError

    with monkeypatch.context() as failing:
        failing.setattr("memorybase.core.redis_locks._release", fail)
        assert locks.acquire(BASE, "s2") is not None  # otherwise nobody would hold it until it expires
    moment.pass_pause()
    assert locks.held(BASE, "s2")
    assert not locks.held(BASE, "s1")


def _held(client: redis.Redis, locks: RedisSessionLocks, session_id: str) -> RedisHeldLock:
    """As if it had been acquired."""
    lock = Lock(client, lock_key(BASE, session_id), timeout=60, thread_local=False)
    lock.local.token = b"token"
    return RedisHeldLock(lock, locks._calls)


def _connections(server: socket.socket) -> int:
    """How many clients have connected by now."""
    server.setblocking(False)
    for number in itertools.count():
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return number
    raise AssertionError


def test_a_redis_out_of_memory_is_unavailable(client: redis.Redis, locks: RedisSessionLocks) -> None:
    client.config_set("maxmemory", "1")

    with pytest.raises(LockUnavailable):
        locks.acquire(uuid4(), "s1")
