"""The stack's data directory, and how other commands find a running stack."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import random
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from memorybase_client.private_files import write_private

from memorybase import errors
from memorybase.settings import RESTORED_FOLDER, Settings, embedded

# Below the range of ephemeral ports on Linux and macOS, so that no outgoing connection takes a child's port while the
# child is restarted.
PORTS = range(20_000, 32_000)
_NEWS = re.compile(r"^INFO:|\[info\b")  # of uvicorn, of ours
LOG_BYTES = 5_000_000
# Folders of a restore in the data directory: stack/restore.py.
DATABASE = "memorybase.db"
PART, READY, RESTORED = "restore.part", "restore.ready", RESTORED_FOLDER


@dataclass(frozen=True, slots=True)
class RunningStack:
    """A running stack, as described by stack.json."""

    pid: int
    url: str
    redis_url: str
    chroma_url: str


class DataDir:
    """The paths in one data directory. The directory is absolute because the children run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.run = self.path / "run"
        self.logs = self.path / "logs"
        self.key_file = self.path / "api_key"
        self.lock_file = self.run / "up.lock"
        self.stack_file = self.run / "stack.json"

    def make(self) -> None:
        """Create missing directories. Raises EnvironmentFailure if they are not writable."""
        with self._writing():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # It contains addresses and Redis's password.
            self.run.mkdir(mode=0o700, exist_ok=True)
            self.logs.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raises EnvironmentFailure with the cause if the directory cannot be written."""
        try:
            yield
        except OSError as exc:
            text = f"The data directory {self.path} cannot be written: {exc.strerror}. Choose another with --data-dir."
            raise errors.EnvironmentFailure(text) from exc

    def pid_file(self, name: str) -> Path:
        return self.run / f"{name}.pid"

    def log_file(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory. Raises Conflict if another stack holds the lock, which always ends with its process, and
        EnvironmentFailure if the directory cannot be written."""
        with self._writing():
            descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise errors.Conflict(self._taken()) from None
            with self._writing():
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
            yield
        finally:
            os.close(descriptor)

    def is_locked(self) -> bool:
        """Whether a stack is running in this directory."""
        try:
            descriptor = os.open(self.lock_file, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _taken(self) -> str:
        running = self._read_stack()
        where = f" and serves {running.url}" if running else ""
        with contextlib.suppress(OSError):
            where = f" (process {self.lock_file.read_text().strip()}){where}"
        return f"A stack is already running in {self.path}{where}. Stop it first, or choose another --data-dir."

    def running(self) -> RunningStack | None:
        """The stack that runs in this directory, if one has written stack.json."""
        return self._read_stack() if self.is_locked() else None

    def _read_stack(self) -> RunningStack | None:
        try:
            return RunningStack(**json.loads(self.stack_file.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_stack(self, stack: RunningStack) -> None:
        write_private(self.stack_file, json.dumps(asdict(stack), indent=2) + "\n")

    def api_key(self, settings: Settings) -> str:
        """The setting's key, else the stored key, which the first call creates."""
        if settings.api_key:
            return settings.api_key
        if not self.key_file.exists():
            write_private(self.key_file, f"mb_{secrets.token_urlsafe(32)}\n")
        return self.key_file.read_text().strip()

    def known_api_key(self, settings: Settings) -> str | None:
        """The API key if there is one: none is created."""
        return self.api_key(settings) if settings.api_key or self.key_file.exists() else None

    def trim_log(self, name: str) -> None:
        """Keep at most two files of LOG_BYTES. The child appends, so its file can be truncated while it is open.

        Without room for the second file the log stays as it is.
        """
        log, copy = self.log_file(name), self.log_file(name).with_suffix(".log.1")
        with contextlib.suppress(FileNotFoundError):
            if log.stat().st_size > LOG_BYTES:
                try:
                    shutil.copyfile(log, copy)
                except OSError:
                    copy.unlink()
                else:
                    os.truncate(log, 0)

    def last_log_line(self, name: str) -> str:
        """The last line that is not blank, for an error that names the file; of several the last that is no mere news,
        such as a server's that it shuts down."""
        try:
            lines = self.log_file(name).read_text(errors="replace").splitlines()[-50:]
        except OSError:
            return ""
        said = [line.strip() for line in lines if line.strip()]
        return next((line for line in reversed(said) if not _NEWS.search(line)), said[-1] if said else "")


def settings_in_use(data_dir: Path | None = None) -> Settings:
    """The settings for a command: those of the stack running in the data directory, unless the environment names the
    services itself."""
    configured = Settings()
    settings = embedded(DataDir(data_dir or configured.data_dir).path)
    if (settings.data_dir / READY).exists():
        raise errors.NotReady(
            f"A restore into {settings.data_dir} was interrupted. To finish it, start the stack or repeat the restore."
        )
    running = DataDir(settings.data_dir).running()
    if running is None:
        return settings if data_dir else configured
    found = {"redis_url": running.redis_url, "chroma_url": running.chroma_url}
    missing = {name: url for name, url in found.items() if name not in configured.model_fields_set}
    return embedded(settings.data_dir, **missing)


def free_port(host: str = "127.0.0.1") -> int:
    """A free port. Raises EnvironmentFailure after a hundred taken ones."""
    for port in random.sample(PORTS, 100):
        if port_is_free(host, port):
            return port
    raise errors.EnvironmentFailure(f"No free port was found on {host} between {PORTS.start} and {PORTS.stop}.")


def taken_by(port: int) -> str:
    """The process that listens on the port, if the system reveals it, for an error."""
    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections(kind="tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            if listens and connection.pid is not None:
                return f" by process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return ""


def port_is_free(host: str, port: int) -> bool:
    """Whether a server can listen there now. Raises EnvironmentFailure if the host is no address of this machine."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as exc:
        raise errors.EnvironmentFailure(f"The host {host} is unknown: {exc.strerror}.") from exc
    except PermissionError as exc:
        raise errors.EnvironmentFailure(f"Port {port} requires root. Choose one above 1023 with --port.") from exc
    except OSError as exc:
        if exc.errno == errno.EADDRNOTAVAIL:
            text = f"{host} is no address of this machine. With --host 0.0.0.0 the stack listens on all that it has."
            raise errors.EnvironmentFailure(text) from exc
        return False
    return True
