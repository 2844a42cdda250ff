"""Small files of the hooks, replaced whole and readable by their owner only."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from memorybase_client.coding_agents.events import Json
from memorybase_client.private_files import write_private


def write_json(path: str, value: Any) -> None:
    """Replace a file; creates its folder."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_private(path, json.dumps(value))


def read_json(path: str) -> Json:
    """A file's object; an empty one if there is none, or it is damaged."""
    with contextlib.suppress(OSError, ValueError):
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        return value if isinstance(value, dict) else {}
    return {}


def remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def forget_oldest(folder: str, most: int) -> None:
    """Remove the older files of a folder that has more than `most`, and keep half of that."""
    if os.path.isdir(folder) and len(os.listdir(folder)) > most:
        paths = sorted((os.path.join(folder, name) for name in os.listdir(folder)), key=os.path.getmtime)
        for path in paths[: -most // 2]:
            remove(path)


@contextlib.contextmanager
def locked(path: str) -> Iterator[bool]:
    """Whether this process holds the lock, which always ends with it."""
    from memorybase_client import file_lock

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield file_lock.take(descriptor)
    finally:
        os.close(descriptor)
