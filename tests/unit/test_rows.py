"""The harness's tables: a row that fails must not be hidden by the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.rows import each_row


def test_every_row_runs_and_each_that_fails_is_named() -> None:
    ran = []

    @each_row("number, what", [(1, "passes"), (2, "fails"), pytest.param(3, "raises", id="third"), (4, "skips"),
                               (5, "sees no error"), (6, "passes")])  # fmt: skip
    def a_test(number: int, what: str) -> None:
        ran.append(number)
        assert what != "fails", "as it should"
        if what == "raises":
            raise ValueError("unexpected")
        if what == "skips":
            pytest.skip("not here")
        if what == "sees no error":
            with pytest.raises(KeyError):
                pass

    with pytest.raises(AssertionError) as failed:
        a_test()
    assert ran == [1, 2, 3, 4, 5, 6]
    head, *rows = [line for line in str(failed.value).splitlines() if not line.startswith("assert ")]
    assert head == "4 of 6 rows fail:"
    for row, label, error in zip(
        rows,
        ("row 1 (2, 'fails'): line ", "row 2 (third): line ", "row 3 (4, 'skips'): line ",
         "row 4 (5, 'sees no error'): line "),
        ("AssertionError: as it should", "ValueError: unexpected", "Skipped: not here", "Failed: DID NOT RAISE"),
        strict=True,
    ):  # fmt: skip
        assert row.startswith(label)
        assert error in row


def test_tables_multiply_and_classes_have_a_table_for_each_test() -> None:
    ran = []

    @each_row("letter", "ab")
    class Tests:
        @each_row("number", [1, 2])
        def test_both(self, letter: str, number: int) -> None:
            ran.append(f"{letter}{number}")

        def test_neither(self) -> None:
            ran.append("-")

    Tests().test_both()  # type: ignore[call-arg]
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
