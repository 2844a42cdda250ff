"""The stack's data directory, and how other commands find a running stack."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from memorybase_client import local_stack
from memorybase_client.private_files import write_private

from memorybase.core import errors, file_lock, shell
from memorybase.core.settings import RESTORED_FOLDER, UP, UP_ONE_PROCESS, Settings, embedded
from memorybase.core.vector_stores import VECTOR_STORES

# Below the range of ephemeral ports on Linux and macOS, so that no outgoing connection takes a child's port while the
# child is restarted.
PORTS = range(20_000, 32_000)
_NEWS = re.compile(r"^INFO:|\[info\b")  # of uvicorn, of ours
LOG_BYTES = 5_000_000
LOOK_SECONDS = 0.2  # whoever looks whether a directory is locked has its lock for a moment
# Settings by which the environment names the services of another stack than the embedded one.
SERVICE_URLS = frozenset({"database_url", "redis_url", "broker_url", *(store.url for store in VECTOR_STORES.values())})
# Folders of a restore in the data directory: stack/restore.py.
DATABASE = "memorybase.db"
PART, READY, RESTORED = "restore.part", "restore.ready", RESTORED_FOLDER


@dataclass(frozen=True, slots=True)
class RunningStack:
    """A running stack, as described by stack.json."""

    pid: int
    url: str
    redis_url: str = ""
    chroma_url: str = ""
    one_process: bool = False
    since: str = ""  # when it was started
    in_program: bool = False  # which serves no address

    @property
    def command(self) -> str:
        """What runs it."""
        if self.in_program:
            return "memorybase.local"
        return UP_ONE_PROCESS if self.one_process else UP


def now_text() -> str:
    """This moment, for `since`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    def locked(self) -> Iterator[int]:
        """Lock the directory; the lock file's descriptor. Raises Conflict if another stack holds the lock, which always
        ends with its process, and EnvironmentFailure if the directory cannot be written."""
        with self._writing():
            descriptor = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            give_up_at = time.monotonic() + LOOK_SECONDS
            while not file_lock.take(descriptor, wait=False):
                if time.monotonic() > give_up_at:
                    raise errors.Conflict(self._taken())
                time.sleep(LOOK_SECONDS / 20)
            with self._writing():
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
            yield descriptor
        finally:
            os.close(descriptor)

    def is_locked(self) -> bool:
        """Whether a stack is running in this directory."""
        try:
            descriptor = os.open(self.lock_file, os.O_RDWR)
        except OSError:
            return False
        try:
            return file_lock.is_taken(descriptor)
        finally:
            os.close(descriptor)

    def _taken(self) -> str:
        running = self._read_stack()
        process = ""
        with contextlib.suppress(OSError):
            process = f" (process {self.lock_file.read_text(encoding='utf-8').strip()})"
        if running is None:
            return f"A command or a stack that starts has {self.path}{process}. Wait for it, or stop it."
        since = f" since {running.since}" if running.since else ""
        where = f"{process} as `{running.command}`{since}" + (f" and serves {running.url}" if running.url else "")
        return f"A stack is already running in {self.path}{where}. Stop it first, or choose another --data-dir."

    def running(self) -> RunningStack | None:
        """The stack that runs in this directory, if one has written stack.json."""
        return self._read_stack() if self.is_locked() else None

    def _read_stack(self) -> RunningStack | None:
        try:
            return RunningStack(**json.loads(self.stack_file.read_text(encoding="utf-8")))
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
        return self.key_file.read_text(encoding="utf-8").strip()

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
            lines = self.log_file(name).read_text(encoding="utf-8", errors="replace").splitlines()[-50:]
        except OSError:
            return ""
        said = [line.strip() for line in lines if line.strip()]
        return next((line for line in reversed(said) if not _NEWS.search(line)), said[-1] if said else "")


def find_data_dir(stated: Path | None = None) -> DataDir:
    """Where a command looks for a running stack: the stated directory, else MEMORYBASE_DATA_DIR, else that of this
    folder if a stack runs from it, else that of the stack which this user's clients find."""
    configured = Settings()
    data = DataDir(stated or configured.data_dir)
    if stated is not None or "data_dir" in configured.model_fields_set or data.is_locked():
        return data
    return noted() or data


def noted() -> DataDir | None:
    """The data directory of the stack that this user's clients find, while it runs."""
    found = local_stack.find()
    data = DataDir(Path(found.data_dir)) if found is not None and found.data_dir else None
    return data if data is not None and data.running() is not None else None


