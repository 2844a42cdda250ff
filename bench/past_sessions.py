"""Measures the import of a made home with past sessions of Claude Code, as on somebody's first day.

    python bench/past_sessions.py [--messages 50000] [--sessions 500] [--ingest] [--json FILE]

It writes transcripts of made conversations (bench/scaling), in which each answer follows two tool calls with results of
4 KB, starts a stack of one process, and runs `memorybase hooks import`: a dry run, the import until everything is
stored, and the import again. With --ingest the second one waits for the ingestion. `processor` are the seconds that the
command and the stack used, which compare even on a busy machine; ingestion has begun meanwhile. `megabytes` is the most
memory that the command used. `stack` is the size of the stack's files afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from harness.coding_agents import ClaudeTranscript
from harness.stack import KEY, EmbeddedStack, memorybase, processes_of
from runs import machine
from scaling.texts import Vocabulary, turns

MEGABYTE = 1_000_000
STORED = "already there"  # in the line that the command prints when everything is stored
Figures = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--ingest", action="store_true", help="wait for the ingestion")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    found: Figures = {"about": machine(), "messages": chosen.messages, "sessions": chosen.sessions}
    with tempfile.TemporaryDirectory(prefix="memorybase-past-") as folder:
        home = Path(folder) / "home"
        write_transcripts(home, chosen.messages, chosen.sessions)
        found["transcripts"] = size(home)
        (Path(folder) / "stack").mkdir()
        stack = EmbeddedStack(Path(folder) / "stack")
        stack.one_process = True
        stack.start()
        try:
            environment = {**os.environ, "HOME": str(home), "MEMORYBASE_API_KEY": KEY, "MEMORYBASE_URL": stack.url}
            found["dry run"] = timed(stack, environment, "--dry-run", to_the_end=True)
            found["import"] = timed(stack, environment)
            found["again"] = timed(stack, environment, to_the_end=chosen.ingest)
        finally:
            stack.stop()
        found["stack"] = size(stack.data)
    print(json.dumps(found, indent=2))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n")


def write_transcripts(home: Path, messages: int, sessions: int) -> None:
    rng, vocabulary = np.random.default_rng(7), Vocabulary()
    for number in range(sessions):
        transcript = ClaudeTranscript.of(home, f"{number:08}-0000-4000-8000-000000000000")
        for turn in turns(vocabulary, rng, messages // sessions, number % 100, long=True):
            if turn.role == "user":
                transcript.user(turn.text)
                continue
            for _ in range(2):
                transcript.tool("Bash", {"command": "make test"}, " ".join(vocabulary.draw(rng, 700, 0))[:4_000])
            transcript.assistant(turn.text)


def timed(stack: EmbeddedStack, environment: dict[str, str], *words: str, to_the_end: bool = False) -> Figures:
    """A command, to its end or until it has stored everything."""
    began, most, said, used = time.perf_counter(), 0, "", 0.0
    before = sum(map(processor, processes_of(stack.data)))
    command = memorybase("hooks", "import", *words)
    with tempfile.NamedTemporaryFile() as output:
        with subprocess.Popen(command, stdout=output, env=environment) as importing:
            process = psutil.Process(importing.pid)
            while importing.poll() is None and (to_the_end or STORED not in said):
                most, used = max(most, process.memory_info().rss), processor(process)
                time.sleep(0.05)
                said = Path(output.name).read_text()
            seconds = time.perf_counter() - began
            if importing.poll() is None:
                importing.terminate()
        said = Path(output.name).read_text()
    of_stack = sum(map(processor, processes_of(stack.data))) - before
    return {
        "seconds": round(seconds, 1),
        "processor": {"command": round(used, 1), "stack": round(of_stack, 1)},
        "megabytes": round(most / MEGABYTE),
        "said": said.splitlines()[:1],
    }


def processor(process: psutil.Process) -> float:
    """Its seconds of processor time; 0 if it has ended."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def size(folder: Path) -> int:
    """Megabytes."""
    return round(sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / MEGABYTE)


if __name__ == "__main__":
    main()
