"""The parts of the stack are watched without waiting for one that hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from harness.rows import each_row
from harness.world import World

from memorybase.core.operations import health, stack_parts
from memorybase.core.operations.health import Part, part_names
from memorybase.core.queries import heartbeats
from memorybase.core.settings import Settings

PART_NAMES = part_names(Settings())


class Hanging:
    """Checks of one part hang until `answer` is set; all others answer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer = threading.Event()
        self.checks = 0

    def check(self, _services: object, name: str) -> Part:
        if name == self.name:
            self.checks += 1
            assert self.answer.wait(60)
        return Part(name, ok=True, latency_seconds=0.001)


@pytest.fixture
def chroma(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    hanging = Hanging("chroma")
    monkeypatch.setattr(health, "check_part", hanging.check)
    monkeypatch.setattr(stack_parts, "FRESH", 0.0)
    yield hanging
    hanging.answer.set()


def away(world: World, seconds: float = 5.0) -> dict[str, str | None]:
    return {part.name: part.problem for part in stack_parts.part_views(world.services, seconds=seconds) if not part.ok}


@pytest.mark.slow
def test_a_part_that_hangs_is_named_and_checked_by_one_thread(world: World, chroma: Hanging) -> None:
    assert away(world, 8.0) == {"chroma": "No answer within 8 s"}
    first = stack_parts.part_views(world.services, seconds=8.0)
    # Known to be away, it delays nobody: a minute is not waited for.
    again = stack_parts.part_views(world.services, seconds=3600)
    assert [part.since for part in again] == [part.since for part in first]
    assert (len(again), chroma.checks) == (len(PART_NAMES), 1)
    chroma.answer.set()
    while away(world):
        pass
    assert all(part.since is None for part in stack_parts.part_views(world.services))


def test_a_recent_answer_is_not_asked_for_again(world: World, chroma: Hanging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_parts, "FRESH", 3600.0)
    chroma.answer.set()
    assert away(world) == away(world) == {}
    assert chroma.checks == 1
    stack_parts.part_views(world.services, fresh=0)
    assert chroma.checks == 2


def test_a_worker_is_away_since_its_last_heartbeat(world: World) -> None:
    last = datetime.now(UTC) - timedelta(minutes=7)
    with world.services.database.transaction() as db:
        heartbeats.beat(db, "worker@1", "worker", last)
    (worker,) = (part for part in stack_parts.part_views(world.services, seconds=30) if part.name == "worker")
    assert (worker.ok, worker.since) == (False, last)
    assert worker.stops == "New messages are captured and wait; searches find them by words, and the newest by meaning."


@each_row(
    ("url", "commands"),
    [
        ("", dict.fromkeys(PART_NAMES, "memorybase up --data-dir 'my data'")),
        (
            "postgresql+psycopg://host/db",
            dict.fromkeys(("database", "redis", "chroma"), "memorybase doctor")
            | {"worker": "celery -A worker.app worker", "sweeper": "memorybase sweep"},
        ),
    ],
)
def test_the_command_can_be_pasted(world: World, url: str, commands: dict[str, str]) -> None:
    settings = world.services.settings.model_copy(update={"database_url": url, "data_dir": "my data"})
    settings.__dict__.pop("resolved_database_url", None)
    if not url:
        settings.__dict__["resolved_database_url"] = "sqlite:///my data/memorybase.db"
    assert {name: stack_parts.command_for(settings, name) for name in PART_NAMES} == commands
