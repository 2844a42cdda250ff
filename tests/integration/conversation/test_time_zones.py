"""Days of queries and of contexts are those of the call's time zone, else of the flow's, else UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from harness.rows import each_row
from harness.world import World

from memorybase.core import errors
from memorybase.core.conversation import ESTIMATE
from memorybase.core.conversation.context import ContextRequest, RecallOptions, build_context
from memorybase.core.conversation.context_lines import AddedLines, ContextLine
from memorybase.core.extension import ContextSource
from memorybase.core.search import search
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import flows
from memorybase.features.standing_statements.context_profile import _line
from memorybase.features.standing_statements.profile import ProfileItem

TOKYO, ANGELES = "Asia/Tokyo", "America/Los_Angeles"
RECALL = RecallOptions(scope="flow", mode="keyword", min_score=0)


@pytest.fixture
def world(sqlite_world: World) -> World:
    """On SQLite only: no statement differs between the databases."""
    sqlite_world.new_base()
    said: Any = {"role": "user", "content": "The kettle is broken.", "timestamp": "2026-11-28T00:30:00+09:00"}
    sqlite_world.say("old", said)
    return sqlite_world


def recalled(world: World, **fields: Any) -> str:
    asked = ContextRequest(
        flow_id=world.flow_id, session_id="new", token_budget=500, query="What about the kettle?", recall=RECALL
    )
    fields = {name: getattr(asked, name) for name in asked.__slots__} | fields
    return build_context(world.services, world.user_id, ContextRequest(**fields)).text


def nearness(world: World, query: str, **fields: Any) -> float:
    """The signal `date` of the message."""
    request = SearchRequest(query=query, flow_id=world.flow_id, mode="keyword", explain=True, **fields)
    (hit,) = search.search(world.services, world.user_id, request).results
    assert hit.parts is not None
    return float(hit.parts["signals"]["date"]["value"])


@each_row(
    ("of_flow", "of_call", "day"),
    [
        (None, None, "2026-11-27"),
        (None, TOKYO, "2026-11-28"),
        (TOKYO, None, "2026-11-28"),
        (TOKYO, ANGELES, "2026-11-27"),
    ],
)
def test_a_context_shows_days_of_the_zone(world: World, of_flow: str | None, of_call: str | None, day: str) -> None:
    flows.update_flow(world.services, world.user_id, world.flow_id, {"time_zone": of_flow or "UTC"})
    assert f"- [{day}] user: The kettle is broken." in recalled(world, time_zone=of_call)


@each_row(
    ("said_at", "zone", "day"), [("0001-01-01", ANGELES, "0001-01-01"), ("9999-12-31T23:59:59", TOKYO, "9999-12-31")]
)
def test_a_day_that_no_calendar_of_the_zone_has_is_that_of_utc(world: World, said_at: str, zone: str, day: str) -> None:
    said: Any = {"role": "user", "content": "The kettle has no date.", "timestamp": said_at}
    world.say("undated", said, {"role": "user", "content": "It hums.", "timestamp": said_at})
    assert f"- [{day}] user: The kettle has no date." in recalled(world, time_zone=zone)


def test_the_lines_of_features_write_year_1_with_four_digits() -> None:
    said_at, message_id = datetime(1, 1, 1, tzinfo=UTC), uuid4()
    source = ContextSource("facts", "fact", "Facts:", lambda *_: ())
    line = ContextLine(text="Red.", said_at=said_at, score=1.0, message_ids=[message_id], reported=None)
    item = ProfileItem(
        text="Red.", kind="pinned", times=1, message_id=message_id, session_id="s", said_at=said_at, sources=[]
    )

    shown = AddedLines(source, [line]).within(ESTIMATE, 500).record
    assert shown is not None
    assert shown.text == "Facts:\n- Red. [said 0001-01-01]"
    assert _line(item) == "- [0001-01-01] Red."


def test_a_stretch_in_a_query_has_days_of_the_zone(world: World) -> None:
    query = "the kettle between 28 November 2026 and 29 November 2026"
    assert nearness(world, query) == 0
    assert nearness(world, query, time_zone=TOKYO) == 1
    flows.update_flow(world.services, world.user_id, world.flow_id, {"time_zone": TOKYO})
    assert nearness(world, query) == 1
    assert nearness(world, query, time_zone="UTC") == 0


def test_a_flow_is_put_with_a_time_zone_and_keeps_it(world: World) -> None:
    names: dict[str, Any] = {"name": "flow", "flow_id": world.flow_id}
    flow, _ = flows.put_flow(world.services, world.user_id, **names, time_zone=TOKYO)
    assert flow.time_zone == TOKYO
    flow, _ = flows.put_flow(world.services, world.user_id, **names)
    assert flow.time_zone == TOKYO
    assert flows.create_flow(world.services, world.user_id, name="other").time_zone == "UTC"


@each_row("name", ["Berlin", "europe/berlin", "+01:00", "../etc/passwd", "Europe", "", "x" * 64])
def test_a_name_that_is_no_time_zone_is_refused(world: World, name: str) -> None:
    for call in (
        lambda: flows.update_flow(world.services, world.user_id, world.flow_id, {"time_zone": name}),
        lambda: flows.create_flow(world.services, world.user_id, name="other", time_zone=name),
        lambda: recalled(world, time_zone=name),
        lambda: recalled(world, time_zone=name, query=None),
        lambda: nearness(world, "kettle", time_zone=name),
    ):
        with pytest.raises(errors.InvalidRequest) as refused:
            call()
        assert (refused.value.field, refused.value.value) == ("time_zone", name)
