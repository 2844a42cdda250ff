"""A test of a whole table goes on after a row that fails, and passes only if every row did."""

from __future__ import annotations

import re

import pytest
from harness.rows import EveryRow


def compared(*values: object) -> None:
    with EveryRow() as row:
        for value in values:
            with row("value", value):
                if value is None:
                    pytest.fail("it is missing")
                assert value + 1 == 2, "it is not one"


def test_each_row_that_fails_is_named_with_its_line_and_its_problem() -> None:
    compared(1, 1)
    with pytest.raises(AssertionError) as failed:
        compared(1, 2, "3", None, 1)
    said = re.sub(r"line \d+", "line", str(failed.value))
    assert said.startswith("3 of 5 rows failed:\n- value 2 (line): it is not one")
    assert "\n- value 3 (line): TypeError: can only concatenate" in said
    assert said.endswith("\n- value None (line): it is missing")


def test_a_table_without_rows_fails() -> None:
    with pytest.raises(AssertionError, match="the table has no rows"):
        compared()


def test_an_error_between_rows_ends_the_test_and_shows_the_rows_before() -> None:
    def failing() -> None:
        with EveryRow() as row:
            with row("one"):
                raise ValueError("odd")
            raise KeyError("elsewhere")

    with pytest.raises(KeyError) as failed:
        failing()
    assert "- one" in failed.value.__notes__[0]


def test_an_interrupt_in_a_row_ends_the_test() -> None:
    rows = EveryRow()
    with pytest.raises(KeyboardInterrupt), rows, rows("one"):
        raise KeyboardInterrupt
