"""One memory in a process of its own, in its own environment, that bench/peering.py serves."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

SCRIPT = Path(__file__).resolve().parents[1] / "peering.py"
STOP_SECONDS = 60.0
OWN = ""  # the environment of memorybase itself


class Failed(Exception):
    """A call, or the start, failed; the memory's own words."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`messages`: at most so many of those that others get where only a rate is measured: it is slow."""

    name: str
    memory: str  # module and class in bench/peers
    environment: str
    messages: int = 600


PEERS = {
    peer.name: peer
    for peer in (
        Peer("memorybase", "memorybase.Stack", OWN),
        Peer("memorybase-one-process", "memorybase.OneProcess", OWN),
        Peer("langchain", "langchain.LangChain", ".venv-peers"),
        Peer("langgraph", "langgraph.LangGraph", ".venv-peers"),
        Peer("mem0", "mem0.Mem0", ".venv-peers", messages=200),
        Peer("mempalace", "mempalace.MemPalace", ".venv-peers", messages=200),
        Peer("hindsight", "hindsight.Hindsight", ".venv-hindsight"),
    )
}


@dataclass(frozen=True, slots=True)
class Environments:
    """Where the environments of the peers are, and the embedding model's folder."""

    folder: Path
    model: Path

    def python(self, peer: Peer) -> list[str]:
        # -E: what leads Python to memorybase's packages must not lead the peers there.
        return [str(self.folder / peer.environment / "bin" / "python"), "-E"] if peer.environment else [sys.executable]

    def has(self, peer: Peer) -> bool:
        return Path(self.python(peer)[0]).exists()


class Child:
    """A started memory. Its processes end with the `with` block."""

    def __init__(self, environments: Environments, peer: Peer, directory: Path) -> None:
        self._directory = directory
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        command = [*environments.python(peer), str(SCRIPT), peer.memory, str(directory), str(environments.model)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls, self._answers = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        try:
            self.answer()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # it ended already
            self._calls.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._answers.close()
        self._log.close()

    def call(self, name: str, **arguments: Any) -> Any:
        """What the call returned; raises Failed."""
        return self.timed(name, **arguments)[1]

    def timed(self, name: str, **arguments: Any) -> tuple[float, Any]:
        """Milliseconds, and what the call returned; raises Failed."""
        self.send(name, **arguments)
        found = self.answer()
        return found["ms"], found["result"]

    def send(self, name: str, **arguments: Any) -> None:
        try:
            self._calls.write(json.dumps({"call": name, **arguments}) + "\n")
            self._calls.flush()
        except OSError as error:
            raise Failed(self._last_words()) from error

    def answer(self) -> Mapping[str, Any]:
        line = self._answers.readline()
        if not line.endswith("\n"):
            raise Failed(self._last_words())
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise Failed(found["error"])
        return found

    def answers_left(self) -> int:
        """How many calls were answered without an error before it was killed."""
        found = [json.loads(line) for line in self._answers.read().splitlines(keepends=True) if line.endswith("\n")]
        return sum("error" not in each for each in found)

    def processes(self) -> list[psutil.Process]:
        """Its own, first, and all that it started."""
        try:
            own = psutil.Process(self._process.pid)
            return [own, *own.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """SIGKILL for every process. All are suspended first, so that none sees another one end."""
        found = self.processes()
        for signal in (psutil.Process.suspend, psutil.Process.kill):
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    signal(process)
        psutil.wait_procs(found, STOP_SECONDS)
        self._process.wait()

    def memory_mb(self, *, is_server: bool) -> float:
        """Of all processes, but a server's client; shared pages counted once where the system tells."""
        total = 0.0
        for process in self.processes()[1 if is_server else 0 :]:
            with contextlib.suppress(psutil.Error):
                full = process.memory_full_info()
                total += getattr(full, "pss", full.rss)
        return round(total / 1_000_000, 1)

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self._log.seek(0)
        lines = [line for line in self._log.read().splitlines() if line.strip()]
        return (lines[-1] if lines else f"ended with status {self._process.returncode}")[-500:]


@contextlib.contextmanager
def empty_directory() -> Iterator[Path]:
    """A directory for one memory, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="memorybase-peer-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def messages(texts: Sequence[str], prefix: str, role: str | None = None) -> list[dict[str, str]]:
    """User and assistant by turns, or all of one role, with ids."""
    return [
        {"id": f"{prefix}-{number}", "role": role or ("user", "assistant")[number % 2], "content": text}
        for number, text in enumerate(texts)
    ]


def size_mb(directory: Path) -> float:
    """Of all files in it."""
    found = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                found += (Path(folder) / name).lstat().st_size
    return round(found / 1_000_000, 2)
