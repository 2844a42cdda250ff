"""Search for text within JSON columns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

# Neither database escapes these characters in JSON differently: see `contains`.
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]{1,60}')


def searchable(text: str) -> str | None:
    """The longest part of a text that `contains` can search for; None if there is none."""
    return max(_PLAIN.findall(text), key=len, default=None)


def contains(db: OrmSession, column: Any, texts: Collection[str]) -> sa.ColumnElement[bool]:
    """Whether a string in a JSON column contains one of the texts, which `searchable` returned. May be true of others
    that differ in case or lie across two strings."""
    # PostgreSQL shows characters beyond ASCII in JSONB as they are; SQLite keeps the JSON that Python wrote.
    is_sqlite = db.get_bind().dialect.name == "sqlite"
    written = [json.dumps(text)[1:-1] if is_sqlite else text for text in texts]
    return sa.or_(*(sa.cast(column, sa.Text).contains(text, autoescape=True) for text in written))
