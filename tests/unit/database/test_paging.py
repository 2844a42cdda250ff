"""The conditions that a filter's values make, and the statements of a list."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from memorybase.database.paging import Keyset, Listing, PageRequest, given, within
from memorybase.models import Flow, Run

EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def text_of(conditions: list[sa.ColumnElement[bool]]) -> list[str]:
    return [str(each) for each in conditions]


def test_a_value_that_is_not_given_makes_no_condition() -> None:
    assert given(None, Run.external_id) == []
    assert within(Run.created_at, None, None) == []


def test_a_column_has_the_value_and_a_function_makes_the_condition() -> None:
    assert text_of(given("s", Run.external_id)) == ["runs.external_id = :external_id_1"]
    assert text_of(given(0, lambda least: Run.external_id > str(least))) == ["runs.external_id > :external_id_1"]


def test_a_time_has_two_inclusive_bounds() -> None:
    assert text_of(within(Run.created_at, EARLY, None)) == ["runs.created_at >= :created_at_1"]
    assert len(within(Run.created_at, EARLY, LATE)) == 2


def test_a_list_counts_the_keys_of_the_same_rows() -> None:
    database = sa.create_engine("sqlite://")
    Flow.metadata.create_all(database, tables=[sa.inspect(Flow).local_table])
    counted: list[str] = []
    listing = Listing(sa.select(Flow), Keyset("flows", (Flow.created_at, Flow.id)))
    with sa.orm.Session(database) as db:
        sa.event.listen(database, "before_cursor_execute", lambda *each: counted.append(each[2]))
        page = listing.page(db, PageRequest(), Flow.name == "x")
    assert (page.rows, page.total) == ([], 0)
    assert "SELECT flows.id AS id" in counted[-1]
    assert all("WHERE flows.name = ?" in each for each in counted)
    database.dispose()
