"""MCP on standard input and output for an agent's plugin: messages are passed on to memorybase's /mcp by HTTP.

    python -I -S mcp_bridge.py

The plugin's options are in the environment. Unlike the server of `memorybase_client.mcp` it needs the standard library
only, so that a plugin works without an installation.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

if not __package__:  # run by its path, and -S leaves the path without packages
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from memorybase_client import __version__
from memorybase_client.coding_agents import memory, plugin
from memorybase_client.coding_agents.events import Json
from memorybase_client.mcp.instructions import INSTRUCTIONS

POLL_SECONDS = 1.0
CALL_SECONDS = 120.0
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol that have a handshake
VERSION = "io.modelcontextprotocol/protocolVersion"  # in the metadata of a message, since 2026-07-28
KINDS = ("tools", "prompts", "resources")
LISTS = {**{f"{kind}/list": kind for kind in KINDS}, "resources/templates/list": "resourceTemplates"}
NOT_RUNNING = -32000  # the first of JSON-RPC's codes for errors of a server
REFUSED = -32001


class Bridge:
    """Passes messages on, side by side: a slow call holds up no other one.

    The handshake is answered here, and lists are empty while memorybase does not run: Claude Code gives a server up
    that fails once, and asks for the lists again when it is told that they changed.
    """

    def __init__(self) -> None:
        self._version = ""  # that the handshake agreed on
        self._output = threading.Lock()
        self._is_waiting = False

    def serve(self) -> None:
        """Until the input ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "initialize":
                self._write({"id": message["id"], "result": self._agree(message)})
            else:
                threading.Thread(target=self._pass_on, args=(message,), daemon=True).start()

    def _agree(self, message: Json) -> Json:
        asked = (message.get("params") or {}).get("protocolVersion")
        self._version = asked if asked in VERSIONS else VERSIONS[0]
        kinds: Json = {kind: {"listChanged": True} for kind in KINDS}
        about = {"name": "memorybase", "title": "memorybase", "version": __version__}
        return {
            "protocolVersion": self._version,
            "capabilities": kinds,
            "serverInfo": about,
            "instructions": INSTRUCTIONS,
        }

    def _pass_on(self, message: Json) -> None:
        method = message.get("method")
        try:
            answer = self._post(plugin.load_config(), message)
        except (OSError, HTTPException, ValueError):
            answer = _error(NOT_RUNNING, "memorybase cannot be reached. It may be starting: try again later.")
            if method in LISTS:
                answer = {"result": {LISTS[method]: []}}
                self._say_when_it_runs()
        if "id" in message:  # else a notification
            self._write({"id": message["id"], **answer})

    def _say_when_it_runs(self) -> None:
        with self._output:
            if self._is_waiting:
                return
            self._is_waiting = True
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while not plugin.answers(plugin.load_config()["url"]):
            time.sleep(POLL_SECONDS)
        self._is_waiting = False
        for kind in KINDS:
            self._write({"method": f"notifications/{kind}/list_changed"})

    def _write(self, fields: Json) -> None:
        with self._output:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
            sys.stdout.flush()

    def _post(self, config: Json, message: Json) -> Json:
        """What memorybase answers. Raises OSError, HTTPException or ValueError if it does not."""
        if not config["url"]:
            raise ConnectionError("no stack runs on this machine")
        path = f"/mcp/flows/{quote(config['flow'], safe='')}"
        patient = {**config, "request_seconds": CALL_SECONDS}
        status, found = memory.call(patient, path, message, headers=self._headers(message))
        if found is None or "jsonrpc" in found:
            return found or {}
        if status >= 500:
            raise ConnectionError(f"status {status}")
        return _error(REFUSED, _reason(status, found))

    def _headers(self, message: Json) -> dict[str, str]:
        fields = message.get("params") or {}
        found = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": (fields.get("_meta") or {}).get(VERSION) or self._version,
            "Mcp-Method": message.get("method"),
            "Mcp-Name": fields.get("name") or fields.get("uri"),
        }
        return {name: value for name, value in found.items() if value}


def _error(code: int, text: str) -> Json:
    return {"error": {"code": code, "message": text}}


def _reason(status: int, found: Any) -> str:
    problem = found.get("error") if isinstance(found, dict) else None
    said = problem.get("message", "") if isinstance(problem, dict) else ""
    return f"memorybase answered {status}. {said}".strip()


if __name__ == "__main__":
    Bridge().serve()
