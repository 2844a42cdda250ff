"""Files that only their owner may read, such as keys. With os alone, because hooks of coding agents start with it."""

from __future__ import annotations

import contextlib
import os


def write_private(path: str | os.PathLike[str], text: str, *, mode: int = 0o600) -> None:
    """Replace a file, so that nobody reads half of it. A symbolic link stays one. Raises OSError."""
    folder, name = os.path.split(os.path.realpath(path))
    scratch = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(scratch, mode)  # whatever the umask
        os.replace(scratch, os.path.join(folder, name))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
