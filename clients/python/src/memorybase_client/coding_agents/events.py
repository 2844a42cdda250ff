"""What is used of an agent's event: the session, the repository, and the entry of the spool that it becomes."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

Json = dict[str, Any]

FLOW = "coding-agent"  # unless the configuration names another
MAX_TEXT = 32_000  # characters of a message; the rest is cut off with a mark
SAID = 200  # first characters of an answer, by which it is recognized in the transcript


def read_event(agent: str, sent: Json) -> Json:
    """The event with its agent, and with its name, session and folder whatever the agent calls them."""
    return {
        **sent,
        "agent": agent,
        "name": as_text(sent.get("hook_event_name")),
        "session": as_text(sent.get("session_id") or sent.get("conversation_id")),
        "cwd": as_text(sent.get("cwd") or next(iter(sent.get("workspace_roots") or ()), "")),
    }


def entry_of(event: Json, **fields: str) -> Json:
    """The part of an event that the background process needs."""
    project, branch = project_of(event["cwd"])
    return {
        "agent": event["agent"],
        "session": event["session"],
        "transcript": as_text(event.get("transcript_path")),
        "turn": as_text(event.get("generation_id")),
        "cwd": event["cwd"],
        "project": project,
        "branch": branch,
        "model": as_text(event.get("model")),
        "at": now(),
        **fields,
    }


def project_of(folder: str) -> tuple[str, str]:
    """The repository's folder and branch, else the folder itself. Reads two small files: git would be a process."""
    here, below = folder, ""
    while here not in ("", below):
        if os.path.exists(git := os.path.join(here, ".git")):
            return here, _branch(git)
        here, below = os.path.dirname(here), here
    return folder, ""


def _branch(git: str) -> str:
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(git):  # a worktree or submodule names its real folder
            with open(git, encoding="utf-8") as file:
                git = os.path.join(os.path.dirname(git), file.read(4_096).partition(":")[2].strip())
        with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
            head = file.read(4_096).strip()
        return head.partition("ref: refs/heads/")[2]
    return ""


def as_text(value: Any) -> str:
    """The string; empty for anything else."""
    return value if isinstance(value, str) else ""


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def digest(text: str) -> str:
    """The SHA-256 of a text."""
    import hashlib  # loads OpenSSL, and most hooks need none

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
