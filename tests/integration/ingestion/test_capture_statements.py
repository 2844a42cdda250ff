"""What a capture sends to the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from harness.world import World

from memorybase.core.callers import acting_as, caller_of


@pytest.fixture(autouse=True)
def _with_a_key(world: World) -> Iterator[None]:
    """As in the API: without a key, each capture looks up the quotas of its user."""
    with acting_as(caller_of(world.services.settings, world.user_id, None)):
        yield


@contextmanager
def statements(world: World) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(" ".join(statement.split()))

    engine = world.services.database.engine
    sa.event.listen(engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(engine, "before_cursor_execute", note)


def test_a_capture_of_a_new_session_builds_no_statement(world: World) -> None:
    world.new_base(threshold=100)
    executed: list[object] = []  # keeps each alive, so that no other one gets its id

    def note(_connection: object, statement: object, *_: object) -> None:
        executed.append(statement)

    engine = world.services.database.engine
    sa.event.listen(engine, "before_execute", note)
    world.say("before", "builds what was not built yet")
    built = {id(statement) for statement in executed}
    executed.clear()
    world.say("new", "one", "two")
    sa.event.remove(engine, "before_execute", note)
    assert len(executed) > 8
    assert [str(statement) for statement in executed if id(statement) not in built] == []


@pytest.mark.both_databases
def test_a_capture_below_the_threshold_sends_eight_statements(world: World) -> None:
    world.new_base(threshold=100)
    world.say("s", "the first starts the session and its row")
    with statements(world) as sent:
        world.say("s", "one", "two")
    # On PostgreSQL also the advisory lock of the memory bases, and the clock.
    assert len(sent) == (8 if world.services.database.is_sqlite else 10), sent
    assert sum(statement.startswith("UPDATE") for statement in sent) == 1


def test_a_replay_writes_nothing(world: World) -> None:
    world.new_base(threshold=100)
    message = {"role": "assistant", "content": "hello", "id": "m1"}
    world.say("s", message)
    with statements(world) as sent:
        world.say("s", message, run_id=None)
    assert [statement for statement in sent if statement.startswith("UPDATE")] == []
