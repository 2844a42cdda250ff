"""Copies rows into the views of the API."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

View = TypeVar("View", bound="DataclassInstance")


def view_of(view: type[View], row: object, **values: Any) -> View:
    """The view, with the row's attributes of the same names for every field not in `values`."""
    copied = {field.name: getattr(row, field.name) for field in fields(view) if field.name not in values}
    return view(**copied, **values)
