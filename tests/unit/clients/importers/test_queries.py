from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from harness.exports import langchain
from harness.rows import each_row
from memorybase_client import errors
from memorybase_client.importers.files import is_database
from memorybase_client.importers.queries import read_rows
from memorybase_client.importers.records import Report, Table
from memorybase_client.importers.systems import ImportSource, read_runs

STORE = Table("message_store", ("session_id", "id"))


def test_rows_come_in_the_order_of_the_columns(tmp_path: Path) -> None:
    rows = list(read_rows(str(langchain(tmp_path)), STORE, Report()))
    assert [row.value["session_id"] for row in rows] == ["s-1"] * 5 + ["s-2"] * 4
    assert [row.where for row in rows][:4] == [f"message_store.id={n}" for n in (1, 2, 3, 8)]


@each_row("scheme", ["sqlite:///", "sqlite+pysqlite:///"])
def test_a_url_of_sqlite_is_read_like_the_file(tmp_path: Path, scheme: str) -> None:
    file = langchain(tmp_path)
    assert is_database(f"{scheme}{file}")
    assert len(list(read_rows(f"{scheme}{file}", STORE, Report()))) == 9


def test_the_source_is_never_created_or_changed(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    with pytest.raises(errors.InvalidRequest, match="cannot be read: unable to open"):
        list(read_rows(f"sqlite:///{missing}", STORE, Report()))
    assert not missing.exists()
    file = langchain(tmp_path)
    before = file.read_bytes()
    list(read_rows(str(file), STORE, Report()))
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["chat.db"]


def test_a_database_in_use_is_read(tmp_path: Path) -> None:
    file = langchain(tmp_path)
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO message_store VALUES (99, 's-3', '{}')")
        writer.commit()
        assert len(list(read_rows(str(file), STORE, Report()))) == 10


def test_a_missing_table_is_an_error_that_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        list(read_rows(str(langchain(tmp_path)), Table("chats", ()), Report()))
    assert "it has message_store. Name it with --table" in caught.value.message


def test_a_damaged_database_gives_what_comes_before(tmp_path: Path) -> None:
    file = langchain(tmp_path)
    with closing(sqlite3.connect(file)) as db, db:
        rows = [("s", "x" * 1_000)] * 2_000
        db.executemany("INSERT INTO message_store (session_id, message) VALUES (?, ?)", rows)
    raw = bytearray(file.read_bytes())
    half = len(raw) // 2 // 4096 * 4096
    raw[half : half + 4096] = b"\xff" * 4096
    file.write_bytes(raw)
    report = Report()
    assert 0 < len(list(read_rows(str(file), Table("message_store", ("id",)), report))) < 2_009
    assert "could not be read to the end" in str(report.broken)


@each_row(
    "url", ["mysql+nothing://me:secret@host/db", "nonsense://me:secret@host", "postgresql://me:secret@127.0.0.1:1/db"]
)
def test_an_error_never_shows_the_password(url: str) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        list(read_rows(url, STORE, Report()))
    assert "secret" not in f"{caught.value.message} {caught.value.value}"


def test_other_files_are_no_databases(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    assert not is_database(str(tmp_path / "a.json"))
    assert not is_database(str(tmp_path / "missing"))
    assert not is_database(str(tmp_path))


def test_without_the_extra_a_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "memorybase_client.importers.queries")
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    source = ImportSource(str(langchain(tmp_path)))
    with pytest.raises(errors.InvalidRequest, match="extra `importers`"):
        list(read_runs("langchain", source, Report()))
