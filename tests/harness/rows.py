"""One test for a whole table: pytest's `subtests` runs every row and names each that fails."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

# What is printed of a row without an id: a table may hold texts of a megabyte.
LABEL_LENGTH = 120
PARAMETER_SET = type(pytest.param())
SUBTESTS = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
Table = list[tuple[str, dict[str, Any]]]


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, but one test with a subtest for each row.

    `tmp_path` and `monkeypatch` are fresh for each row. All rows share the other fixtures of the one test: a test that
    changes what they give must not depend on the rows before. Real parts (databases, stores) and rows that may be
    skipped belong in `parametrize`. On a class, it is for every test that takes the names.
    """
    columns = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    rows = list(rows)
    named = list(ids) if ids is not None else [None] * len(rows)
    table = [
        (_label(row, name), dict(zip(columns, _values(row, len(columns)), strict=True)))
        for row, name in zip(rows, named, strict=True)
    ]
    if not table:
        raise ValueError(f"no row for {', '.join(columns)}")

    def decorate(test: Any) -> Any:
        if not isinstance(test, type):
            return _of_all_rows(test, columns, table)
        for name, member in list(vars(test).items()):
            if name.startswith("test") and set(columns) <= set(inspect.signature(member).parameters):
                setattr(test, name, _of_all_rows(member, columns, table))
        return test

    return decorate


def _of_all_rows(test: Any, columns: list[str], table: Table) -> Any:
    parameters = inspect.signature(test).parameters
    missing = [column for column in columns if column not in parameters]
    if missing:
        raise TypeError(f"{test.__qualname__} does not take {', '.join(missing)}")
    if hasattr(test, "rows"):  # a table within this one
        table = [(f"{outer}, {inner}", own | others) for outer, own in table for inner, others in test.rows]
        test = test.__wrapped__

    # Of the attributes only the marks: Hypothesis would take this function for its own.
    @functools.wraps(test, assigned=(*functools.WRAPPER_ASSIGNMENTS, "pytestmark"), updated=())
    def run(*args: Any, subtests: pytest.Subtests, **fixtures: Any) -> None:
        __tracebackhide__ = True
        for number, (label, values) in enumerate(table):
            with subtests.test(label), _not_skipped(), _fresh(fixtures, number) as own:
                test(*args, **own, **values)

    remaining = [value for name, value in parameters.items() if name not in (*columns, "subtests")]
    run.__signature__ = inspect.Signature([*remaining, SUBTESTS])  # type: ignore[attr-defined]
    run.rows = table  # type: ignore[attr-defined]
    return run


@contextmanager
def _not_skipped() -> Iterator[None]:
    """pytest takes a subtest that skips, or fails as expected, for one that passes."""
    __tracebackhide__ = True
    try:
        yield
    except (pytest.skip.Exception, pytest.xfail.Exception) as error:
        raise AssertionError(f"a row must not skip or xfail: {error}") from None


@contextmanager
def _fresh(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    __tracebackhide__ = True
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"row-{number}"
        own["tmp_path"].mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        yield own


def _values(row: Any, columns: int) -> tuple[Any, ...]:
    if isinstance(row, PARAMETER_SET):
        if row.marks:
            raise ValueError(f"a row has no marks: {row}")
        return tuple(row.values)
    return tuple(row) if columns > 1 else (row,)


def _label(row: Any, given: Any) -> str:
    if isinstance(row, PARAMETER_SET):
        given, row = row.id or given, tuple(row.values)
    text = str(given or repr(row))  # xdist sends no subclass of str
    return text if len(text) <= LABEL_LENGTH else text[:LABEL_LENGTH] + "…"
