"""Keep what a stack stores from the machine's other users: messages are in its database, stores, logs and exports."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from memorybase.core import errors

OTHERS = stat.S_IRWXG | stat.S_IRWXO
# A stack's entries in its data directory. The directory may hold other things, which are not touched.
KEPT = (
    "memorybase.db*",
    "chroma",
    "redis-*",
    "models",
    "knowledge_bases",
    "node_memory",
    "logs",
    "run",
    "api_key",
    "demo",
    ".memorybase-demo",
    "restore.part",
    "restore.ready",
    "restored",
    "replaced-*",
)


def keep_new_files_private() -> None:
    """From now on this process and its children create directories with mode 0700 and files with 0600."""
    os.umask(OTHERS)


def make_private(directory: Path) -> None:
    """Create what the directory keeps, for a process whose new files others may read. What lies in a private folder is
    private, and SQLite gives a log the mode of its database."""
    for name in ("chroma", "models", "knowledge_bases", "node_memory"):
        (directory / name).mkdir(mode=stat.S_IRWXU, exist_ok=True)
    (directory / "memorybase.db").touch(mode=stat.S_IRUSR | stat.S_IWUSR)


def tighten(directory: Path, report: Callable[[str], None]) -> None:
    """Take from group and others every access to what a stack keeps here, and report it. Raises EnvironmentFailure
    for a file of another owner."""
    if not directory.is_dir() or os.name != "posix":  # elsewhere a user's folder is private by its access list
        return
    kept = {path for pattern in KEPT for path in directory.glob(pattern)}
    paths = [path for each in kept for path in _below(each)]
    is_shared = any(path not in kept for path in directory.iterdir())
    if not is_shared:
        paths.append(directory)
    changed = sum(_tighten(path) for path in paths)
    if changed:
        report(f"note: other users of this machine could read {changed} files and folders in {directory}; no longer")
    if is_shared and directory.stat().st_mode & OTHERS:
        report(f"note: {directory} holds other files too, so its own mode is kept; what the stack keeps is private")


def _below(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        for folder, folders, files in os.walk(path):
            yield from (Path(folder, name) for name in (*folders, *files))


def _tighten(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not mode & OTHERS:
            return False
        path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:  # deleted meanwhile
        return False
    except PermissionError as exc:
        raise errors.EnvironmentFailure(
            f"{path} belongs to another user, and others may read it. Change its owner, or choose another --data-dir."
        ) from exc
    return True
