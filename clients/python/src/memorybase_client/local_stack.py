"""The stack that runs on this machine for this user: `memorybase up` notes it, clients and commands find it."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memorybase_client.private_files import write_private


@dataclass(frozen=True, slots=True)
class LocalStack:
    """Address, key and data directory of a running stack. Its repr shows no key."""

    url: str
    key: str = field(repr=False)
    data_dir: str = ""  # unknown of a stack of an earlier version


def state_dir() -> Path:
    """Where this user's programs keep such notes: $XDG_STATE_HOME/memorybase, by default in ~/.local/state; on Windows
    %LOCALAPPDATA%\\memorybase. Raises RuntimeError for a user without a home directory."""
    return _user_folder("XDG_STATE_HOME", "state")


def data_dir() -> Path:
    """Where a stack keeps its data that nobody gave a folder: $XDG_DATA_HOME/memorybase, by default in ~/.local/share;
    on Windows as `state_dir`. Raises RuntimeError for a user without a home directory."""
    return _user_folder("XDG_DATA_HOME", "share")


def _user_folder(variable: str, usual: str) -> Path:
    windows = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    base = windows or os.environ.get(variable)
    return (Path(base).expanduser() if base else Path.home() / ".local" / usual) / "memorybase"


def find() -> LocalStack | None:
    """The stack that `memorybase up` noted, if there is one. A note that another user could have written is ignored."""
    try:
        file = state_dir() / "stack.json"
        if not _is_private(file.stat()):
            return None
        noted = json.loads(file.read_text(encoding="utf-8"))
        return LocalStack(str(noted["url"]), str(noted["key"]), str(noted.get("data_dir", "")))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError):
        return None


def note(stack: LocalStack) -> None:
    """Let this user's clients find the stack; the latest one wins. Raises OSError or RuntimeError."""
    directory = state_dir()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(directory / "stack.json", json.dumps(asdict(stack)) + "\n")


def forget(stack: LocalStack) -> None:
    """Remove the note of a stack that stops, but not that of one that was started later."""
    with contextlib.suppress(OSError, RuntimeError):
        if find() == stack:
            (state_dir() / "stack.json").unlink()


def _is_private(status: os.stat_result) -> bool:
    if sys.platform == "win32":  # a user's folder is private by its access list
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
