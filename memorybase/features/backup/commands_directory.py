"""`memorybase restore DIR`: a backup into the data directory of a stack that is stopped, all or nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memorybase import __version__
from memorybase.core import errors
from memorybase.core.database import migrate
from memorybase.core.database.sqlite_copy import sync
from memorybase.core.settings import RESTORED_ABOUT, embedded
from memorybase.core.vectors import saved
from memorybase.features.backup.manifest import Manifest, StoredFile, describe_file
from memorybase.stack.restore import FILES, PLAN, Report, complete_restore, present
from memorybase.stack.state import DATABASE, PART, READY, RESTORED, DataDir

SPARE_BYTES = 64_000_000

OnProgress = Callable[[str, int, int | None], object]


def verify(source: Path, on_progress: OnProgress = lambda *_: None) -> Manifest:
    """Check a backup's manifest and files. Raises InvalidRequest."""
    manifest = _usable(source)
    read = 0
    for name, expected in manifest.files.items():
        _check(source / name, expected)
        read += expected.bytes
        on_progress("verifying bytes", read, manifest.bytes)
    return manifest


def _usable(source: Path) -> Manifest:
    """The manifest, if this version can read the backup."""
    manifest = Manifest.read(source)
    if not migrate.knows(manifest.schema):
        age = "newer than this version" if migrate.is_newer(manifest.schema) else "older than this version can upgrade"
        raise errors.InvalidRequest(
            f"The backup has the schema {manifest.schema} of memorybase {manifest.version}, which is {age} "
            f"({__version__}, schema {migrate.head()}). Install that version first."
        )
    return manifest


def _check(path: Path, expected: StoredFile) -> None:
    if not path.is_file():
        raise errors.InvalidRequest(f"{path} is missing. Use another backup.")
    if describe_file(path) != expected:
        raise errors.InvalidRequest(f"{path} is damaged: its checksum is wrong. Use another backup.")


def restore_backup(
    data: DataDir, source: Path, on_progress: OnProgress, report: Report, *, force: bool, keep_chroma: bool = False
) -> Manifest:
    """Replace what the data directory holds by the backup. The stack must be stopped: `data` is locked.

    Raises InvalidRequest, Conflict without `force` if there is something to replace, EnvironmentFailure.
    """
    source = source.expanduser().resolve()
    _refuse_other_database(data)
    manifest = _usable(source)
    if complete_restore(data, report) == _id_of(manifest):  # it was this one that was interrupted
        return manifest
    _refuse_data(data, force=force, keep_chroma=keep_chroma)
    part = data.path / PART
    try:
        shutil.rmtree(part, ignore_errors=True)
        _stage(source, manifest, part, on_progress, keep_chroma=keep_chroma)
        part.rename(data.path / READY)
        sync(data.path)
    except OSError as exc:
        raise errors.EnvironmentFailure(f"The backup cannot be copied to {data.path}: {exc.strerror}.") from exc
    finally:
        shutil.rmtree(part, ignore_errors=True)
    complete_restore(data, report)
    return manifest


def _refuse_other_database(data: DataDir) -> None:
    url = embedded(data.path).resolved_database_url
    if url != f"sqlite:///{data.path / DATABASE}":
        raise errors.InvalidRequest(
            f"A restore writes {data.path / DATABASE}, but MEMORYBASE_DATABASE_URL names another database."
        )


def _refuse_data(data: DataDir, *, force: bool, keep_chroma: bool) -> None:
    replaced = sorted(present(data, keep_chroma=keep_chroma))
    if replaced and not force:
        raise errors.Conflict(
            f"{data.path} holds {', '.join(replaced)}. With --force they are moved to {data.path}/replaced-TIME."
        )
    for name in replaced:
        if os.path.ismount(data.path / name):
            raise errors.InvalidRequest(f"{data.path / name} is a mount point and cannot be moved. Empty it first.")


def _stage(source: Path, manifest: Manifest, part: Path, on_progress: OnProgress, *, keep_chroma: bool) -> None:
    """Copy the backup next to the data, verified, with the plan for it, and sync all of it to the disk."""
    free = shutil.disk_usage(part.parent).free
    if free < manifest.bytes + SPARE_BYTES:
        raise errors.EnvironmentFailure(
            f"{manifest.bytes + SPARE_BYTES:,} bytes are needed in {part.parent} and {free:,} are free."
        )
    copied = 0
    for name, expected in manifest.files.items():
        target = part / FILES / _place(name)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(source / name, target)
        _check_copy(source / name, target, expected)
        copied += expected.bytes
        on_progress("copying bytes", copied, manifest.bytes)
    restored = part / FILES / RESTORED
    restored.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = datetime.now(UTC)
    about = {"backup": _id_of(manifest), "backup_created_at": manifest.created_at, "restored_at": now.isoformat()}
    (restored / RESTORED_ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    plan = {"backup": _id_of(manifest), "keep_chroma": keep_chroma, "replaced": f"replaced-{now:%Y%m%dT%H%M%SZ}"}
    (part / PLAN).write_text(json.dumps(plan), encoding="utf-8")
    for path in [*part.rglob("*"), part]:
        path.chmod(0o700 if path.is_dir() else 0o600)
        sync(path)


def _check_copy(source: Path, copy: Path, expected: StoredFile) -> None:
    """Read the copy back. Raises InvalidRequest that names the backup's own file."""
    if not copy.is_file() or describe_file(copy) != expected:
        _check(source, expected)
        raise errors.EnvironmentFailure(f"{copy} was not written as it was read: is the disk damaged?")


def _place(name: str) -> str:
    """Location of a file of the backup in the data directory."""
    return f"{RESTORED}/{name}" if name.startswith(f"{saved.FOLDER}/") else name


def _id_of(manifest: Manifest) -> str:
    """Names a backup: its time, and the checksum of its database."""
    return f"{manifest.created_at} {manifest.files[DATABASE].sha256}"
