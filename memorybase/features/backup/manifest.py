"""manifest.json of a backup: its contents, the checksum of each file, and what is left out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Self

from memorybase.core import errors

NAME = "manifest.json"
FORMAT = 1
READ_BYTES = 1 << 20

OnBytes = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class StoredFile:
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of a backup. Everything acknowledged before `created_at` is in it."""

    version: str
    schema: str
    created_at: str
    counts: dict[str, int]
    vectors: int | None  # None: left out
    left_out: dict[str, str]  # each with the reason
    files: dict[str, StoredFile] = field(repr=False)
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())

    def write(self, folder: Path) -> None:
        content = asdict(self)
        text = json.dumps(content | {"sha256": _checksum(content)}, indent=2)
        (folder / NAME).write_text(f"{text}\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The verified manifest; its files are not read. Raises InvalidRequest."""
        path = folder / NAME
        try:
            content = json.loads(path.read_bytes())
        except FileNotFoundError as exc:
            raise errors.InvalidRequest(f"{folder} is no backup: it has no {NAME}.") from exc
        except (OSError, ValueError) as exc:
            raise _damaged(path) from exc
        if not isinstance(content, dict) or content.pop("sha256", None) != _checksum(content):
            raise _damaged(path)
        if content["format"] != FORMAT:
            raise errors.InvalidRequest(
                f"{path} must have the format {FORMAT} (got {content['format']}). "
                f"The backup was made by memorybase {content['version']}; restore it with that version."
            )
        return cls(
            **content | {"files": {_checked(path, name): StoredFile(**file) for name, file in content["files"].items()}}
        )


def _damaged(path: Path) -> errors.InvalidRequest:
    return errors.InvalidRequest(f"{path} is damaged: its checksum is wrong. Use another backup.")


def _checked(path: Path, name: str) -> str:
    """A relative path that stays inside."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        raise errors.InvalidRequest(f"{path} names a file outside the backup: {name!r}.")
    return name


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def describe_file(path: Path, on_bytes: OnBytes = lambda _: None) -> StoredFile:
    """A file's size and checksum."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source:
        while block := source.read(READ_BYTES):
            digest.update(block)
            size += len(block)
            on_bytes(len(block))
    return StoredFile(size, digest.hexdigest())
