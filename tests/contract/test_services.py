"""The harness: the services that tests start, kill, stop and freeze."""

from __future__ import annotations

import psycopg
import pytest
import sqlalchemy
from harness import ChromaServer, PostgresServer, RedisServer, wait_until
from harness.process import PortServer

pytestmark = pytest.mark.slow


@pytest.fixture(params=["own_redis", "own_chroma", "own_postgres"])
def server(request: pytest.FixtureRequest) -> RedisServer | ChromaServer | PostgresServer:
    server: RedisServer | ChromaServer | PostgresServer = request.getfixturevalue(request.param)
    return server


@pytest.mark.slow
def test_a_killed_server_starts_again(server: RedisServer | ChromaServer | PostgresServer) -> None:
    before = server.pid
    server.kill()
    assert not server.running
    assert not server.answers()

    server.start()
    assert server.answers()
    assert server.pid != before


def test_a_stopped_server_starts_again(server: RedisServer | ChromaServer | PostgresServer) -> None:
    server.stop()
    assert not server.running

    server.start()
    assert server.answers()


@pytest.mark.slow
def test_a_frozen_server_is_alive_but_does_not_respond(server: RedisServer | ChromaServer | PostgresServer) -> None:
    server.freeze()
    assert server.running
    assert not server.answers()

    server.thaw()
    assert server.answers()


@pytest.mark.slow
def test_a_frozen_server_can_be_stopped(server: RedisServer | ChromaServer | PostgresServer) -> None:
    server.freeze()
    server.stop()

    assert not server.running


def test_two_servers_have_two_ports(own_redis: RedisServer, own_chroma: ChromaServer) -> None:
    assert own_redis.port != own_chroma.port
    assert isinstance(own_redis, PortServer)


def test_each_test_gets_a_fresh_database(postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url)
    with engine.connect() as connection:
        tables = sqlalchemy.inspect(connection).get_table_names()
        assert tables == []
        assert connection.scalar(sqlalchemy.text("SHOW server_encoding")) == "UTF8"
    engine.dispose()


def test_a_database_can_be_copied(postgres_server: PostgresServer) -> None:
    template = postgres_server.create_database()
    postgres_server.execute("CREATE TABLE seen (n int)", template)
    copy = postgres_server.create_database(template=template)

    postgres_server.execute("INSERT INTO seen VALUES (1)", copy)
    postgres_server.drop_database(copy)
    postgres_server.drop_database(template)
    with pytest.raises(psycopg.OperationalError):
        postgres_server.execute("SELECT 1", copy)


@pytest.mark.slow
def test_postgres_keeps_committed_rows_after_a_crash(own_postgres: PostgresServer) -> None:
    name = own_postgres.create_database()
    own_postgres.execute("CREATE TABLE kept (n int)", name)
    own_postgres.crash()
    own_postgres.start()

    own_postgres.execute("INSERT INTO kept VALUES (1)", name)


def test_the_timeout_of_wait_until_names_the_condition() -> None:
    with pytest.raises(AssertionError, match=r"^the moon rises: not within 0 s"):
        wait_until(lambda: False, timeout=0, what="the moon rises")


def test_wait_until_returns_the_value() -> None:
    values = iter([0, 0, 7])

    assert wait_until(lambda: next(values)) == 7
