"""What each agent's events are answered with. A function of the table returns the text to print."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from memorybase_client.coding_agents import spool
from memorybase_client.coding_agents.events import MAX_TEXT, SAID, Json, as_text, entry_of

# When hooks recall. `first`: at a session's start, again after a compaction, and at the first prompt after either.
RECALL_MODES = ("first", "each", "off")
DEFAULT_RECALL = "first"


def recall_mode(stated: Any) -> str:
    """The mode of a configuration. Those from before the modes say true or false."""
    if str(stated).lower() == "false":
        return "off"
    return stated if stated in RECALL_MODES else DEFAULT_RECALL


def answer(config: Json, event: Json) -> str:
    """Answer an event; empty for one that is not for us."""
    # Cursor also runs the hooks of Claude Code's settings, and a subagent's conversation is not the user's.
    is_cursors = "cursor_version" in event and event["agent"] != "cursor"
    action = None if is_cursors or event.get("agent_id") else HOSTS[event["agent"]].get(event["name"])
    return "" if action is None else action(config, event)


# Claude Code, Codex, Copilot and Gemini: their transcripts have every message, and the run to which recalled memories
# are recorded.


def _start(config: Json, event: Json) -> str:
    from memorybase_client.coding_agents.given import forget_prompted
    from memorybase_client.coding_agents.recall import recall_project

    _send_rest(config)
    if recall_mode(config.get("recall")) == "off":
        return ""
    forget_prompted(config, event)
    return _context(event, recall_project(config, event, keep=True))


def _prompt(config: Json, event: Json) -> str:
    from memorybase_client.coding_agents.given import has_prompted
    from memorybase_client.coding_agents.recall import recall_prompt

    mode = recall_mode(config.get("recall"))
    if mode == "off" or (mode == "first" and has_prompted(config, event)):
        return ""
    return _context(event, recall_prompt(config, event))


def _context(event: Json, text: str) -> str:
    if not text:
        return ""
    if event["agent"] == "opencode":
        return text
    output = {"hookEventName": event["name"], "additionalContext": text}
    return json.dumps({"additionalContext": text} if event["agent"] == "copilot" else {"hookSpecificOutput": output})


def _transcript(config: Json, event: Json) -> str:
    if event.get("transcript_path"):
        said = as_text(event.get("last_assistant_message") or event.get("prompt_response")).strip()[:SAID]
        spool.spool(config, entry_of(event, said=said))
        spool.start_drain(config)
    return ""


# opencode: its plugin runs the hooks, and its database has every message.


def _opencode_start(config: Json, event: Json) -> str:
    """Before the first prompt that this process of opencode sees of a session, which may be a resumed one."""
    from memorybase_client.coding_agents.given import has_prompted

    if event.get("source") == "startup" and has_prompted(config, event):
        return ""
    return _start(config, event)


def _opencode_end(config: Json, event: Json) -> str:
    from memorybase_client.coding_agents.opencode import database_file

    return _transcript(config, {**event, "transcript_path": database_file()})


# Cursor: its events have the texts; its transcript has no ids.


def _cursor_start(config: Json, event: Json) -> str:
    from memorybase_client.coding_agents.recall import recall_project

    _send_rest(config)
    if recall_mode(config.get("recall")) == "off":
        return ""
    text = recall_project(config, event, keep=False)  # it recalls before it names a turn
    return json.dumps({"additional_context": text}) if text else ""


def _cursor_prompt(config: Json, event: Json) -> str:
    spool.spool(config, entry_of(event, role="user", text=as_text(event.get("prompt"))[:MAX_TEXT]))
    return '{"continue": true}'


def _cursor_response(config: Json, event: Json) -> str:
    spool.spool(config, entry_of(event, role="assistant", text=as_text(event.get("text"))[:MAX_TEXT]))
    return _cursor_end(config, event)


def _cursor_end(config: Json, _: Json) -> str:
    spool.start_drain(config)
    return ""


def _send_rest(config: Json) -> None:
    """Send what an earlier session left."""
    if os.path.isdir(config["spool"]) and os.listdir(config["spool"]):
        spool.start_drain(config)


Events = dict[str, Callable[[Json, Json], str]]

_TRANSCRIBED: Events = {
    "SessionStart": _start,
    "UserPromptSubmit": _prompt,
    "Stop": _transcript,
    "PreCompact": _transcript,
    "SessionEnd": _transcript,
}
_GEMINI: Events = {
    "SessionStart": _start,
    "BeforeAgent": _prompt,
    "AfterAgent": _transcript,
    "PreCompress": _transcript,
    "SessionEnd": _transcript,
}
_CURSOR: Events = {
    "sessionStart": _cursor_start,
    "beforeSubmitPrompt": _cursor_prompt,
    "afterAgentResponse": _cursor_response,
    "preCompact": _cursor_end,
    "stop": _cursor_end,
    "sessionEnd": _cursor_end,
}
_OPENCODE: Events = {"SessionStart": _opencode_start, "UserPromptSubmit": _prompt, "Stop": _opencode_end}
RECALLING = ("SessionStart", "UserPromptSubmit", "BeforeAgent", "sessionStart")  # the agent waits for what they print
HOSTS = {
    "claude-code": _TRANSCRIBED,
    "codex": _TRANSCRIBED,
    "copilot": _TRANSCRIBED,
    "gemini": _GEMINI,
    "cursor": _CURSOR,
    "opencode": _OPENCODE,
}
