"""Settings: the only module that reads the environment. Every default runs on a laptop."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import Stemmer
from memorybase_client import otel_names
from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memorybase.core import errors
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName

RESTORED_ABOUT = "about.json"  # in `restored_dir`: which backup was restored, and when
UP = "memorybase up"
UP_ONE_PROCESS = f"{UP} --one-process"
MAX_QUOTA = 10**15


QuotaName = Literal["messages_per_day", "stored_messages", "searches_per_minute", "end_users"]
QuotaDefaults = dict[QuotaName, Annotated[int, Field(ge=0, le=MAX_QUOTA)]]
TokenPrices = dict[str, dict[Literal["input", "output"], Annotated[float, Field(ge=0)]]]
SecretRule = Literal["keep", "redact", "refuse"]
PromptSide = Literal["query", "passage"]
TokenScope = Literal["read", "write"]
Role = Literal["reader", "editor", "operator"]


class EmbeddingSettings(BaseSettings):
    """The endpoint is one, for every model named `openai:NAME`."""

    embedding_backend: Literal["onnx", "onnx-int8", "sentence-transformers"] = Field(
        "onnx-int8",
        description="onnx-int8 (quantized) is twice as fast as onnx (fp32); sentence-transformers is the reference.",
    )
    model_dir: Path | None = Field(
        None, description="Folder of prepared models; unset: memorybase/models in XDG_CACHE_HOME, or ~/.cache."
    )
    embedding_prompts: dict[str, dict[PromptSide, str]] = Field(
        default_factory=dict,
        description="Prefixes by model, for models whose files name none, such as "
        '{"intfloat/e5-small-v2": {"query": "query: ", "passage": "passage: "}}.',
    )
    embedding_url: str = Field(
        "https://api.openai.com/v1",
        pattern="^https?://",
        description="Base URL of an OpenAI-compatible endpoint, for models named openai:NAME.",
    )
    embedding_key: str | None = Field(None, description="Bearer token for embedding_url.")
    embedding_dimension: int = Field(
        0, ge=0, le=65_536, description="Dimension to ask the endpoint for; 0: the model's own."
    )
    embedding_max_tokens: int = Field(
        8_191, ge=16, description="Tokens of a text that the endpoint's model reads; longer texts are cut."
    )
    embedding_tokenizer: str = Field(
        "", description="The tokenizer.json of the endpoint's model, or its folder; empty: that of the default model."
    )
    embedding_request_texts: int = Field(64, ge=1, le=2_048, description="Maximum texts in a request to embedding_url.")


class DistillerSettings(BaseSettings):
    """A part of `Settings`. The endpoint is that of summaries."""

    distiller: Literal["none", "openai"] = Field(
        "none", description="openai lets owners of memory bases turn on distillation, through summarizer_url."
    )
    distiller_model: str = Field(
        "", max_length=150, description="Model name for distillation; empty: summarizer_model."
    )
    distiller_daily_tokens: int = Field(
        500_000, ge=1_000, description="Tokens that distillation may use on a day in UTC; then it waits for the next."
    )


class RetentionSettings(BaseSettings):
    """Fields of `Settings`."""

    node_memory_days: int = Field(
        0, ge=0, description="Days after the last write until node object memory is deleted; 0: never."
    )
    memory_use_days: int = Field(
        0, ge=0, le=36_500, description="Days until what a node's model was given is deleted; 0: with its session."
    )
    deleted_retention_days: int = Field(
        30, ge=0, le=3_650, description="Days that a deleted message can be restored; 0: its text is deleted at once."
    )


def is_secure(url: str) -> bool:
    """Whether nobody but the host in this URL can answer: it is https, or stays on this machine."""
    parts = urlsplit(url)
    is_here = parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1", "::1"}
    return (parts.scheme == "https" and bool(parts.hostname)) or is_here


class SignInSettings(BaseSettings):
    """Fields of `Settings`: whose access tokens the API accepts, and what they may do."""

    public_url: str = Field(
        "", description="Address at which clients reach the API, such as https://memory.example.com; for oauth_issuer."
    )
    oauth_issuer: str = Field(
        "",
        description="Issuer of the OpenID Connect or OAuth 2.1 server whose access tokens are accepted like API keys; "
        "empty: none.",
    )
    oauth_audiences: list[str] = Field(
        default_factory=list,
        description="Audiences of its tokens that are for this server, besides public_url/mcp; for servers that do not "
        "put the requested resource into a token.",
    )
    oauth_scopes: dict[str, TokenScope] = Field(
        default_factory=lambda: dict[str, TokenScope]({"memory:read": "read", "memory:write": "write"}),
        description="What a scope or role in a token allows: read or write.",
    )
    oauth_scope_claim: str = Field(
        "", description="Claim with the scopes or roles, such as realm_access.roles; empty: scope, or scp."
    )
    oauth_end_user_claim: str = Field(
        "sub",
        description="Claim with the end user, whose memory alone a token reaches; empty: that of all end users.",
    )
    oauth_flows_claim: str = Field(
        "", description="Claim with the id of the flow, or a list of them, that a token reaches; empty: all flows."
    )

    sign_in_client_id: str = Field(
        "",
        description="Client id of the web page at oauth_issuer, where people then can sign in; empty: with keys only.",
    )
    sign_in_client_secret: str | None = Field(None, description="Secret of sign_in_client_id; unset: a public client.")
    sign_in_scopes: str = Field("openid", description="Scopes that the page asks for; some servers want groups too.")
    sign_in_role_claim: str = Field("groups", description="Claim of the ID token with groups or roles.")
    sign_in_roles: dict[str, Role] = Field(
        default_factory=dict,
        description="What a group or role may do on the page: reader, editor or operator, such as "
        '{"memory-team": "editor"}. Nobody else gets in.',
    )

    @field_validator("public_url", "oauth_issuer")
    @classmethod
    def _is_https(cls, url: str, info: ValidationInfo) -> str:
        parts = urlsplit(url)
        has_path = info.field_name == "public_url" and parts.path
        if url and (not is_secure(url) or parts.query or parts.fragment or parts.username or has_path):
            form = " without a path" if info.field_name == "public_url" else ""
            message = (
                f"{info.field_name} must be an https URL{form}, or an http URL of this machine "
                f"(got '{without_password(url)}')"
            )
            raise ValueError(message)
        return url


ENVIRONMENT_PREFIX = "MEMORYBASE_"
LOCAL_CHROMA = "http://127.0.0.1:8001"
CHROMA_CLOUD = "trychroma.com"  # and its subdomains, one for each region
RESTORED_FOLDER = "restored"
# Two addresses are two servers, whose data would have to be divided.
_ONE_URL = re.compile(r"https?://[^\s,;]+")
ONE_CHROMA = (
    "chroma_url must be one http or https URL; if one Chroma server is too small, take pgvector, Chroma Cloud or "
    "Chroma's distributed form"
)
SENTINEL_FORM = "redis+sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT,.../SERVICE/DATABASE[?sentinel_password=PASSWORD]"
REDIS_FORM = f"redis://[USER:PASSWORD@]HOST:PORT/DATABASE, rediss:// likewise, or {SENTINEL_FORM}"
AMQP_FORM = "amqp://USER:PASSWORD@HOST:PORT/VIRTUAL_HOST"
_REDIS_URL = re.compile(r"rediss?://[^\s,;]+")
_AMQP_URL = re.compile(r"amqps?://[^\s,;]+")
_SENTINEL_URL = re.compile(
    r"redis\+sentinel://(?:(?P<username>[^:@/?\s]*)(?::(?P<password>[^@/?\s]*))?@)?"
    r"(?P<hosts>[^@/?\s]+)/(?P<service>[^/?\s]+)(?:/(?P<database>\d*))?(?:\?(?P<options>\S*))?"
)
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>\d+))?")
SENTINEL_PORT = 26379


class RedisSentinel(NamedTuple):
    """The parts of a redis+sentinel URL: the sentinels, and the credentials of Redis and of them."""

    hosts: list[tuple[str, int]]
    service: str
    database: int
    credentials: dict[str, str]
    sentinel_credentials: dict[str, str]

    @classmethod
    def of(cls, url: str) -> Self | None:
        """None if the URL has another scheme. Raises ValueError."""
        if not url.startswith("redis+sentinel:"):
            return None
        parts = _SENTINEL_URL.fullmatch(url)
        hosts = [_HOST.fullmatch(each) for each in parts["hosts"].split(",")] if parts else []
        options = dict(parse_qsl(parts["options"] or "")) if parts else {}
        if parts is None or None in hosts or options.keys() - {"sentinel_username", "sentinel_password"}:
            message = f"must be {SENTINEL_FORM}"
            raise ValueError(message)
        return cls(
            [(each["host"].strip("[]"), int(each["port"] or SENTINEL_PORT)) for each in hosts if each],
            unquote(parts["service"]),
            int(parts["database"] or 0),
            {name: unquote(parts[name]) for name in ("username", "password") if parts[name]},
            {name.removeprefix("sentinel_"): value for name, value in options.items()},
        )

    def asked_within(self, seconds: float) -> dict[str, Any]:
        """redis-py's arguments for the clients of the sentinels: a connection to each, one after the other."""
        each = seconds / len(self.hosts)
        timeouts = {"socket_timeout": each, "socket_connect_timeout": each}
        # None: the library must not retry, with pauses of seconds, what the next sentinel answers.
        return {**timeouts, "socket_keepalive": True, "retry": None, **self.sentinel_credentials}


