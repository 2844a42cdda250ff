"""Another user of the machine reads nothing of a stack: neither its files nor its Redis."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis
from harness import running
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until

pytestmark = pytest.mark.slow

NOBODY = 65_534
# Prints what it can open below a directory, as a user with no rights.
READER = """
import os, sys
user, top = int(sys.argv[1]), sys.argv[2]
os.setgroups([]); os.setgid(user); os.setuid(user)
for folder, _, files in os.walk(top):
    print(folder)
    for name in files:
        try:
            open(os.path.join(folder, name), "rb").close()
        except OSError:
            continue
        print(os.path.join(folder, name))
"""


@pytest.fixture(params=["stack", "one process"])
def stack(request: pytest.FixtureRequest) -> Iterator[EmbeddedStack]:
    """A stack in a directory that everybody can reach, over a data directory with wide permissions."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        directory = Path(folder)
        directory.chmod(0o755)
        (directory / "data" / "logs").mkdir(parents=True)
        (directory / "data" / "memorybase.db").touch()
        for path in (directory / "data", directory / "data" / "logs", directory / "data" / "memorybase.db"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        stack = EmbeddedStack(directory)
        stack.one_process = request.param == "one process"
        with running(stack):
            yield stack


def seen_by_another_user(top: Path) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-I", "-c", READER, str(NOBODY), str(top)], capture_output=True, text=True, check=True
    )
    return answer.stdout.splitlines()


def test_another_user_reads_no_file_and_no_queue(stack: EmbeddedStack) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{stack.url}/v1", headers=headers, trust_env=False, timeout=30) as api:
        api.put("/flows/f", json={"name": "f"}).raise_for_status()
        base = api.post("/memories", json={"name": "m", "flow_id": "f", "threshold": 1}).raise_for_status().json()["id"]
        said = [{"role": "assistant", "content": "a secret about boats"}]
        api.post("/flows/f/runs", json={"session_id": "s", "messages": said}).raise_for_status()
        wait_until(lambda: api.get(f"/memories/{base}").json()["total_processed"] == 1, timeout=60)

    assert "could read" in stack.output(), "it says that it tightened the directory"
    wide = [path for path in [stack.data, *stack.data.rglob("*")] if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    assert not [path for path in wide if not path.is_symlink()]
    kinds = {path.relative_to(stack.data).parts[0].partition("-")[0] for path in stack.data.iterdir()}
    assert kinds >= {"memorybase.db", "chroma", "logs", "run"}
    if os.getuid() == 0:
        assert seen_by_another_user(stack.data) == []
    if stack.one_process:
        return
    port = int((stack.data / "run" / "redis.conf").read_text().partition("\nport ")[2].split()[0])
    with pytest.raises(redis.AuthenticationError), redis.Redis(port=port) as client:
        client.keys("*")
