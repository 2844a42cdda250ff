"""The systems that can be imported, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memorybase.importers import chatgpt, claude
from memorybase.importers.files import read_records
from memorybase.importers.records import Found, Record, Report
from memorybase.importers.runs import Part, runs_of


@dataclass(frozen=True, slots=True)
class System:
    """One system. `members` are the names of its files in a folder or an archive."""

    read: Callable[[Iterable[Record], Report], Iterator[Found]]
    members: tuple[str, ...] = ("*.json", "*.jsonl")


SYSTEMS = {
    "chatgpt": System(chatgpt.read, ("conversations.json", "conversations-*.json")),
    "claude": System(claude.read, ("conversations.json",)),
}


def read_runs(name: str, source: str, report: Report, *, flow: str | None = None) -> Iterator[Part]:
    """The runs of a source, as one flow if it is named. Raises InvalidRequest if the source cannot be opened."""
    system = SYSTEMS[name]
    records = read_records(Path(source), system.members, report)
    return runs_of(system.read(records, report), flow=flow or name, into_one_flow=flow is not None, report=report)
