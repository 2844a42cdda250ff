from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
from harness import wait_until

from memorybase import errors
from memorybase.settings import Settings
from memorybase.testing import FakeEmbedder, FakeEmbedders
from worker import process

ROOT = Path(__file__).resolve().parents[3]


def test_this_process_is_alive_by_its_own_name(tmp_path: Path) -> None:
    name = process.owner_name(Settings(data_dir=tmp_path))

    assert name.startswith(process.owner_prefix(Settings(data_dir=tmp_path)))
    assert process.is_alive(name)


def test_another_data_directory_is_another_prefix(tmp_path: Path) -> None:
    prefixes = {process.owner_prefix(Settings(data_dir=tmp_path / name)) for name in ("a", "b")}

    assert len(prefixes) == 2


def test_a_reused_pid_is_not_the_predecessor(tmp_path: Path) -> None:
    prefix = process.owner_prefix(Settings(data_dir=tmp_path))
    me = psutil.Process()

    assert not process.is_alive(f"{prefix}{me.pid}:{int(me.create_time() * 1000) - 60_000}")


def test_a_killed_process_is_dead_even_as_a_zombie(tmp_path: Path) -> None:
    prefix = process.owner_prefix(Settings(data_dir=tmp_path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name = f"{prefix}{child.pid}:{int(psutil.Process(child.pid).create_time() * 1000)}"
        assert process.is_alive(name)

        child.kill()
        wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, what="the child is a zombie")
        assert not process.is_alive(name)

    assert not process.is_alive(name)


def test_a_worker_waits_at_its_start_for_a_model_that_is_being_prepared() -> None:
    class Embedders(FakeEmbedders):
        asked = 0

        def get(self, model: str | None = None) -> FakeEmbedder:
            self.asked += 1
            if self.asked < 4:
                raise errors.ModelPreparing
            return super().get(model)

    embedders = Embedders()
    process._load_model(SimpleNamespace(embedders=embedders))  # type: ignore[arg-type]
    assert embedders.asked == 4


def test_an_owner_that_cannot_be_parsed_counts_as_alive() -> None:
    assert process.is_alive("someone else's owner")
    assert process.is_alive("host:hash:pid:start")


def watched(body: str) -> subprocess.CompletedProcess[str]:
    script = "import time, uuid\nfrom worker import process\nprocess.WATCH_SECONDS = 0.02\n" + body
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_job_past_its_deadline_ends_the_process() -> None:
    result = watched("with process.Watchdog(0.2).watching(uuid.uuid4()):\n    time.sleep(50)")

    assert result.returncode == process.EXIT_SOFTWARE
    assert "job_deadline_passed" in result.stderr


def test_a_job_within_its_deadline_and_an_idle_worker_go_on() -> None:
    result = watched(
        "dog = process.Watchdog(0.5)\n"
        "for _ in range(4):\n"
        "    with dog.watching(uuid.uuid4()):\n"
        "        time.sleep(0.2)\n"
        "time.sleep(0.7)\n"
    )

    assert result.returncode == 0, result.stderr


def test_a_clean_up_that_hangs_ends_the_process() -> None:
    result = watched(
        "from types import SimpleNamespace\n"
        "from worker import tasks\n"
        "services = SimpleNamespace(settings=None)\n"
        "running = SimpleNamespace(watchdog=process.Watchdog(0.2), services=services)\n"
        "tasks.this_process = lambda: running\n"
        "tasks.node_memory.clean_up = lambda settings: time.sleep(50)\n"
        "tasks.clean_node_memory()\n"
    )

    assert result.returncode == process.EXIT_SOFTWARE


def test_a_stop_that_hangs_is_cut_short() -> None:
    result = watched("process.DRAIN_SECONDS = 0.2\nprocess.Watchdog(900).drain()\ntime.sleep(50)")

    assert result.returncode == process.EXIT_SOFTWARE
    assert "drain_cut_short" in result.stderr


def test_memory_is_given_back_only_after_the_process_has_grown() -> None:
    memory = process.FreedMemory()
    assert not memory.give_back()
    held = bytearray(2 * process.GROWN_BYTES)
    held[::4096] = bytes([1]) * len(held[::4096])
    assert memory.give_back()
    assert not memory.give_back()
