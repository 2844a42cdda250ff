"""Real processes share a quota; one is killed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from harness.world import World
from integration.features.quotas.conftest import Limited

pytestmark = [pytest.mark.both_databases, pytest.mark.slow]  # locks differ

CHILD = """
import sys
from pathlib import Path
from uuid import UUID
from harness.world import build_world
from memorybase.core import errors
from memorybase.core.database.engine import Database

url, folder, user_id, flow_id, name, most = sys.argv[1:]
world = build_world(url, Path(folder), database=Database(url))
world.user_id, world.flow_id = UUID(user_id), UUID(flow_id)
stored = 0
while stored < int(most):
    try:
        world.say(name, "hello")
    except errors.QuotaExceeded:
        break
    stored += 1
print(stored, flush=True)
sys.stdin.read()
"""


def start(world: World, name: str, most: int) -> subprocess.Popen[str]:
    url = world.services.database.url.render_as_string(hide_password=False)
    folder = world.services.settings.data_dir
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url, str(folder), str(world.user_id), str(world.flow_id), name, str(most)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # the harness
    )


def stored_by(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_processes_at_the_limit_store_exactly_as_many(limited: Limited) -> None:
    limited.set(messages_per_day=40)
    processes = [start(limited.world, f"process-{number}", 1_000) for number in range(2)]
    assert sum(stored_by(each) for each in processes) == len(limited.world.messages()) == 40
    for each in processes:
        each.communicate("")


def test_a_killed_process_uses_up_what_it_stored(limited: Limited) -> None:
    limited.set(messages_per_day=8)
    process = start(limited.world, "killed", 3)
    assert stored_by(process) == 3
    process.kill()
    process.communicate()
    assert limited.used("messages_per_day") == 3
    while limited.say("hello"):
        pass
    assert len(limited.world.messages()) == 8
