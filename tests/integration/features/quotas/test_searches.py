"""Searches a minute: wherever a search comes from, and by the database's clock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from harness.statements import recorded
from integration.features.quotas.conftest import Limited

from memorybase.core import errors, metrics
from memorybase.core.callers import charge_search
from memorybase.core.conversation import context
from memorybase.core.database import postgresql
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search_several
from memorybase.features.quotas import queries


def find(limited: Limited) -> None:
    search.search(
        limited.world.services, limited.world.user_id, SearchRequest(query="anything", flow_id=limited.world.flow_id)
    )


@pytest.mark.both_databases
def test_searches_beyond_the_quota_are_refused_until_the_minute_is_over(limited: Limited) -> None:
    limited.step(-timedelta(seconds=limited.now().second))  # no minute ends during the test
    limited.set(searches_per_minute=20)
    for _ in range(20):
        find(limited)
    with pytest.raises(errors.QuotaExceeded) as refused:
        find(limited)
    assert 0 < float(str(refused.value.details["retry_after_seconds"])) <= 60
    assert limited.used("searches_per_minute") == 20
    limited.step(limited.ahead + timedelta(minutes=1))
    find(limited)
    assert limited.used("searches_per_minute") == 1


@pytest.mark.both_databases
def test_threads_at_the_limit_search_exactly_as_often(limited: Limited) -> None:
    limited.step(-timedelta(seconds=limited.now().second))
    limited.set(searches_per_minute=10)

    def is_admitted(_: int) -> bool:
        try:
            charge_search(limited.world.services, limited.world.user_id)
        except errors.QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(is_admitted, range(40))) == limited.used("searches_per_minute") == 10


@pytest.mark.both_databases
def test_the_charge_of_a_search_waits_for_no_disk(limited: Limited) -> None:
    if limited.world.services.database.is_sqlite:
        return  # it says so with a PRAGMA, which is no statement of the engine
    limited.set(searches_per_minute=10)
    with recorded(limited.world.services.database.engine) as statements:
        find(limited)
    sent = [sql for sql, _ in statements]
    charge = next(at for at, sql in enumerate(sent) if "quota_counters" in sql)
    assert sent[charge - 2] == postgresql.WITHOUT_DISK


def test_a_search_that_the_database_cannot_count_is_admitted(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    limited.set(searches_per_minute=0)
    unchecked = metrics.QUOTA_UNCHECKED.labels("searches_per_minute")
    before = unchecked._value.get()

    def away(*_: object) -> bool:
        raise errors.DatabaseUnavailable

    monkeypatch.setattr(queries, "charge_window", away)
    find(limited)
    assert unchecked._value.get() == before + 1


def test_contexts_and_searches_of_several_memory_bases_count_once(limited: Limited) -> None:
    world = limited.world
    limited.step(-timedelta(seconds=limited.now().second))
    first, second = world.new_base(), world.new_base(flow_id=world.new_flow())
    world.say("s1", "The harbour opens at nine")
    limited.set(searches_per_minute=3)
    search_several(world.services, world.user_id, SearchRequest(query="harbour"), [first, second])
    assert limited.used("searches_per_minute") == 1
    wanted = context.ContextRequest(flow_id=world.flow_id, session_id="s1", token_budget=500, query="harbour")
    context.build_context(world.services, world.user_id, wanted)
    assert limited.used("searches_per_minute") == 2
    find(limited)
    with pytest.raises(errors.QuotaExceeded):
        context.build_context(world.services, world.user_id, wanted)
