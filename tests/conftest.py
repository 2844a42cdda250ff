"""Fixtures for every test: the real services, started when first asked for.

PostgreSQL, Redis and Chroma are one server each for the whole run: a test has a PostgreSQL database of its own, a test
process a Redis database, and collections have fresh names. A test that kills, freezes or fills a service takes an
`own_` one.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import redis
import structlog
from harness import ChromaServer, PostgresServer, RedisServer, running
from harness.model import CACHE, MODEL_DIR, export_model
from harness.pgbouncer import PgBouncerServer
from harness.world import World, build_world
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from memorybase.core import telemetry
from memorybase.core.auth import api_keys

# A busy machine is not a failed property, and `make test` tries the same examples in each run.
hypothesis.settings.register_profile("memorybase", deadline=None, derandomize=True)
# Other examples in each run: `make test-slow`. What it finds becomes an @example.
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
# Hours instead of seconds, for the state machine above all: pytest --hypothesis-profile=long
hypothesis.settings.register_profile("long", deadline=None, max_examples=10_000, stateful_step_count=80)
hypothesis.settings.load_profile("memorybase")

# Without cached bytecode each child would compile all that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Not the user's: prepared models.
os.environ["XDG_CACHE_HOME"] = str(CACHE)
# Nor what the user's stack and clients note.
os.environ["XDG_STATE_HOME"] = str(CACHE / "state")
# structlog's capture_logs replaces the processors of its own configuration, in place.
structlog.configure(processors=telemetry.PROCESSORS)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--dify-python",
        help="An interpreter with dify_plugin: test the Dify plugin with Dify's SDK; see make check-dify",
    )
    parser.addoption(
        "--langflow-python",
        help="An interpreter with lfx: test Langflow's components in Langflow's runtime; see make check-langflow",
    )
    parser.addoption(
        "--old-version",
        help="A git ref or a folder: test the upgrade from there instead of the version before; see make check-upgrade",
    )
    parser.addoption(
        "--pgbouncer", action="store_true", help="Put PgBouncer in front of PostgreSQL; see make check-pgbouncer"
    )


@pytest.fixture(scope="session", autouse=True)
def _look_keys_up_each_time() -> Iterator[None]:
    """Tests change keys in SQL, as another process does, and share a database with another test's keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_keys, "VALID_SECONDS", 0.0)
        yield


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepares what all tests share, before the first one is timed."""
    if any(
        "model_cache" in getattr(item, "fixturenames", ()) or "acceptance" in item.path.parts for item in session.items
    ):
        export_model()
    # What was imported stays to the end: the collector need not look through it again and again.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _logging_stays() -> Iterator[None]:
    """Commands that a test runs in this process set levels, and a handler that writes to the output of that test."""
    loggers = [logging.getLogger(name) for name in (None, "memorybase_client")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    for handler in [each for each in logging.root.handlers if isinstance(each, telemetry._Handler)]:
        logging.root.removeHandler(handler)


@pytest.fixture(autouse=True)
def _leaks_are_found_in_their_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """A socket or a connection that a slow test leaves open fails that test: the collector looks for it at its end."""
    yield
    if request.node.get_closest_marker("slow"):
        gc.collect()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the PostgreSQL variant of a test as slow, unless it has the marker `both_databases`."""
    variant = getattr(item, "callspec", None)
    on_postgresql = variant is not None and any(str(value) == "postgresql" for value in variant.params.values())
    if on_postgresql and item.get_closest_marker("both_databases") is None:
        item.add_marker(pytest.mark.slow)
    if item.get_closest_marker("slow") is None:
        # Whichever test runs when the collector finds what another one left open is not at fault.
        item.add_marker(pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"))


# Files that share what takes seconds to start: one process runs each group.
TOGETHER = (
    ("tests/acceptance/web/",),  # an embedded stack
    ("tests/integration/embedding/test_embedders.py", "tests/integration/search/test_reranking.py"),  # torch
)
# The first needs an empty stack; the others take long, and last they would leave the other processes idle.
FIRST = (
    "acceptance/web/test_first_minute.py",
    "integration/api/test_isolation.py",
    "integration/database/test_query_plans.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.path.as_posix().endswith(FIRST))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    return ByGroup(config, log)


class ByGroup(LoadFileScheduling):
    """One process runs all tests of a file, and all files of a group."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return next((str(group) for group in TOGETHER if scope.startswith(group)), scope)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as cores; one more for slow tests, most of which wait for other processes."""
    return (os.cpu_count() or 1) + (config.option.markexpr != "not slow")


RUN_SERVERS = pytest.StashKey[tuple[PostgresServer, RedisServer, ChromaServer]]()


def pytest_configure_node(node: WorkerController) -> None:
    """Starts the servers of all test processes; the first one that needs them waits until they answer."""
    config = node.config
    if config.getoption("--pgbouncer"):
        return
    if RUN_SERVERS not in config.stash:
        folders = tempfile.TemporaryDirectory(prefix="memorybase-servers-")
        config.add_cleanup(folders.cleanup)
        redis_folder, chroma_folder = Path(folders.name, "redis"), Path(folders.name, "chroma")
        redis_folder.mkdir()
        chroma_folder.mkdir()
        servers = config.stash[RUN_SERVERS] = PostgresServer(), RedisServer(redis_folder), ChromaServer(chroma_folder)
        for server in servers:
            config.add_cleanup(server.close)
            server.launch()
    postgres, redis_, chroma = config.stash[RUN_SERVERS]
    node.workerinput["servers"] = str(postgres.directory), redis_.port, chroma.port


@pytest.fixture(scope="session")
def run_servers(pytestconfig: pytest.Config) -> tuple[str, int, int] | None:
    """Where the servers of the run are: the directory of PostgreSQL, the ports of Redis and Chroma."""
    return getattr(pytestconfig, "workerinput", {}).get("servers")


@pytest.fixture(scope="session")
def redis_server(
    run_servers: tuple[str, int, int] | None, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[RedisServer]:
    """A Redis with a database for the tests of this process; see redis_url."""
    if run_servers:
        shared = RedisServer.of_another_process(run_servers[1])
        shared.database = int(worker_id.removeprefix("gw"))
        yield shared
    else:
        with running(RedisServer(tmp_path_factory.mktemp("redis"))) as server:
            yield server


@pytest.fixture(scope="session")
def chroma_server(
    run_servers: tuple[str, int, int] | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ChromaServer]:
    """A Chroma for all tests; name collections after a fresh UUID."""
    if run_servers:
        yield ChromaServer.of_another_process(run_servers[2])
    else:
        with running(ChromaServer(tmp_path_factory.mktemp("chroma"))) as server:
            yield server


@pytest.fixture(scope="session")
def postgres_server(run_servers: tuple[str, int, int] | None, pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """A PostgreSQL for all tests; see postgres_url."""
    if run_servers:
        yield PostgresServer.of_another_process(Path(run_servers[0]))
        return
    with running(PostgresServer()) as server:
        if pytestconfig.getoption("--pgbouncer"):
            with running(PgBouncerServer(server)) as pgbouncer:
                server.url_through_pooler = pgbouncer.url
                yield server
        else:
            yield server


@pytest.fixture(scope="session")
def pgvector_url(postgres_server: PostgresServer) -> str:
    """A database for the collections of all tests of this process; name them after a fresh UUID."""
    return postgres_server.url(postgres_server.create_database())


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The database of this process in the run's Redis, emptied."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushdb()
    return redis_server.url


@pytest.fixture
def chroma_url(chroma_server: ChromaServer) -> str:
    """The run's Chroma."""
    return chroma_server.url


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A fresh, empty database of the run's PostgreSQL."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture
def ready_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of the run's PostgreSQL with all tables and no rows."""
    name = postgres_server.borrow()
    yield postgres_server.url(name)
    postgres_server.give_back(name)


@pytest.fixture
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for this test alone, to kill or freeze."""
    with running(RedisServer(tmp_path_factory.mktemp("own-redis"))) as server:
        yield server


@pytest.fixture
def own_chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """A Chroma for this test alone, to kill, freeze or damage."""
    with running(ChromaServer(tmp_path_factory.mktemp("own-chroma"))) as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for this test alone, to kill or freeze."""
    with running(PostgresServer()) as server:
        yield server


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """A folder with the default model exported, for `model_dir`."""
    export_model()
    return MODEL_DIR


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """The domain on each database, with the other parts in memory."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'memorybase.db'}"
    else:
        url = request.getfixturevalue("ready_postgres_url")
    built = build_world(url, tmp_path)
    yield built
    built.close()
