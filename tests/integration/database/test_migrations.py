from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.revisions import add_revision
from harness.world import empty_world

from memorybase.cli.doctor import DoctorContext, _database
from memorybase.core import errors
from memorybase.core.database import clock, migrate, schema
from memorybase.core.database.engine import Database
from memorybase.core.models import Base, Chat, ChatMemory, Flow, User
from memorybase.core.operations import health
from memorybase.core.queries import leased_work
from memorybase.core.settings import Settings

BEHIND = "The tables are at revision {}, which is older than this version. Run `memorybase migrate`."

pytestmark = pytest.mark.both_databases


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'memorybase.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.dispose()


def tables_of(database: Database) -> set[str]:
    return set(sa.inspect(database.engine).get_table_names()) - {"alembic_version"}


def test_a_new_database_gets_every_table_of_the_models(database_url: str, database: Database) -> None:
    migrate.upgrade(database_url)

    assert tables_of(database) == set(Base.metadata.tables)
    assert migrate.current(database_url) == migrate.head()


def test_the_models_and_the_migrations_agree(database_url: str) -> None:
    migrate.upgrade(database_url)

    assert migrate.check(database_url) == []


def test_check_names_what_is_missing_in_the_database(database_url: str, database: Database) -> None:
    migrate.upgrade(database_url)
    with database.transaction() as db:
        db.execute(sa.text("ALTER TABLE heartbeats DROP COLUMN kind"))

    differences = migrate.check(database_url)

    assert len(differences) == 1
    assert "heartbeats" in differences[0]
    assert "kind" in differences[0]


@pytest.mark.slow
def test_a_database_can_be_downgraded_to_base_and_upgraded_again(database_url: str, database: Database) -> None:
    migrate.upgrade(database_url)
    migrate.downgrade(database_url)
    assert tables_of(database) == set()
    assert migrate.current(database_url) is None

    migrate.upgrade(database_url)

    assert tables_of(database) == set(Base.metadata.tables)
    assert migrate.check(database_url) == []


