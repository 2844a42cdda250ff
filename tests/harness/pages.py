"""Pages of the documentation as programs: their blocks of shell and Python, run in order on an empty stack."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
from memorybase_client import Client
from shown import Block

from harness.stack import KEY, ROOT, EmbeddedStack, environment, memorybase, run_memorybase
from harness.waiting import wait_until

ADDRESS = "http://127.0.0.1:8000"
SECONDS = 240.0
SAMPLE = ROOT / "memorybase" / "samples" / "conversation.jsonl"
# A call that the API refuses, like one that fails, fails its block.
_STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'


class Reader:
    """Someone who runs the blocks of one page at a time, in an empty folder with the data directory of an empty stack.

    `known`: variables that blocks of Python have besides what the page's shell exports."""

    def __init__(self, stack: EmbeddedStack, directory: Path, known: dict[str, str]) -> None:
        self.stack = stack
        self.directory = directory
        self.folder = directory
        self.names: dict[str, Any] = {}  # of the Python blocks
        self._state = directory / "state.sh"
        self._exported = directory / "exported"
        self._programs = directory / "bin"
        self._programs.mkdir()
        (self._programs / "memorybase").write_text("#!/bin/sh\nexec " + " ".join(memorybase()) + ' "$@"\n')
        (self._programs / "memorybase").chmod(0o755)
        noted = {"XDG_STATE_HOME": str(stack.state)}  # by which clients without arguments find it
        self._known = known | noted
        own = {"PATH": f"{self._programs}:{os.environ['PATH']}", "HOME": str(directory)}  # not the home of the tester
        self._environment = environment() | noted | own

    def new_page(self) -> None:
        """Begin with nothing of an earlier page: another folder, and a stack without content."""
        empty(self.stack)
        self.folder = Path(tempfile.mkdtemp(prefix="page-", dir=self.directory))
        (self.folder / ".venv").mkdir()
        (self.folder / ".venv" / "bin").symlink_to(self._programs)
        (self.folder / "memorybase-data").symlink_to(self.stack.data)
        for name in ("conversation.jsonl", "conversations.jsonl"):
            shutil.copy(SAMPLE, self.folder / name)

    def new_terminal(self) -> None:
        """Forget names and variables; the stack and the folder stay."""
        self.names = {"__name__": "__main__"}
        self._state.unlink(missing_ok=True)
        self._exported.unlink(missing_ok=True)

    def close_clients(self) -> None:
        """Close what blocks of Python have opened: a program would have ended."""
        for value in list(self.names.values()):
            for client in (value, getattr(value, "api", None), getattr(value, "client", None)):
                if isinstance(client, httpx.Client | Client):
                    client.close()

    def run(self, block: Block) -> str:
        """Run a block; returns what it prints. Fails with all that it printed."""
        code = block.code.replace(ADDRESS, self.stack.url)
        if block.language == "python":
            with contextlib.chdir(self.folder), patch.dict(os.environ, self._known | self._variables()):
                return replace(block, code=code).run(self.names)
        before = f". {self._state}\n" if self._state.exists() else ""
        after = f"\nexport -p > {self._state}\nenv -0 > {self._exported}\n"
        done = subprocess.run(
            ["bash", "-c", f"{_STRICT}{before}{code}{after}"],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{block.code}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _variables(self) -> dict[str, str]:
        """What the page's shell has exported."""
        if not self._exported.exists():
            return {}
        pairs = dict(each.split("=", 1) for each in self._exported.read_text().split("\0") if "=" in each)
        return {name: value for name, value in pairs.items() if self._environment.get(name) != value}


def empty(stack: EmbeddedStack) -> None:
    """Delete what the pages before have left in the stack, and check that nothing is left."""
    with httpx.Client(base_url=f"{stack.url}/v1", headers={"X-API-Key": KEY}, trust_env=False, timeout=60) as api:

        def listed(path: str, field: str = "id", **params: Any) -> list[str]:
            answer = api.get(path, params={"size": 100} | params).raise_for_status().json()
            return [str(each[field]) for each in answer["items"]]

        def delete(path: str, names: list[str]) -> None:
            for name in names:
                api.delete(f"{path}/{name}").raise_for_status()

        usage = api.get("/usage").raise_for_status().json()
        for path in ("/holds", "/webhooks", "/flows"):
            delete(path, listed(path))
        delete("/knowledge-bases", listed("/knowledge-bases", "name", for_retrieval=True))
        delete("/keys", [key for key in listed("/keys") if key != usage["key_id"]])
        if any(each["limit"] is not None for each in usage["user"]):
            _lift_quotas(stack)
        shutil.rmtree(stack.data / "models" / "known", ignore_errors=True)
        lists = ("/flows", "/memories", "/sessions", "/webhooks", "/holds", "/labels")
        wait_until(lambda: not any(listed(path) for path in lists), what="the stack is empty")
        wait_until(lambda: not listed("/knowledge-bases", "name"), what="no knowledge base is left")
        assert listed("/keys") == [usage["key_id"]]


def _lift_quotas(stack: EmbeddedStack) -> None:
    limits = ("--messages-per-day", "--stored-messages", "--searches-per-minute", "--end-users")
    words = [word for limit in limits for word in (limit, "default")]
    run_memorybase("quotas", "set", *words, "--data-dir", str(stack.data)).check_returncode()


README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "clients/python/README.md",
    ROOT / "docs/tutorial.md",
    *sorted((ROOT / "docs/howto").glob("*.md")),
]
