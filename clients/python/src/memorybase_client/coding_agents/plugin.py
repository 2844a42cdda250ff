"""The hooks as a plugin of an agent: configured in the agent's own dialog, with a stack that starts by itself.

The standard library only, as the hooks. The plugin's folder is the repository or a copy, so the stack that it installs
has the version of its hooks. Claude Code, Codex and Copilot CLI run the same hooks of it.
"""

from __future__ import annotations

import json
import os
import sys

from memorybase_client.coding_agents import hosts, spool
from memorybase_client.coding_agents.events import FLOW, Json
from memorybase_client.coding_agents.files import read_json

PLUGIN = "--plugin"
NAME = "memorybase@memorybase"  # the plugin and its marketplace
# Variables that only these agents set for the hooks of a plugin. The first one that is set names the agent.
SETS = {"COPILOT_PLUGIN_ROOT": "copilot", "PLUGIN_ROOT": "codex"}
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 5))
ANSWER_SECONDS = 0.1  # a stack on this machine accepts a connection within a few milliseconds
RECALL_SECONDS = 0.2
RETRY_SECONDS = 60.0  # after a start that failed


def agent_of(named: str) -> str:
    """The agent that runs this hook, which the shared hooks.json cannot name; without a sign, the one that it names."""
    return next((agent for variable, agent in SETS.items() if os.environ.get(variable)), named)


def load_config() -> Json:
    """The configuration from the variables that the agent sets for its plugin, else from those of the client. Without
    an address, that of the stack on this machine; `local` says so, and `url` is empty while none has run."""
    from memorybase_client import local_stack

    url = (_option("url") or _variable("MEMORYBASE_URL")).rstrip("/")
    key = _option("key") or _variable("MEMORYBASE_API_KEY")
    is_local = not url
    if is_local and (running := local_stack.find()) is not None:
        url, key = running.url, running.key
    state = os.path.join(str(local_stack.state_dir()), "hooks")
    return {
        "url": url,
        "key": key,
        "local": is_local,
        "flow": _option("flow") or FLOW,
        "recall": _option("recall").lower() or hosts.DEFAULT_RECALL,
        "deadline_seconds": _seconds(_option("recall_seconds")),
        "tools": _option("tools").lower() == "true",
        "makes_flow": True,
        "arguments": [PLUGIN],
        "state_dir": state,
        "spool": os.path.join(state, "spool"),
    }


def _option(name: str) -> str:
    return _variable(f"CLAUDE_PLUGIN_OPTION_{name.upper()}")


def _variable(name: str) -> str:
    """Empty also where the agent had nothing to put in the place of a placeholder."""
    stated = os.environ.get(name, "").strip()
    return "" if stated.startswith("${") else stated


def _seconds(stated: str) -> float:
    try:
        return float(stated)
    except ValueError:
        return RECALL_SECONDS


def answer(config: Json, event: Json) -> str:
    """Answer an event as the hooks do. When a session starts, the user is told what is wrong."""
    if is_superseded(event["agent"]):
        return ""
    if event["name"] not in hosts.RECALLING:
        return hosts.answer(config, event)
    away = ensure_stack(config) if config["local"] else ""
    text = "" if away else hosts.answer(config, event)
    problem = away or _problem(config, event)
    if not problem or event["name"] != "SessionStart":
        return text
    return json.dumps({**json.loads(text or "{}"), "systemMessage": problem})


def _problem(config: Json, event: Json) -> str:
    """Which option is wrong, or why memory took nothing lately."""
    if config["recall"] not in (*hosts.RECALL_MODES, "true", "false"):
        known = f"one of {', '.join(hosts.RECALL_MODES)} (got {config['recall']!r})"
        used = hosts.recall_mode(config["recall"])
        return f"memorybase: recall must be {known}. It is {used} until you run /plugin configure {NAME}."
    status = read_json(os.path.join(config["state_dir"], "status.json")).get(event["agent"], {})
    error = status.get("error")
    return f"memorybase: {error}. What it did not refuse is kept until it is taken." if error else ""


def is_superseded(agent: str) -> bool:
    """Whether the user's own settings have the hooks too: then those run, and the plugin's do nothing."""
    from memorybase_client.coding_agents.agents import OURS, agents

    known = agents()
    try:
        return agent in known and OURS.search(known[agent].settings.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def ensure_stack(config: Json) -> str:
    """Start the stack of this machine unless it answers. Returns what the user should know; empty if all is well."""
    from memorybase_client.coding_agents.stack_start import failure_file, is_installed

    if answers(config["url"]):
        return ""
    failed = read_json(failure_file(config))
    if not _is_recent(failed):
        _start()
    if failed.get("error"):
        return f"memorybase does not start: {failed['error']} What you say is kept until it runs."
    if is_installed():
        return "memorybase is starting. What you say is kept until it runs."
    return "memorybase is being installed (0.6 GB, some minutes, once). What you say is kept until it runs."


def answers(url: str) -> bool:
    """Whether something accepts connections at this address."""
    import socket
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if not parts.hostname:
        return False
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname, port), timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


def _is_recent(failed: Json) -> bool:
    import time

    return time.time() - float(failed.get("at", 0.0)) < RETRY_SECONDS


def _start() -> None:
    import subprocess

    none = subprocess.DEVNULL
    command = [sys.executable, "-I", "-S", spool.SCRIPT, PLUGIN, "--start"]
    subprocess.Popen(command, stdin=none, stdout=none, stderr=none, **spool.apart())
