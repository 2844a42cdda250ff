"""What one process needs is on every system."""

from __future__ import annotations

import subprocess
import sys

# Modules that only POSIX systems have are refused to ours, but for the one that hides them.
PROGRAM = """
import builtins, sys
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
OURS = {"api", "memorybase", "memorybase_client", "migrations", "worker"}
load = builtins.__import__

def checked(name, scope=None, *rest):
    importer = (scope or {}).get("__name__", "")
    if name in POSIX and importer.partition(".")[0] in OURS and importer != "memorybase.core.file_lock":
        sys.exit(f"{importer} imports {name}")
    return load(name, scope, *rest)

builtins.__import__ = checked
import memorybase.__main__, memorybase.cli, memorybase.one_process, memorybase.cli.sweep, memorybase.wiring
import api.app, api.server, api.web.site, worker.thread, memorybase.core.vectors.chroma_in_process
import memorybase.core.database.migrate, memorybase.core.embedding.export, memorybase.core.auth.api_keys
from memorybase import features
features.hooks()
for found in ("celery", "kombu", "redis"):
    if found in sys.modules:
        sys.exit(f"{found} is loaded")
print("all loaded")
"""


def test_it_loads_nothing_that_only_posix_has_and_no_redis() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.endswith("all loaded\n"), done.stderr
