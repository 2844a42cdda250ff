"""A program in a terminal of its own: what it writes, keys that are pressed, and what it leaves behind."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

PATIENCE = 60.0
SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
HOME = "\x1b[H"
ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
SHOW_CURSOR = "\x1b[?25h"


class Terminal:
    """The program and the other end of its terminal."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], *, rows: int, columns: int) -> None:
        self.written = ""
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.attributes = termios.tcgetattr(self._slave)
        # Ctrl-C reaches the program whose controlling terminal it is, also if the tests themselves ignore it, as in the
        # background. It keeps its pid. The size is the terminal's.
        command = ["env", "--default-signal=INT", "-u", "COLUMNS", "-u", "LINES", "setsid", "--ctty", *words]
        self.process = subprocess.Popen(
            command, stdin=self._slave, stdout=self._slave, stderr=self._slave, env=dict(environment)
        )

    def read_until(self, text: str) -> str:
        """What it wrote up to this text since the last call, without control sequences."""
        seen = ""
        deadline = time.monotonic() + PATIENCE
        while text not in plain(seen):
            assert time.monotonic() < deadline, f"{text!r} was not written, but: {plain(seen)[-3000:]}"
            seen += self._read(0.1)
        return plain(seen)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait(self) -> int:
        """Its exit code, once it has ended and all that it wrote is read."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    def attributes_now(self) -> list[object]:
        return termios.tcgetattr(self._slave)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _read(self, seconds: float) -> str:
        ready, _, _ = select.select([self._master], [], [], seconds)
        part = os.read(self._master, 65_536).decode(errors="replace") if ready else ""
        self.written += part
        return part


@contextmanager
def terminal(
    words: Sequence[str], environment: Mapping[str, str], *, rows: int = 30, columns: int = 100
) -> Iterator[Terminal]:
    opened = Terminal(words, environment, rows=rows, columns=columns)
    try:
        yield opened
    finally:
        opened.close()


def plain(written: str) -> str:
    """Lines without control sequences; each picture begins on a line of its own."""
    return SEQUENCES.sub("", written.replace(HOME, "\n"))
