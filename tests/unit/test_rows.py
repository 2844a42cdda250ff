"""The harness's tables: a row that fails must not be hidden by the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from harness.rows import each_row


class Subtests:
    """In place of pytest's, which would report the failures."""

    def __init__(self) -> None:
        self.results: dict[str, BaseException | None] = {}

    @contextmanager
    def test(self, label: str) -> Iterator[None]:
        self.results[label] = None
        try:
            yield
        except BaseException as error:  # noqa: BLE001  which pytest would see
            self.results[label] = error


def results(test: Any, *args: object) -> dict[str, BaseException | None]:
    subtests = Subtests()
    test(*args, subtests=subtests)
    return subtests.results


def test_each_row_is_a_subtest_and_may_not_skip() -> None:
    @each_row("number, what", [(1, "passes"), (2, "fails"), pytest.param(3, "skips", id="third"), (4, "xfails")])
    def a_test(number: int, what: str) -> None:
        assert number != 2, "as it should"
        if what == "skips":
            pytest.skip("not here")
        if what == "xfails":
            pytest.xfail("known")

    said = {label: str(error).splitlines()[0] for label, error in results(a_test).items()}
    assert said == {
        "(1, 'passes')": "None",
        "(2, 'fails')": "as it should",
        "third": "a row must not skip or xfail: not here",
        "(4, 'xfails')": "a row must not skip or xfail: known",
    }
    assert not any(isinstance(error, pytest.skip.Exception) for error in results(a_test).values())


def test_a_table_that_would_test_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        each_row("number", [])
    with pytest.raises(TypeError, match="does not take other"):
        each_row("other", [1])(lambda number: number)
    with pytest.raises(ValueError, match="argument 2"):
        each_row("one, two", [(1, 2, 3)])
    with pytest.raises(ValueError, match="no marks"):
        each_row("number", [pytest.param(1, marks=pytest.mark.slow)])
