"""The systems that can be imported, and how each is read."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

import httpx

from memorybase_client import errors
from memorybase_client.importers import agent_memory_server, chatgpt, claude, langchain, langflow, letta, mem0, zep
from memorybase_client.importers.files import is_database, read_records, records_of_file
from memorybase_client.importers.records import Found, Json, RawRecord, Report, Table
from memorybase_client.importers.runs import Check, Part, json_bytes, runs_of

TIMEOUT_SECONDS = 60.0
MAX_ANSWER_BYTES = 8_000_000_000
MAX_SHOWN_ERROR = 200

# From the address of an answer and one of its records to the addresses of further answers.
Links = Callable[[httpx.URL, Any], list[httpx.URL]]


def no_links(_url: httpx.URL, _value: Any) -> list[httpx.URL]:
    """The answer is all there is."""
    return []


def read_answers(address: str, headers: Mapping[str, str], links: Links, report: Report) -> Iterator[RawRecord]:
    """The records of the answer at this address and of those that it leads to, on the same server. Raises
    InvalidRequest if the first cannot be read; a later one that cannot ends the import early."""
    try:
        first = httpx.URL(address)
    except httpx.InvalidURL as exc:
        raise errors.InvalidRequest(f"FILE must be a valid address: {exc}", field="FILE") from exc
    waiting, known = deque([first]), {first}
    # Redirects are not followed: the headers may be a key, which is for this server only.
    with httpx.Client(headers=dict(headers), timeout=TIMEOUT_SECONDS) as client:
        while waiting:
            url = waiting.popleft()
            with tempfile.TemporaryFile() as file:
                try:
                    _download(client, url, file)
                except (httpx.HTTPError, ValueError) as exc:
                    if url == first:
                        raise errors.InvalidRequest(f"{_shown(url)} cannot be read: {exc}", field="FILE") from exc
                    report.end_early(f"{_shown(url)} cannot be read: {exc}")
                    return
                file.seek(0)
                for record in records_of_file(file, _shown(url), report):
                    for link in links(url, record.value):
                        if link not in known and (link.scheme, link.netloc) == (first.scheme, first.netloc):
                            known.add(link)
                            waiting.append(link)
                    yield replace(record, source=_name(url))


def _download(client: httpx.Client, url: httpx.URL, file: IO[bytes]) -> None:
    """Raises HTTPError, or ValueError for an answer that is not 200 or too large."""
    with client.stream("GET", url) as answer:
        if answer.status_code != httpx.codes.OK:
            said = answer.read()[:MAX_SHOWN_ERROR].decode(errors="replace").partition("\n")[0]
            target = f" (to {answer.headers['location']})" if answer.has_redirect_location else ""
            raise ValueError(f"it answers {answer.status_code}{target}: {said}".rstrip(": "))
        for part in answer.iter_bytes():
            file.write(part)
            if file.tell() > MAX_ANSWER_BYTES:
                raise ValueError(f"an answer must have at most {MAX_ANSWER_BYTES} bytes")


def _shown(url: httpx.URL) -> str:
    """The URL without a password or a query, which may be a key."""
    return str(url.copy_with(userinfo=b"", query=None))


def _name(url: httpx.URL) -> str:
    """The name of the answer's object: the last part of its path that is no name of a list."""
    # As it was sent: a session's id may contain a slash.
    path = url.raw_path.decode("ascii").partition("?")[0]
    parts = [part for part in path.split("/") if part]
    if len(parts) > 1 and parts[-1] in {"messages", "episodes"}:
        parts.pop()
    return unquote(parts[-1]) if parts else url.host


@dataclass(frozen=True, slots=True)
class System:
    """One system. `fits`: whether a record is its own; `members`: the names of its files in a folder or an archive;
    `table`: where it keeps messages in a database; `has_flows`: whether they belong to flows; `links`: which answers of
    its API lead to others.
    """

    read: Callable[[Iterable[RawRecord], Report], Iterator[Found]]
    fits: Callable[[Json], bool]
    members: tuple[str, ...] = ("*.json", "*.jsonl")
    table: Table | None = None
    has_flows: bool = False
    links: Links = no_links


@dataclass(frozen=True, slots=True)
class ImportSource:
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


def read_runs(
    name: str, source: ImportSource, report: Report, *, flow: str | None = None, check: Check = json_bytes
) -> Iterator[Part]:
    """The runs of a source, as one flow if it is named. Raises InvalidRequest if the source cannot be opened."""
    system = SYSTEMS[name]
    found = system.read(_records(name, system, source, report), report)
    return runs_of(found, flow=flow or name, into_one_flow=flow is not None, report=report, check=check)


def _records(name: str, system: System, source: ImportSource, report: Report) -> Iterator[RawRecord]:
    if source.name.startswith(("http://", "https://")):
        return read_answers(source.name, source.headers, system.links, report)
    if source.headers:
        raise errors.InvalidRequest("--header needs an address as FILE", field="--header")
    if is_database(source.name):
        if system.table is None:
            raise errors.InvalidRequest(f"FILE must be a file of {name}, not a database", field="FILE")
        from memorybase_client.importers.queries import read_rows  # SQLAlchemy comes with an extra

        return read_rows(source.name, replace(system.table, name=source.table or system.table.name), report)
    if source.table is not None:
        raise errors.InvalidRequest("--table needs a database as FILE", field="--table", value=source.table)
    return read_records(Path(source.name), system.members, report)
