"""Past sessions of coding agents, read from the files that the agents keep, as messages with the ids of the hooks.

No agent documents its format. These are read, as of November 2026:

Claude Code  transcripts of 1.0.83 to 2.1.214: ~/.claude/projects/<folder>/<session>.jsonl
Codex        rollouts of 0.46 to 0.171, and those of 2025 without payloads: ~/.codex/sessions/**/rollout-*.jsonl, and
             ~/.codex/archived_sessions
Copilot CLI  events of 1.0.102: ~/.copilot/session-state/<session>/events.jsonl
Gemini CLI   chats of 0.61: ~/.gemini/tmp/<project>/chats/session-*.jsonl
Cursor       its database: see cursors.py
opencode     its database of 1.18: see opencode.py
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from memorybase_client.coding_agents.agents import user_directory
from memorybase_client.coding_agents.capture import identity, is_left_out, lines, message_in_run, object_in, raw_lines
from memorybase_client.coding_agents.events import Json, as_text, digest, project_of
from memorybase_client.coding_agents.opencode import database_file, messages_after, open_database
from memorybase_client.coding_agents.transcripts import READERS, typed
from memorybase_client.errors import InvalidRequest
from memorybase_client.importers.records import Found, Report, as_object, read_time

LOOKED_AT = 50  # lines at the beginning of a transcript, which say where its session was
TAIL_BYTES = 65_536  # at the end, which says when it was last written to
MAX_SESSION = 128  # characters of an id, as the hooks cut it

TOOLS = "tool calls and results, unless --tools"
_MARKED = {
    "isSidechain": "lines of subagents",
    "isMeta": "notes that the agent made",
    "isCompactSummary": "summaries of a compaction",
    "isApiErrorMessage": "errors of the model's API",
}
_TIME = re.compile(rb'"timestamp"\s*:\s*"([^"]{10,40})"')
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

Places = dict[str, tuple[Path, ...]]
Entries = Callable[[Report], Iterator[tuple[str, Json]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """A session that an agent keeps. `entries` are its messages, each with its place."""

    agent: str
    id: str
    source: str
    cwd: str
    branch: str
    model: str
    first: datetime
    last: datetime
    entries: Entries

    @property
    def project(self) -> str:
        return project_of(self.cwd)[0]

    def is_in(self, folder: Path) -> bool:
        """Whether the session was in this folder or below it."""
        return bool(self.cwd) and Path(self.cwd).is_relative_to(folder)


def places() -> Places:
    """Where each agent of this user keeps its sessions."""
    from memorybase_client.coding_agents import cursors

    codex = user_directory("CODEX_HOME", Path.home() / ".codex")
    return {
        "claude-code": (user_directory("CLAUDE_CONFIG_DIR", Path.home() / ".claude") / "projects",),
        "codex": (codex / "sessions", codex / "archived_sessions"),
        "copilot": (user_directory("COPILOT_HOME", Path.home() / ".copilot") / "session-state",),
        "gemini": (Path.home() / ".gemini" / "tmp",),
        "cursor": (cursors.database_file(),),
        "opencode": (Path(database_file()),),
    }


def past_sessions(
    agents: Iterable[str], report: Report, *, folders: Collection[Path] = (), since: datetime | None = None
) -> list[PastSession]:
    """The sessions of these agents, oldest first: those in one of the folders, if any are named, that went on since
    then."""
    from memorybase_client.coding_agents.cursors import cursor_sessions

    found: list[PastSession] = []
    for agent in agents:
        for place in places()[agent]:
            read = cursor_sessions if agent == "cursor" else _READ[agent]
            found += (
                each
                for each in read(place, report)
                if (not folders or any(map(each.is_in, folders))) and (since is None or each.last >= since)
            )
    return sorted(found, key=lambda each: each.first)


def messages_of(session: PastSession, config: Json, report: Report) -> Iterator[Found]:
    """The messages of a session as the hooks capture them, with the same ids and runs."""
    event = {
        "agent": session.agent,
        "session": session.id,
        "cwd": session.cwd,
        "project": session.project,
        "branch": session.branch,
        "model": session.model,
    }
    state: Json = {}
    try:
        for where, entry in session.entries(report):
            if is_left_out(config, entry, state):
                report.skip(where, TOOLS)
                continue
            message = message_in_run(event, entry, state)
            yield Found(
                where,
                session.id[:MAX_SESSION],
                message,
                end_user_id=config.get("end_user"),
                run_id=identity(event, entry.get("turn") or state["run"]),
            )
    except OSError as error:
        lose_file(report, session.source, error)


def lose_file(report: Report, path: Path | str, error: Exception) -> None:
    """Report a file of which something could not be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    report.lose(Path(path).name, f"{path} cannot be read: {reason}")  # each is a reason of its own, and so listed


