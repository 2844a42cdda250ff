"""The hook script runs where memorybase is not installed, with any Python from 3.9 on."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from memorybase.integrations.coding_agents import hook

SOURCE = Path(hook.__file__).read_text(encoding="utf-8")
NEWER = {"tomllib"}  # modules that Python 3.9 does not have


def imported() -> set[str]:
    nodes = list(ast.walk(ast.parse(SOURCE)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.split(".")[0] for name in plain | {str(n.module) for n in nodes if isinstance(n, ast.ImportFrom)}}


def test_it_imports_the_standard_library_only() -> None:
    assert imported() <= sys.stdlib_module_names - NEWER


def test_it_has_the_grammar_of_python_3_9() -> None:
    ast.parse(SOURCE, feature_version=(3, 9))


def test_its_start_imports_neither_http_nor_processes() -> None:
    """They take longer than the rest of a hook that only writes to the spool."""
    script = f"import runpy, sys; runpy.run_path({hook.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)

    assert not {"http.client", "ssl", "subprocess", "asyncio", "memorybase"} & set(done.stdout.split())
