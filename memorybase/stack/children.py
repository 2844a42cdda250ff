"""The children of the embedded stack: their commands and environment."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import memorybase
from memorybase.core.settings import Settings
from memorybase.core.vectors import chroma_saves
from memorybase.core.vectors.chroma_database import write_ahead
from memorybase.stack.redis_server import configure, find_redis
from memorybase.stack.state import DataDir, RunningStack, free_port, now_text

# The order of starting. Stopping is in reverse order, so that no process loses a service that it needs.
NAMES = ("redis", "chroma", "worker", "sweeper", "api")
STORES = ("redis", "chroma")
SERVICES = ("worker", "sweeper", "api")
# Captures do not need these: while one keeps ending, it is restarted with a growing pause and the stack continues.
DISPENSABLE = frozenset({"worker", "sweeper"})

# Workers coordinate through the database; with mingle and gossip a start would wait a second for other workers.
QUIET = ("--without-mingle", "--without-gossip")
# Otherwise Chroma logs 3 kB per request. It also writes memory to its index files that it has not initialized, in which
# there may be texts: have glibc overwrite what is freed, for at most 5 % of Chroma's and 1 % of ingestion's time. With
# 255 what is allocated is zero: an index file that a power failure has cut is read as zeros, not as wild references.
CHROMA_ENVIRONMENT = {"RUST_LOG": "warn", "MALLOC_PERTURB_": "255"}
# The same as the script `chroma`, which may not be on the PATH, but without the second to import the client. It opens
# four files for each collection in use; the usual limit of 1,024 would end it at some 250 memory bases.
CHROMA = """
import resource, sys, chromadb_rust_bindings
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard >= 0 else 65_536, hard))
chromadb_rust_bindings.cli(["chroma", *sys.argv[1:]])
"""


@dataclass(frozen=True, slots=True)
class Child:
    """One child process. It is killed `graceful_seconds` after SIGTERM. `before_start` is called before each start with
    what reports to the user, `while_running` every other second."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(repr=False)
    graceful_seconds: float
    before_start: Callable[[Callable[[str], None]], None] | None = None
    while_running: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is decided before the first child starts."""

    settings: Settings = field(repr=False)
    data: DataDir
    children: tuple[Child, ...]
    environment: dict[str, str] = field(repr=False)
    host: str
    port: int
    stack: RunningStack = field(repr=False)

    @property
    def stores(self) -> tuple[str, ...]:
        """The stores among the children, which start first."""
        return tuple(child.name for child in self.children if child.name in STORES)

    @property
    def health_url(self) -> str:
        return f"{self.stack.url}/health/ready"


def plan(settings: Settings, data: DataDir, *, host: str, port: int, pid: int) -> Plan:
    """Choose ports and write Redis's configuration. `settings` are those of an embedded stack."""
    redis_port, chroma_port = free_port(), free_port()
    has_chroma = settings.vector_store == "chroma" or (data.path / "chroma").exists()
    password = secrets.token_urlsafe(24)
    redis = find_redis()
    redis_configuration = configure(redis, data, port=redis_port, password=password)
    stack = RunningStack(
        pid=pid,
        url=f"http://{reachable(host)}:{port}",
        redis_url=f"redis://:{password}@127.0.0.1:{redis_port}/0",
        chroma_url=f"http://127.0.0.1:{chroma_port}" if has_chroma else "",
        since=now_text(),
    )
    environment = _environment(settings, data, stack)
    python = sys.executable
    worker = ("-m", "celery", "-A", "worker.app", "worker", "--pool", "solo", "--loglevel", "WARNING", *QUIET)
    return Plan(
        settings=settings,
        data=data,
        environment=environment,
        host=host,
        port=port,
        stack=stack,
        children=(
            Child("redis", (str(redis.path), str(redis_configuration)), environment, graceful_seconds=10),
            *([_chroma(data.path / "chroma", chroma_port, environment)] if has_chroma else []),
            # It finishes its jobs, and requeues them itself after 15 s.
            Child("worker", (python, *worker), environment, graceful_seconds=20),
            Child("sweeper", (python, "-m", "memorybase", "sweep"), environment, graceful_seconds=10),
            Child("api", (python, "-m", "api", "--host", host, "--port", str(port)), environment, graceful_seconds=8),
        ),
    )


def _chroma(directory: Path, port: int, environment: dict[str, str]) -> Child:
    def before_start(report: Callable[[str], None]) -> None:
        write_ahead(directory, on=False)
        chroma_saves.repair(directory, report)
        chroma_saves.keep_maps(directory)

    options = ("run", "--host", "127.0.0.1", "--port", str(port), "--path", str(directory))
    return Child(
        "chroma",
        (sys.executable, "-c", CHROMA, *options),
        environment | CHROMA_ENVIRONMENT,
        graceful_seconds=10,
        before_start=before_start,
        while_running=partial(chroma_saves.keep_maps, directory),
    )


def _environment(settings: Settings, data: DataDir, stack: RunningStack) -> dict[str, str]:
    changes: dict[str, str] = {
        **dict.fromkeys(("chroma_tenant", "chroma_database"), ""),  # its own Chroma has the default ones
        "broker_url": "",
        "data_dir": str(data.path),
        "database_url": _absolute_sqlite(settings.resolved_database_url),
        "redis_url": stack.redis_url,
        "chroma_url": stack.chroma_url,
        "embedding_model": _absolute_model(settings.embedding_model),
        "api_key": data.api_key(settings),
    }
    return import_path(settings.child_environment(changes))


def import_path(environment: dict[str, str]) -> dict[str, str]:
    """The environment with which a child imports the same memorybase as this process, installed or not. Children run
    in the data directory, so that no package of the caller, such as one named worker, shadows ours."""
    root = str(Path(memorybase.__file__).resolve().parents[1])
    inherited = environment.get("PYTHONPATH")
    return environment | {
        "PYTHONPATH": f"{root}{os.pathsep}{inherited}" if inherited else root,
        "PYTHONUNBUFFERED": "1",
    }


def _absolute_sqlite(url: str) -> str:
    prefix = "sqlite:///"
    path = url.removeprefix(prefix)
    relative = url.startswith(prefix) and path and not path.startswith(("/", ":memory:", "file:"))
    return prefix + str(Path(path).resolve()) if relative else url


def _absolute_model(name: str) -> str:
    path = Path(name).expanduser()
    return str(path.resolve()) if path.is_dir() else name


def reachable(host: str) -> str:
    """The address at which a client on this machine reaches a server that listens on `host`."""
    if host in {"0.0.0.0", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host