def test_a_version_is_not_ready_on_tables_that_lack_its_migrations_and_is_on_those_of_a_newer_one(
    database_url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = empty_world(Settings(data_dir=tmp_path, embedding_model="fake"), database=database).services

    def checked() -> tuple[bool, str | None]:
        part = health.check_part(services, "database")
        return part.ok, part.problem

    before = migrate.head()
    migrate.upgrade(database_url)
    with monkeypatch.context() as patch:
        add_revision(patch, tmp_path, "pass")
        assert checked() == (False, BEHIND.format(before))
        migrate.upgrade(database_url)
        assert checked() == (True, None)

    set_revision(database, "9999")
    of_another_process = Database(database_url)
    assert schema.missing_since(of_another_process) is None
    of_another_process.dispose()


def test_a_migration_leaves_the_tables_of_a_newer_version_alone_and_refuses_those_of_the_development(
    database_url: str, database: Database
) -> None:
    migrate.upgrade(database_url)
    set_revision(database, "9999")
    migrate.upgrade(database_url)
    assert migrate.current(database_url) == "9999"

    set_revision(database, "0031")
    with pytest.raises(errors.DatabaseUnavailable, match=r"revision 0031.*Export with that version.*import there"):
        migrate.upgrade(database_url)


def test_doctor_accepts_the_tables_of_a_newer_version(database_url: str, database: Database) -> None:
    context = cast(DoctorContext, SimpleNamespace(database_url=database_url))
    migrate.upgrade(database_url)
    assert _database(context).endswith(f"schema at revision {migrate.head()}")
    set_revision(database, "9999")
    assert _database(context).endswith(f"schema at revision 9999 of a newer version; this one has {migrate.head()}")
    set_revision(database, "0000")
    with pytest.raises(errors.DatabaseUnavailable, match="but this version needs"):
        _database(context)


def set_revision(database: Database, revision: str) -> None:
    with database.transaction() as db:
        db.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(errors.DatabaseUnavailable, match=f"^{file}/memorybase.db cannot be created: File exists$"):
        migrate.upgrade(f"sqlite:///{file}/memorybase.db")


def test_upgrading_twice_keeps_what_is_stored(database_url: str, database: Database) -> None:
    migrate.upgrade(database_url)
    with database.transaction() as db:
        db.execute(
            sa.text(
                "INSERT INTO heartbeats (name, kind, started_at, beat_at)"
                " VALUES ('w', 'worker', '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
            )
        )

    migrate.upgrade(database_url)

    with database.reading() as db:
        assert db.execute(sa.text("SELECT name FROM heartbeats")).scalars().all() == ["w"]


def test_only_one_active_job_per_session_in_the_migrated_schema(database_url: str, database: Database) -> None:
    """The index that the flow rests on must be unique and partial, not merely there."""
    migrate.upgrade(database_url)

    index = next(
        found
        for found in sa.inspect(database.engine).get_indexes("ingestion_jobs")
        if found["name"] == "uq_ingestion_jobs_active"
    )

    assert index["unique"]
    dialect = database.engine.dialect.name
    assert "queued" in str(index["dialect_options"][f"{dialect}_where"])


@pytest.mark.slow
def test_two_migrators_at_once_both_succeed(database_url: str, database: Database) -> None:
    """Two deployments, each a process: both are loaded before either may begin."""
    script = (
        "import sys; from memorybase.core.database import migrate; print(flush=True); "
        "migrate.upgrade(sys.stdin.readline().strip())"
    )
    migrators = [
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for migrator in migrators:
        assert migrator.stdout is not None
        migrator.stdout.readline()
    for migrator in migrators:
        assert migrator.stdin is not None
        migrator.stdin.write(f"{database_url}\n")
        migrator.stdin.flush()

    for migrator in migrators:
        migrator.communicate(timeout=60)
    assert [migrator.returncode for migrator in migrators] == [0, 0, 0]
    assert tables_of(database) == set(Base.metadata.tables)


def test_a_failed_migration_changes_nothing(database_url: str, database: Database) -> None:
    migrate.upgrade(database_url)
    migrate.downgrade(database_url)
    with database.transaction() as db:
        db.execute(sa.text("CREATE TABLE messages (id integer)"))  # in the way of the revision's own

    with pytest.raises(errors.DatabaseUnavailable):
        migrate.upgrade(database_url)

    assert tables_of(database) == {"messages"}
    assert migrate.current(database_url) is None


def test_a_migration_waits_for_a_lock_until_its_timeout(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT_SECONDS", 0.2)
    migrate.upgrade(postgres_url)
    database = Database(postgres_url)
    with database.transaction() as db:
        db.execute(sa.text("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE"))

        with pytest.raises(errors.DatabaseUnavailable, match="lock timeout"):
            migrate.downgrade(postgres_url)
    database.dispose()


def test_the_error_of_an_unreachable_database_hides_the_password() -> None:
    with pytest.raises(errors.DatabaseUnavailable) as caught:
        migrate.upgrade("postgresql://user:hunter2@127.0.0.1:1/none")

    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_a_migration_prints_nothing_on_standard_output(database_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    migrate.upgrade(database_url)
    migrate.check(database_url)

    assert capfd.readouterr().out == ""


def test_a_chat_of_the_first_tables_is_summarized_under_a_lease(database_url: str, database: Database) -> None:
    """0101 gives chats their lease; a version before may still write chats without it."""
    migrate.upgrade(database_url, "0100")
    columns = "id, flow_id, chat_memory_id, chat_id, last_seq, messages, tokens, trimmed_seq, head_seq, cut_seq"
    columns += ", cut_revision, summary, summary_from_seq, summary_to_seq, notify_at, revision, created_at, updated_at"
    flow_id, memory_id, now = uuid4(), uuid4(), "2026-01-01 00:00:00+00:00"

    def add(chat_id: str) -> None:
        ids = ", ".join(f"'{each.hex}'" for each in (uuid4(), flow_id, memory_id))
        values = f"{ids}, '{chat_id}', 9, 9, 90, 0, 0, 0, 0, 'text', 1, 4, '{now}', 7, '{now}', '{now}'"
        db.execute(sa.text(f"INSERT INTO chats ({columns}) VALUES ({values})"))

    def row_of(chat_id: str) -> Chat:
        return db.scalars(sa.select(Chat).where(Chat.chat_id == chat_id)).one()

    with database.transaction() as db:
        memory = {"id": memory_id, "node_id": "n", "name": "n", "options": {}, "revision": 1}
        user = User(id=uuid4(), name="u", created_at=clock.now(db))
        db.add(user)
        db.flush()
        flow = {"id": flow_id, "user_id": user.id, "name": "f", "created_at": clock.now(db)}
        db.execute(sa.insert(Flow).values(flow))  # without columns of later revisions
        db.add(ChatMemory(flow_id=flow_id, created_at=clock.now(db), updated_at=clock.now(db), **memory))
        db.flush()
        add("before")
    migrate.upgrade(database_url)
    with database.transaction() as db:
        add("beside")
        for chat_id in ("before", "beside"):
            row = row_of(chat_id)
            assert (row.version, row.attempts, row.lease_until, row.summary) == (7, 0, None, "text")
            claim = leased_work.claim(db, row, clock.now(db), timedelta(seconds=60))
            assert claim is not None
            assert leased_work.finish(db, claim, summary="next")
            assert (row_of(chat_id).version, row_of(chat_id).notify_at) == (9, None)
