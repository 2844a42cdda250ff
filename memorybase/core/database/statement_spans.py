"""A span for each SQL statement, if the setting `trace_statements` is on: the verb and the table, never a parameter."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from memorybase.core import tracing

_BEGAN = "statement_began"
_VERB = re.compile(r"\s*(\w+)")
_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+\"?(\w+)", re.IGNORECASE)


def trace_statements(engine: sa.Engine) -> None:
    """Record every statement of the engine in the trace that sends it."""

    @sa.event.listens_for(engine, "before_cursor_execute")
    def _begin(connection: sa.Connection, *_: Any) -> None:
        connection.info[_BEGAN] = tracing.now()

    @sa.event.listens_for(engine, "after_cursor_execute")
    def _end(connection: sa.Connection, _cursor: object, statement: str, *_: Any) -> None:
        if began := connection.info.pop(_BEGAN, 0):
            tracing.record(name_of(statement), "client", since=began)


@lru_cache(maxsize=2_048)
def name_of(statement: str) -> str:
    """Such as `SELECT messages`: the first word and the first table."""
    verb, table = _VERB.match(statement), _TABLE.search(statement)
    return " ".join(match[1].lower() if match is table else match[1].upper() for match in (verb, table) if match)
