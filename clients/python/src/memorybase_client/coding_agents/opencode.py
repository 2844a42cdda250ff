"""opencode's sessions, in its database, which is opened read-only. The standard library only, as the hooks.

Its format is not documented. Read are, as of 1.18, the tables `session`, `message` and `part`; the last two keep JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from memorybase_client.coding_agents.events import Json

if TYPE_CHECKING:
    import sqlite3

Place = list[Any]  # the time and the id of a message
START: Place = [0, ""]


def database_file() -> str:
    """Where opencode keeps the sessions of this user."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser(os.path.join("~", ".local", "share"))
    return os.path.join(data, "opencode", os.environ.get("OPENCODE_DB") or "opencode.db")


def open_database(path: str) -> sqlite3.Connection:
    """Raises FileNotFoundError, sqlite3.Error."""
    import sqlite3
    from urllib.request import pathname2url

    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such file", path)
    connection = sqlite3.connect(f"file:{pathname2url(path)}?mode=ro", uri=True, timeout=30)
    connection.row_factory = sqlite3.Row
    return connection


def messages_after(path: str, session: str, place: Place | None) -> Iterator[tuple[Place, Json]]:
    """The messages of a session of the user's after a place, each with its own place, its id and its `parts`. The last
    answer only once it is complete."""
    query = """
        SELECT message.id, message.time_created, message.data FROM message JOIN session ON session.id = session_id
        WHERE session_id = ? AND parent_id IS NULL AND (message.time_created, message.id) > (?, ?)
        ORDER BY message.time_created, message.id
    """
    with closing(open_database(path)) as connection:
        rows = [(row, _object(row["data"])) for row in connection.execute(query, (session, *(place or START)))]
        answers = [number for number, (_, message) in enumerate(rows) if message.get("role") == "assistant"]
        if answers and not _is_complete(rows[answers[-1]][1]):
            del rows[answers[-1] :]
        for row, message in rows:
            parts = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
            found = [_object(part["data"]) for part in parts]
            yield [row["time_created"], row["id"]], {**message, "id": row["id"], "parts": found}


def _is_complete(message: Json) -> bool:
    time = message.get("time")
    return isinstance(time, dict) and bool(time.get("completed"))


def _object(text: Any) -> Json:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