def _claude_sessions(folder: Path, report: Report) -> Iterator[PastSession]:
    for path in _files(folder, report):
        if path.name.startswith("agent-") or path.parent.parent != folder:
            report.skip(str(path), "files of subagents")
        elif (head := _head(path, report)) is not None:
            where = next((line for line in head.lines if as_text(line.get("cwd"))), {})
            yield _session("claude-code", path, head, path.stem, as_text(where.get("cwd")))


def _codex_sessions(folder: Path, report: Report) -> Iterator[PastSession]:
    for path in _files(folder, report):
        if not path.name.startswith("rollout-") or (head := _head(path, report)) is None:
            continue
        first = head.lines[0] if head.lines else {}
        meta = as_object(first.get("payload")) if first.get("type") == "session_meta" else first
        if "subagent" in as_object(meta.get("source")):
            report.skip(str(path), "files of subagents")
            continue
        named = _SESSION.search(path.stem)
        name = as_text(meta.get("id")) or (named[0] if named else path.stem)
        branch = as_text(as_object(meta.get("git")).get("branch"))
        yield _session("codex", path, head, name, as_text(meta.get("cwd")), branch)


def _copilot_sessions(folder: Path, report: Report) -> Iterator[PastSession]:
    for path in _files(folder, report):
        if path.name != "events.jsonl" or (head := _head(path, report)) is None:
            continue
        where = as_object(as_object(head.lines[0].get("data")).get("context")) if head.lines else {}
        name, branch = path.parent.name, as_text(where.get("branch"))
        yield _session("copilot", path, head, name, as_text(where.get("cwd")), branch)


def _gemini_sessions(folder: Path, report: Report) -> Iterator[PastSession]:
    for path in _files(folder, report):
        if path.parent.name != "chats" or (head := _head(path, report)) is None:
            continue
        about = head.lines[0] if head.lines else {}
        if about.get("kind", "main") != "main":
            report.skip(str(path), "files of subagents")
            continue
        root = path.parent.parent / ".project_root"
        cwd = root.read_text(encoding="utf-8").strip() if root.is_file() else ""
        yield _session("gemini", path, head, as_text(about.get("sessionId")) or path.stem, cwd)


def _opencode_sessions(database: Path, report: Report) -> Iterator[PastSession]:
    query = "SELECT id, parent_id, directory, time_created, time_updated FROM session ORDER BY time_created, id"
    if not database.exists():
        return
    try:
        with closing(open_database(str(database))) as connection:
            for row in connection.execute(query):
                if row["parent_id"]:
                    report.skip(f"{database} {row['id']}", "sessions of subagents")
                else:
                    yield _opencode_session(database, row)
    except (sqlite3.Error, OSError) as error:
        lose_file(report, database, error)


def _opencode_session(database: Path, row: sqlite3.Row) -> PastSession:
    name = row["id"]

    def entries(report: Report) -> Iterator[tuple[str, Json]]:
        try:
            for _, message in messages_after(str(database), name, None):
                where = f"{database} {name} {message['id']}"
                found = list(READERS["opencode"](message, {}))
                if not found:
                    report.skip(where, "messages without text")
                yield from ((where, entry) for entry in found)
        except sqlite3.Error as error:
            lose_file(report, database, error)

    first, last = (datetime.fromtimestamp(row[name] / 1_000, UTC) for name in ("time_created", "time_updated"))
    return PastSession(
        agent="opencode",
        id=name,
        source=str(database),
        cwd=row["directory"],
        branch="",
        model="",
        first=first,
        last=last,
        entries=entries,
    )


