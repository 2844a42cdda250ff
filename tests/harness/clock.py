"""A wall clock that a test steps, for the processes that are started with it. Needs a C compiler."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("stepped_clock.c")


class SteppedClock:
    """The wall clock of every process with this environment; `step` sets it off by so many seconds, at once."""

    def __init__(self, directory: Path, name: str = "clock") -> None:
        self._file = directory / name
        self._library = directory / "stepped_clock.so"
        self.step(0)
        if not self._library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(self._library), str(SOURCE), "-ldl"], check=True)

    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "STEPPED_CLOCK_FILE": str(self._file)}

    def step(self, seconds: int) -> None:
        # Readable by all: PostgreSQL runs under another account.
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, struct.pack("=q", seconds), 0)  # in place: the processes have it mapped
        finally:
            os.close(descriptor)
