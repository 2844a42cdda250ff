"""The SQL that an engine sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

Statement = tuple[str, Any]  # its text and its parameters: a list of them for many rows


@contextmanager
def recorded(engine: sa.Engine, *beginnings: str) -> Iterator[list[Statement]]:
    """Every statement meanwhile, in order; with `beginnings` only those that begin with one of them."""
    sent: list[Statement] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if statement.lstrip().startswith(beginnings or ("",)):
            sent.append((statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
