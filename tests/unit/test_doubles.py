"""The faults that the doubles can simulate (their contracts are in tests/contract), the databases that tests are lent,
and what the search for faults looks at."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from chaos.invariants import OF_A_BASE
from harness import tables

from memorybase.core.models import Base


def test_unit_tests_have_no_network() -> None:
    with socket.socket() as connection, pytest.raises(AssertionError, match="opened a connection"):
        connection.connect(("127.0.0.1", 9))


def test_the_search_for_faults_looks_at_every_table_of_a_memory_base() -> None:
    of_a_base = {name for name, table in Base.metadata.tables.items() if "memory_base_id" in table.columns}
    outliving = {"retention_passes"}  # receipts of what was deleted
    assert OF_A_BASE.keys() == (of_a_base - outliving) | {"memory_bases"}


def test_a_database_waits_for_what_is_still_out_before_the_next_test_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tables.lend(f"sqlite:///{tmp_path}/lent.db")
    with monkeypatch.context() as impatient, database.engine.connect():
        impatient.setattr(tables, "PATIENCE", 0)
        with pytest.raises(AssertionError, match="give back their connections"):
            tables.give_back(database)
    tables.give_back(database)
