"""The contract of SessionLocks: the same tests on Redis, in one process, and on the double."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Thread
from uuid import UUID, uuid4

import pytest
import redis
from harness import wait_until
from harness.doubles import InMemoryLocks
from harness.rows import each_row
from redis.backoff import NoBackoff
from redis.retry import Retry

from memorybase.core.locks import ProcessLocks, SessionLocks
from memorybase.core.redis_locks import RedisSessionLocks, lock_key

LONG = 600.0
expiring = pytest.mark.parametrize("kind", ["memory", "redis"], indirect=True)  # a lock of a process ends with it


@dataclass
class Kind:
    make: Callable[[float], SessionLocks]  # from a TTL in seconds
    expire: Callable[[SessionLocks, UUID, str], object]
    pass_time: Callable[[float, UUID, Sequence[str]], object]  # for the locks of these sessions


def expire_in_memory(locks: SessionLocks, base: UUID, session_id: str) -> None:
    assert isinstance(locks, InMemoryLocks)
    locks.expire(base, session_id)


@pytest.fixture(params=["memory", "process", "redis"])
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    if request.param == "memory":
        passed = 0.0

        def pass_time(seconds: float, _base: UUID, _sessions: Sequence[str]) -> None:
            nonlocal passed
            passed += seconds

        yield Kind(
            lambda ttl: InMemoryLocks(ttl_seconds=ttl, clock=lambda: time.monotonic() + passed),
            expire_in_memory,
            pass_time,
        )
        return
    if request.param == "process":
        yield Kind(lambda _: ProcessLocks(), lambda locks, *key: locks.free(*key), lambda *_: None)
        return
    url = request.getfixturevalue("redis_url")
    with redis.Redis.from_url(url, socket_timeout=60, retry=Retry(NoBackoff(), 0)) as client:
        yield Kind(
            lambda ttl: RedisSessionLocks(client, ttl_seconds=ttl),
            lambda _, base, session_id: client.delete(lock_key(base, session_id)),
            partial(age, client),
        )


def age(client: redis.Redis, seconds: float, base: UUID, sessions: Sequence[str]) -> None:
    """Redis expires by its own clock: what a lock has left is shortened instead."""
    for key in (lock_key(base, session_id) for session_id in sessions):
        client.pexpire(key, client.pttl(key) - int(1000 * seconds))  # below 0 it is gone


@pytest.fixture
def locks(kind: Kind) -> SessionLocks:
    return kind.make(LONG)


@pytest.fixture
def base() -> UUID:
    return uuid4()


def test_one_holder_at_a_time(locks: SessionLocks, base: UUID) -> None:
    first = locks.acquire(base, "s1")
    assert first is not None

    assert locks.acquire(base, "s1") is None
    first.release()
    assert locks.acquire(base, "s1") is not None


def test_each_session_of_each_memory_base_has_its_own_lock(locks: SessionLocks, base: UUID) -> None:
    assert locks.acquire(base, "s1") is not None

    assert locks.acquire(base, "s2") is not None
    assert locks.acquire(uuid4(), "s1") is not None


def test_held_reports_the_lock(locks: SessionLocks, base: UUID) -> None:
    assert not locks.held(base, "s1")

    lock = locks.acquire(base, "s1")
    assert lock is not None
    assert locks.held(base, "s1")
    assert not locks.held(base, "s2")
    lock.release()
    assert not locks.held(base, "s1")


@each_row("session_id", ["", "user/7", "日本語 🙂", "\ud800", "x" * 10_000, "a\0b\nc"])
def test_any_session_id_can_be_locked(locks: SessionLocks, base: UUID, session_id: str) -> None:
    assert locks.acquire(base, session_id) is not None
    assert locks.held(base, session_id)


def test_only_one_of_many_threads_gets_the_lock(locks: SessionLocks, base: UUID) -> None:
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: locks.acquire(base, "s1"), range(32)))

    assert sum(lock is not None for lock in got) == 1


@expiring
def test_the_lock_expires(kind: Kind, base: UUID) -> None:
    locks = kind.make(0.15)
    assert locks.acquire(base, "s1") is not None

    assert wait_until(lambda: locks.acquire(base, "s1"), what="a lock whose holder died is free again")


@expiring
def test_extend_restarts_the_ttl(kind: Kind, base: UUID) -> None:
    locks = kind.make(1000.0)
    lock = locks.acquire(base, "s1")
    assert lock is not None
    assert locks.acquire(base, "left alone") is not None

    kind.pass_time(600, base, ["s1", "left alone"])
    assert lock.extend()
    assert locks.held(base, "left alone")
    kind.pass_time(600, base, ["s1", "left alone"])

    assert locks.held(base, "s1")
    assert not locks.held(base, "left alone")


def test_extend_of_a_lost_lock_is_false(kind: Kind, locks: SessionLocks, base: UUID) -> None:
    lock = locks.acquire(base, "s1")
    assert lock is not None
    kind.expire(locks, base, "s1")

    assert lock.extend() is False
    assert not locks.held(base, "s1")


def test_a_late_holder_neither_extends_nor_releases_its_successor(kind: Kind, locks: SessionLocks, base: UUID) -> None:
    late = locks.acquire(base, "s1")
    assert late is not None
    kind.expire(locks, base, "s1")
    successor = locks.acquire(base, "s1")
    assert successor is not None

    assert late.extend() is False
    late.release()
    assert locks.held(base, "s1")
    assert successor.extend()


def test_release_can_be_repeated(locks: SessionLocks, base: UUID) -> None:
    lock = locks.acquire(base, "s1")
    assert lock is not None

    lock.release()
    lock.release()
    assert lock.extend() is False


def test_another_thread_may_extend_and_release(locks: SessionLocks, base: UUID) -> None:
    lock = locks.acquire(base, "s1")
    assert lock is not None
    extended: list[bool] = []

    def renew() -> None:
        extended.append(lock.extend())
        lock.release()

    thread = Thread(target=renew)
    thread.start()
    thread.join()
    assert extended == [True]
    assert not locks.held(base, "s1")


def test_a_dead_holders_lock_can_be_freed(locks: SessionLocks, base: UUID) -> None:
    dead = locks.acquire(base, "session")
    assert dead is not None
    locks.free(base, "session")
    assert locks.acquire(base, "session") is not None
    assert dead.extend() is False
    dead.release()
    assert locks.held(base, "session")
