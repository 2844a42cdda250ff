"""The faults that the doubles can simulate (their contracts are in tests/contract), and what the search for faults
looks at."""

from __future__ import annotations

import socket

import pytest
from chaos.invariants import OF_A_BASE

from memorybase.core.models import Base


def test_unit_tests_have_no_network() -> None:
    with socket.socket() as connection, pytest.raises(AssertionError, match="opened a connection"):
        connection.connect(("127.0.0.1", 9))


def test_the_search_for_faults_looks_at_every_table_of_a_memory_base() -> None:
    tables = {name for name, table in Base.metadata.tables.items() if "memory_base_id" in table.columns}
    outliving = {"retention_passes"}  # receipts of what was deleted
    assert OF_A_BASE.keys() == (tables - outliving) | {"memory_bases"}
