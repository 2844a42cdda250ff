"""What a connection to PostgreSQL is given, and what the URL decides."""

from __future__ import annotations

import sqlalchemy as sa
from harness.rows import each_row

from memorybase.core.database.postgresql import Memory, connect_arguments

ONE = "postgresql+psycopg://u@db/memorybase"
SEVERAL = (
    "postgresql+psycopg://u@/memorybase?host=a:5432&host=b:5432",
    "postgresql+psycopg://u@/memorybase?host=a,b",
    "postgresql+psycopg://u@a,b/memorybase",
)


def arguments(url: str) -> dict[str, object]:
    return connect_arguments(sa.make_url(url))


def test_a_cut_link_is_an_error_within_seconds() -> None:
    given = arguments(ONE)
    assert given["connect_timeout"] == 2
    assert given["tcp_user_timeout"] == 3_000
    assert [given[f"keepalives_{name}"] for name in ("idle", "interval", "count")] == [2, 1, 3]


def test_parameters_of_the_url_win() -> None:
    given = arguments(f"{ONE}?connect_timeout=9&tcp_user_timeout=0&options=-c work_mem%3D1MB&application_name=mine")
    assert not {"connect_timeout", "tcp_user_timeout", "application_name"} & given.keys()
    assert str(given["options"]).endswith("-c timezone=UTC -c work_mem=1MB")


@each_row("url", SEVERAL)
def test_of_several_hosts_the_one_that_takes_writes_is_used(url: str) -> None:
    assert arguments(url)["target_session_attrs"] == "read-write"


@each_row("url", [ONE, f"{ONE}?host=a", f"{SEVERAL[1]}&target_session_attrs=any"])
def test_a_single_host_or_the_url_decides_itself(url: str) -> None:
    assert "target_session_attrs" not in arguments(url)


def test_a_pooler_gets_no_options() -> None:
    given = arguments(f"{ONE}?pooler=transaction")
    assert "options" not in given
    assert "prepare_threshold" not in given


def test_prepared_statements_can_be_switched_off() -> None:
    assert arguments(f"{ONE}?pooler=transaction&prepared_statements=off")["prepare_threshold"] is None


@each_row(
    "shared_buffers, database, is_too_small",
    [(128, 50, False), (128, 1_900, False), (128, 2_100, True), (16, 2_100, True), (256, 100_000, False)],
)
def test_the_default_memory_is_too_small_for_a_large_database(
    shared_buffers: int, database: int, is_too_small: bool
) -> None:
    assert Memory(shared_buffers << 20, database << 20).is_too_small is is_too_small
