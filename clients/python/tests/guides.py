"""Runs what the documentation shows, twice, as a reader does: the Python of a guide, and the examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memorybase_client import AgentMemory
from shown import blocks_of, without
from stack import ROOT, Stack

SECONDS = 120.0
# On a busy machine the first capture of a flow takes longer than an agent waits.
PATIENCE_SECONDS = 30.0
PATIENT = f"""
import runpy, sys
from memorybase_client import AgentMemory
from memorybase_client._async import agent_memory as waiting
from memorybase_client._sync import agent_memory as blocking
waiting.SETTLE_SECONDS = blocking.SETTLE_SECONDS = {PATIENCE_SECONDS}
waiting.LONGEST_SETTLE_SECONDS = blocking.LONGEST_SETTLE_SECONDS = {PATIENCE_SECONDS}
AgentMemory.__init__.__kwdefaults__["timeout_seconds"] = {PATIENCE_SECONDS}
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def set_environment(monkeypatch: pytest.MonkeyPatch, stack: Stack, directory: Path) -> None:
    """A reader's: the address and the key of the stack, a directory of their own, also for the default outbox, and an
    agent that waits."""
    monkeypatch.setitem(AgentMemory.__init__.__kwdefaults__ or {}, "timeout_seconds", PATIENCE_SECONDS)
    for kind in ("_sync", "_async"):
        for name in ("SETTLE_SECONDS", "LONGEST_SETTLE_SECONDS"):
            monkeypatch.setattr(f"memorybase_client.{kind}.agent_memory.{name}", PATIENCE_SECONDS)
    for name, value in environment_of(stack, directory).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(directory)


def environment_of(stack: Stack, directory: Path) -> dict[str, str]:
    return {"MEMORYBASE_URL": stack.url, "MEMORYBASE_API_KEY": stack.key, "XDG_STATE_HOME": str(directory / "state")}


def run_guide(page: str, *, mark: str = "", **names: Any) -> None:
    """Run the page's blocks of Python that contain the mark, twice: each prints what the page says. These names are
    used in place of the page's own, such as a model."""
    found = blocks_of(ROOT / "docs" / "howto" / page)
    blocks = [block for block in found if block.language == "python" and mark in block.code]
    assert any(block.printed for block in blocks), f"{page} has no such block, or does not say what it prints"
    assert all(without(block, [name]) != block for block in blocks for name in names), "it is not complete by itself"
    for _ in range(2):
        for block in blocks:
            without(block, names).run({"__name__": "__main__", **names})


def run_example(name: str, stack: Stack, directory: Path) -> str:
    """What examples/NAME prints, which is the same when it is run again."""
    environment = os.environ | environment_of(stack, directory)
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PATIENT, str(ROOT / "examples" / name)],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    return printed[0]
