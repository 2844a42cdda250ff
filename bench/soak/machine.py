"""What the machine below a stack does wrong: its disk fills up."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

FILL_EVERY_SECONDS = 0.1  # what the stack frees is taken again


@contextlib.contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[Path]:
    """A disk of that size, mounted there until the end. Needs root."""
    directory.mkdir()
    options = f"size={megabytes}m,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "memorybase-soak", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


class Ballast(threading.Thread):
    """Keeps a disk full from `start` until `remove`."""

    def __init__(self, disk: Path) -> None:
        super().__init__(name="ballast", daemon=True)
        self._disk = disk
        self._file = disk / "ballast"
        self._ended = threading.Event()

    def run(self) -> None:
        with self._file.open("wb") as file:
            size = 0
            while True:
                if free := shutil.disk_usage(self._disk).free:
                    with contextlib.suppress(OSError):  # somebody else was faster
                        os.posix_fallocate(file.fileno(), size, free)
                        size += free
                if self._ended.wait(FILL_EVERY_SECONDS):
                    return

    def remove(self) -> None:
        self._ended.set()
        self.join()
        self._file.unlink()
