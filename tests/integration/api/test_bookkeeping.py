"""Calls that read and note something besides, such as the use of their key, never wait for a writer to do so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.rows import each_row
from harness.waiting import PATIENCE

from memorybase.core.auth import api_keys
from memorybase.core.conversation.session_memory.summaries import SUMMARIZE
from memorybase.core.database import engine, postgresql
from memorybase.core.embedding import usage
from memorybase.core.models import ApiKey


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that waits outlasts `answered`. Every key is looked up."""
    hour = 3_600_000
    monkeypatch.setattr(engine, "SQLITE_BUSY_MILLISECONDS", hour)
    monkeypatch.setattr(postgresql, "TIMEOUTS", dict.fromkeys(postgresql.TIMEOUTS, hour))
    monkeypatch.setattr(api_keys, "VALID_SECONDS", 0.0)


@contextmanager
def held(api: Api, by: str) -> Iterator[None]:
    """SQLite's writer is held."""
    database = api.services.database
    if by == "this process":
        with database.transaction():
            yield
        return
    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def key_locked(api: Api) -> Iterator[None]:
    with api.services.database.transaction() as db:
        db.execute(sa.select(ApiKey).with_for_update())
        yield


def answered(holder: AbstractContextManager[object], *calls: Callable[[], object]) -> None:
    """Make the calls while something is held; fails if one of them waits for it."""
    with ThreadPoolExecutor(1) as thread, holder:
        for call in calls:
            thread.submit(call).result(PATIENCE)


def last_used(api: Api) -> datetime:
    with api.services.database.reading() as db:
        return db.scalars(sa.select(ApiKey.last_used_at)).one() or datetime.max.replace(tzinfo=UTC)


def forget_use(api: Api) -> datetime:
    """The key was last used a while ago."""
    then = datetime.now(UTC) - timedelta(seconds=61)
    with api.services.database.transaction() as db:
        db.execute(sa.update(ApiKey).values(last_used_at=then))
    return then


SEARCH = {"flow_id": "support", "query": "berth", "mode": "dense"}
CONTEXT = {"flow_id": "support", "session_id": "s", "preset": "flowx_5", "token_budget": 1_000}


@each_row("by", ["another process", "this process"])
def test_calls_are_answered_while_the_writer_is_held(api: Api, by: str) -> None:
    """Those that mark their key, a mismatch, the summary that a history needs, and usage of embedding endpoints."""
    api.client.app.state.exposition.keep_seconds = 0
    api.memory(name=by, capture="all")
    for n in range(5):
        said = [{"role": "user", "content": f"{by} {n}"}, {"role": "assistant", "content": f"berth {n}"}]
        api.post("/flows/support/runs", {"session_id": "s", "messages": said}, expect=201)
    for name in api.vectors.names():
        api.vectors.delete_collection(name)
    usage.OF_THIS_PROCESS.add("m", usage.Usage(requests=1))
    api.queue.notified[SUMMARIZE.name].clear()
    used_at = forget_use(api)
    answered(
        held(api, by),
        lambda: api.get("/flows"),
        lambda: api.post("/search", SEARCH, expect=503),
        lambda: api.post("/context", CONTEXT),
        lambda: api.call("GET", "/metrics"),
    )
    assert last_used(api) == used_at
    assert not api.queue.notified[SUMMARIZE.name]
    api.post("/context", CONTEXT)
    assert last_used(api) > used_at
    assert api.queue.notified[SUMMARIZE.name]


def test_a_revoked_key_of_the_settings_writes_nothing(api: Api) -> None:
    api.delete(f"/keys/{api.get('/keys')['items'][0]['id']}")
    answered(held(api, "another process"), lambda: api.refused("GET", "/flows", 401))


def test_on_postgresql_a_call_is_answered_while_the_row_of_its_key_is_locked(postgres_api: Api) -> None:
    used_at = forget_use(postgres_api)
    answered(key_locked(postgres_api), lambda: postgres_api.get("/flows"))
    assert last_used(postgres_api) == used_at
    postgres_api.get("/flows")
    assert last_used(postgres_api) > used_at
