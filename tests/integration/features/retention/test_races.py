"""Retention beside captures, edits, deletions, flushes, rebuilds and workers: nothing is lost, nothing comes back."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.days import Calendar
from harness.expiring import keep, sweep_all
from harness.index import assert_index_exact
from harness.world import World

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.memory_bases import regenerate
from memorybase.core.models import Flow, MemoryBase
from memorybase.core.operations import sweeper
from memorybase.core.sessions import edits
from memorybase.features.retention import holds

KEPT_DAYS = 10
SESSIONS = ("a", "b", "c")
ROUNDS = 8
WORKERS = 3


class Actors:
    """What happens beside the passes; `captured` has the time of each acknowledged message."""

    def __init__(self, world: World, base: UUID, forgetful: UUID) -> None:
        self.world, self.base, self.forgetful = world, base, forgetful
        self.captured: dict[UUID, str] = {}
        self.deleted: set[UUID] = set()
        self._lock = Lock()

    def capture(self, dice: random.Random) -> None:
        answer = self.world.say(dice.choice(SESSIONS), *[f"text {dice.random()}" for _ in range(dice.randint(1, 4))])
        with self._lock:
            self.captured.update((message.id, answer.session_id) for message in answer.messages)

    def edit(self, dice: random.Random) -> None:
        if (message := self._some(dice)) is not None:
            edits.edit_message(self.world.services, self.world.user_id, message, {"content": f"new {dice.random()}"})

    def delete(self, dice: random.Random) -> None:
        if (message := self._some(dice)) is not None:
            with self._lock:
                self.deleted.add(message)
            edits.delete_message(self.world.services, self.world.user_id, message)

    def flush(self, dice: random.Random) -> None:
        self.world.flush(dice.choice([self.base, self.forgetful]))

    def rebuild(self, dice: random.Random) -> None:
        regenerate.regenerate(self.world.services, self.world.user_id, dice.choice([self.base, self.forgetful]))

    def work(self, _: random.Random) -> None:
        self.world.drain()

    def sweep(self, _: random.Random) -> None:
        with self.world.services.database.transaction() as db:
            now = clock.now(db)
            db.execute(sa.update(Flow).where(Flow.retain_days.is_not(None)).values(retention_due_at=now))
            db.execute(sa.update(MemoryBase).where(MemoryBase.retain_days.is_not(None)).values(forget_due_at=now))
        # Not World.sweep: another thread may let a step be due after it has looked.
        assert sweeper.sweep(self.world.services).failed_steps == []

    def _some(self, dice: random.Random) -> UUID | None:
        with self._lock:
            return dice.choice([*self.captured]) if self.captured else None

    def acts(self) -> list[Callable[[random.Random], None]]:
        return [
            self.capture,
            self.capture,
            self.edit,
            self.delete,
            self.flush,
            self.rebuild,
            self.work,
            self.work,
            self.sweep,
            self.sweep,
        ]


@pytest.mark.slow
@pytest.mark.both_databases
def test_nothing_is_lost_or_comes_back_beside_the_passes(world: World, days: Calendar) -> None:
    base = world.new_base(threshold=2)
    forgetful = world.new_base(threshold=2, retain_days=3)
    keep(world, KEPT_DAYS)
    actors = Actors(world, base, forgetful)

    def act(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(6):
            with suppress(errors.CallerError):  # of two that change the same thing, one may come too late
                dice.choice(actors.acts())(dice)

    with ThreadPoolExecutor(WORKERS) as pool:
        for number in range(ROUNDS):
            list(pool.map(act, range(number * WORKERS, (number + 1) * WORKERS)))
            days.pass_days(2)
    for _ in range(3):
        days.pass_days(0.01)  # leases and backoffs
        actors.sweep(random.Random())
        sweep_all(world)
    with world.services.database.reading() as db:
        before = clock.now(db) - timedelta(days=KEPT_DAYS)
    left = world.messages()
    assert all(message.captured_at > before for message in left)
    for each in (base, forgetful):
        world.flush(each)
        world.settle()
        world.assert_all_ingested(each)
    forget_before = before + timedelta(days=KEPT_DAYS - 3)
    recent = {message.id for message in left if message.captured_at > forget_before}
    serving = world.base(forgetful).serving
    assert {entry.message_id for entry in world.ledger(forgetful) if entry.generation == serving} == recent
    assert_index_exact(world)


@pytest.mark.slow
@pytest.mark.both_databases
def test_no_acknowledged_message_goes_before_its_time(world: World, days: Calendar) -> None:
    keep(world, KEPT_DAYS)
    actors = Actors(world, world.new_base(threshold=2), world.new_base(threshold=2))
    stop = [False]

    def passes() -> None:
        while not stop[0]:
            actors.sweep(random.Random())

    with ThreadPoolExecutor(3) as pool:
        sweeping = [pool.submit(passes) for _ in range(2)]
        dice = random.Random(1)
        rounds: list[set[UUID]] = []
        for _ in range(12):
            known = set(actors.captured)
            actors.capture(dice)
            rounds.append(set(actors.captured) - known)
            days.pass_days(1)
        stop[0] = True
        for each in sweeping:
            each.result(60)
    alive = {message.id for message in world.messages()}
    assert set().union(*rounds[-9:]) <= alive
    sweep_all(world)
    alive = {message.id for message in world.messages()}
    assert alive == set().union(*rounds[-9:])


@pytest.mark.both_databases
def test_a_hold_that_was_acknowledged_keeps_everything_from_then_on(world: World, days: Calendar) -> None:
    keep(world, KEPT_DAYS)
    for name in SESSIONS:
        world.say(name, *[f"text {number}" for number in range(5)])
    days.pass_days(KEPT_DAYS + 1)
    for name in SESSIONS:
        world.say(name, "new")  # so that only a part of each session expires
    actors = Actors(world, world.new_base(), world.new_base())

    def hold(name: str) -> tuple[str, int]:
        holds.place_hold(world.services, world.user_id, flow_id=world.flow_id, session_id=name)
        return name, len(world.messages(name))

    with ThreadPoolExecutor(4) as pool:
        sweeping = [pool.submit(actors.sweep, random.Random()) for _ in range(2)]
        held = dict(pool.map(hold, SESSIONS))
        for each in sweeping:
            each.result(60)
    actors.sweep(random.Random())
    assert {name: len(world.messages(name)) for name in SESSIONS} == held
