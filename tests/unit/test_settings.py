"""Settings that depend on each other: the vector stores."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from memorybase.operations import health
from memorybase.settings import LOCAL_CHROMA, Settings

POSTGRES = "postgresql+psycopg://memorybase@db/memorybase"
OTHER = "postgresql://memorybase@other/vectors"


@pytest.mark.parametrize(
    ("given", "stores", "chroma", "pgvector"),
    [
        ({}, ("chroma",), LOCAL_CHROMA, ""),
        ({"chroma_url": "http://c"}, ("chroma",), "http://c", ""),
        ({"database_url": POSTGRES}, ("chroma",), LOCAL_CHROMA, POSTGRES),
        ({"pgvector_url": OTHER}, ("chroma", "pgvector"), LOCAL_CHROMA, OTHER),
        ({"vector_store": "pgvector", "database_url": POSTGRES}, ("pgvector",), "", POSTGRES),
        ({"vector_store": "pgvector", "database_url": POSTGRES, "pgvector_url": OTHER}, ("pgvector",), "", OTHER),
        (
            {"vector_store": "pgvector", "pgvector_url": OTHER, "chroma_url": "http://c"},
            ("pgvector", "chroma"), "http://c", OTHER,
        ),
    ],
)  # fmt: skip
def test_which_vector_stores_are_used_and_where(
    given: dict[str, Any], stores: tuple[str, ...], chroma: str, pgvector: str
) -> None:
    settings = Settings(**given)

    assert settings.vector_stores == stores
    assert (settings.resolved_chroma_url, settings.resolved_pgvector_url) == (chroma, pgvector)
    assert health.part_names(settings) == ("database", "redis", *stores, "worker", "sweeper")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vector_store": "pgvector"}, "vector_store=pgvector needs pgvector_url"),
        ({"pgvector_url": "sqlite:///vectors.db"}, "pgvector_url must start with postgresql"),
    ],
)
def test_pgvector_needs_a_postgresql(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Settings(**given)


def test_a_child_process_uses_the_same_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(vector_store="pgvector", database_url=POSTGRES)
    for name, value in settings.child_environment().items():
        monkeypatch.setenv(name, value)

    assert Settings().vector_stores == ("pgvector",)
