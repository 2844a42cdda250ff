"""The memories that an agent was given, kept until their turn is captured, because only then its run is known; and
the sessions whose first prompt was searched for."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from memorybase_client.coding_agents import memory
from memorybase_client.coding_agents.events import Json, as_text, digest
from memorybase_client.coding_agents.files import forget_oldest, read_json, remove, write_json

MAX_SESSIONS = 2_000  # whose first prompt is remembered
MAX_GIVEN = 200  # recalls whose turn is not captured yet
START_SECONDS = 60.0  # a transcript's first message may be as much older than the hook of its session's start
MAX_PROMPT = 2_000  # characters of what is searched for


def keep_given(config: Json, event: Json, asked: str, given: Json) -> None:
    """Keep it, with the prompt that it was recalled for, empty at a session's start. Gives up the oldest if many are
    kept."""
    path = f"{_files(config, event)[0]}{time.time_ns()}.json"
    write_json(path, {"node": event["name"], "asked": asked, "at": time.time(), "given": given})
    folder = os.path.dirname(path)
    for old in sorted(os.listdir(folder), key=lambda each: each.partition("-")[2])[:-MAX_GIVEN]:
        remove(os.path.join(folder, old))


def _files(config: Json, event: Json) -> tuple[str, list[str]]:
    """The beginning of the paths of a session, and what is kept there, oldest first."""
    folder, name = os.path.join(config["state_dir"], "given"), digest(f"{event['agent']} {event['session']}")[:32] + "-"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    kept = [os.path.join(folder, each) for each in names if each.startswith(name) and each.endswith(".json")]
    return os.path.join(folder, name), kept


def take_given(config: Json, event: Json, entry: Json) -> list[Json]:
    """The memories recalled for the turn that this entry starts: for its prompt, and at the session's start before
    it."""
    _, paths = _files(config, event)
    latest, asked = _seconds(entry.get("timestamp")) + START_SECONDS, entry["text"].strip()[-MAX_PROMPT:]
    kept = [(path, each) for path in paths if (each := read_json(path)).get("asked") or each.get("at", 0) <= latest]
    own = next((place for place, (_, each) in enumerate(kept) if each.get("asked") == asked), None)
    if own is None:  # nothing was recalled for it
        own = next((place for place, (_, each) in enumerate(kept) if each.get("asked")), len(kept)) - 1
    for path, _ in kept[: own + 1]:
        remove(path)
    return [each for _, each in kept[: own + 1] if each.get("asked") in ("", asked)]


def _seconds(moment: Any) -> float:
    """Since the epoch; infinity if it is not known."""
    import calendar

    with contextlib.suppress(ValueError):
        return calendar.timegm(time.strptime(as_text(moment)[:19], "%Y-%m-%dT%H:%M:%S"))
    return float("inf")


def record_given(config: Json, run: str, kept: Json) -> None:
    """Record it with the run of this id."""
    from urllib.parse import quote

    ids = (config["flow"], "runs", run, "memory", kept["node"])
    path = "/".join(quote(each, safe="") for each in ids)
    memory.call(config, f"/v1/flows/{path}", kept["given"], "PUT")


def has_prompted(config: Json, event: Json) -> bool:
    """Whether a prompt was searched for since the session started."""
    return os.path.exists(_prompted(config, event))


def note_prompted(config: Json, event: Json) -> None:
    path = _prompted(config, event)
    if not os.path.exists(path):
        forget_oldest(os.path.dirname(path), MAX_SESSIONS)
        write_json(path, {})


def forget_prompted(config: Json, event: Json) -> None:
    """The session starts, or starts again after a compaction."""
    remove(_prompted(config, event))


def _prompted(config: Json, event: Json) -> str:
    name = digest(f"{event['agent']} {event['session']}")[:32]
    return os.path.join(config["state_dir"], "prompted", f"{name}.json")
