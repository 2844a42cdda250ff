"""Runs what the documentation shows: the Python of a guide, and the examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stack import ROOT, Stack

SECONDS = 120.0


def set_environment(monkeypatch: pytest.MonkeyPatch, stack: Stack, directory: Path) -> None:
    """A reader's: the address and the key of the stack, and a directory of their own."""
    monkeypatch.setenv("MEMORYBASE_URL", stack.url)
    monkeypatch.setenv("MEMORYBASE_API_KEY", stack.key)
    monkeypatch.chdir(directory)


def run_guide(page: str, *, mark: str = "", **names: Any) -> dict[str, Any]:
    """Run the page's blocks of Python that contain the mark, in one namespace, and return that."""
    text = (ROOT / "docs" / "howto" / page).read_text(encoding="utf-8")
    names["__name__"] = "__main__"
    found = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    blocks = [block for block in found if mark in block]
    assert blocks, f"{page} has no such block"
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def run_example(name: str, stack: Stack, directory: Path) -> str:
    """What examples/NAME prints."""
    environment = os.environ | {"MEMORYBASE_URL": stack.url, "MEMORYBASE_API_KEY": stack.key}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)], cwd=directory, env=environment,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
