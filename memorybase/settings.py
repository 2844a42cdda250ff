"""Settings: the only reader of the environment. Every default runs on a laptop; numbers carry unit and reason."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import Stemmer
from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memorybase import errors

ENVIRONMENT_PREFIX = "MEMORYBASE_"


class Settings(BaseSettings):
    """What can be set, by environment variable `MEMORYBASE_<NAME>`; raises ValidationError naming the setting."""

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="ignore", frozen=True)

    # Where things are.
    data_dir: Path = Field(Path("memorybase-data"), description="Everything that the embedded stack keeps.")
    database_url: str = Field("", description="SQLAlchemy URL; empty means SQLite in data_dir.")
    redis_url: str = Field("redis://127.0.0.1:6379/0", description="Broker and session locks.")
    chroma_url: str = Field("http://127.0.0.1:8001", description="The Chroma server.")
    chroma_token: str | None = Field(None, description="Sent to Chroma as a bearer token, where a proxy asks for one.")
    api_key: str | None = Field(None, description="The embedded stack's API key; made and kept in data_dir when unset.")

    # Embedding.
    embedding_model: str = Field(
        "all-MiniLM-L6-v2", description="A sentence-transformers model: a name, or a path to a folder."
    )
    allowed_embedding_models: list[str] = Field(
        default_factory=list,
        description="Further models that a request may name. No other: a name may be a folder here, or reach a hub.",
    )
    embedding_backend: Literal["onnx", "onnx-int8", "sentence-transformers"] = Field(
        "onnx-int8", description="In whole numbers, at twice the speed of onnx (fp32); the last is the reference."
    )
    embedding_query_prompt: str | None = Field(
        None, description="Put before a query for embedding_model; unset is what the model says, empty is none."
    )
    embedding_passage_prompt: str | None = Field(
        None, description="The same before what is stored; another one asks for a regenerate."
    )
    model_dir: Path | None = Field(None, description="Where exported models are kept; <data_dir>/models when unset.")
    # 8 stay in the processor's cache, and no thread waits long for another; the figures are in docs/explanation.
    embedding_batch_size: int = Field(8, ge=1, le=1024, description="Texts a batch at most; sorted by length first.")
    embedding_threads: int = Field(0, ge=0, le=256, description="Threads that embed; 0 is one for each core.")
    token_vectors: bool = Field(
        True, description="Keep a vector for each of a message's first 128 tokens: 48 bytes each, finds more."
    )
    chunk_tokens: int = Field(254, ge=16, le=8192, description="Tokens a chunk, capped by the model's own limit.")
    chunk_overlap: int = Field(32, ge=0, le=1024, description="Tokens that neighbouring chunks share, at most.")

    # Search.
    reranker_model: str = Field(
        "", description="A sentence-transformers cross-encoder, by name or path, that scores anew; empty is none."
    )

    # Keyword search.
    keyword_language: str = Field(
        "english", description="Snowball's name of the language that words are stemmed in, or none."
    )

    # Summaries of conversations.
    summarizer: Literal["extractive", "openai"] = Field(
        "extractive", description="extractive needs only the embedding model; openai is any endpoint that speaks it."
    )
    summarizer_url: str = Field("https://api.openai.com/v1", description="Base URL of an OpenAI-compatible endpoint.")
    summarizer_key: str | None = Field(None, description="Sent to it as a bearer token.")
    summarizer_model: str = Field("gpt-4o-mini", min_length=1, max_length=150, description="The model it is asked for.")
    summarizer_timeout_seconds: float = Field(30.0, gt=0, description="Of one request to it.")
    summarizer_input_tokens: int = Field(8_000, ge=500, description="What it is sent at once; more is cut by halves.")
    summary_tokens: int = Field(300, ge=32, le=4_000, description="How long a summary may be, estimated.")
    # Conversation memory.
    token_counters: dict[str, str] = Field(
        default_factory=dict,
        description="A token counter for each model that a view may name: estimate, hf:MODEL or tiktoken:ENCODING.",
    )
    tiktoken_cache_dir: Path | None = Field(None, description="tiktoken's encodings; none is downloaded.")

    node_memory_url: str = Field("", description="Where node memory in objects is kept, for fsspec; empty is data_dir.")
    node_memory_days: int = Field(
        0, ge=0, description="Node memory not written to for so long is cleaned up; 0: never."
    )

    # Jobs: small enough that kill -9 costs seconds, large enough that a batch is full.
    job_max_messages: int = Field(256, ge=1, le=10_000, description="Counted messages a job.")
    job_max_bytes: int = Field(1_000_000, ge=1_000, description="Text a job, in bytes; one message always fits.")
    idle_after: int = Field(600, ge=0, description="Seconds of silence after which a session is ingested; 0 is off.")

    # Timeouts nest: renew < lock < lease, and every network timeout < lock.
    lease_seconds: float = Field(60.0, gt=0, description="A claim holds this long without renewal.")
    lease_renew_seconds: float = Field(15.0, gt=0, description="A live worker renews its claim this often.")
    lock_seconds: float = Field(45.0, gt=0, description="Time to live of the Redis session lock.")
    job_deadline_seconds: float = Field(900.0, gt=0, description="A worker that needs longer for one job ends itself.")
    sweep_seconds: float = Field(5.0, gt=0, description="The sweeper looks this often.")
    notify_after_seconds: float = Field(30.0, gt=0, description="A queued job nobody took is rung again, doubling.")
    notify_max_seconds: float = Field(600.0, gt=0, description="The longest pause between two rings.")
    backoff_seconds: float = Field(2.0, gt=0, description="First pause after an outage; doubles, with jitter.")
    backoff_max_seconds: float = Field(60.0, gt=0, description="Longest pause after an outage.")
    heartbeat_seconds: float = Field(2.0, gt=0, description="Worker and sweeper sign life this often.")
    heartbeat_stale_seconds: float = Field(15.0, gt=0, description="Without a sign for this long they count as gone.")
    worker_deaths: int = Field(3, ge=1, description="Lost workers on one job before its range is split.")
    drain_seconds: float = Field(10.0, ge=0, description="DELETE waits this long for a running job to stop.")
    retire_seconds: float = Field(60.0, ge=0, description="A replaced generation's collection is kept this long.")
    chroma_timeout_seconds: float = Field(10.0, gt=0, description="Chroma's client has no timeout of its own.")
    redis_timeout_seconds: float = Field(3.0, gt=0, description="The lock client's connect and read timeout.")
    enqueue_timeout_seconds: float = Field(0.5, gt=0, description="Publishing to a frozen Redis gives up after this.")
    enqueue_pause_seconds: float = Field(2.0, ge=0, description="After a failed ring no other is tried for this long.")

    # Bounds of the API; each is named in the error that it causes.
    max_body_bytes: int = Field(16_000_000, ge=1_000, description="Request body.")
    max_messages_per_run: int = Field(1_000, ge=1, description="Messages in one POST of a run.")
    max_message_bytes: int = Field(4_000_000, ge=1_000, description="One message, as JSON.")
    max_threshold: int = Field(10_000, ge=1, description="Counting stops here, so that capture stays cheap.")
    max_query_chars: int = Field(8_000, ge=1, description="A search query.")
    max_top_k: int = Field(100, ge=1, description="Results a search.")
    max_documents_per_request: int = Field(200, ge=1, description="Documents in one POST to a knowledge base.")
    rate_limit_per_second: int = Field(200, ge=0, description="Calls a second of one key, a process; 0 is off.")
    rate_limit_burst: int = Field(1_000, ge=1, description="Calls of one key at once, after a quiet time.")
    unauthorized_per_second: int = Field(
        5, ge=0, description="Calls a second without a valid key from one address, a process; 0 is off."
    )
    cors_origins: list[str] = Field(default_factory=list, description="Allowed origins; empty means CORS is off.")

    # The web page.
    web: bool = Field(True, description="Serve the web page at /ui.")
    web_session_hours: int = Field(168, ge=1, le=8_760, description="How long a browser stays signed in.")

    # Logging and metrics.
    metrics_public: bool = Field(False, description="Whether GET /metrics answers without a key.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least severe level logged.")
    log_format: Literal["console", "json"] = Field("console", description="For people, or for a log collector.")

    @model_validator(mode="after")
    def _timeouts_nest(self) -> Self:
        rungs = (
            ("lease_renew_seconds", self.lease_renew_seconds, "lock_seconds", self.lock_seconds),
            ("lock_seconds", self.lock_seconds, "lease_seconds", self.lease_seconds),
            ("chroma_timeout_seconds", self.chroma_timeout_seconds, "lease_seconds", self.lease_seconds),
            (
                "summarizer_timeout_seconds",
                self.summarizer_timeout_seconds,
                "job_deadline_seconds",
                self.job_deadline_seconds,
            ),
            ("redis_timeout_seconds", self.redis_timeout_seconds, "lock_seconds", self.lock_seconds),
            ("lease_seconds", self.lease_seconds, "job_deadline_seconds", self.job_deadline_seconds),
            ("heartbeat_seconds", self.heartbeat_seconds, "heartbeat_stale_seconds", self.heartbeat_stale_seconds),
        )
        for lower, low, upper, high in rungs:
            if low >= high:
                message = f"{lower}={low:g} must be below {upper}={high:g}: timeouts nest"
                raise ValueError(message)
        languages = ["none", *sorted(Stemmer.algorithms())]
        if self.keyword_language not in languages:
            message = f"keyword_language={self.keyword_language} must be one of {', '.join(languages)}"
            raise ValueError(message)
        if self.summary_tokens * 4 > self.summarizer_input_tokens:
            message = f"summary_tokens={self.summary_tokens} must be at most a quarter of summarizer_input_tokens"
            raise ValueError(message)
        if self.chunk_overlap * 2 > self.chunk_tokens:
            message = f"chunk_overlap={self.chunk_overlap} must be at most half of chunk_tokens={self.chunk_tokens}"
            raise ValueError(message)
        return self

    def allowed_model(self, model: str | None) -> str:
        """The model that a request may use: the default one, or one of those allowed. Raises InvalidRequest."""
        allowed = [self.embedding_model, *self.allowed_embedding_models]
        if model is not None and model not in allowed:
            raise errors.InvalidRequest(
                "This embedding model is not allowed here", field="embedding_model", value=model, limit=allowed
            )
        return model or self.embedding_model

    @cached_property
    def resolved_database_url(self) -> str:
        """The database's URL, SQLite in the data directory unless one is set."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'memorybase.db'}"

    @property
    def knowledge_dir(self) -> Path:
        return self.data_dir / "knowledge_bases"

    @property
    def model_cache_dir(self) -> Path:
        return self.model_dir or self.data_dir / "models"

    @property
    def run_dir(self) -> Path:
        return self.data_dir / "run"

    def child_environment(self, changes: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The environment for a child process: ours, every setting made explicit, then the changes."""
        environment = dict(os.environ)
        stated = self.model_dump(mode="json", exclude_none=True) | {"database_url": self.resolved_database_url}
        for name, value in (stated | dict(changes or {})).items():
            environment[ENVIRONMENT_PREFIX + name.upper()] = value if isinstance(value, str) else json.dumps(value)
        # torch and OpenMP spin while waiting, which starves the neighbours on a small machine.
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        # A search multiplies small matrices: threads for that wait for each other and for the neighbours.
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")
        environment.setdefault("TOKENIZERS_PARALLELISM", "false")
        environment.setdefault("ANONYMIZED_TELEMETRY", "False")
        return environment


def point_tiktoken_at(cache: Path) -> None:
    """tiktoken looks for its encodings where the environment says, and nowhere else."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cache)


def embedded(data_dir: Path, **changes: Any) -> Settings:
    """Settings of the embedded stack: shorter leases, since all processes are on this machine."""
    quick: dict[str, Any] = {
        "data_dir": data_dir,
        "lease_seconds": 12.0,
        "lease_renew_seconds": 3.0,
        "lock_seconds": 9.0,
        "sweep_seconds": 2.0,
        "chroma_timeout_seconds": 8.0,
        "redis_timeout_seconds": 2.0,
        "backoff_seconds": 1.0,
        "backoff_max_seconds": 10.0,
    }
    stated = {name for name in quick if os.environ.get(ENVIRONMENT_PREFIX + name.upper()) is not None}
    return Settings(**({k: v for k, v in quick.items() if k not in stated or k == "data_dir"} | changes))
