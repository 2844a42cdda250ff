"""Copies rows into the views of the API."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from memorybase.messages import message_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

EXCERPT = 300  # characters

View = TypeVar("View", bound="DataclassInstance")


def view_of(view: type[View], row: object, **values: Any) -> View:
    """The view, with the row's attributes of the same names for every field not in `values`."""
    copied = {field.name: getattr(row, field.name) for field in fields(view) if field.name not in values}
    return view(**copied, **values)


def excerpt(content: Any) -> str | None:
    """The beginning of a message's text in one line; None without text."""
    words = message_text(content)[: 4 * EXCERPT].split()
    text = " ".join(words)
    return (text if len(text) <= EXCERPT else text[: EXCERPT - 1].rstrip() + "\u2026") or None
