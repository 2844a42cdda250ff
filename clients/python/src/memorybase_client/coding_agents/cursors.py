"""Past sessions of Cursor, in its database state.vscdb, which is opened read-only.

Its format is not documented. Read are, as of July 2026: of the table cursorDiskKV `composerData:<session>` (versions 3
to 10), with the order of the session's bubbles, and `bubbleId:<session>:<bubble>` (version 3); in early versions the
bubbles are in composerData itself. Type 1 is the user's. `requestId` is what Cursor's hooks call the generation, so
both make the same ids. The folder is in composerData, else in the database of each workspace. Chats of Cursor's command
line and those from before composers are elsewhere, and not read.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from memorybase_client.coding_agents.agents import user_directory
from memorybase_client.coding_agents.events import MAX_TEXT, Json, as_text, digest
from memorybase_client.coding_agents.history import PastSession, lose_file, moment
from memorybase_client.importers.records import Found, Report, as_list, as_object

if TYPE_CHECKING:
    from memorybase_client.models import MessageView

MIN_EPOCH_MS = 1_000_000_000_000  # smaller numbers are durations


def database_file() -> Path:
    """Where Cursor keeps the sessions of this user."""
    if sys.platform == "win32":
        user = user_directory("APPDATA", Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        user = Path.home() / "Library" / "Application Support"
    else:
        user = user_directory("XDG_CONFIG_HOME", Path.home() / ".config")
    return user / "Cursor" / "User" / "globalStorage" / "state.vscdb"


def cursor_sessions(database: Path, report: Report) -> Iterator[PastSession]:
    """The sessions in the database, without those of subagents."""
    if not os.path.lexists(database):
        return
    try:
        folders = _folders(database.parent.parent / "workspaceStorage", report)
        with closing(_open(database)) as connection:
            for key, value in _values(connection, "composerData:"):
                composer = _object(value)
                if composer.get("subagentInfo"):
                    report.skip(f"{database} {key}", "sessions of subagents")
                elif as_list(composer.get("fullConversationHeadersOnly")) or _inline(composer):
                    yield _session(database, key.partition(":")[2], composer, folders)
                else:
                    report.skip(f"{database} {key}", "sessions without a message")
    except (sqlite3.Error, OSError) as error:
        lose_file(report, database, error)


def with_stored_ids(found: Iterable[Found], stored: Iterable[MessageView]) -> Iterator[Found]:
    """The messages of a session, with the id and the run of a stored one that says the same: a turn may have another
    name in Cursor's database than its hooks had, or another one than at the last import."""
    entries = list(found)
    ids = {each.message["id"] for each in entries}
    others: dict[tuple[str, Any], list[str]] = {}
    for message in stored:
        if message.external_id in ids:
            ids.remove(message.external_id)  # what is left is not stored under its own id
        elif message.external_id:
            others.setdefault((message.role, message.content), []).append(message.external_id)
    for each in entries:
        same = others.get((each.message["role"], each.message["content"]))
        if same and each.message["id"] in ids:
            name = same.pop(0)
            run = name.rpartition(":")[0]  # of an id that was hashed, as it was too long, the run is not known
            yield replace(
                each, message={**each.message, "id": name}, run_id=run if run.count(":") == 2 else each.run_id
            )
        else:
            yield each


def _session(database: Path, name: str, composer: Json, folders: dict[str, str]) -> PastSession:
    uri = as_object(as_object(composer.get("workspaceIdentifier")).get("uri"))
    first = moment_of(composer.get("createdAt")) or datetime.fromtimestamp(database.stat().st_mtime, UTC)

    def entries(report: Report) -> Iterator[tuple[str, Json]]:
        try:
            with closing(_open(database)) as connection:
                yield from _entries(connection, name, f"{database} {name}", first, report)
        except sqlite3.Error as error:
            lose_file(report, database, error)

    return PastSession(
        agent="cursor",
        id=name,
        source=str(database),
        cwd=as_text(uri.get("fsPath")) or folders.get(name, ""),
        branch=as_text(composer.get("createdOnBranch")),
        model=as_text(as_object(composer.get("modelConfig")).get("modelName")),
        first=first,
        last=moment_of(composer.get("lastUpdatedAt")) or first,
        entries=entries,
    )


