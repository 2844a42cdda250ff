"""The command line of the search benchmarks: data sets in, a report to the screen and as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import runs
from memorybase_client import Client
from memorybase_client.errors import MemorybaseError
from runs import Run

from memorybase.core.settings import Settings
from recalling import formats
from recalling.corpora import Corpus
from recalling.loading import stack


def parser(description: str | None, *, files: str = "+") -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs=files, help="data sets: files or folders, see bench/README.md")
    arguments.add_argument("--conversations", type=int, help="read only so many of each data set, the first ones")
    arguments.add_argument("--json", type=Path)
    runs.add_option(arguments)
    arguments.add_argument("--data-dir", type=Path, help="keep the loaded data here")
    return arguments


def corpora(chosen: argparse.Namespace) -> list[Corpus]:
    """The data sets that were named."""
    if chosen.conversations is not None and chosen.conversations < 1:
        raise SystemExit(f"error: --conversations must be at least 1 (got {chosen.conversations})")
    try:
        return [formats.read(each, chosen.conversations) for each in chosen.data]
    except (OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error


def run(chosen: argparse.Namespace, measure: Callable[[Client, Settings, Run], dict[str, Any]]) -> None:
    """Start a stack, measure, and write the report where --json says, and what the run got where --results says."""
    kept = Run()
    with stack(chosen.data_dir) as (client, settings):
        report: dict[str, Any] = {"about": runs.about(settings, chosen.data)}
        try:
            report |= measure(client, settings, kept)
        except MemorybaseError as error:
            raise SystemExit(f"error: {error}") from error
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    if chosen.results:
        kept.report = report
        kept.write(chosen.results)
