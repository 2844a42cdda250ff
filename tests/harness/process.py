"""A server that a test can start, stop, kill and freeze."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Protocol, Self, TypeVar

from harness.namespace import Namespace
from harness.waiting import wait_until

ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0  # a loaded machine takes its time
STOP_SECONDS = 60.0
# Below the range that the kernel takes outgoing ports from, so that none steals it while the server is down; and apart
# from the one that a stack takes its Redis and Chroma from, which looks at no claims.
PORTS = range(10_000, 20_000)


class Started(Protocol):
    """What is started once and closed at the end."""

    def start(self) -> object: ...
    def close(self) -> object: ...


AnyStarted = TypeVar("AnyStarted", bound=Started)


@contextmanager
def running(started: AnyStarted) -> Iterator[AnyStarted]:
    """Start it, and close it at the end or if that fails."""
    try:
        started.start()
        yield started
    finally:
        started.close()


def run(*command: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What the command prints, on either output; it must succeed."""
    words, variables = [str(part) for part in command], {**os.environ, **(env or {})}
    done = subprocess.run(
        words, cwd=cwd, env=variables, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


class Server(ABC):
    """One child process. Its data stay over restarts, and so does its port. Use it from the main thread."""

    name: str
    stop_signal = signal.SIGTERM
    start_seconds = START_SECONDS
    stop_seconds = STOP_SECONDS

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / f"{self.name}.log"
        self.namespace: Namespace | None = None  # its network; None: this machine's
        self.preloaded: dict[str, str] = {}  # added to its environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """Where it listens."""
        return self.namespace.address if self.namespace else "127.0.0.1"

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def answers(self) -> bool: ...

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def popen_options(self) -> dict[str, Any]:
        return {}

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, again if it was stopped or killed, and return when it answers."""
        self.launch()
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        wait_until(lambda: not self.running or self.answers(), self.start_seconds, f"{self.name} answers")
        assert self.running, f"{self.name} ended at once:\n{self.log.read_text(errors='replace')[-2000:]}"

    def launch(self) -> None:
        """Start it and do not wait for it."""
        assert not self.running, f"{self.name} is running already"
        with self.log.open("ab") as log, self.namespace.inside() if self.namespace else nullcontext():
            self._process = subprocess.Popen(
                [*dying_with_parent(), *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment() | self.preloaded,
                start_new_session=True,  # Ctrl-C is for pytest, which then stops it in order
                **self.popen_options(),
            )

    def stop(self) -> None:
        """End it as an administrator would; a no-op when it is not running."""
        if not self.running:
            return
        self.thaw()
        self._signal(self.stop_signal)
        try:
            self._wait(self.stop_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """kill -9, and return when it is gone."""
        self._signal(signal.SIGKILL)
        self._wait(STOP_SECONDS)

    def freeze(self) -> None:
        """Stop it where it stands: connections stay open and nothing answers. Returns when all of its threads stand."""
        self._signal(signal.SIGSTOP)
        # A thread that still runs would answer a call that comes right after the signal.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Stop it for good."""
        self.stop()

    def _signal(self, number: int) -> None:
        assert self._process is not None, f"{self.name} was never started"
        self._process.send_signal(number)

    def _wait(self, timeout: float) -> None:
        assert self._process is not None, f"{self.name} was never started"
        self._process.wait(timeout)


class PortServer(Server):
    """A server on a loopback port of its own, which it keeps until it is closed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port, self._claim = claim_port()

    @classmethod
    def of_another_process(cls, port: int) -> Self:
        """The server that another process started there, and stops; it is only used here."""
        server = cls.__new__(cls)
        server.namespace, server.port, server._process = None, port, None
        wait_until(server.answers, cls.start_seconds, f"{cls.name} answers")
        return server

    def close(self) -> None:
        super().close()
        self._claim.close()


def claim_port() -> tuple[int, IO[str]]:
    """A free port, and the lock that keeps other test processes off it until closed."""
    claims = Path(tempfile.gettempdir(), f"memorybase-test-ports-{os.getuid()}")
    claims.mkdir(exist_ok=True)
    for port in random.sample(PORTS, 200):
        claim = (claims / str(port)).open("w")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            return port, claim
    raise AssertionError("no free port in 200 tries")


def dying_with_parent() -> list[str]:
    """Words before a command so that pytest, killed outright, leaves it not behind; it keeps its pid."""
    setpriv = shutil.which("setpriv")  # of util-linux; elsewhere do without
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
