"""`memorybase up` as a server of the tests: five real children below one supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil

from harness.constants import with_constants
from harness.model import MODEL_DIR
from harness.process import PortServer
from harness.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "python" / "src"
NAMES = ("redis", "chroma", "worker", "sweeper", "api")
KEY = "mb_test_key_of_the_embedded_stack"
RECOVERY_SECONDS = 180.0


class EmbeddedStack(PortServer):
    """The embedded stack over `<directory>/data`, which keeps its content over restarts."""

    name = "stack"
    start_seconds = 120.0  # the first one exports the embedding model
    stop_seconds = 60.0  # one child after the other

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.changes: dict[str, str] = {}  # of its environment
        self.values: dict[str, float] = {}  # of constants, by their paths
        self.one_process = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def state(self) -> Path:
        """Where it notes its address for clients."""
        return self.directory / "state"

    def command(self) -> list[str]:
        form = ["--one-process"] if self.one_process else []
        return memorybase("up", *form, "--port", str(self.port), "--data-dir", str(self.data))

    def environment(self) -> dict[str, str]:
        # Not the note of another stack of these tests, which may run beside it.
        own = {"MEMORYBASE_API_KEY": KEY, "XDG_STATE_HOME": str(self.state)}
        return with_constants(environment() | own | self.changes, self.values)

    def start(self) -> None:
        self._said_before = self._said_ready()
        super().start()

    def answers(self) -> bool:
        return self._said_ready() > self._said_before

    def _said_ready(self) -> int:
        return self.output().splitlines().count(f"ready {self.url}")

    def output(self) -> str:
        """What it has printed since it was made."""
        return self.log.read_text() if self.log.exists() else ""

    @property
    def worker_log(self) -> Path:
        return self.data / "logs" / ("memorybase.log" if self.one_process else "worker.log")

    def child(self, name: str) -> int:
        return int((self.data / "run" / f"{name}.pid").read_text())

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def away(self) -> list[str]:
        """The parts that the API says do not answer."""
        headers = {"Authorization": f"Bearer {KEY}"}
        found = httpx.get(f"{self.url}/v1/problems", headers=headers, timeout=60, trust_env=False).json()
        return [str(each["part"]) for each in found["problems"] if each["kind"] == "part"]

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """A child stands still meanwhile. Ends once all parts answer again: the child continues, or its supervisor has
        killed it and started another one."""
        pid = self.child(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            # A store counts as back once a test write has succeeded too.
            wait_until(lambda: self.away() == [], RECOVERY_SECONDS, f"{name} answers again")

    def wait(self, timeout: float = 60.0) -> int:
        """The exit status, once it has ended."""
        assert self._process is not None, "the stack was never started"
        return self._process.wait(timeout)

    def close(self) -> None:
        super().close()
        # A test that failed with the supervisor killed has left the children.
        for process in processes_of(self.data):
            process.kill()


def memorybase(*words: str) -> list[str]:
    return [sys.executable, "-m", "memorybase", *words]


def environment() -> dict[str, str]:
    """Ours, without settings that the machine happens to have, with this tree importable and the model exported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYBASE_")}
    return kept | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(CLIENT))), "MEMORYBASE_MODEL_DIR": str(MODEL_DIR)}


def run_memorybase(*words: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    return subprocess.run(
        memorybase(*words), capture_output=True, text=True, timeout=timeout, env=environment(), check=False
    )


def processes_of(data: Path) -> list[psutil.Process]:
    """Every living process that was started for this data directory, by its environment or by where it is."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and _belongs(process, data.resolve()):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _belongs(process: psutil.Process, data: Path) -> bool:
    # Redis writes its title over its environment.
    return process.environ().get("MEMORYBASE_DATA_DIR") == str(data) or Path(process.cwd()).is_relative_to(data)
