"""Events that wait on disk, a file each, and the background process that sends them."""

from __future__ import annotations

import os
import sys
import time

from memorybase_client.coding_agents.events import Json, as_text, now
from memorybase_client.coding_agents.files import locked, read_json, remove, write_json

DRAIN_SECONDS = 120.0
MAX_FILES = 2_000

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")


def spool(config: Json, event: Json) -> None:
    """Keep an event until it is sent."""
    write_json(os.path.join(config["spool"], f"{time.time_ns()}-{os.getpid()}.json"), event)


def waiting(config: Json) -> list[str]:
    """The spooled files, oldest first. Beyond MAX_FILES the oldest are given up."""
    names = (name for name in os.listdir(config["spool"]) if name.endswith(".json"))
    paths = [os.path.join(config["spool"], name) for name in sorted(names)]
    for path in paths[:-MAX_FILES]:
        remove(path)
    return paths[-MAX_FILES:]


def apart() -> Json:
    """Arguments of a process that outlives the agent, and on Windows has a console that nobody sees: without one, a
    virtual environment's Python opens another."""
    import subprocess

    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def start_drain(config: Json) -> None:
    """Start the background process apart from the agent's session or console, so that it outlives the agent."""
    import subprocess

    none = subprocess.DEVNULL
    command = [sys.executable, "-I", "-S", SCRIPT, *config["arguments"], "--drain"]
    subprocess.Popen(command, stdin=none, stdout=none, stderr=none, cwd=config["state_dir"], **apart())


def drain(config: Json) -> None:
    """Send what waits, unless another process does that already: which looks again after it released the lock."""
    os.makedirs(config["spool"], mode=0o700, exist_ok=True)
    until = time.monotonic() + DRAIN_SECONDS
    while waiting(config) and time.monotonic() < until:
        with locked(os.path.join(config["state_dir"], "lock")) as held:
            if not held or not _send_waiting(config, until):
                return


def _send_waiting(config: Json, until: float) -> bool:
    """Send every event. Returns whether memory is reachable."""
    from memorybase_client.coding_agents.capture import send_text, send_transcript
    from memorybase_client.coding_agents.memory import Away, Refused

    for group in _groups(config):
        event = group[-1][1]  # of a transcript the newest event is enough, but the stop event has the answer
        event["said"] = next((each["said"] for _, each in reversed(group) if each.get("said")), "")
        try:
            stored = send_text(config, event) if "text" in event else send_transcript(config, event, until)
            _report(config, event, stored=stored)
        except Away as error:
            _report(config, event, error=str(error))
            return False
        except Refused as error:
            _report(config, event, stored=error.stored, error=str(error))
        except Exception as error:  # its text may quote a message
            _report(config, event, error=str(error) if isinstance(error, OSError) else type(error).__name__)
        for path, _ in group:
            remove(path)
    return True


def _groups(config: Json) -> list[list[tuple[str, Json]]]:
    """The events with their files, those of one transcript together. What is none is removed."""
    from memorybase_client.coding_agents.transcripts import READERS

    groups: dict[tuple[str, str], list[tuple[str, Json]]] = {}
    for path in waiting(config):
        event = read_json(path)
        if event.get("agent") in READERS or event.get("text"):
            transcript = as_text(event.get("transcript")) if "said" in event else path
            groups.setdefault((transcript, as_text(event.get("session"))), []).append((path, event))
        else:
            remove(path)
    return list(groups.values())


def _report(config: Json, event: Json, *, stored: int | None = None, error: str = "") -> None:
    """Keep what `memorybase doctor` says of this machine."""
    path = os.path.join(config["state_dir"], "status.json")
    status = read_json(path)
    agent = status.setdefault(event["agent"], {})
    agent["event_at"] = event.get("at")
    if stored:
        agent.update(captured_at=now(), messages=agent.get("messages", 0) + stored, session=event.get("session"))
    if error:
        agent.update(error=error[:500], error_at=now())
    elif stored is not None:
        agent.pop("error", None)
    write_json(path, status)
