"""Everything through PgBouncer in transaction mode, with fewer connections to PostgreSQL than clients have."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from harness import PostgresServer, running
from harness.pgbouncer import SERVER_CONNECTIONS, PgBouncerServer
from harness.postgres import USER
from harness.world import World, build_world

from memorybase.cli import doctor
from memorybase.core import errors
from memorybase.core.database import migrate, postgresql
from memorybase.core.database.engine import Database
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.settings import Settings
from memorybase.core.vectors.pgvector import PgVectorStore

pytestmark = pytest.mark.slow

WRITERS = 6
RUNS = 12


@pytest.fixture(scope="module")
def pgbouncer(postgres_server: PostgresServer) -> Iterator[PgBouncerServer]:
    with running(PgBouncerServer(postgres_server)) as server:
        yield server


@pytest.fixture
def name(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with the tables and the role's timeouts, as the guide says."""
    name = postgres_server.create_database(template=postgres_server.template)
    for timeout, value in postgresql.TIMEOUTS.items():
        postgres_server.execute(f"ALTER ROLE {USER} IN DATABASE \"{name}\" SET {timeout} = '{value}'")
    yield name
    postgres_server.drop_database(name)


@pytest.fixture(params=["on", "off"])
def url(request: pytest.FixtureRequest, pgbouncer: PgBouncerServer, name: str) -> str:
    if request.param == "on" and not pgbouncer.prepares:
        pytest.skip("PgBouncer before 1.21 knows no prepared statements")
    return pgbouncer.url(name, prepared_statements=request.param)


@pytest.fixture
def world(url: str, tmp_path: Path) -> Iterator[World]:
    """With vectors in pgvector, in the same database."""
    world = build_world(url, tmp_path, database=Database(url, pool_size=WRITERS))
    with closing(PgVectorStore(url)) as vectors:
        world.services = replace(world.services, vectors=vectors)
        yield world
    world.close()


def test_many_clients_capture_ingest_and_search_over_few_connections(world: World) -> None:
    assert WRITERS > SERVER_CONNECTIONS
    base = world.new_base(threshold=3)

    def write(number: int) -> None:
        for turn in range(RUNS):
            world.say(f"session {number % 3}", f"boat {number} {turn}")
            world.drain()

    with ThreadPoolExecutor(WRITERS) as pool:
        for future in [pool.submit(write, number) for number in range(WRITERS)]:
            future.result()
    world.pass_time(3_600)
    world.assert_settled(base)
    for mode in ("dense", "keyword", "hybrid"):
        request = SearchRequest(memory_base_id=base, query="boat 3 4", mode=mode)
        assert search(world.services, world.user_id, request).results, mode


def test_no_setting_of_a_session_is_left_for_the_next_client(world: World, url: str) -> None:
    world.new_base(threshold=1)
    world.say("s", "hello")
    world.settle()
    migrate.current(url)
    with closing_database(url) as database, database.reading() as db:
        changed = db.execute(
            sa.text(
                "SELECT name, setting, reset_val FROM pg_settings WHERE setting <> reset_val"
                " AND context = 'user' AND name NOT LIKE 'transaction_%' AND source = 'session'"
                " AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle')"
            )
        ).all()
        locks = db.execute(sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).scalar_one()
    assert changed == []
    assert locks == 0


def test_the_timeouts_of_the_role_apply(url: str) -> None:
    with closing_database(url) as database:
        assert database.missing_timeouts() == []


def test_the_doctor_names_timeouts(postgres_server: PostgresServer, pgbouncer: PgBouncerServer, tmp_path: Path) -> None:
    name = postgres_server.create_database()
    settings = Settings(data_dir=tmp_path, database_url=pgbouncer.url(name, prepared_statements="off"))
    (check,) = [each for each in doctor.CHECKS if each.name == "timeouts"]
    context = doctor.DoctorContext(settings, None)

    result = check.run(context)
    context.services.database.dispose()

    assert not result.ok
    assert all(timeout in result.detail for timeout in postgresql.TIMEOUTS)


def test_a_migration_is_refused(url: str) -> None:
    with pytest.raises(errors.DatabaseUnavailable, match="DATABASE_DIRECT_URL"):
        migrate.upgrade(url)


@contextmanager
def closing_database(url: str) -> Iterator[Database]:
    database = Database(url, pool_size=1)
    try:
        yield database
    finally:
        database.dispose()
