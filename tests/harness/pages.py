"""Pages of the documentation as programs: their blocks of shell and Python, run in order."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from memorybase_client import Client
from shown import Block

from harness.stack import ROOT, EmbeddedStack, environment, memorybase

ADDRESS = "http://127.0.0.1:8000"
SECONDS = 120.0
# A call that the API refuses, like one that fails, fails its block.
_STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'


class Reader:
    """Someone who runs pages in one folder, beside the data directory of a stack."""

    def __init__(self, stack: EmbeddedStack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}  # of the Python blocks
        self._state = folder / "state.sh"
        programs = folder / "bin"
        programs.mkdir()
        (programs / "memorybase").write_text("#!/bin/sh\nexec " + " ".join(memorybase()) + ' "$@"\n')
        (programs / "memorybase").chmod(0o755)
        (folder / ".venv").mkdir()
        (folder / ".venv" / "bin").symlink_to(programs)
        (folder / "memorybase-data").symlink_to(stack.data)
        self._environment = environment() | {"PATH": f"{programs}:{os.environ['PATH']}"}

    def new_page(self) -> None:
        """Forget the names, as in a new terminal; the stack and the folder stay."""
        self.names = {"__name__": "__main__"}
        self._state.unlink(missing_ok=True)

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
            return replace(block, code=code).run(self.names)
        before = f". {self._state}\n" if self._state.exists() else ""
        script = f"{_STRICT}{before}{code}\nexport -p > {self._state}\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{block.code}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout


README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "clients/python/README.md",
    ROOT / "docs/tutorial.md",
    *sorted((ROOT / "docs/howto").glob("*.md")),
]
