"""What the sweeper writes when it finds nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from harness.statements import recorded
from harness.world import World

from memorybase.audit.record import Actor, values_of
from memorybase.operations import store_check, sweeper, vector_indexes
from memorybase.queries import audit_entries
from memorybase.webhooks import sender


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
        audit_entries.insert_entry(db, values_of(Actor("cli"), "change", "create_memory_base", {}))
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
