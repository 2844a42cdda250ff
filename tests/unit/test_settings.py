"""Settings that depend on each other: the vector stores, and the ways to the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness.rows import each_row
from pydantic import ValidationError

from memorybase.core import deadlines
from memorybase.core.operations import health
from memorybase.core.settings import LOCAL_CHROMA, RedisSentinel, Settings, describe_settings, without_password

POSTGRES = "postgresql+psycopg://memorybase@db/memorybase"
OTHER = "postgresql://memorybase@other/vectors"


@each_row(
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
            ("pgvector", "chroma"),
            "http://c",
            OTHER,
        ),
    ],
)
def test_which_vector_stores_are_used_and_where(
    given: dict[str, Any], stores: tuple[str, ...], chroma: str, pgvector: str
) -> None:
    settings = Settings(**given)

    assert settings.vector_stores_in_use == stores
    assert (settings.resolved_chroma_url, settings.resolved_pgvector_url) == (chroma, pgvector)
    assert health.part_names(settings) == ("database", "redis", *stores, "worker", "sweeper")


@each_row(
    ("given", "message"),
    [
        ({"vector_store": "pgvector"}, "vector_store=pgvector needs pgvector_url"),
        ({"pgvector_url": "sqlite:///vectors.db"}, "pgvector_url must start with postgresql"),
        ({"chroma_url": "chroma:8000"}, r"chroma_url must be one http or https URL.* \(got 'chroma:8000'\)"),
        ({"chroma_url": "http://a:8000,http://b:8000"}, "take pgvector, Chroma Cloud or Chroma's distributed form"),
        ({"chroma_url": '["http://a:8000", "http://b:8000"]'}, "chroma_url must be one http or https URL"),
        ({"redis_url": "redis:6379"}, r"redis_url must be redis://.*, or redis\+sentinel://.* \(got 'redis:6379'\)"),
        ({"redis_url": "redis://a:6379,redis://b:6379"}, "redis_url must be redis://"),
        ({"redis_url": "sentinel://a:26379;sentinel://b:26379"}, r"redis_url must be redis://.*redis\+sentinel://"),
        ({"redis_url": "amqp://a:5672"}, "redis_url must be redis://"),
        ({"public_url": "http://memory.example.com"}, "public_url must be an https URL without a path"),
        ({"public_url": "https://example.com/memory"}, "public_url must be an https URL without a path"),
        ({"oauth_issuer": "http://id.example.com"}, "oauth_issuer must be an https URL"),
        ({"oauth_issuer": "https://id.example.com/?realm=a"}, "oauth_issuer must be an https URL"),
        ({"oauth_issuer": "https://id.example.com"}, "oauth_issuer needs public_url"),
        ({"sign_in_client_id": "page"}, "sign_in_client_id needs oauth_issuer and sign_in_roles"),
        ({"broker_url": "rabbit:5672"}, r"broker_url must be amqp://.*, redis://.* \(got 'rabbit:5672'\)"),
        ({"broker_url": "amqp://a:5672;amqp://b:5672"}, "broker_url must be amqp://USER:PASSWORD@HOST:PORT"),
        ({"redis_url": "redis+sentinel://a:26379,b:26379"}, "HOST:PORT,.../SERVICE/DATABASE"),  # no service
        ({"redis_url": "redis+sentinel://a:26379,:1/memory"}, r"got 'redis\+sentinel://a:26379,:1/memory'"),
        ({"redis_url": "redis+sentinel://a/memory/zero"}, "SERVICE/DATABASE"),
        ({"redis_url": "redis+sentinel://a/memory/0?pasword=x"}, r"\[\?sentinel_password=PASSWORD\]"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Settings(**given)


def test_a_url_of_sentinels_says_where_they_are_and_what_each_is_told() -> None:
    url = "redis+sentinel://app:p%40ss@a:1,b,[::1]:3/mem%20ory/2?sentinel_username=s&sentinel_password=s%2Fp"
    assert RedisSentinel.of(url) == RedisSentinel(
        hosts=[("a", 1), ("b", 26379), ("::1", 3)],
        service="mem ory",
        database=2,
        credentials={"username": "app", "password": "p@ss"},
        sentinel_credentials={"username": "s", "password": "s/p"},
    )
    assert RedisSentinel.of("redis+sentinel://a/memory") == RedisSentinel([("a", 26379)], "memory", 0, {}, {})
    assert RedisSentinel.of(Settings(redis_url="rediss://:p@a:1/0").redis_url) is None
    assert without_password(url) == (
        "redis+sentinel://app:***@a:1,b,[::1]:3/mem%20ory/2?sentinel_username=s&sentinel_password=***"
    )


def test_a_refused_address_is_named_without_its_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("ftp://u:s3cr@t@a:1", "ftp://a:1,http://u:s3cr@t@b:2", "ftp://u:s3cr@t@a:1,http://v:s3cr@t@b:2"):
        for name in ("MEMORYBASE_CHROMA_URL", "MEMORYBASE_BROKER_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"):
            with monkeypatch.context() as patched:
                patched.setenv(name, url)
                with pytest.raises(ValidationError) as refused:
                    Settings()
            text = describe_settings(refused.value)
            assert ":***@" in text, text
            assert "s3cr" not in text
            assert "t@" not in text


def test_what_clients_read_in_the_same_terminal_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMORYBASE_URL", "MEMORYBASE_FLOW", "MEMORYBASE_END_USER"):
        monkeypatch.setenv(name, "marina")
    Settings()


def test_further_chroma_servers_are_refused_with_what_to_take_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBASE_CHROMA_URLS", '{"east": "http://east:8000"}')
    with pytest.raises(ValidationError, match=r"MEMORYBASE_CHROMA_URLS is not a setting: .* take pgvector"):
        Settings()


def test_a_child_process_uses_the_same_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(vector_store="pgvector", database_url=POSTGRES, chroma_url="http://c")
    for name, value in settings.child_environment().items():
        monkeypatch.setenv(name, value)

    assert Settings().vector_stores_in_use == ("pgvector", "chroma")


@each_row("name", ["database_url", "database_direct_url", "pgvector_url"])
@each_row("parameter", ["pooler=session", "prepared_statements=no"])
def test_a_url_names_a_pooler_that_is_known(name: str, parameter: str) -> None:
    with pytest.raises(ValidationError, match=f"{parameter} in the URL must be"):
        Settings(**{name: f"postgresql://u@db/memorybase?{parameter}"})


def test_migrations_run_past_a_pooler() -> None:
    pooled, direct = "postgresql://u@pooler/memorybase?pooler=transaction", "postgresql://u@db/memorybase"
    assert Settings(database_url=pooled, database_direct_url=direct).migration_url == direct
    assert Settings(database_url=direct).migration_url == direct


def test_a_sqlite_is_migrated_where_it_is(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_direct_url="postgresql://u@db/memorybase")
    assert settings.migration_url == settings.resolved_database_url


@each_row(
    "given",
    [
        {"database_read_url": "postgresql://u@db2/memorybase"},
        {"database_read_url": "sqlite:///other.db", "database_url": "postgresql://u@db/memorybase"},
    ],
)
def test_a_standby_is_one_of_a_postgresql(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="database_read_url and database_url must start with postgresql"):
        Settings(**given)


def test_what_follows_the_lease_is_shorter_in_its_order() -> None:
    for lease in (1, 12, 60, 600):
        settings = Settings(lease_seconds=lease)
        assert settings.lease_renew_seconds < settings.lock_seconds < lease < deadlines.JOB_SECONDS
        assert max(settings.chroma_timeout_seconds, settings.redis_timeout_seconds) < settings.lock_seconds
