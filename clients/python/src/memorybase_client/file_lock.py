"""A lock on an open file, which ends with its process. With os alone, because hooks of coding agents start with it."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import msvcrt

    def take(descriptor: int) -> bool:
        """Lock the file, whose position is its start; False at once if another process has it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def release(descriptor: int) -> None:
        """Unlock the file."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def take(descriptor: int) -> bool:
        """Lock the file, whose position is its start; False at once if another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release(descriptor: int) -> None:
        """Unlock the file, also where a forked child has not closed its copy yet."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
