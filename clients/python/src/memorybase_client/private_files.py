"""Files that only their owner may read, such as keys. With os alone, because hooks of coding agents start with it."""

from __future__ import annotations

import contextlib
import os
import sys
import time

REPLACE_TRIES, REPLACE_PAUSE_SECONDS = 50, 0.02


def write_private(path: str | os.PathLike[str], text: str, *, mode: int = 0o600) -> None:
    """Replace a file, so that nobody reads half of it. A symbolic link stays one. Raises OSError."""
    folder, name = os.path.split(os.path.realpath(path))
    scratch = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(
            os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8", newline=""
        ) as file:
            file.write(text)
        os.chmod(scratch, mode)  # whatever the umask
        _replace(scratch, os.path.join(folder, name))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


def _replace(scratch: str, path: str) -> None:
    """Windows replaces no file that another process is just reading, so it is tried again there."""
    for left in reversed(range(REPLACE_TRIES if sys.platform == "win32" else 1)):
        try:
            os.replace(scratch, path)
        except PermissionError:
            if not left:
                raise
            time.sleep(REPLACE_PAUSE_SECONDS)
        else:
            return