_READ = {
    "claude-code": _claude_sessions,
    "codex": _codex_sessions,
    "copilot": _copilot_sessions,
    "gemini": _gemini_sessions,
    "opencode": _opencode_sessions,
}


def _files(folder: Path, report: Report) -> Iterator[Path]:
    """The transcripts below a folder, in the order of their names. The folder need not exist."""

    def failed(error: OSError) -> None:
        if not (isinstance(error, FileNotFoundError) and error.filename == str(folder)):
            lose_file(report, error.filename, error)

    for place, folders, names in os.walk(folder, onerror=failed):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names) if name.endswith(".jsonl"))


@dataclass(frozen=True, slots=True)
class _Head:
    """The first lines of a transcript, and when it was last written to."""

    lines: list[Json]
    last: datetime


def _head(path: Path, report: Report) -> _Head | None:
    """None if the transcript cannot be read."""
    try:
        with path.open("rb") as file:
            first = list(islice(lines(file), LOOKED_AT))
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - TAIL_BYTES))
            times = _TIME.findall(file.read())
    except OSError as error:
        lose_file(report, path, error)
        return None
    last = moment(times[-1].decode("ascii", "replace")) if times else None
    return _Head(first, last or datetime.fromtimestamp(status.st_mtime, UTC))


def _session(agent: str, path: Path, head: _Head, name: str, cwd: str, branch: str = "") -> PastSession:
    first = next((at for line in head.lines if (at := moment(line.get("timestamp")))), head.last)

    def entries(report: Report) -> Iterator[tuple[str, Json]]:
        yield from _entries(agent, path, first, report)

    return PastSession(
        agent=agent,
        id=name,
        source=str(path),
        cwd=cwd,
        branch=branch,
        model="",
        first=first,
        last=head.last,
        entries=entries,
    )


def moment(value: Any) -> datetime | None:
    """A time; None for anything else."""
    try:
        return read_time(value)
    except InvalidRequest:
        return None


def _entries(agent: str, path: Path, first: datetime, report: Report) -> Iterator[tuple[str, Json]]:
    context: Json = {}
    with path.open("rb") as file:
        for number, raw in enumerate(raw_lines(file), 1):
            where = f"{path} line {number}"
            line = object_in(raw)
            if line is None:
                is_last = bool(raw) and not raw.endswith(b"\n")
                report.skip(where, "a last line that is incomplete" if is_last else _WHY_NO_LINE[bool(raw)])
                continue
            found = list(READERS[agent](line, context))
            if not found and agent == "codex":
                found = list(_old_codex_entries(line, context, first))
            if not found:
                report.skip(where, _why(line))
            yield from ((where, entry) for entry in found)


_WHY_NO_LINE = {False: "lines of more than 8 MB", True: "lines that are not JSON objects"}


def _why(line: Json) -> str:
    """Why a line is no message."""
    marked = next((reason for mark, reason in _MARKED.items() if line.get(mark)), None)
    kinds = (line.get("type"), line.get("subtype"), as_object(line.get("payload")).get("type"))
    kind = " ".join(each[:40] for each in kinds if isinstance(each, str))
    return marked or f"records in which nobody says anything, of the type {kind or 'unknown'}"


def _old_codex_entries(line: Json, context: Json, first: datetime) -> Iterator[Json]:
    """Codex first wrote the model's items as they are: without times, and mostly without ids."""
    role, content = line.get("role"), line.get("content")
    if line.get("type") != "message" or role not in ("user", "assistant") or not isinstance(content, list):
        return
    text = typed("\n".join(as_text(as_object(part).get("text")) for part in content))
    context["position"] = context.get("position", 0) + 1
    if text:
        name = as_text(line.get("id")) or digest(f"{context['position']} {role} {text}")[:32]
        yield {"role": role, "id": name, "text": text, "timestamp": first.strftime("%Y-%m-%dT%H:%M:%SZ")}
