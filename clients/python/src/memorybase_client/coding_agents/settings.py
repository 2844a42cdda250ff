"""Read and change an agent's settings, touching only our entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from memorybase_client import errors
from memorybase_client.coding_agents.agents import OURS, Agent
from memorybase_client.coding_agents.events import Json


def read_settings(path: Path) -> Json | None:
    """The file's object; None without a file. Raises InvalidRequest for a file that is not what an agent reads."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, "cannot be read") from error
    try:
        settings = json.loads(text, object_pairs_hook=_without_repetition) if text.strip() else {}
    except ValueError as error:
        raise _unusable(path, f"is not valid JSON ({error})") from error
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise _unusable(path, "must be an object whose `hooks` is an object")
    for event, entries in settings.get("hooks", {}).items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise _unusable(path, f"must have a list of objects in hooks.{event}")
    return settings


def _without_repetition(pairs: Iterable[tuple[str, Any]]) -> Json:
    found: Json = {}
    for name, value in pairs:
        if name in found:  # rewriting the file would lose one of the two
            raise ValueError(f"{name!r} occurs twice in one object")
        found[name] = value
    return found


def _unusable(path: Path, why: str) -> errors.InvalidRequest:
    return errors.InvalidRequest(f"{path} {why}. It was not changed. Correct it, and run the command again.")


def with_hooks(settings: Json | None, agent: Agent, config: PurePath) -> Json:
    """The settings with our entries, each once. Entries that are there already stay in their place, because Codex
    trusts a hook by its place."""
    others = without_hooks(settings or {})
    present = (settings or {}).get("hooks", {})
    events = dict(others.get("hooks", {}))
    for hook in agent.hooks:
        entry = agent.entry(hook, config)
        ours = [each for each in present.get(hook.event, []) if _without_ours(each) != each]
        events[hook.event] = present[hook.event] if ours == [entry] else [*events.get(hook.event, []), entry]
    return {**agent.fields, **others, "hooks": events}


def without_hooks(settings: Json) -> Json:
    """The settings without our entries, and without what is empty only because of that."""
    events: Json = {}
    for event, entries in settings.get("hooks", {}).items():
        kept = [entry for entry in map(_without_ours, entries) if entry is not None]
        if kept or not entries:
            events[event] = kept
    left = {name: value for name, value in settings.items() if name != "hooks"}
    return {**settings, "hooks": events} if events or not settings.get("hooks", True) else left


def _without_ours(entry: Json) -> Json | None:
    """The entry without our commands; None if it had nothing else."""
    if is_ours(entry):
        return None
    inner = entry.get("hooks")
    if not isinstance(inner, list):
        return entry
    kept = [each for each in inner if not (isinstance(each, dict) and is_ours(each))]
    return entry if len(kept) == len(inner) else {**entry, "hooks": kept} if kept else None


def is_ours(entry: Json) -> bool:
    return isinstance(entry.get("command"), str) and OURS.search(entry["command"]) is not None


def our_entries(settings: Json) -> Iterator[Json]:
    """Our commands, wherever they stand."""
    for entries in settings.get("hooks", {}).values():
        for entry in entries:
            inner = entry.get("hooks")
            commands = [entry, *inner] if isinstance(inner, list) else [entry]
            yield from (each for each in commands if isinstance(each, dict) and is_ours(each))


def as_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
