"""Which children are restarted because they run but do not work."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from harness.rows import each_row

from memorybase.stack.children import NAMES
from memorybase.stack.watch import (
    API_PATIENCE_SECONDS,
    FORGET_SECONDS,
    HEARTBEAT_SECONDS,
    PATIENCE_SECONDS,
    WATCH_SECONDS,
    Watch,
)


class WatchedChildren:
    """Five children, observed every few seconds; a restarted one is a new process."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.now = 1_000.0
        self.started = dict.fromkeys(NAMES, self.now)

    def passing(self, seconds: float, *failing: str, answers: bool = True, has_room: bool = True) -> list[str]:
        """The children that are restarted while these parts fail."""
        restarted: list[str] = []
        end = self.now + seconds
        parts: Collection[str] | None = failing if answers else None
        while self.now < end:
            self.now += WATCH_SECONDS
            due = self.watch.observe(self.now, started=self.started, failing=parts, has_room=has_room)
            self.started |= dict.fromkeys(due, self.now)
            restarted += due
        return restarted


@pytest.fixture
def stack() -> WatchedChildren:
    return healthy_stack()


def healthy_stack() -> WatchedChildren:
    stack = WatchedChildren()
    assert stack.passing(HEARTBEAT_SECONDS * 2) == []
    return stack


@each_row("name", ["redis", "chroma", "worker", "sweeper"])
def test_a_child_that_fails_for_its_patience_is_restarted_once(name: str) -> None:
    stack = healthy_stack()
    assert stack.passing(PATIENCE_SECONDS / 2, name) == []
    assert stack.passing(PATIENCE_SECONDS, name) == [name]
    # It has not worked since: another restart would not help.
    assert stack.passing(3_600, name) == []


def test_a_short_failure_restarts_nothing(stack: WatchedChildren) -> None:
    for _ in range(10):
        assert stack.passing(PATIENCE_SECONDS / 2, "chroma", "redis") == []
        assert stack.passing(WATCH_SECONDS) == []


def test_on_a_full_disk_nothing_is_restarted_until_there_is_room(stack: WatchedChildren) -> None:
    """Chroma does not start on a full disk, and a store may recover by itself once there is room."""
    assert stack.passing(3_600, "chroma", "redis", "worker", has_room=False) == []
    assert stack.passing(PATIENCE_SECONDS / 2, "chroma") == []
    assert stack.passing(PATIENCE_SECONDS, "chroma") == ["chroma"]


def test_an_api_that_gives_no_answer_is_restarted_and_nothing_else(stack: WatchedChildren) -> None:
    assert stack.passing(API_PATIENCE_SECONDS - WATCH_SECONDS, answers=False) == []
    assert stack.passing(WATCH_SECONDS * 2, answers=False) == ["api"]


def test_a_database_outage_restarts_no_process(stack: WatchedChildren) -> None:
    """Heartbeats are in the database."""
    assert stack.passing(3_600, "database", "worker", "sweeper") == []


def test_a_worker_that_takes_long_to_load_its_model_is_left_alone() -> None:
    assert WatchedChildren().passing(3_600, "worker") == []


def test_a_heartbeat_of_the_worker_before_is_not_the_new_ones(stack: WatchedChildren) -> None:
    assert stack.passing(PATIENCE_SECONDS + WATCH_SECONDS, "worker") == ["worker"]
    assert stack.passing(HEARTBEAT_SECONDS - WATCH_SECONDS * 2) == []
    assert stack.passing(3_600, "worker") == []


def test_restarts_that_help_for_a_short_time_only_become_rare(stack: WatchedChildren) -> None:
    """A damaged collection, for example, fails its own jobs after every restart."""
    restarts = 0
    for _ in range(60):
        restarts += len(stack.passing(30, "chroma"))
        restarts += len(stack.passing(30))
    assert restarts <= 4
    stack.passing(FORGET_SECONDS)
    assert stack.passing(PATIENCE_SECONDS * 1.5, "chroma") == ["chroma"]
