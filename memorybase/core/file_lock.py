"""A lock on an open file, which ends with its process whatever ends that; on Windows too."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

WINDOWS_POLL_SECONDS = 0.05

if sys.platform == "win32":
    import msvcrt

    # What others cannot read is locked: a byte far behind the content.
    _AT = 2**30

    def take(descriptor: int, *, wait: bool = True) -> bool:
        """Lock the file. Without `wait`: False at once if another process has it."""
        while True:
            os.lseek(descriptor, _AT, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(WINDOWS_POLL_SECONDS)
            else:
                os.lseek(descriptor, 0, os.SEEK_SET)
                return True

    def is_taken(descriptor: int) -> bool:
        """Whether another process has it."""
        taken = not take(descriptor, wait=False)
        if not taken:
            os.lseek(descriptor, _AT, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        return taken

else:
    import fcntl

    def take(descriptor: int, *, wait: bool = True) -> bool:
        """Lock the file. Without `wait`: False at once if another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def is_taken(descriptor: int) -> bool:
        """Whether another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def open_for(directory: Path, beside: Path) -> int:
    """A descriptor by which to lock a directory: its own, so that no file is left; on Windows, which opens no
    directory, that of a file beside it."""
    if sys.platform == "win32":
        return os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    return os.open(directory, os.O_RDONLY)
