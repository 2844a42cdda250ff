"""The backups of docker-compose.yml: its own commands, on a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml
from harness.postgres import USER, PostgresServer, install_directory
from harness.process import run
from harness.waiting import wait_until

ROOT = Path(__file__).parents[3]
SERVICE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["backup"]
PROGRAMS = install_directory() / "bin"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("backup", "data"):
        (tmp_path / name).mkdir()
    return tmp_path


def database(url: str) -> str:
    return sa.make_url(url).database or ""


@contextmanager
def connected(url: str) -> Iterator[sa.Connection]:
    """A transaction on a connection that is closed at the end."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        yield connection


@contextmanager
def backing_up(server: PostgresServer, name: str, folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """The service's program, with folders of this machine and shorter pauses."""
    shell, option, script = SERVICE["command"]
    for written, meant in (("$$", "$"), ("/backup/", f"{folder}/backup/"), ("/data", f"{folder}/data")):
        assert written in script
        script = script.replace(written, meant)
    assert script.count("sleep 60") == 1
    script = script.replace("sleep 60", "sleep 0.1")
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "PGHOST": str(server.directory), "PGUSER": USER, "PGDATABASE": name}
    environment |= {"BACKUP_HOUR": "0", "BACKUP_KEEP": "7", **variables}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([shell, option, script], env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def dumps(folder: Path) -> list[Path]:
    return sorted((folder / "backup").glob("memorybase-*.dump"))


def finished(folder: Path) -> list[Path]:
    """The dumps, once no other one is being written."""
    return [] if list((folder / "backup").glob("new.*")) else dumps(folder)


def test_a_dump_restores_the_database_and_the_files_of_node_memory(
    postgres_server: PostgresServer, postgres_url: str, folder: Path
) -> None:
    (folder / "data" / "node_memory").mkdir()
    (folder / "data" / "node_memory" / "object").write_text("berth 12")
    with connected(postgres_url) as connection:
        connection.execute(sa.text("CREATE TABLE berths AS SELECT 12 AS number"))
    with backing_up(postgres_server, database(postgres_url), folder):
        wait_until(lambda: finished(folder), what="a dump")
    (dump,) = dumps(folder)
    with tarfile.open(dump.with_suffix(".node_memory.tar.gz")) as archive:
        assert "node_memory/object" in archive.getnames()
    assert {path.stat().st_mode & 0o777 for path in (folder / "backup").iterdir()} == {0o600}
    with connected(postgres_url) as connection:
        connection.execute(sa.text("DROP TABLE berths"))
    connect = ("--host", postgres_server.directory, "--username", USER, "--dbname", database(postgres_url))
    run(PROGRAMS / "pg_restore", *connect, "--exit-on-error", dump)
    with connected(postgres_url) as connection:
        assert connection.scalar(sa.text("SELECT number FROM berths")) == 12


def test_old_dumps_go_with_their_files(postgres_server: PostgresServer, postgres_url: str, folder: Path) -> None:
    for day in range(1, 5):
        for suffix in (".dump", ".node_memory.tar.gz"):
            (folder / "backup" / f"memorybase-2026-01-0{day}{suffix}").touch()
    with backing_up(postgres_server, database(postgres_url), folder, BACKUP_KEEP="2"):
        wait_until(lambda: len(finished(folder)) == 2, what="only two dumps")
    kept = sorted(path.name for path in (folder / "backup").iterdir())
    assert kept[:2] == ["memorybase-2026-01-04.dump", "memorybase-2026-01-04.node_memory.tar.gz"]
    assert len(kept) == 3


def test_a_failed_dump_is_deleted_and_repeated(postgres_server: PostgresServer, folder: Path) -> None:
    with backing_up(postgres_server, "no_such_database", folder):
        wait_until(lambda: (folder / "log").read_text().count("backup failed") > 1, what="a second attempt")
    assert not dumps(folder)


@pytest.mark.parametrize(("name", "value"), [("BACKUP_KEEP", "0"), ("BACKUP_HOUR", "24"), ("BACKUP_HOUR", "night")])
def test_a_value_that_would_lose_dumps_is_refused(
    postgres_server: PostgresServer, folder: Path, name: str, value: str
) -> None:
    with backing_up(postgres_server, "postgres", folder, **{name: value}) as process:
        assert process.wait() == 1
    assert f"{name} " in (folder / "log").read_text()
    assert f"(got '{value}')" in (folder / "log").read_text()


def test_every_variable_of_the_program_is_set() -> None:
    assert {"BACKUP_HOUR", "BACKUP_KEEP", "PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE"} == SERVICE[
        "environment"
    ].keys()
