"""Measures what each operation costs at 10,000, 100,000 and 1,000,000 messages.

    python bench/scale.py [--stores sqlite-chroma,...] [--sizes 10000,100000] [--sessions 1000]
                          [--only short,long,regenerate] [--calls 50] [--partitions 32] [--embed]
                          [--postgresql shared_buffers=128MB,...] [--also FILE.json ...] [--data-dir DIR]
                          [--results FOLDER] [--json FILE] [--markdown FILE] [--plot FILE.svg]

It fills a store of its own, one for each size, with made conversations and made vectors (bench/scaling), in bulk, and
lets the product compare the store with the ledger. Then it calls each operation in this process. `own_ms` is this
process's processor time for a call, `server_ms` that of PostgreSQL and Chroma; the two say what an operation costs
also where other work delays it. Without OPENBLAS_NUM_THREADS=1, which the product's processes have, own_ms includes a
thread that spins. With --embed texts are embedded by the real model, 3 ms each. --data-dir keeps what is filled, for
SQLite and Chroma and short operations: a fill that was cut off goes on there, and a next run only measures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import runs
from runs import Run
from scaling import long_runs, operations, report, storage
from scaling.stage import STORES, Size, StoreName, filled

from memorybase.core import telemetry
from memorybase.core.settings import Settings

GROUPS = ("short", "long", "regenerate")
Figures = dict[str, Any]


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.replace("_", "").split(",") if part]


def among(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an argument that is a comma-separated list of these names."""

    def names(text: str) -> list[str]:
        found = text.split(",")
        for name in found:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"must be some of {', '.join(allowed)} (got {name!r})")
        return found

    return names


def postgresql_settings(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if wrong := [name for name, _, value in pairs if not name or not value]:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE,... (got {wrong[0]!r})")
    return {name: value for name, _, value in pairs}


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--stores", type=among(STORES), default=list(STORES), help=f"of {','.join(STORES)}")
    arguments.add_argument("--sizes", type=numbers, default=[10_000, 100_000], help="messages of the large flow")
    arguments.add_argument("--sessions", type=numbers, default=[1_000], help="sessions that they are divided among")
    arguments.add_argument("--only", type=among(GROUPS), default=list(GROUPS), help=f"of {','.join(GROUPS)}")
    arguments.add_argument("--calls", type=int, default=50, help="of each short operation")
    arguments.add_argument("--partitions", type=int, default=0, help="divide PostgreSQL's keyword index first")
    arguments.add_argument(
        "--postgresql", type=postgresql_settings, default={}, help="NAME=VALUE,... in place of a deployment's"
    )
    arguments.add_argument("--embed", action="store_true", help="embed the texts with the model of the settings")
    arguments.add_argument("--data-dir", type=Path, help="keep what is filled here, and go on with what is there")
    arguments.add_argument("--also", type=Path, nargs="+", default=[], help="add the figures of former runs")
    runs.add_option(arguments)
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--markdown", type=Path)
    arguments.add_argument("--plot", type=Path, help="an SVG file")
    return arguments


def cells(chosen: argparse.Namespace) -> Iterator[tuple[StoreName, Size]]:
    """What is filled: each store in each size, where a session has at least two messages."""
    for store in chosen.stores:
        for sessions in chosen.sessions:
            for messages in chosen.sizes:
                if messages >= 2 * sessions:
                    yield store, Size(messages, sessions)


def check_kept(chosen: argparse.Namespace, fail: Callable[[str], object]) -> None:
    """What --data-dir keeps must be as good for the next run."""
    for option, kept in (("stores", ["sqlite-chroma"]), ("only", ["short"])):
        if chosen.data_dir and (found := getattr(chosen, option)) != kept:
            fail(f"argument --{option}: must be {kept[0]} with --data-dir (got {','.join(found)})")


def directory(store: StoreName, size: Size, chosen: argparse.Namespace) -> Path | None:
    """Where --data-dir keeps this store."""
    if chosen.data_dir is None:
        return None
    vectors = "embedded" if chosen.embed else "made"
    found: Path = chosen.data_dir / f"{store}-{size.messages}-{size.sessions}-{vectors}"
    found.mkdir(parents=True, exist_ok=True)
    return found


def measure(store: StoreName, size: Size, chosen: argparse.Namespace, figures: Figures, run: Run) -> None:
    """Add one filled store's figures, so that those before a failure are kept, and the calls of short operations."""
    print(f"{store}, {size.messages:,} messages in {size.sessions:,} sessions ... ", end="", flush=True)
    kept = directory(store, size, chosen)
    with filled(store, size, embed=chosen.embed, postgresql=chosen.postgresql, directory=kept) as stage:
        print(f"filled in {stage.filled_seconds:.0f} s", flush=True)
        figures |= {"filled_seconds": round(stage.filled_seconds, 1)}
        if chosen.partitions:
            long_runs.partition(stage, chosen.partitions)
        figures |= {"bytes_a_message": storage.bytes_a_message(stage)}
        if "short" in chosen.only:
            figures["operations"] = operations.measure(stage, chosen.calls, run)
            print(report.short_lines(figures["operations"]), flush=True)
        long = figures["long"] = {}
        if "long" in chosen.only:
            long_runs.measure(stage, long)
        if "regenerate" in chosen.only:
            long_runs.measure_regenerate(stage, long)
        figures["processes"] = storage.processes(stage)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = (accepted := parser()).parse_args(arguments)
    check_kept(chosen, accepted.error)
    telemetry.configure(Settings(log_level="ERROR"))
    data = "made texts, embedded by the model" if chosen.embed else "made texts and vectors"
    found: Figures = {"about": runs.machine() | {"data": data, "seed": 7}, "cells": []}
    for path in chosen.also:
        found["cells"] += json.loads(path.read_text())["cells"]
    run = Run(found)
    try:
        for store, size in cells(chosen):
            found["cells"].append({"store": store, "messages": size.messages, "sessions": size.sessions})
            measure(store, size, chosen, found["cells"][-1], run)
            print(
                *(f"  {name}: {each}" for name, each in found["cells"][-1]["processes"].items()), sep="\n", flush=True
            )
    finally:  # keep what was measured before a failure
        if chosen.results:
            run.write(chosen.results)
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=2) + "\n")
        if chosen.markdown:
            chosen.markdown.write_text(report.markdown(found))
        if chosen.plot:
            chosen.plot.write_text(report.svg(found))


if __name__ == "__main__":
    main()