def running_elsewhere(data: DataDir) -> str:
    """For an error about this directory: which stack runs in another one. Empty if none is known."""
    other = noted()
    running = other.running() if other is not None and other.path != data.path else None
    if other is None or running is None:
        return ""
    return f" A stack runs in {other.path} and serves {running.url}: add --data-dir {shell.quoted(str(other.path))}."


def settings_in_use(data_dir: Path | None = None) -> Settings:
    """The settings for a command: those of the stack that `find_data_dir` finds, unless the environment names the
    services itself. A database in the folder's own data directory comes first, also if its stack is stopped."""
    configured = Settings()
    data = DataDir(data_dir or configured.data_dir)
    if SERVICE_URLS.isdisjoint(configured.model_fields_set) and not (data.path / DATABASE).exists():
        data = find_data_dir(data_dir)
    settings = embedded(data.path)
    if (settings.data_dir / READY).exists():
        raise errors.NotReady(
            f"A restore into {settings.data_dir} was interrupted. To finish it, start the stack or repeat the restore."
        )
    running = data.running()
    if running is None:
        return settings if data_dir else configured
    if running.one_process:
        return embedded(settings.data_dir, one_process=True, broker_url="")
    found = {"redis_url": running.redis_url, "chroma_url": running.chroma_url}
    missing = {name: url for name, url in found.items() if name not in configured.model_fields_set}
    return embedded(settings.data_dir, one_process=False, **missing)


def is_at_rest(data: DataDir) -> bool:
    """Whether no stack runs in the data directory, and no setting names services elsewhere."""
    return data.running() is None and SERVICE_URLS.isdisjoint(Settings().model_fields_set)


def check_database(settings: Settings) -> None:
    """Raises NotReady if the database is a SQLite file that does not exist: connecting would create it."""
    url = settings.resolved_database_url
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).exists():
        other = running_elsewhere(DataDir(settings.data_dir))
        help_ = other or " Name the stack's data directory with --data-dir, or start one there: memorybase up"
        raise errors.NotReady(f"There is no database at {file}.{help_}")


def free_port(host: str = "127.0.0.1") -> int:
    """A free port. Raises EnvironmentFailure after a hundred taken ones."""
    for port in random.sample(PORTS, 100):
        if port_is_free(host, port):
            return port
    raise errors.EnvironmentFailure(f"No free port was found on {host} between {PORTS.start} and {PORTS.stop}.")


def taken_by(port: int) -> str:
    """What listens on the port, for an error: a stack with its data directory, else the process, as far as the system
    reveals it."""
    process = _listener(port)
    found = noted()
    folders = [found.path] if found is not None else []
    with contextlib.suppress(psutil.Error):
        folders += [Path(process.cwd())] if process is not None else []  # the API runs in its data directory
    for data in map(DataDir, folders):
        running = data.running()
        if running is not None and urlsplit(running.url).port == port:
            return f" by the stack in {data.path} ({running.url}), which commands find from every folder"
    with contextlib.suppress(psutil.Error):
        return f" by process {process.pid} ({process.name()})" if process is not None else ""
    return ""


def _listener(port: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections(kind="tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
            if listens and connection.pid is not None:
                return psutil.Process(connection.pid)
    return None


def check_port(host: str, port: int) -> None:
    """Raises EnvironmentFailure if the port is taken, which names the stack or the process that has it."""
    if port and not port_is_free(host, port):
        text = f"Port {port} on {host} is taken{taken_by(port)}. To run another, choose its port with --port."
        raise errors.EnvironmentFailure(text)


def port_is_free(host: str, port: int) -> bool:
    """Whether a server can listen there now. Raises EnvironmentFailure if the host is no address of this machine."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":  # on Windows it would share the port with whoever has it
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as exc:
        raise errors.EnvironmentFailure(f"The host {host} is unknown: {exc.strerror}.") from exc
    except PermissionError as exc:
        refused = "requires root. Choose one above 1023"
        if sys.platform == "win32":  # as Hyper-V does with ranges of ports
            refused = "is reserved by Windows. Choose another"
        raise errors.EnvironmentFailure(f"Port {port} {refused} with --port.") from exc
    except OSError as exc:
        if exc.errno == errno.EADDRNOTAVAIL:
            text = f"{host} is no address of this machine. With --host 0.0.0.0 the stack listens on all that it has."
            raise errors.EnvironmentFailure(text) from exc
        return False
    return True
