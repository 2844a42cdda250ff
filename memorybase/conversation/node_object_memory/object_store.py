"""Objects by key: in a local folder, or in any store that fsspec has a protocol for. Each write is whole or not there.

A local file is written beside its place and linked or renamed to it, so that no reader meets half of one. Remote stores
put whole objects; `create` needs one that can refuse to overwrite, as S3 does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

_GONE = (FileNotFoundError, NotADirectoryError)


class Objects(Protocol):
    """A folder of objects; keys are paths in it."""

    def read(self, key: str) -> bytes | None:
        """None: there is no such object."""

    def size(self, key: str) -> int:
        """In bytes; 0 for an object that is not there."""

    def create(self, key: str, content: bytes) -> bool:
        """Write an object that is not there yet; False: it is there."""

    def replace(self, key: str, content: bytes) -> None:
        """Write an object, whether or not it is there."""

    def delete(self, key: str) -> None:
        """Nothing happens to one that is not there."""

    def names(self, folder: str) -> list[str]:
        """What lies directly below a folder."""

    def written(self, folder: str) -> Iterator[tuple[str, datetime]]:
        """Every object below a folder, by key, and when it was written."""

    def remove_empty(self, folder: str) -> None:
        """Local folders stay behind what lay in them; one that is in use again is left alone."""


def objects_at(url: str) -> Objects:
    """The objects below a path, or below a URL that fsspec knows."""
    files, root = fsspec.core.url_to_fs(url)
    return LocalObjects(Path(root)) if isinstance(files, LocalFileSystem) else RemoteObjects(files, root)


class LocalObjects:
    """Files in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, key: str) -> bytes | None:
        try:
            return (self._root / key).read_bytes()
        except _GONE:
            return None

    def size(self, key: str) -> int:
        try:
            return (self._root / key).stat().st_size
        except _GONE:
            return 0

    def create(self, key: str, content: bytes) -> bool:
        beside = self._written_beside(key, content)
        try:
            (self._root / key).hardlink_to(beside)
        except FileExistsError:
            return False
        finally:
            beside.unlink()
        return True

    def replace(self, key: str, content: bytes) -> None:
        self._written_beside(key, content).replace(self._root / key)

    def delete(self, key: str) -> None:
        with suppress(*_GONE):
            (self._root / key).unlink()

    def names(self, folder: str) -> list[str]:
        try:
            return [path.name for path in (self._root / folder).iterdir()]
        except _GONE:
            return []

    def written(self, folder: str) -> Iterator[tuple[str, datetime]]:
        for path in (self._root / folder).rglob("*"):
            with suppress(*_GONE):
                if path.is_file():
                    yield str(path.relative_to(self._root)), datetime.fromtimestamp(path.stat().st_mtime, UTC)

    def remove_empty(self, folder: str) -> None:
        with suppress(OSError):
            (self._root / folder).rmdir()

    def _written_beside(self, key: str, content: bytes) -> Path:
        beside = self._root / f"{key}.{uuid4().hex}.part"
        try:
            beside.write_bytes(content)
        except FileNotFoundError:
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(content)
        return beside


class RemoteObjects:
    """Objects of a store."""

    def __init__(self, files: Any, root: str) -> None:
        self._files = files
        self._root = root.rstrip("/")

    def read(self, key: str) -> bytes | None:
        try:
            content: bytes = self._files.cat_file(self._path(key))
        except _GONE:
            return None
        return content

    def size(self, key: str) -> int:
        try:
            return int(self._files.info(self._path(key))["size"] or 0)
        except _GONE:
            return 0

    def create(self, key: str, content: bytes) -> bool:
        try:
            self._files.pipe_file(self._path(key), content, mode="create")
        except FileExistsError:
            return False
        return True

    def replace(self, key: str, content: bytes) -> None:
        self._files.pipe_file(self._path(key), content)

    def delete(self, key: str) -> None:
        with suppress(*_GONE):
            self._files.rm_file(self._path(key))

    def names(self, folder: str) -> list[str]:
        self._files.invalidate_cache()
        try:
            found = self._files.ls(self._path(folder), detail=False)
        except _GONE:
            return []
        return [str(one).rstrip("/").rpartition("/")[2] for one in found]

    def written(self, folder: str) -> Iterator[tuple[str, datetime]]:
        self._files.invalidate_cache()
        for path, info in self._files.find(self._path(folder), detail=True).items():
            yield str(path).removeprefix(f"{self._root}/"), _written_at(info)

    def remove_empty(self, folder: str) -> None:
        del folder  # a store has no folders

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"


def _written_at(info: dict[str, Any]) -> datetime:
    known = (info.get(name) for name in ("mtime", "LastModified", "last_modified", "created"))
    moment = next((one for one in known if isinstance(one, datetime)), None)
    if moment is None:
        return datetime.now(UTC)  # a store that does not say: never old
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
