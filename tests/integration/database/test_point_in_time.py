"""PostgreSQL goes back to a moment before a mistake, from a base backup and its archived log; then the store follows.

The commands are those of docs/howto/back-up-and-restore.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness import wait_until
from harness.postgres import PostgresServer
from harness.world import World, build_world

from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.models import Message
from memorybase.features.backup import repair

pytestmark = pytest.mark.slow  # servers are started and stopped

KEPT = tuple(f"message {number} about boats" for number in range(10))
RECOVERED_SECONDS = 60.0


@pytest.fixture
def archiving() -> Iterator[PostgresServer]:
    """A server that archives each segment of its log in `<directory>/archive`."""
    server = PostgresServer(full_page_writes="on", archive_mode="on")
    archive = server.directory / "archive"
    archive.mkdir()
    if server.account is not None:
        shutil.chown(archive, server.account.pw_uid, server.account.pw_gid)
    server.settings["archive_command"] = f"test ! -f {archive}/%f && cp %p {archive}/%f"
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def world(archiving: PostgresServer, tmp_path: Path) -> Iterator[World]:
    url = archiving.url(archiving.create_database(template=archiving.template))
    built = build_world(url, tmp_path, database=Database(url))
    yield built
    built.services.database.dispose()


def filled(world: World) -> UUID:
    base = world.new_base(threshold=1)
    world.say("s", *KEPT)
    world.assert_settled(base)
    return base


def texts(world: World) -> list[str]:
    return [str(message.content) for message in world.messages()]


def follow(world: World, base: UUID) -> repair.RestoredBase | None:
    """What `memorybase restore --apply` does for a memory base."""
    repair.unknown_collections(world.services, apply=True)
    done = repair.restore_base(world.services, base, apply=True)
    world.settle()
    return done


def test_a_server_goes_back_to_the_moment_before_a_mistake(archiving: PostgresServer, world: World) -> None:
    server = archiving
    base = filled(world)
    copy = server.directory / "base"
    server.run_program(
        "pg_basebackup", "-d", server.conninfo(), "-D", str(copy), "-X", "none", "-c", "fast", "--no-sync"
    )
    world.say("s", "captured after the base backup")
    world.settle()
    ((moment,),) = server.execute("SELECT clock_timestamp()::text")
    world.say("s", "captured after the moment")
    world.settle()
    with world.services.database.transaction() as db:  # the mistake
        db.execute(sa.delete(Message).where(Message.flow_id == world.flow_id, Message.seq <= 5))
    ((segment,),) = server.execute("SELECT pg_walfile_name(pg_switch_wal())")
    wait_until((server.directory / "archive" / str(segment)).exists, 30, "the log is archived")
    world.services.database.dispose()
    server.stop()

    shutil.rmtree(server.data)
    copy.rename(server.data)
    with (server.data / "postgresql.auto.conf").open("a") as configuration:
        configuration.write(
            f"restore_command = 'cp {server.directory}/archive/%f %p'\n"
            f"recovery_target_time = '{moment}'\n"
            "recovery_target_action = 'promote'\n"
        )
    (server.data / "recovery.signal").touch()
    server.start()
    wait_until(lambda: server.execute("SELECT pg_is_in_recovery()") == [(False,)], RECOVERED_SECONDS, "it is promoted")

    assert texts(world) == [*KEPT, "captured after the base backup"]
    done = follow(world, base)
    assert done is not None
    assert done.action == "repair", "only what differs is repaired"
    world.assert_all_ingested(base)
    world.say("s", "captured after the recovery")
    world.assert_settled(base)


def test_a_dump_is_restored_into_another_database(archiving: PostgresServer, world: World, tmp_path: Path) -> None:
    server = archiving
    base = filled(world)
    dump = str(server.directory / "memorybase.dump")
    name = str(world.services.database.url.database)
    server.run_program("pg_dump", "-d", server.conninfo(name), "-Fc", "-f", dump)
    world.say("s", "captured after the dump")
    world.settle()
    other = server.create_database()
    server.run_program("pg_restore", "-d", server.conninfo(other), "--exit-on-error", dump)

    url = server.url(other)
    assert migrate.check(url) == []
    restored = build_world(url, tmp_path, database=Database(url))
    try:
        restored.user_id, restored.flow_id = world.user_id, world.flow_id
        restored.services = replace(restored.services, vectors=world.vectors)
        assert texts(restored) == list(KEPT)
        done = follow(restored, base)
        assert done is not None
        assert done.action == "repair"
        restored.assert_all_ingested(base)
    finally:
        restored.services.database.dispose()
