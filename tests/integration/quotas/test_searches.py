"""Searches a minute: wherever a search comes from, and by the database's clock."""

from __future__ import annotations

from datetime import timedelta

import pytest
from integration.quotas.conftest import Limited

from memorybase import errors
from memorybase.conversation import context
from memorybase.search import search
from memorybase.search.request import SearchRequest
from memorybase.search.search import search_several


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
