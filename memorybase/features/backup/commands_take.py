"""`memorybase backup`: the embedded stack's data in a folder, while it runs.

The folder appears when it is complete: until then everything is in a hidden folder next to it, which the next backup to
the same place removes.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import make_url

from memorybase import __version__
from memorybase.cli.options import services_in_use
from memorybase.core import errors, file_lock
from memorybase.core.database import migrate, sqlite_copy
from memorybase.core.database.engine import Database
from memorybase.core.embedding import added_models
from memorybase.core.queries import statistics
from memorybase.core.settings import Settings
from memorybase.core.vectors import saved
from memorybase.features.backup import vectors as saved_vectors
from memorybase.features.backup.manifest import Manifest, describe_file
from memorybase.stack.state import DATABASE, DataDir, check_database, settings_in_use

SPARE_BYTES = 64_000_000  # left on the disk in addition to the copy of the database
LISTINGS = 20  # of a folder that changes while it is copied

# Data that is never in a backup, each with the reason.
LEFT_OUT = {
    "redis": "it holds notifications and locks only; the sweeper notifies again",
    "chroma": "its files cannot be copied while it runs; collections are rebuilt from the database",
    "logs": "they are no data",
    "models": "they are prepared again from the installation",
}

OnProgress = Callable[[str, int, int | None], object]  # what, how much so far, of how much


def take_backup(data: DataDir, target: Path, on_progress: OnProgress, *, vectors: bool = True) -> Manifest:
    """Write a backup to a folder that does not exist or is empty.

    Raises InvalidRequest, NotReady, Conflict for a second backup to the same folder, EnvironmentFailure.
    """
    settings = settings_in_use(data.path)
    source = _database(settings)
    target = target.expanduser().resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise errors.InvalidRequest(f"{target} must not exist or be an empty folder.", field="directory")
    try:
        with _scratch(target) as folder:
            manifest = _fill(data, settings, source, folder, on_progress, vectors=vectors)
            manifest.write(folder)
            _sync_tree(folder)
            with suppress(FileNotFoundError):
                target.rmdir()  # Windows replaces no folder
            folder.rename(target)
            sqlite_copy.sync(target.parent)
    except OSError as exc:
        raise errors.EnvironmentFailure(f"The backup cannot be written to {target}: {exc.strerror}.") from exc
    return manifest


def _database(settings: Settings) -> Path:
    url = make_url(settings.resolved_database_url)
    if url.get_backend_name() != "sqlite":
        raise errors.InvalidRequest(
            "memorybase backup copies SQLite. Back PostgreSQL up with its own programs: "
            "docs/howto/back-up-and-restore.md"
        )
    check_database(settings)
    return Path(url.database or "")


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """An empty folder next to the target, which this process alone writes; removed at the end if it is still there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = target.with_name(f".{target.name}.memorybase-backup")
    folder.mkdir(mode=0o700, exist_ok=True)
    beside = folder.with_name(f"{folder.name}.lock")
    descriptor = file_lock.open_for(folder, beside)
    try:
        if not file_lock.take(descriptor, wait=False):
            raise errors.Conflict(f"Another backup to {target} is being written.", field="directory")
        try:
            _empty(folder)  # what a killed backup has left
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
        with suppress(OSError):  # Windows keeps it while another process has it open
            beside.unlink(missing_ok=True)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _fill(
    data: DataDir,
    settings: Settings,
    source: Path,
    folder: Path,
    on_progress: OnProgress,
    *,
    vectors: bool,
) -> Manifest:
    left_out = dict(LEFT_OUT)
    began = datetime.now(UTC)
    schema, counts = _copy_database(source, folder / DATABASE, on_progress)
    _copy_folder(settings.knowledge_dir, folder / "knowledge_bases")
    if settings.node_memory_url:
        left_out["node_memory"] = "it is elsewhere: MEMORYBASE_NODE_MEMORY_URL"
    else:
        _copy_folder(data.path / "node_memory", folder / "node_memory")
    if data.key_file.exists():
        shutil.copyfile(data.key_file, folder / data.key_file.name)
        (folder / data.key_file.name).chmod(0o600)
    else:
        left_out["api_key"] = "it is in MEMORYBASE_API_KEY; the database has its SHA-256 only"
    _copy_folder(added_models.folder_of(settings), folder / "models" / "known")
    count = _save_vectors(data, folder / saved.FOLDER, left_out, on_progress, wanted=vectors)
    return Manifest(
        version=__version__,
        schema=schema,
        created_at=began.isoformat(timespec="seconds"),
        counts=counts,
        vectors=count,
        left_out=left_out,
        files={
            path.relative_to(folder).as_posix(): describe_file(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    )


def _copy_database(source: Path, target: Path, on_progress: OnProgress) -> tuple[str, dict[str, int]]:
    """The copy's revision, and what it holds."""
    size = sum(path.stat().st_size for path in (source, source.with_name(f"{source.name}-wal")) if path.exists())
    free = shutil.disk_usage(target.parent).free
    if free < size + SPARE_BYTES:
        raise OSError(errno.ENOSPC, f"{size + SPARE_BYTES:,} bytes are needed and {free:,} are free")
    sqlite_copy.copy_database(source, target, lambda done, pages: on_progress("copying pages", done, pages))
    schema = migrate.current(f"sqlite:///{target}")
    if schema is None:
        raise errors.NotReady(f"{source} is no database of memorybase.")
    database = Database(f"sqlite:///{target}", pool_size=1)
    try:
        with database.reading() as db:
            counts = statistics.count_rows(db)
    finally:
        database.dispose()
    sqlite_copy.seal(target)
    return schema, counts


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder in which files are only created, replaced as a whole, and deleted; nothing if there is none.

    The files of one folder are those of one listing. If one of them is gone by its turn, the folder is copied again:
    what a deleted file held is in a newer one by then.
    """
    for folder, _, _ in os.walk(source):
        _copy_files(Path(folder), target / Path(folder).relative_to(source))


def _copy_files(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for _ in range(LISTINGS):
        if not source.exists():  # deleted meanwhile
            return
        for path in target.iterdir():
            path.unlink()
        with suppress(FileNotFoundError):
            for path in _files(source):
                shutil.copyfile(path, target / path.name)
            return
    raise errors.EnvironmentFailure(f"{source} changed during {LISTINGS} attempts to copy it.")


def _files(folder: Path) -> list[Path]:
    """Two equal listings in a row: one alone may miss a file and have another that was created after it."""
    before: list[Path] | None = None
    while True:
        names = [path for path in sorted(folder.iterdir()) if path.is_file() and not _is_scratch(path.name)]
        if names == before:
            return names
        before = names


def _is_scratch(name: str) -> bool:
    """Whether it is a file that a writer of the stack has not renamed yet, or a lock."""
    return name.startswith(".") or name.endswith((".part", ".lock"))


def _save_vectors(
    data: DataDir,
    folder: Path,
    left_out: dict[str, str],
    on_progress: OnProgress,
    *,
    wanted: bool,
) -> int | None:
    if not wanted:
        left_out["vectors"] = "left out by request"
        return None
    folder.mkdir()
    with services_in_use(data.path) as services:
        found = saved_vectors.save_all(services, folder, lambda count: on_progress("saving vectors", count, None))
    if found.unread:
        left_out["vectors"] = f"{found.unread} collections could not be read"
    return found.vectors


def _sync_tree(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        sqlite_copy.sync(path)