def _entries(
    connection: sqlite3.Connection, name: str, where: str, at: datetime, report: Report
) -> Iterator[tuple[str, Json]]:
    turn = ""
    for bubble_id, bubble in _bubbles(connection, name):
        place = f"{where} bubble {bubble_id}"
        at = _time_of(bubble) or at
        if bubble.get("type") == 1:
            turn = as_text(bubble.get("requestId")) or bubble_id
        entry = _entry(bubble, turn or bubble_id, place, report)
        if entry is not None:
            model = as_text(as_object(bubble.get("modelInfo")).get("modelName"))
            yield place, {**entry, "timestamp": at.isoformat(timespec="milliseconds"), "model": model}


def _entry(bubble: Json, turn: str, place: str, report: Report) -> Json | None:
    text = (as_text(bubble.get("text")) or _rich_text(bubble.get("richText")))[:MAX_TEXT]
    tool = as_object(bubble.get("toolFormerData"))
    role = {1: "user", 2: "assistant"}.get(kind) if isinstance(kind := bubble.get("type"), int) else None
    if role and text.strip():
        what = "user" if role == "user" else digest(text)[:16]  # as of the hooks
        return {"role": role, "id": f"{turn}:{what}", "turn": turn, "text": text}
    if called := as_text(tool.get("name")):
        given = as_text(tool.get("rawArgs")) or as_text(tool.get("params"))
        call = as_text(tool.get("toolCallId")) or digest(place)[:32]
        return {"role": "tool", "id": f"{turn}:{call}", "turn": turn, "call": call, "name": called, "text": given}
    report.skip(place, "thinking" if bubble.get("thinking") else "bubbles without text")
    return None


def _bubbles(connection: sqlite3.Connection, name: str) -> Iterator[tuple[str, Json]]:
    row = connection.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (f"composerData:{name}",)).fetchone()
    composer = _object(row[0]) if row else {}
    for header in as_list(composer.get("fullConversationHeadersOnly")):
        bubble_id = as_text(as_object(header).get("bubbleId"))
        key = f"bubbleId:{name}:{bubble_id}"
        row = connection.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
        yield bubble_id, _object(row[0]) if row else {}
    for position, bubble in enumerate(_inline(composer)):
        yield as_text(bubble.get("bubbleId")) or str(position), bubble


def _inline(composer: Json) -> list[Json]:
    return [as_object(bubble) for bubble in as_list(composer.get("conversation"))]


def _rich_text(value: Any) -> str:
    """The text of Lexical's JSON, in which newer versions keep what was typed."""
    root = as_object(_object(value).get("root"))
    return "\n".join(_text_below(paragraph) for paragraph in as_list(root.get("children")))


def _text_below(node: Any) -> str:
    own = "\n" if as_object(node).get("type") == "linebreak" else as_text(as_object(node).get("text"))
    return own + "".join(_text_below(child) for child in as_list(as_object(node).get("children")))


def _time_of(bubble: Json) -> datetime | None:
    timing = as_object(bubble.get("timingInfo"))
    return moment_of(bubble.get("createdAt")) or moment_of(timing.get("clientRpcSendTime"))


def moment_of(value: Any) -> datetime | None:
    """A time in ISO 8601 or milliseconds since 1970; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return moment(value / 1000) if value >= MIN_EPOCH_MS else None
    return moment(value) if value else None


def _folders(workspaces: Path, report: Report) -> dict[str, str]:
    """The folder of each session that a workspace's database names."""
    folders: dict[str, str] = {}
    for described in sorted(workspaces.glob("*/workspace.json")):
        database = described.with_name("state.vscdb")
        try:
            folder = _path(_object(described.read_bytes()).get("folder"))
            if not folder or not database.exists():
                continue
            with closing(_open(database)) as connection:
                query = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'"
                row = connection.execute(query).fetchone()
        except (sqlite3.Error, OSError) as error:
            report.change(str(database), f"sessions without their folder, as a file cannot be read: {error}")
            continue
        for composer in as_list(_object(row[0]).get("allComposers") if row else None):
            folders[as_text(as_object(composer).get("composerId"))] = folder
    return folders


def _path(uri: Any) -> str:
    """The path of a file's URI; empty for another machine's."""
    parts = urlsplit(as_text(uri))
    path = unquote(parts.path)
    return "" if parts.scheme != "file" else path[1:] if path[2:3] == ":" else path


def _open(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=30)


def _values(connection: sqlite3.Connection, prefix: str) -> Iterator[tuple[str, Any]]:
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    yield from connection.execute("SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ?", (prefix, end))


def _object(value: Any) -> Json:
    """The object in a value, which is text or bytes of JSON."""
    try:
        return as_object(json.loads(value))
    except (TypeError, ValueError, RecursionError):
        return {}
