"""Serves one memory to a benchmark; runs in that memory's own environment, where memorybase cannot be imported.

    python bench/peering.py MODULE.CLASS DIRECTORY MODEL

MODULE is in bench/peers, DIRECTORY holds all that the memory stores, MODEL is the folder of the embedding model. Each
line of standard input is a call, {"call": name, ...}, each line of standard output its answer: `ms` and what the method
of `Memory` returned as `result`, or `error`. The process ends with its input.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

if sys.platform != "win32":
    import resource

Message = Mapping[str, str]  # id, role, content, and maybe sender_name and timestamp
Found = dict[str, Any]  # text, and of which messages it is, where the memory says so: ids


class Memory(ABC):
    """A memory in a directory, initially empty. Calls may come from several threads."""

    PACKAGES: ClassVar[Sequence[str]]  # whose versions are reported
    NEEDS: ClassVar[str]  # what must run or be installed, for the table
    IS_SERVER: ClassVar[bool] = False  # which this process starts, and whose client it is
    SETTLES_SECONDS: ClassVar[float] = (
        0.0  # after which deleted texts have left the files, if the documentation says so
    )

    @abstractmethod
    def __init__(self, directory: Path, model: str) -> None:
        """Open what is in the directory; the model is loaded when this returns."""

    @abstractmethod
    def add(self, person: str, session: str, messages: Sequence[Message], key: str) -> None:
        """Store these. Returning acknowledges them. A call that is repeated has the same key."""

    def wait(self) -> None:  # noqa: B027 - of most, acknowledged is indexed
        """Until everything that was acknowledged is in the index."""

    @abstractmethod
    def search(self, person: str, question: str, limit: int) -> list[Found]:
        """The best entries of this person."""

    @abstractmethod
    def context(self, person: str, question: str, tokens: int) -> list[Found]:
        """What it offers for a prompt, best first. The caller drops what exceeds the tokens."""

    @abstractmethod
    def texts(self) -> list[str]:
        """The text of each entry of its index."""

    @abstractmethod
    def delete(self, person: str) -> None:
        """Delete all that was stored of this person."""

    def about(self) -> Mapping[str, Any]:
        """Versions, what it needs, and the largest resident memory of this process."""
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1_000_000
        versions = {package: version(package) for package in self.PACKAGES}
        return {
            "versions": versions,
            "needs": self.NEEDS,
            "is_server": self.IS_SERVER,
            "settles_seconds": self.SETTLES_SECONDS,
            "most_rss_mb": round(most, 1),
        }

    def close(self) -> None:  # noqa: B027 - most have nothing to stop
        """Stop what was started."""


def spoken(message: Message) -> str:
    """The text with its speaker's name, where it has one: for memories whose index knows only texts."""
    return f"{message['sender_name']}: {message['content']}" if "sender_name" in message else message["content"]


def prepare(home: Path) -> None:
    """Disable downloads and telemetry, before a peer is imported."""
    os.environ.update(
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        ANONYMIZED_TELEMETRY="False",
        DO_NOT_TRACK="true",
        MEM0_TELEMETRY="False",
        MEM0_DIR=str(home),
        LANGCHAIN_TRACING_V2="false",
        LANGSMITH_TRACING="false",
        TOKENIZERS_PARALLELISM="false",
    )
    logging.disable(logging.WARNING)


def together(memory: Memory, adds: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Two threads add in turns, both without a pause; whether each call was acknowledged."""

    def add_all(first: int) -> list[bool]:
        return [_acknowledged(memory, each) for each in adds[first::2]]

    with ThreadPoolExecutor(2) as pool:
        evens, odds = pool.map(add_all, (0, 1))
    return [(evens, odds)[number % 2][number // 2] for number in range(len(adds))]


def _acknowledged(memory: Memory, arguments: Mapping[str, Any]) -> bool:
    try:
        memory.add(**arguments)
    except Exception as error:  # noqa: BLE001 - any error of any library: the call was not acknowledged
        print(f"not acknowledged: {error!r}", file=sys.stderr)
        return False
    return True


def serve(memory: Memory, answer: Callable[[Mapping[str, Any]], None]) -> None:
    """Answer each call until the input ends."""
    for line in sys.stdin:
        arguments = json.loads(line)
        name = arguments.pop("call")
        began = time.perf_counter()
        try:
            result = together(memory, **arguments) if name == "together" else getattr(memory, name)(**arguments)
        except Exception as error:  # noqa: BLE001 - any error of any library is the call's answer
            answer({"error": f"{type(error).__name__}: {error}"[:500]})
        else:
            answer({"ms": 1000 * (time.perf_counter() - began), "result": result})


def main() -> None:
    name, directory, model = sys.argv[1:]
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(found: Mapping[str, Any]) -> None:
        answers.write(json.dumps(found) + "\n")
        answers.flush()

    prepare(Path(directory))
    module, _, kind = name.partition(".")
    memory: Memory = getattr(importlib.import_module(f"peers.{module}"), kind)(Path(directory), model)
    answer({"ready": True})
    try:
        serve(memory, answer)
    finally:
        memory.close()


if __name__ == "__main__":
    main()
