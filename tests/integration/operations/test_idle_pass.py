"""What the sweeper writes when it finds nothing to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from harness.statements import recorded
from harness.world import World

from memorybase.cli.sweep import sweep_until
from memorybase.core.calls import Actor
from memorybase.core.extension import Pace
from memorybase.core.operations import store_check, sweeper, vector_indexes
from memorybase.features.audit_log import queries
from memorybase.features.audit_log.recording import values_of
from memorybase.features.webhooks import sender


@contextmanager
def commits(engine: sa.Engine) -> Iterator[list[sa.Connection]]:
    """One for each write transaction meanwhile: those that read are rolled back."""
    committed: list[sa.Connection] = []

    def note(connection: sa.Connection) -> None:
        committed.append(connection)

    sa.event.listen(engine, "commit", note)
    try:
        yield committed
    finally:
        sa.event.remove(engine, "commit", note)


@pytest.mark.both_databases
def test_an_idle_pass_writes_nothing_and_locks_no_row(world: World) -> None:
    database = world.services.database
    services = replace(world.services, settings=world.services.settings.model_copy(update={"node_memory_days": 30}))

    def run_pass() -> sweeper.SweepReport:
        store_check.check_store(services)
        report = sweeper.sweep(services)
        vector_indexes.build_indexes(services)
        sender.send_due(services)
        return report

    world.new_base(threshold=1)
    world.say("s", "is ingested")
    with database.transaction() as db:
        queries.insert_entry(db, values_of(Actor("cli"), "change", "create_memory_base", {}))
    world.settle()
    run_pass()  # takes its turns
    with commits(database.engine) as committed, recorded(database.engine) as sent:
        report = run_pass()
    assert report == sweeper.SweepReport()
    assert not committed
    assert [statement for statement, _ in sent if not statement.lstrip().startswith(("BEGIN", "SELECT"))] == []
    assert [statement for statement, _ in sent if " FOR " in statement] == []
    world.say("s", "is pending")
    with commits(database.engine) as committed:
        world.settle()
    assert committed


@pytest.mark.both_databases
def test_while_nothing_is_due_a_pass_of_the_process_is_one_statement(world: World) -> None:
    world.new_base(threshold=1)
    world.say("s", "is ingested")
    world.settle()
    engine = world.services.database.engine
    selects: list[list[str]] = []
    moments = iter([0.0, 0.0, 2.0, sweeper.REST_SECONDS[Pace.RESTING] + 1])  # the process's start and three passes

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - it does not wait
            selects.append([statement for statement, _ in sent if statement.lstrip().startswith("SELECT")])
            sent.clear()
            if len(selects) == 3:
                self.set()
            return self.is_set()

    with recorded(engine) as sent:
        sweep_until(Stop(), world.services, lambda: None, now=lambda: next(moments))
    every_step, one_statement, rested = selects
    clock_reads = 0 if world.services.database.is_sqlite else 1
    assert len(one_statement) == 1 + clock_reads
    assert len(every_step) > len(rested) > 10
