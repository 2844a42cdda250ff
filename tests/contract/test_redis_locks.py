"""The Redis locks alone: their key, and Redis killed or frozen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
import redis
from harness import RedisServer
from redis.backoff import NoBackoff
from redis.retry import Retry

from memorybase.errors import LockUnavailable
from memorybase.locks import RedisSessionLocks, lock_key

TIMEOUT = 0.5
BASE = UUID("11111111-2222-3333-4444-555555555555")


@pytest.fixture
def client(own_redis: RedisServer) -> Iterator[redis.Redis]:
    retry = Retry(NoBackoff(), 0)
    options = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    with redis.Redis.from_url(own_redis.url, retry=retry, **options) as client:
        yield client


@pytest.fixture
def locks(client: redis.Redis) -> RedisSessionLocks:
    return RedisSessionLocks(client, ttl_seconds=60)


def test_the_key_names_the_base_and_hides_the_session() -> None:
    assert lock_key(BASE, "user 7") == (
        "memorybase:lock:11111111-2222-3333-4444-555555555555:08ae6a73238f8fe2f457320713cb9af5"
    )


def test_one_string_key_with_a_time_to_live(client: redis.Redis, locks: RedisSessionLocks) -> None:
    assert locks.acquire(BASE, "s1") is not None

    assert client.keys() == [lock_key(BASE, "s1").encode()]
    assert client.type(lock_key(BASE, "s1")) == b"string"
    assert 50_000 < client.pttl(lock_key(BASE, "s1")) <= 60_000


def test_redis_outage_is_lock_unavailable_until_redis_is_back(own_redis: RedisServer, locks: RedisSessionLocks) -> None:
    lock = locks.acquire(BASE, "s1")
    assert lock is not None
    own_redis.stop()  # which flushes the append-only file, as a kill may not

    with pytest.raises(LockUnavailable):
        locks.acquire(BASE, "s2")
    with pytest.raises(LockUnavailable):
        locks.held(BASE, "s1")
    with pytest.raises(LockUnavailable):
        lock.extend()
    own_redis.start()
    # The append-only file kept the lock; the new server does not have the scripts yet.
    assert locks.acquire(BASE, "s1") is None
    assert lock.extend()


def test_release_never_raises(own_redis: RedisServer, locks: RedisSessionLocks) -> None:
    lock = locks.acquire(BASE, "s1")
    assert lock is not None
    own_redis.kill()

    lock.release()


def test_a_frozen_redis_is_unavailable_within_the_timeout(own_redis: RedisServer, locks: RedisSessionLocks) -> None:
    lock = locks.acquire(BASE, "s1")
    assert lock is not None
    own_redis.freeze()

    started = time.monotonic()
    with pytest.raises(LockUnavailable):
        lock.extend()
    with pytest.raises(LockUnavailable):
        locks.acquire(BASE, "s2")
    assert time.monotonic() - started < 4 * TIMEOUT
    own_redis.thaw()
    assert lock.extend()


def test_a_redis_out_of_memory_is_unavailable(client: redis.Redis, locks: RedisSessionLocks) -> None:
    client.config_set("maxmemory", "1")

    with pytest.raises(LockUnavailable):
        locks.acquire(uuid4(), "s1")
