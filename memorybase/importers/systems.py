"""The systems that can be imported, and how each is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from memorybase import errors
from memorybase.importers import agent_memory_server, chatgpt, claude, langchain, langflow, letta, mem0, zep
from memorybase.importers.addresses import Links, no_links, read_answers
from memorybase.importers.files import read_records
from memorybase.importers.queries import Table, is_database, read_rows
from memorybase.importers.records import Found, Json, Record, Report
from memorybase.importers.runs import Part, runs_of


@dataclass(frozen=True, slots=True)
class System:
    """One system. `fits`: whether a record is its own; `members`: the names of its files in a folder or an archive;
    `table`: where it keeps messages in a database; `has_flows`: whether they belong to flows of their own; `links`:
    which answers of its API lead to others.
    """

    read: Callable[[Iterable[Record], Report], Iterator[Found]]
    fits: Callable[[Json], bool]
    members: tuple[str, ...] = ("*.json", "*.jsonl")
    table: Table | None = None
    has_flows: bool = False
    links: Links = no_links


@dataclass(frozen=True, slots=True)
class Source:
    """A file, folder, archive, database or address; the table of the database, the headers for the address."""

    name: str
    table: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


SYSTEMS = {
    "chatgpt": System(chatgpt.read, chatgpt.fits, ("conversations.json", "conversations-*.json")),
    "claude": System(claude.read, claude.fits, ("conversations.json",)),
    "langchain": System(langchain.read, langchain.fits, table=Table("message_store", ("session_id", "id"))),
    "langflow": System(
        langflow.read,
        langflow.fits,
        has_flows=True,
        table=Table("message", ("flow_id", "session_id", "timestamp", "id"), "flow"),
    ),
    "mem0": System(mem0.read, mem0.fits),
    "letta": System(letta.read, letta.fits, ("*.af", "*.json"), has_flows=True),
    "zep": System(zep.read, zep.fits, links=zep.links),
    "agent-memory-server": System(
        agent_memory_server.read, agent_memory_server.fits, has_flows=True, links=agent_memory_server.links
    ),
}


def read_runs(name: str, source: Source, report: Report, *, flow: str | None = None) -> Iterator[Part]:
    """The runs of a source, as one flow if it is named. Raises InvalidRequest if the source cannot be opened."""
    system = SYSTEMS[name]
    records = _records(name, system, source, report)
    return runs_of(system.read(records, report), flow=flow or name, into_one_flow=flow is not None, report=report)


def _records(name: str, system: System, source: Source, report: Report) -> Iterator[Record]:
    if source.name.startswith(("http://", "https://")):
        return read_answers(source.name, source.headers, system.links, report)
    if source.headers:
        raise errors.InvalidRequest("--header needs an address as FILE", field="--header")
    if is_database(source.name):
        if system.table is None:
            raise errors.InvalidRequest(f"FILE must be a file of {name}, not a database", field="FILE")
        return read_rows(source.name, replace(system.table, name=source.table or system.table.name), report)
    if source.table is not None:
        raise errors.InvalidRequest("--table needs a database as FILE", field="--table", value=source.table)
    return read_records(Path(source.name), system.members, report)
