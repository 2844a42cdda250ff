"""The harness's tables: a row that fails must not be hidden by the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


def test_tables_multiply_and_classes_have_a_table_for_each_test() -> None:
    ran = []

    @each_row("letter", "ab")
    class Tests:
        @each_row("number", [1, 2])
        def test_both(self, letter: str, number: int) -> None:
            ran.append(f"{letter}{number}")

        def test_neither(self) -> None:
            ran.append("-")

    assert list(results(Tests.test_both, Tests())) == ["'a', 1", "'a', 2", "'b', 1", "'b', 2"]
    Tests().test_neither()
    assert ran == ["a1", "a2", "b1", "b2", "-"]


@each_row("name", ["one", "two"])
def test_each_row_has_a_folder_and_patches_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).touch()
    assert not hasattr(pytest, "patched_by_a_row")
    monkeypatch.setattr(pytest, "patched_by_a_row", name, raising=False)


def test_a_table_that_would_test_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        each_row("number", [])
    with pytest.raises(TypeError, match="does not take other"):
        each_row("other", [1])(lambda number: number)
    with pytest.raises(ValueError, match="argument 2"):
        each_row("one, two", [(1, 2, 3)])
    with pytest.raises(ValueError, match="no marks"):
        each_row("number", [pytest.param(1, marks=pytest.mark.slow)])
