from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memorybase.core import file_lock

HOLDER = """
import os, sys
from memorybase.core import file_lock
assert file_lock.take(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), wait=False)
print("taken", flush=True)
sys.stdin.read()
"""


def test_one_process_has_the_lock_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "taken\n"
        descriptor = os.open(path, os.O_RDWR)
        try:
            assert file_lock.is_taken(descriptor)
            assert not file_lock.take(descriptor, wait=False)
            os.write(descriptor, b"who")  # it does not keep others from the content
            assert path.read_text() == "who"

            holder.kill()
            holder.wait()

            assert file_lock.take(descriptor)
        finally:
            os.close(descriptor)
