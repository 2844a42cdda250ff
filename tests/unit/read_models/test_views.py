"""What is copied into a view, and from which row."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from memorybase.read_models.views import view_of


@dataclass(frozen=True, slots=True)
class View:
    """A view."""

    id: int
    name: str
    count: int


def test_each_field_is_of_the_first_row_that_has_it_unless_its_value_is_given() -> None:
    rows = (SimpleNamespace(id=1), SimpleNamespace(id=2, name="second", count=2))
    assert view_of(View, *rows) == View(1, "second", 2)
    assert view_of(View, *rows, name="given") == View(1, "given", 2)


def test_a_field_that_no_row_has_is_an_error() -> None:
    with pytest.raises(AttributeError, match="count"):
        view_of(View, SimpleNamespace(id=1), SimpleNamespace(name="x"))
