"""Many scrapes cost the database no more than one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from harness.api import Api
from harness.world import World

from memorybase.core import errors
from memorybase.core.operations import exposition, health
from memorybase.core.services import Services


def value(shown: exposition.Exposition, world: World, name: str) -> float:
    (line,) = [line for line in shown.text(world.services).decode().splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


@pytest.mark.slow
def test_many_scrapes_read_the_database_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    moment, asked, real = [100.0], [], health.read_vitals

    def take(services: Services) -> health.Vitals:
        asked.append(moment[0])
        return real(services)

    monkeypatch.setattr(health, "read_vitals", take)
    shown = exposition.Exposition(keep_seconds=2, clock=lambda: moment[0])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: shown.text(world.services), range(40)))
    assert len(asked) == 1
    world.new_base(threshold=1)
    world.say("s", "a")
    assert value(shown, world, "memorybase_pending_messages") == 0
    moment[0] += 2
    assert value(shown, world, "memorybase_pending_messages") == 1
    assert len(asked) == 2


def test_an_unavailable_database_is_not_queried_by_every_scrape(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    moment, asked = [100.0], []

    def away(_services: Services) -> health.Vitals:
        asked.append(moment[0])
        raise errors.DatabaseUnavailable

    monkeypatch.setattr(health, "read_vitals", away)
    shown = exposition.Exposition(keep_seconds=2, clock=lambda: moment[0])
    for _ in range(5):
        assert value(shown, world, "memorybase_database_up") == 0
    assert len(asked) == 1
    monkeypatch.undo()
    moment[0] += 2
    assert value(shown, world, "memorybase_database_up") == 1


def test_counters_are_shown_without_delay(api: Api) -> None:
    api.flow()
    before = api.call("GET", "/metrics").text
    api.capture("a")
    assert counted(api.call("GET", "/metrics").text) == counted(before) + 1


def counted(text: str) -> float:
    (line,) = [line for line in text.splitlines() if line.startswith("memorybase_runs_captured_total ")]
    return float(line.split()[1])
