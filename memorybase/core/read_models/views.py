"""Copies rows into the views of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from memorybase.core.messages import message_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

EXCERPT = 300  # characters

View = TypeVar("View", bound="DataclassInstance")


def view_of(view: type[View], *rows: object, **values: Any) -> View:
    """The view. Each field that is not in `values` is the attribute of that name of the first row that has it."""
    copied = {field.name: _attribute(rows, field.name) for field in fields(view) if field.name not in values}
    return view(**copied, **values)


def _attribute(rows: Sequence[object], name: str) -> Any:
    *others, last = rows
    return getattr(next((row for row in others if hasattr(row, name)), last), name)


def excerpt(content: Any) -> str | None:
    """The beginning of a message's text in one line; None without text."""
    words = message_text(content)[: 4 * EXCERPT].split()
    text = " ".join(words)
    return (text if len(text) <= EXCERPT else text[: EXCERPT - 1].rstrip() + "\u2026") or None
