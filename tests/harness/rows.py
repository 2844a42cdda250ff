"""One test for a whole table: it runs every row and names each that fails."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

# What is printed of a row without an id: a table may hold texts of a megabyte.
LABEL_LENGTH = 120
PARAMETER_SET = type(pytest.param())
# `pytest.raises` that sees no error, and `pytest.skip`, raise what is no Exception.
FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | None = None
) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, for rows of a table: one case, and its failure lists every row that fails.

    `tmp_path` and `monkeypatch` are fresh for each row. All rows share the other fixtures of the one case: a test that
    changes what they give must not depend on the rows before. Real parts (databases, stores) and rows that may be
    skipped belong in `parametrize`. On a class, it is for every test that takes the names.
    """
    columns = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    named = list(ids) if ids is not None else []
    table = [
        (_label(row, number, named), dict(zip(columns, _values(row, len(columns)), strict=True)))
        for number, row in enumerate(rows)
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


def _of_all_rows(test: Any, columns: list[str], table: list[tuple[str, dict[str, Any]]]) -> Any:
    def run(*args: Any, **fixtures: Any) -> None:
        failures = []
        for number, (label, values) in enumerate(table):
            try:
                with _fresh(fixtures, number) as own:
                    test(*args, **own, **values)
            except FAILURES as error:
                failures.append((label, error))
        if failures:
            lines = [f"{label}: {_where(error, test)}{type(error).__name__}: {error}" for label, error in failures]
            message = "\n".join([f"{len(failures)} of {len(table)} rows fail:", *lines])
            raise AssertionError(message) from failures[0][1]

    # pytest reads fixtures from the signature and marks from `pytestmark`.
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "pytestmark"):
        if hasattr(test, name):
            setattr(run, name, getattr(test, name))
    signature = inspect.signature(test)
    missing = [column for column in columns if column not in signature.parameters]
    if missing:
        raise TypeError(f"{test.__qualname__} does not take {', '.join(missing)}")
    remaining = [value for name, value in signature.parameters.items() if name not in columns]
    run.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]
    run.source = getattr(test, "source", test)  # type: ignore[attr-defined]
    return run


@contextmanager
def _fresh(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
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


def _label(row: Any, number: int, ids: list[str]) -> str:
    if isinstance(row, PARAMETER_SET) and row.id is not None:
        return f"row {number} ({row.id})"
    if ids:
        return f"row {number} ({ids[number]})"
    text = repr(tuple(row.values) if isinstance(row, PARAMETER_SET) else row)
    return f"row {number} {text if len(text) <= LABEL_LENGTH else text[:LABEL_LENGTH] + '…'}"


def _where(error: BaseException, test: Any) -> str:
    """The line of the test that failed; of tables within tables, the inner message has it."""
    code = inspect.unwrap(getattr(test, "source", test)).__code__
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.co_filename]
    return f"line {lines[-1]}: " if lines else ""
