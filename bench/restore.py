"""Measures a backup of a running stack and its restore, with the vectors of the backup and without.

    python bench/restore.py [--messages 100000] [--sessions 1000] [--json FILE]

It fills a store with made conversations and made vectors under the model's name (bench/scaling). On that store it
starts the embedded stack, backs it up, restores the backup into new data directories, and starts a stack on each: until
it answers, and until the vector store has followed, so that searches by meaning are complete again. With --only
vectors the texts are not embedded again. `processor` is the time of all processes of the stack; it compares even on a
busy machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from harness.stack import KEY, EmbeddedStack, processes_of, run_memorybase
from harness.waiting import wait_until
from runs import machine
from scaling.embedder import MadeEmbedder
from scaling.stage import Size, filled
from scaling.texts import Vocabulary

from memorybase.core import telemetry
from memorybase.core.embedding import Embedders
from memorybase.core.settings import Settings

WAYS: dict[str, Sequence[str]] = {"vectors": (), "no-vectors": ("--no-vectors",)}
PATIENCE = 3 * 3_600.0
MEGABYTE = 1_000_000
Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--only", choices=tuple(WAYS), help="restore in this way only")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    telemetry.configure(Settings(log_level="ERROR"))
    found: Figures = {"about": machine(), "messages": chosen.messages, "sessions": chosen.sessions, "seconds": {}}
    try:
        with tempfile.TemporaryDirectory(prefix="memorybase-restore-") as folder:
            ways = {name: options for name, options in WAYS.items() if chosen.only in {None, name}}
            measure(Path(folder), Size(chosen.messages, chosen.sessions), ways, found)
    finally:  # keep what was measured before a failure
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=2) + "\n")


def measure(folder: Path, size: Size, ways: Mapping[str, Sequence[str]], found: Figures) -> None:
    """Add the seconds of each step, and the bytes of the backup."""

    def timed(name: str, step: Callable[[], object]) -> None:
        began = time.perf_counter()
        step()
        found["seconds"][name] = round(time.perf_counter() - began, 1)
        print(f"{name:40} {found['seconds'][name]:9} s", flush=True)

    source = stack_in(folder / "source")
    timed("fill", lambda: fill(source, size))
    with running(source):
        for name, options in ways.items():
            backup = folder / name
            timed(f"backup {name}", lambda b=backup, o=options: command("backup", str(b), *o, data=source.data))
            found[f"megabytes {name}"] = round(sum(each.stat().st_size for each in files(backup)) / MEGABYTE)
    shutil.rmtree(source.directory)
    for name in ways:
        target = stack_in(folder / f"restored {name}")
        timed(f"restore {name}", lambda n=name, t=target: command("restore", str(folder / n), data=t.data))
        began = time.perf_counter()
        with running(target):
            found["seconds"][f"start {name}"] = round(time.perf_counter() - began, 1)
            timed(f"vector store follows, {name}", lambda t=target: wait_until_it_follows(t))
            found["seconds"][f"processor until then, {name}"] = round(processor_seconds(target), 1)
            states = compared(target)
            found[f"memory bases {name}"] = {state: states.count(state) for state in states}
        shutil.rmtree(target.directory)
    print(json.dumps(found, indent=2))


class NamedEmbedder(MadeEmbedder):
    """Made vectors under the name of the model, and cut where it cuts: a restore takes them for the model's own."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self._real = Embedders(settings).get()
        self.model, self.identity = self._real.model, self._real.identity
        self.max_tokens, self.token_encoding = self._real.max_tokens, self._real.token_encoding

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return self._real.token_offsets(text)


class NamedEmbedders:
    """The registry of this one."""

    def __init__(self, settings: Settings, vocabulary: Vocabulary) -> None:
        self._embedder = NamedEmbedder(settings, vocabulary)

    def get(self, model: str | None = None) -> NamedEmbedder:
        del model
        return self._embedder


def stack_in(directory: Path) -> EmbeddedStack:
    directory.mkdir()
    return EmbeddedStack(directory)


@contextmanager
def running(stack: EmbeddedStack) -> Iterator[None]:
    try:
        stack.start()
        yield
    finally:
        stack.close()


def fill(stack: EmbeddedStack, size: Size) -> None:
    """What a stack would have in its data directory, written in bulk."""
    stack.data.mkdir()
    with filled("sqlite-chroma", size, embed=False, embedders=NamedEmbedders) as stage:
        stage.services.database.dispose()
        stage.servers["chroma"].stop()
        shutil.move(stage.directory / "memorybase.db", stack.data)
        shutil.move(stage.directory / "data", stack.data / "chroma")


def command(name: str, directory: str, *options: str, data: Path) -> None:
    ended = run_memorybase(name, directory, *options, "--data-dir", str(data), timeout=PATIENCE)
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def processor_seconds(stack: EmbeddedStack) -> float:
    """Of all processes of the stack since it was started."""
    return sum(sum(each.cpu_times()[:2]) for each in processes_of(stack.data))


def wait_until_it_follows(stack: EmbeddedStack) -> None:
    wait_until(lambda: not (stack.data / "restored").exists(), PATIENCE, "the store follows the restored database")


def compared(stack: EmbeddedStack) -> list[str]:
    """The state of each memory base."""
    with httpx.Client(base_url=f"{stack.url}/v1", headers={"X-API-Key": KEY}, trust_env=False, timeout=600) as api:
        memories = api.get("/memories", params={"size": 200}).raise_for_status().json()["items"]
        return sorted(
            api.get(f"/memories/{each['id']}/mismatch").raise_for_status().json()["state"] for each in memories
        )


if __name__ == "__main__":
    main()
