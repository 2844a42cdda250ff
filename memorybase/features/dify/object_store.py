"""Objects by key, in a local folder or any store that fsspec supports. Writes are atomic.

A local file is written under a temporary name, then linked or renamed, so readers never see a partial one. Remote
stores write whole objects; `create` needs a store that can refuse to overwrite, as S3 does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

_MISSING = (FileNotFoundError, NotADirectoryError)


def objects_at(url: str) -> Objects:
    """The objects below a path, or a URL that fsspec supports."""
    files, root = fsspec.core.url_to_fs(url)
    return LocalObjects(Path(root)) if isinstance(files, LocalFileSystem) else Objects(files, root)


class Objects:
    """A folder of objects in a store of fsspec; keys are relative paths."""

    def __init__(self, files: Any, root: str) -> None:
        self._files = files
        self._root = root.rstrip("/")

    def read(self, key: str) -> bytes | None:
        """The object, or None."""
        try:
            content: bytes = self._files.cat_file(self._path(key))
        except _MISSING:
            return None
        return content

    def size(self, key: str) -> int:
        """Size in bytes; 0 for a missing object."""
        try:
            return int(self._files.info(self._path(key))["size"] or 0)
        except _MISSING:
            return 0

    def create(self, key: str, content: bytes) -> bool:
        """Write a new object; False if it exists."""
        try:
            self._files.pipe_file(self._path(key), content, mode="create")
        except FileExistsError:
            return False
        return True

    def replace(self, key: str, content: bytes) -> None:
        """Write an object, new or not."""
        self._files.pipe_file(self._path(key), content)

    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        with suppress(*_MISSING):
            self._files.rm_file(self._path(key))

    def names(self, folder: str) -> list[str]:
        """The names directly in a folder."""
        self._files.invalidate_cache()
        try:
            paths = self._files.ls(self._path(folder), detail=False)
        except _MISSING:
            return []
        return [str(path).rstrip("/").rpartition("/")[2] for path in paths]

    def written(self, folder: str) -> Iterator[tuple[str, datetime]]:
        """The key and time of each object below a folder, at any depth."""
        self._files.invalidate_cache()
        try:
            found = self._files.find(self._path(folder), detail=True)
        except _MISSING:
            return
        for path, info in found.items():
            yield str(path).removeprefix(f"{self._root}/"), _written_at(info)

    def remove_empty(self, folder: str) -> None:
        """Remove a folder if it is empty; a store has none."""

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"


class LocalObjects(Objects):
    """Files in a folder."""

    def __init__(self, root: Path) -> None:
        self._folder = root

    def read(self, key: str) -> bytes | None:
        try:
            return (self._folder / key).read_bytes()
        except _MISSING:
            return None

    def size(self, key: str) -> int:
        try:
            return (self._folder / key).stat().st_size
        except _MISSING:
            return 0

    def create(self, key: str, content: bytes) -> bool:
        temporary = self._write_temporary(key, content)
        try:
            (self._folder / key).hardlink_to(temporary)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def replace(self, key: str, content: bytes) -> None:
        self._write_temporary(key, content).replace(self._folder / key)

    def delete(self, key: str) -> None:
        with suppress(*_MISSING):
            (self._folder / key).unlink()

    def names(self, folder: str) -> list[str]:
        try:
            return [path.name for path in (self._folder / folder).iterdir()]
        except _MISSING:
            return []

    def written(self, folder: str) -> Iterator[tuple[str, datetime]]:
        for path in (self._folder / folder).rglob("*"):
            with suppress(*_MISSING):
                if path.is_file():
                    yield path.relative_to(self._folder).as_posix(), datetime.fromtimestamp(path.stat().st_mtime, UTC)

    def remove_empty(self, folder: str) -> None:
        with suppress(OSError):
            (self._folder / folder).rmdir()

    def _write_temporary(self, key: str, content: bytes) -> Path:
        path = self._folder / f"{key}.{uuid4().hex}.part"
        try:
            path.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return path


def _written_at(info: dict[str, Any]) -> datetime:
    times = (info.get(name) for name in ("mtime", "LastModified", "last_modified", "created"))
    moment = next((time for time in times if isinstance(time, datetime)), None)
    if moment is None:
        return datetime.now(UTC)  # unknown: never old, so never cleaned up
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
