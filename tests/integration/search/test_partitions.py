"""The keyword index of PostgreSQL in partitions: exact whatever is written while it is divided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from harness import PostgresServer
from harness.index import assert_index_exact
from harness.statements import recorded
from harness.world import World, build_world
from typer.testing import CliRunner

from memorybase import cli
from memorybase.core import errors
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.keyword_index import partitions
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search
from memorybase.core.sessions import edits

pytestmark = pytest.mark.slow

WORDS = ("apple", "harbour", "granite", "lantern", "meadow", "orchid", "pepper", "quarry", "river", "saddle")


@pytest.fixture
def world(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[World]:
    """A database of its own, since its tables change."""
    name = postgres_server.create_database(template=postgres_server.template)
    world = build_world(postgres_server.url(name), tmp_path)
    yield world
    world.close()
    postgres_server.drop_database(name)


def talk(world: World, sessions: int) -> None:
    for number in range(sessions):
        said = [f"{WORDS[(number + turn) % 10]} {WORDS[number % 10]} word{number}x{turn}" for turn in range(4)]
        world.say(f"s{number}", *said)


def divide(world: World, number: int = 4, page: int = 40) -> int:
    return sum(partitions.partition(world.services.database, number, page=page))


def rows(world: World, statement: str, **values: Any) -> list[Any]:
    with world.services.database.reading() as db:
        return list(db.execute(sa.text(statement), values))


def delete_session(world: World, session_id: str) -> None:
    edits.delete_session(world.services, world.user_id, world.flow_id, session_id)


class TestDividing:
    def test_each_term_is_in_one_partition_and_the_schema_is_the_models(self, world: World) -> None:
        talk(world, 20)
        read = divide(world)
        assert read == rows(world, "SELECT count(*) FROM postings")[0][0]
        assert_index_exact(world)
        assert partitions.existing(world.services.database) == 4
        assert len(rows(world, "SELECT DISTINCT tableoid FROM postings")) == 4
        url = world.services.database.url.render_as_string(hide_password=False)
        assert migrate.check(url) == []
        migrate.upgrade(url)
        assert partitions.existing(world.services.database) == 4

    def test_whatever_is_written_meanwhile_is_in_it_once(self, world: World) -> None:
        talk(world, 30)
        database = Database(world.services.database.url.render_as_string(hide_password=False), pool_size=1)
        ended = Event()

        def write() -> int:
            written = 0
            while not (ended.is_set() and written > 20):
                session = f"new {written}"
                captured = world.say(session, f"{WORDS[written % 10]} arrived", "granite and pepper")
                if written % 3 == 0:
                    delete_session(world, f"s{written % 30}" if written < 30 else session)
                if written % 3 == 1:
                    edits.edit_message(world.services, world.user_id, captured.messages[0].id, {"content": "a lantern"})
                written += 1
            return written

        with ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            for _ in partitions.partition(database, 4, page=10):
                assert not writer.done(), writer.result()
            ended.set()
            writer.result(60)
        database.dispose()
        assert_index_exact(world)
        assert partitions.existing(world.services.database) == 4

    def test_a_row_that_is_being_deleted_is_not_copied(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.say("s", "harbour lantern", "granite")
        steps = partitions.partition(world.services.database, 2, page=1)
        next(steps)
        (gone,) = rows(world, "SELECT term FROM postings ORDER BY term OFFSET 2 LIMIT 1")
        deleting = world.services.database.engine.connect()
        deleting.execute(sa.text("DELETE FROM postings WHERE term = :term"), {"term": gone.term})
        pauses = []

        def end_deletion(_seconds: float) -> None:
            pauses.append("paused")
            deleting.commit()

        monkeypatch.setattr(partitions.time, "sleep", end_deletion)
        read = 1 + sum(steps)
        deleting.close()
        assert pauses
        assert read == 2
        assert len(rows(world, "SELECT 1 FROM postings")) == 2
        assert not rows(world, "SELECT 1 FROM postings WHERE term = :term", term=gone.term)

    def test_a_search_reads_one_partition_for_each_of_its_terms(self, world: World) -> None:
        talk(world, 10)
        base = world.new_base()
        divide(world, 16)
        wanted = SearchRequest(memory_base_id=base, query="word7x2", mode="keyword")
        with recorded(world.services.database.engine, "SELECT") as sent:
            hits = search(world.services, world.user_id, wanted).results
        assert [hit.content for hit in hits][:1] == ["saddle quarry word7x2"]
        of_the_index = [each for each in sent if "FROM postings" in each[0]]
        assert of_the_index
        for statement, parameters in of_the_index:
            with world.services.database.engine.connect() as connection:
                plan = [str(row[0]) for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)]
            parts = {word for step in plan for word in step.split() if re.fullmatch(r"postings_p\d+", word)}
            assert len(parts) == 1, plan


class TestAfterAnInterruption:
    def test_it_goes_on(self, world: World) -> None:
        talk(world, 10)
        steps = partitions.partition(world.services.database, 4, page=20)
        next(steps)
        steps.close()
        talk(world, 12)
        delete_session(world, "s3")
        assert_index_exact(world)
        with pytest.raises(errors.InvalidRequest, match="partitions must be 4"):
            divide(world, 8)
        divide(world, 4)
        assert_index_exact(world)
        with pytest.raises(errors.InvalidRequest, match="has 4 partitions already"):
            divide(world, 4)

    def test_it_can_be_abandoned(self, world: World) -> None:
        talk(world, 3)
        next(partitions.partition(world.services.database, 4, page=20))
        partitions.abandon(world.services.database)
        partitions.abandon(world.services.database)
        talk(world, 5)
        assert_index_exact(world)
        assert rows(world, "SELECT relname FROM pg_class WHERE relname LIKE 'postings_%'") == []
        assert rows(world, "SELECT 1 FROM pg_proc WHERE proname = 'mirror_posting'") == []


def test_transactions_that_keep_the_table_end_it_with_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say("s", "harbour")
    monkeypatch.setattr(partitions, "LOCK_TRIES", 1)
    monkeypatch.setattr(partitions, "PAUSE_SECONDS", 0)
    with world.services.database.engine.connect() as other:
        other.execute(sa.text("SELECT 1 FROM postings"))
        with pytest.raises(errors.DatabaseUnavailable, match="try again later"):
            divide(world)
    divide(world)
    assert_index_exact(world)


@pytest.mark.parametrize("number", [1, 257])
def test_its_number_has_bounds(world: World, number: int) -> None:
    with pytest.raises(errors.InvalidRequest, match=rf"partitions must be 2 to 256 \(got {number}\)"):
        divide(world, number)


def test_sqlite_has_none(tmp_path: Path) -> None:
    world = build_world(f"sqlite:///{tmp_path / 'memorybase.db'}", tmp_path)
    with pytest.raises(errors.InvalidRequest, match="this database is SQLite"):
        divide(world)
    world.close()


def test_the_command_says_what_it_did(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    talk(world, 3)
    (before,) = rows(world, "SELECT count(*) FROM postings")
    url = world.services.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("MEMORYBASE_DATABASE_URL", url)
    command = ["partition", "--partitions", "8", "--data-dir", str(tmp_path)]
    result = CliRunner().invoke(cli.app, command)
    assert result.output.strip() == f"{before[0]} rows of the keyword index in 8 partitions"
    result = CliRunner().invoke(cli.app, ["partition", "--abandon", "--data-dir", str(tmp_path)])
    assert result.output.strip() == "nothing is left of an interrupted run"
    assert_index_exact(world)