def _traces_url() -> str:
    """The address for traces, by OpenTelemetry's variables; empty: none. Raises ValueError if it is not HTTP."""
    if (
        os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or os.environ.get("OTEL_TRACES_EXPORTER", "otlp") != "otlp"
    ):
        return ""
    for name, path in (("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""), ("OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces")):
        if url := os.environ.get(name):
            if not url.startswith(("http://", "https://")):
                message = (
                    f"{name} must start with http:// or https:// (got '{without_password(url)}'); "
                    "OTEL_TRACES_EXPORTER=none sends no traces"
                )
                raise ValueError(message)
            return url.rstrip("/") + path if path else url
    return ""


def _traces_have_texts() -> bool:
    """Whether spans have texts, by OpenTelemetry's variable. Raises ValueError if it says neither."""
    wanted = otel_names.are_texts_wanted()
    if wanted is None:
        message = f"{otel_names.TEXTS_VARIABLE} must be one of {', '.join(otel_names.TEXTS_IN)}"
        raise ValueError(f"{message} (got {os.environ[otel_names.TEXTS_VARIABLE]!r})")
    return wanted


class Settings(EmbeddingSettings, DistillerSettings, RetentionSettings, SignInSettings):
    """Each field is the environment variable `MEMORYBASE_<NAME>`; an invalid value raises ValidationError."""

    model_config = SettingsConfigDict(env_prefix=ENVIRONMENT_PREFIX, extra="ignore", frozen=True)

    # Locations.
    data_dir: Path = Field(Path("memorybase-data"), description="Data directory of the embedded stack.")
    database_url: str = Field("", description="SQLAlchemy URL; empty: SQLite in data_dir.")
    database_direct_url: str = Field(
        "", description="SQLAlchemy URL of PostgreSQL without a pooler, for migrations; empty: database_url."
    )
    database_read_url: str = Field(
        "", description="SQLAlchemy URL of a PostgreSQL standby, for lists and searches; empty: database_url."
    )
    redis_url: str = Field(
        "redis://127.0.0.1:6379/0",
        description="Redis: session locks and task broker. One server, or the sentinels of several.",
    )
    one_process: bool = Field(
        False, description="`memorybase up` runs one process, without Redis and without a Chroma server."
    )
    broker_url: str = Field("", description="Task broker: RabbitMQ, or another Redis; empty: redis_url.")
    vector_store: VectorStoreName = Field(
        "chroma", description="Vector store of new memory bases, generations and knowledge bases."
    )
    chroma_url: str = Field(
        "",
        description=f"URL of the Chroma server; empty: {LOCAL_CHROMA}, and none if vector_store is pgvector.",
    )
    chroma_token: str | None = Field(
        None, description="Token for Chroma Cloud, or bearer token for a proxy in front of Chroma."
    )
    chroma_tenant: str = Field("", description="Chroma's tenant; empty: default_tenant.")
    chroma_database: str = Field("", description="Chroma's database; empty: default_database.")
    pgvector_url: str = Field(
        "", description="SQLAlchemy URL of a PostgreSQL with pgvector; empty: database_url if that is PostgreSQL."
    )
    api_key: str | None = Field(
        None, description="API key of the embedded stack; unset: generated and kept in data_dir."
    )

    # Embedding.
    embedding_model: str = Field(
        "all-MiniLM-L6-v2",
        description="sentence-transformers model: name or folder; or openai:NAME, a model of embedding_url.",
    )
    allowed_embedding_models: list[str] = Field(
        default_factory=list,
        description="Further models that requests may name. No others: a name may load a folder or a download.",
    )
    embedding_threads: int = Field(0, ge=0, le=256, description="Embedding threads; 0: one per core.")
    token_vectors: bool = Field(
        True, description="Store a vector of 32 bytes for each of a message's first 128 tokens, which improves search."
    )
    chunk_tokens: int = Field(254, ge=16, le=8192, description="Tokens per chunk, capped by the model's limit.")

    # Search.
    reranker_model: str = Field(
        "", description="sentence-transformers cross-encoder for reranking: name or folder; empty: none."
    )

    # Keyword search.
    keyword_language: str = Field(
        "detect", description="Language of all messages and questions, detect for each text's own, or none."
    )
    find_standing: bool = Field(True, description="Find instructions and preferences in users' messages.")

    # Summaries of conversations.
    summarizer: Literal["extractive", "openai"] = Field(
        "extractive", description="extractive uses the embedding model; openai uses an OpenAI-compatible endpoint."
    )
    summarizer_url: str = Field("https://api.openai.com/v1", description="Base URL of an OpenAI-compatible endpoint.")
    summarizer_key: str | None = Field(None, description="Bearer token for summarizer_url.")
    summarizer_model: str = Field(
        "gpt-4o-mini", min_length=1, max_length=150, description="Model name sent to summarizer_url."
    )
    token_prices: TokenPrices = Field(
        default_factory=dict,
        description="Prices of a million tokens by model, in your currency, to show what endpoints cost: "
        '{"gpt-4o-mini": {"input": 0.15, "output": 0.6}}.',
    )

    # Conversation memory.
    token_counters: dict[str, str] = Field(
        default_factory=dict,
        description="Token counter by model name: estimate, openai:ENCODING, hf:MODEL or tiktoken:ENCODING.",
    )
    node_memory_url: str = Field("", description="fsspec URL of node object memory; empty: data_dir.")

    lease_seconds: float = Field(
        60.0,
        gt=0,
        le=600,
        description="Time until the jobs of a lost worker are taken over; pauses and timeouts of ingestion follow it.",
    )

    # Limits of the API; an error names the limit that the request exceeds.
    max_body_bytes: int = Field(16_000_000, ge=1_000, description="Maximum bytes of a request body.")
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="Addresses or networks of reverse proxies, whose X-Forwarded-For and -Proto are believed.",
    )
    user_quotas: QuotaDefaults = Field(
        default_factory=dict,
        description='Quotas of each user, over all of its keys, such as {"messages_per_day": 100000}; without one: '
        "unlimited.",
    )
    key_quotas: QuotaDefaults = Field(default_factory=dict, description="Quotas of each API key, likewise.")
    rate_limit_per_second: int = Field(200, ge=0, description="Calls per second, key and process; 0: unlimited.")
    cors_origins: list[str] = Field(default_factory=list, description="Allowed CORS origins; empty: CORS is off.")

    secrets: SecretRule = Field(
        "keep",
        description="What flows do with secrets that callers send, unless a flow says otherwise: keep them, redact or "
        "refuse.",
    )

    # The audit log.
    audit: Literal["off", "changes", "all"] = Field(
        "all", description="changes: record changes, exports, and what people read on the page; all: captures too."
    )
    audit_retention_days: int = Field(365, ge=0, le=36_500, description="Days that entries are kept; 0: for ever.")

    # The web page.
    web: bool = Field(True, description="Serve the web page at /ui.")
    proxy_user_header: str = Field(
        "",
        pattern=r"^([A-Za-z0-9-]{1,100})?$",
        description="The header in which a proxy of trusted_proxies names the person whom it signed in; the page then "
        "answers only what comes with it.",
    )

    # The MCP server.
    mcp: bool = Field(True, description="Serve MCP at /mcp.")

    # Webhooks.
    webhook_allowed_networks: list[str] = Field(
        default_factory=list,
        description="Private networks that webhooks may call, such as 10.1.0.0/16; empty: public addresses only.",
    )

    # Logging, metrics and traces.
    metrics_public: bool = Field(False, description="Serve GET /metrics without an API key.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Lowest level that is logged.")
    log_format: Literal["console", "json"] = Field(
        "console", description="console for people, json for a log collector."
    )
    trace_statements: bool = Field(False, description="Spans for transactions and SQL statements, without parameters.")

    @model_validator(mode="before")
    @classmethod
    def _variables_are_settings(cls, values: Any) -> Any:
        clients = ("url", "flow", "end_user")  # of programs in the same terminal
        known = [name.upper() for name in (*cls.model_fields, *clients)]
        unknown = []
        for name in sorted(os.environ):
            if name.upper() == f"{ENVIRONMENT_PREFIX}CHROMA_URLS":
                unknown.append(f"{name} is not a setting: {ONE_CHROMA}")
            elif name.upper().startswith(ENVIRONMENT_PREFIX):
                own = name.upper().removeprefix(ENVIRONMENT_PREFIX)
                near = difflib.get_close_matches(own, known, n=1, cutoff=0.8)
                if own not in known:
                    help_ = f"did you mean {ENVIRONMENT_PREFIX}{near[0]}?" if near else "unset it"
                    unknown.append(f"{name} is not a setting; {help_}")
        if unknown:
            raise ValueError(". ".join(unknown))
        return values

    @field_validator("database_url", "database_direct_url", "database_read_url", "pgvector_url")
    @classmethod
    def _has_known_pooler(cls, url: str) -> str:
        query = parse_qs(urlsplit(url).query)
        for name, allowed in (("pooler", ["transaction"]), ("prepared_statements", ["on", "off"])):
            for value in query.get(name, []):
                if value not in allowed:
                    message = f"{name}={value} in the URL must be {' or '.join(allowed)}"
                    raise ValueError(message)
        return url

    @field_validator("chroma_url")
    @classmethod
    def _is_one_address(cls, url: str) -> str:
        if url and not _ONE_URL.fullmatch(url):
            message = f"{ONE_CHROMA} (got '{without_password(url)}')"
            raise ValueError(message)
        return url

    @field_validator("redis_url", "broker_url")
    @classmethod
    def _is_known(cls, url: str, info: ValidationInfo) -> str:
        is_broker = info.field_name == "broker_url"
        try:
            known = RedisSentinel.of(url) or _REDIS_URL.fullmatch(url)
        except ValueError:
            known = None
        if not (known or (is_broker and (not url or _AMQP_URL.fullmatch(url)))):
            forms = f"{AMQP_FORM}, {REDIS_FORM}" if is_broker else REDIS_FORM
            message = f"{info.field_name} must be {forms} (got '{without_password(url)}')"
            raise ValueError(message)
        return url

    @field_validator("trusted_proxies", "webhook_allowed_networks")
    @classmethod
    def _are_networks(cls, values: list[str]) -> list[str]:
        for value in values:
            ip_network(value, strict=False)  # its error names the value
        return values

    @model_validator(mode="after")
    def _bounds_fit(self) -> Self:
        self._check_vector_store()
        if _traces_url():  # an address that is none is refused at start
            _traces_have_texts()
        if self.database_read_url and not (
            self.database_url.startswith("postgresql") and self.database_read_url.startswith("postgresql")
        ):
            message = "database_read_url and database_url must start with postgresql: it is a standby of that server"
            raise ValueError(message)
        if self.proxy_user_header and not self.trusted_proxies:
            message = "proxy_user_header needs trusted_proxies: from all others the header is not believed"
            raise ValueError(message)
        if self.oauth_issuer and not self.public_url:
            message = "oauth_issuer needs public_url: tokens must be issued for this server's address"
            raise ValueError(message)
        if self.sign_in_client_id and not (self.oauth_issuer and self.sign_in_roles):
            message = "sign_in_client_id needs oauth_issuer and sign_in_roles: without a role nobody gets in"
            raise ValueError(message)
        languages = ["detect", "none", *sorted({*Stemmer.algorithms(), "chinese", "japanese"})]
        if self.keyword_language not in languages:
            message = f"keyword_language={self.keyword_language} must be one of {', '.join(languages)}"
            raise ValueError(message)
        return self

    def _check_vector_store(self) -> None:
        if self.pgvector_url and not self.pgvector_url.startswith("postgresql"):
            message = "pgvector_url must start with postgresql"
            raise ValueError(message)
        if self.vector_store == "pgvector" and not self.resolved_pgvector_url:
            message = "vector_store=pgvector needs pgvector_url, or a database_url that starts with postgresql"
            raise ValueError(message)

    @property
    def changed(self) -> list[str]:
        """The names of the settings that differ from their default; a value may be a secret."""
        fields = type(self).model_fields.items()
        return [name for name, field in fields if getattr(self, name) != field.get_default(call_default_factory=True)]

    @property
    def traces_url(self) -> str:
        """The address for traces; empty: none."""
        return _traces_url()

    @property
    def traces_have_texts(self) -> bool:
        """Whether spans of memory operations have queries and records."""
        return _traces_have_texts()

    def allowed_model(self, model: str | None) -> str:
        """The model for a request: the named one if it is allowed, else the default. Raises InvalidRequest."""
        allowed = [self.embedding_model, *self.allowed_embedding_models]
        if model is not None and model not in allowed:
            raise errors.InvalidRequest(
                "embedding_model must be one of the allowed models", field="embedding_model", value=model, limit=allowed
            )
        return model or self.embedding_model

    @property
    def resolved_broker_url(self) -> str:
        """broker_url, or redis_url."""
        return self.broker_url or self.redis_url

    @cached_property
    def resolved_database_url(self) -> str:
        """database_url, or SQLite in the data directory."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'memorybase.db'}"

    @property
    def migration_url(self) -> str:
        """The URL for migrations, past a pooler."""
        is_postgresql = self.database_url.startswith("postgresql")
        return (is_postgresql and self.database_direct_url) or self.resolved_database_url

    @property
    def up_command(self) -> str:
        """The command that runs the embedded stack, in its form."""
        return UP_ONE_PROCESS if self.one_process else UP

    @property
    def resolved_chroma_url(self) -> str:
        """chroma_url, or its default if it is the store of new collections; else empty."""
        return self.chroma_url or (LOCAL_CHROMA if self.vector_store == "chroma" else "")

    @property
    def is_chroma_cloud(self) -> bool:
        """Whether chroma_url leads to Chroma Cloud, which has quotas and a header for its token."""
        host = urlsplit(self.chroma_url).hostname or ""
        return host == CHROMA_CLOUD or host.endswith(f".{CHROMA_CLOUD}")

    @property
    def resolved_pgvector_url(self) -> str:
        """pgvector_url, or database_url if that is PostgreSQL, else empty."""
        return self.pgvector_url or (self.database_url if self.database_url.startswith("postgresql") else "")

    @property
    def known_vector_stores(self) -> tuple[VectorStoreName, ...]:
        """The stores whose collections can be reached, that of new collections first."""
        return self._with_others(self.vector_store_url)

    def vector_store_url(self, store: VectorStoreName) -> str:
        """The store's URL; empty if it cannot be reached."""
        url: str = getattr(self, f"resolved_{VECTOR_STORES[store].url}")
        return url

    # Timeouts nest: renew < lock < lease, and every network timeout < lock.

    @property
    def lease_renew_seconds(self) -> float:
        """Interval at which a worker renews its claims and session locks."""
        return self.lease_seconds / 4

    @property
    def lock_seconds(self) -> float:
        """Time to live of a session lock in Redis."""
        return self.lease_seconds * 3 / 4

    @property
    def sweep_seconds(self) -> float:
        """Pause between two passes of the sweeper."""
        return min(5.0, self.lease_seconds / 6)

    @property
    def backoff_max_seconds(self) -> float:
        """Longest pause of a job after an outage."""
        return self.lease_seconds

    @property
    def chroma_timeout_seconds(self) -> float:
        """Timeout of one request to Chroma, whose client has none."""
        return min(10.0, self.lease_seconds * 2 / 3)

    @property
    def redis_timeout_seconds(self) -> float:
        """Timeout of one call of session locks."""
        return min(3.0, self.lease_seconds / 6)

    @property
    def vector_stores_in_use(self) -> tuple[VectorStoreName, ...]:
        """The stores that must work: the one for new collections, and others with a URL."""
        return self._with_others(lambda store: getattr(self, VECTOR_STORES[store].url))

    def _with_others(self, url: Callable[[VectorStoreName], str]) -> tuple[VectorStoreName, ...]:
        """The store of new collections, and the others that have a URL."""
        return (self.vector_store, *(store for store in VECTOR_STORES if store != self.vector_store and url(store)))

    def known_vector_store(self, store: VectorStoreName | None) -> VectorStoreName:
        """The store for a request: the named one if it can be reached, else the default. Raises InvalidRequest."""
        known = self.known_vector_stores
        if store is not None and store not in known:
            raise errors.InvalidRequest(
                f"vector_store must be a store with a URL in the settings, {' or '.join(known)} (got '{store}')",
                field="vector_store",
                value=store,
                limit=list(known),
            )
        return store or self.vector_store

    @cached_property
    def webhook_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """webhook_allowed_networks, parsed."""
        return tuple(ip_network(each, strict=False) for each in self.webhook_allowed_networks)

    @property
    def knowledge_dir(self) -> Path:
        return self.data_dir / "knowledge_bases"

    @property
    def restored_dir(self) -> Path:
        """There while the vector store is made to follow a restored database."""
        return self.data_dir / RESTORED_FOLDER

    @property
    def model_cache_dir(self) -> Path:
        """model_dir, or the user's cache of this machine; a user without a home has one in the data directory."""
        try:
            return self.model_dir or user_directory("XDG_CACHE_HOME", Path("~/.cache")) / "memorybase" / "models"
        except RuntimeError:
            return self.data_dir / "models"

    def prepare_this_process(self) -> None:
        """Set for this process what its libraries read when they are loaded, as for children."""
        environment = self.child_environment()
        names = ("OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "TOKENIZERS_PARALLELISM", "ANONYMIZED_TELEMETRY")
        os.environ.update({name: environment[name] for name in names})

    def child_environment(self, changes: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Environment of a child process: this one, with every setting explicit, then the changes."""
        environment = dict(os.environ)
        stated = self.model_dump(mode="json", exclude_none=True) | {"database_url": self.resolved_database_url}
        for name, value in (stated | dict(changes or {})).items():
            environment[ENVIRONMENT_PREFIX + name.upper()] = value if isinstance(value, str) else json.dumps(value)
        # By default OpenMP's threads spin while they wait, which starves other processes on a small machine.
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        # A search multiplies small matrices: more threads would only wait for each other.
        environment.setdefault("OPENBLAS_NUM_THREADS", "1")
        # By default glibc gives every few threads a separate heap, and the freed memory of one serves no other.
        environment.setdefault("MALLOC_ARENA_MAX", "2")
        environment.setdefault("TOKENIZERS_PARALLELISM", "false")
        environment.setdefault("ANONYMIZED_TELEMETRY", "False")
        return environment


def describe_settings(error: ValidationError) -> str:
    """One line that names the invalid environment variables."""
    problems = []
    for problem in error.errors(include_url=False, include_input=False):
        name, *inner = map(str, problem["loc"] or [""])
        within = "".join(f"{part}: " for part in inner if part != "[key]")
        problems.append(f"{ENVIRONMENT_PREFIX}{name.upper()}: {within}{problem['msg']}" if name else problem["msg"])
    return "; ".join(problems)


def without_password(url: str) -> str:
    """A URL, or several, for people to read."""
    return re.sub(r"(_password=)[^&\s]*", r"\1***", re.sub(r"(//[^/@\s:]*):\S*@", r"\1:***@", url))


def tiktoken_cache() -> Path | None:
    """The folder of encodings that tiktoken itself reads."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    return Path(folder) if folder else None


def stated_url() -> str | None:
    """MEMORYBASE_URL: the API that commands call, as clients do."""
    return os.environ.get(f"{ENVIRONMENT_PREFIX}URL") or None


def user_directory(variable: str, default: Path) -> Path:
    """A directory of the user that another program's variable may move, such as XDG_CONFIG_HOME."""
    return Path(os.environ.get(variable) or default).expanduser()


def embedded(data_dir: Path, **changes: Any) -> Settings:
    """Settings of the embedded stack, with a shorter lease because all processes are on one machine. In one process no
    worker is lost alone, and sweeps at longer intervals cost less."""
    seconds = 30.0 if changes.get("one_process") else 12.0
    lease = {} if os.environ.get(f"{ENVIRONMENT_PREFIX}LEASE_SECONDS") else {"lease_seconds": seconds}
    return Settings(data_dir=data_dir, **(lease | changes))
