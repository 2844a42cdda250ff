"""Secrets for tests, drawn so that no scanner finds one, and what a database has of them."""

from __future__ import annotations

import random
from typing import Any

import sqlalchemy as sa
from made import keys

from harness.api import Api
from memorybase.core.models import Base
from memorybase.features.secret_redaction import placeholders

TOKEN = "gh" + "p_" + "".join(random.Random(2).choices(keys.WORDS, k=36))
OTHER = "gh" + "p_" + "".join(random.Random(3).choices(keys.WORDS, k=36))
TEXT = f"密钥是{TOKEN}请保存"


def everything(api: Api) -> str:
    """All rows of all tables."""
    with api.services.database.reading() as db:
        tables = Base.metadata.sorted_tables
        return " ".join(str(row) for table in tables for row in db.execute(sa.select(table)))


def mark(api: Api, secret: str = TOKEN, kind: str = "github-token") -> str:
    return placeholders.placeholder(placeholders.key_of(api.services), kind, secret)


def post(api: Api, text: str = TEXT, *, expect: Any = (200, 201), **fields: Any) -> Any:
    body = {"session_id": "s1", "messages": [{"id": "m1", "role": "assistant", "content": text}], **fields}
    return api.post(f"/flows/{api.flow()}/runs", body, expect=expect)
