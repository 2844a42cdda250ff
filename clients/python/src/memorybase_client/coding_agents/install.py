"""Install and uninstall the hooks of coding agents, and what is known of them on this machine."""

from __future__ import annotations

import json
import stat
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memorybase_client import errors, local_stack
from memorybase_client.coding_agents.agents import Agent, agents, user_directory, words_in_plugin, words_of
from memorybase_client.coding_agents.events import FLOW, Json
from memorybase_client.coding_agents.hosts import DEFAULT_RECALL, recall_mode
from memorybase_client.coding_agents.settings import (
    as_text,
    our_entries,
    read_settings,
    with_hooks,
    without_hooks,
)
from memorybase_client.private_files import write_private

if TYPE_CHECKING:
    from memorybase_client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class HookConfig:
    """Configuration of the hooks: the address of memory, and what to capture and recall. The file has mode 0600."""

    url: str
    key: str
    flow: str = FLOW
    end_user: str | None = None
    tools: bool = False
    recall: str = DEFAULT_RECALL


def config_file() -> Path:
    return user_directory("XDG_CONFIG_HOME", Path.home() / ".config") / "memorybase" / "hooks.json"


def state_directory() -> Path:
    return local_stack.state_dir() / "hooks"


def find_agent(name: str) -> Agent:
    """Raises InvalidRequest for an unknown one."""
    known = agents()
    if name not in known:
        raise errors.InvalidRequest(f"The agent must be one of {', '.join(known)} (got {name!r})", value=name)
    return known[name]


def stored_config() -> Json:
    """The configuration of an earlier installation; empty if there was none."""
    return _object_in(config_file())


def prepare_flow(client: Client, flow: str) -> None:
    """Create the flow, without secrets, and a memory base that makes it searchable, unless they exist. Raises an error
    of the client if memory is unreachable or refuses the key: hooks installed then would store nothing, and nobody
    would notice."""
    if not flow:
        raise errors.InvalidRequest("flow must not be empty", field="flow")
    try:
        found = client.get_flow(flow)
    except errors.NotFound:
        found = client.put_flow(flow, name=flow)
    if not client.list_memory_bases(flow_id=flow).page().items:
        # The flow is new, or an earlier attempt failed in between.
        if found.secrets is None and not client.list_runs(flow, size=1).page().items:
            client.update_flow(flow, secrets="redact")  # transcripts are full of them
        client.create_memory_base(name=flow, flow_id=flow, capture="all")


def install(agent: Agent, config: HookConfig) -> Path:
    """Write the configuration, and our entries into the agent's settings; returns the settings' path."""
    changed = _with_hooks(agent)  # first: a file that is refused leaves everything as it was
    if not _commands(agent):
        _keep_original(agent)
    state = state_directory()
    (state / "spool").mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in (config_file(), agent.settings):
        file.resolve().parent.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in stored_config().items() if name in ("deadline_seconds", "min_score")}
    write_private(config_file(), as_text({**asdict(config), **kept, "state_dir": str(state)}))
    if changed:
        write_private(agent.settings, changed, mode=_mode(agent.settings))
    return agent.settings


def _with_hooks(agent: Agent) -> str:
    """The settings' text with our entries; empty if it has them. Raises InvalidRequest for what must stay as it is."""
    if not agent.plugin:
        settings = read_settings(agent.settings)
        changed = with_hooks(settings, agent, config_file())
        return "" if changed == settings else as_text(changed)
    if agent.settings.exists() and not _commands(agent):
        raise errors.InvalidRequest(
            f"{agent.settings} is not the plugin of memorybase. It was not changed. Move it away"
        )
    return agent.plugin_text(config_file())


def _commands(agent: Agent) -> list[list[str]]:
    """The words of our commands in the agent's settings. Raises InvalidRequest for settings that cannot be read."""
    if agent.plugin:
        try:
            words = words_in_plugin(agent.settings.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return []
        return [words] if words else []
    return [words_of(entry["command"]) for entry in our_entries(read_settings(agent.settings) or {})]


def uninstall(agent: Agent) -> bool:
    """Remove our entries from the agent's settings, and return whether there were any. A file equal to the one before
    the installation gets its old text back, and one that the installation created is deleted."""
    if not _commands(agent):
        return False
    if agent.plugin:
        agent.settings.unlink()
        return True
    left = without_hooks(read_settings(agent.settings) or {})
    original = _original(agent)
    before = read_settings(original) if original.exists() else None
    if before is not None and before == left:
        write_private(agent.settings, original.read_bytes().decode(), mode=_mode(agent.settings))
    elif before is None and left == dict(agent.fields):
        agent.settings.unlink()
    else:
        write_private(agent.settings, as_text(left), mode=_mode(agent.settings))
    original.unlink(missing_ok=True)
    return True


def forget_configuration() -> None:
    """Delete the configuration with its key, once no agent uses it any more."""
    if not any(_may_have_hooks(agent) for agent in agents().values()):
        config_file().unlink(missing_ok=True)


def _may_have_hooks(agent: Agent) -> bool:
    try:
        return bool(_commands(agent))
    except errors.InvalidRequest:
        return True


def _original(agent: Agent) -> Path:
    return state_directory() / "originals" / f"{agent.name}.json"


def _keep_original(agent: Agent) -> None:
    original = _original(agent)
    original.unlink(missing_ok=True)
    if agent.settings.exists():
        original.parent.mkdir(parents=True, exist_ok=True)
        write_private(original, agent.settings.read_bytes().decode())


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600


def _readable(agent: Agent) -> list[list[str]]:
    with suppress(errors.InvalidRequest):
        return _commands(agent)
    return []


# What `memorybase doctor` says


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """The hooks of this machine. `problems` are empty while all is well."""

    lines: list[str]
    problems: list[str]


def machine_status() -> MachineStatus:
    """Which agents have hooks, when each captured last from this machine, and what is wrong."""
    commands = {agent.name: found for agent in agents().values() if (found := _readable(agent))}
    lines, problems = [], []
    recalling = f"recall {recall_mode(stored_config().get('recall'))}"
    known = {
        name: each for name, each in _object_in(state_directory() / "status.json").items() if isinstance(each, dict)
    }
    for name, found in commands.items():
        status = known.get(name, {})
        at = status.get("captured_at")
        captured = f"last capture from this machine {_ago(at)}" if at else "no capture yet"
        lines.append(f"{name}: {captured}, {recalling}")
        if status.get("error"):
            problems.append(f"{name}: {status['error']}, {_ago(status.get('error_at'))}")
        if any(not Path(word).exists() for words in found for word in (words[0], words[3])):  # Python, and the script
            problems.append(f"{name}: its hooks name files of an installation that is gone")
    if commands and not stored_config():
        problems.append(f"{config_file()} is missing or damaged, so the hooks do nothing")
    return MachineStatus(lines, problems)


def _object_in(path: Path) -> Json:
    """The JSON object in a file; empty if there is none."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def waiting_events() -> int:
    """Events that are not sent yet."""
    spool = state_directory() / "spool"
    return len(list(spool.glob("*.json"))) if spool.is_dir() else 0


def _ago(moment: str | None) -> str:
    with suppress(TypeError, ValueError):
        seconds = (datetime.now(UTC) - datetime.fromisoformat(str(moment))).total_seconds()
        for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if seconds >= length:
                count = int(seconds // length)
                return f"{count} {unit}{'' if count == 1 else 's'} ago"
        return "a moment ago"
    return "at an unknown time"
