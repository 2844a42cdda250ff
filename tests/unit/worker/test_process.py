from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from harness import wait_until
from harness.doubles import FakeEmbedder, FakeEmbedders

from memorybase.core import errors
from memorybase.core.settings import Settings
from worker import process

ROOT = Path(__file__).resolve().parents[3]


def test_this_process_is_alive_by_its_own_name(tmp_path: Path) -> None:
    name = process.owner_name(Settings(data_dir=tmp_path))

    assert name.startswith(process.owner_prefix(Settings(data_dir=tmp_path)))
    assert process.is_alive(name)


def test_another_data_directory_is_another_prefix(tmp_path: Path) -> None:
    assert len({process.owner_prefix(Settings(data_dir=tmp_path / name)) for name in ("a", "b")}) == 2


def test_another_namespace_of_pids_is_another_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two containers with one host name and one data directory, each would take the other's workers for dead."""
    settings = Settings(data_dir=tmp_path)
    here = process.owner_prefix(settings)
    assert here == process.owner_prefix(settings)
    monkeypatch.setattr(Path, "readlink", lambda _path: Path("pid:[1]"))
    assert process.owner_prefix(settings) != here


def test_another_machine_is_another_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path)
    here = process.owner_prefix(settings)
    read_text = Path.read_text
    booted = {Path("/proc/sys/kernel/random/boot_id"): "another"}
    monkeypatch.setattr(Path, "read_text", lambda path, **how: booted.get(path) or read_text(path, **how))
    assert process.owner_prefix(settings) != here


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
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.slow
def test_a_job_past_its_deadline_ends_the_process() -> None:
    result = watched("with process.Watchdog(0.2).watching(uuid.uuid4()):\n    time.sleep(50)")

    assert result.returncode == process.EXIT_SOFTWARE
    assert "job_deadline_passed" in result.stderr


# A clock that the test moves. `pass_time` returns once the watchdog has looked at it.
CLOCK = """
import threading
class Clock:
    now, looks = 0.0, 0
    def __call__(self):
        self.looks += threading.current_thread().name == "watchdog"
        return self.now
    def pass_time(self, seconds):
        self.now += seconds
        seen = self.looks
        while self.looks < seen + 3:
            time.sleep(0.001)
clock = Clock()
"""


@pytest.mark.slow
def test_a_job_within_its_deadline_and_an_idle_worker_go_on() -> None:
    result = watched(
        CLOCK + "dog = process.Watchdog(900, now=clock)\n"
        "for _ in range(2):\n"
        "    with dog.watching(uuid.uuid4()):\n"
        "        clock.pass_time(899)\n"
        "        dog.restart()\n"  # it has made progress
        "        clock.pass_time(899)\n"
        "clock.pass_time(3600)\n"
    )

    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_progress_puts_the_deadline_off_and_does_not_cancel_it() -> None:
    result = watched(
        CLOCK + "dog = process.Watchdog(900, now=clock)\n"
        "with dog.watching(uuid.uuid4()):\n"
        "    clock.pass_time(899)\n"
        "    dog.restart()\n"
        "    clock.pass_time(899)\n"
        "    print('within', flush=True)\n"
        "    clock.pass_time(2)\n"
        "    time.sleep(50)\n"
    )

    assert (result.returncode, result.stdout) == (process.EXIT_SOFTWARE, "within\n"), result.stderr


@pytest.mark.slow
def test_a_clean_up_that_hangs_ends_the_process() -> None:
    result = watched(
        "from types import SimpleNamespace\n"
        "from worker import tasks\n"
        "from contextlib import nullcontext\n"
        "from memorybase.features.dify import deletion\n"
        "services = SimpleNamespace(settings=None, database=SimpleNamespace(reading=lambda **_: nullcontext()))\n"
        "running = SimpleNamespace(\n"
        "    watchdog=process.Watchdog(0.2), services=services, ingest_waiting=None)\n"
        "tasks.this_process = lambda: running\n"
        "deletion.clock.now = lambda db: None\n"
        "deletion.delete_old = lambda settings, now: time.sleep(50)\n"
        "tasks.app.tasks[deletion.CLEAN_UP_TASK.name]()\n"
    )

    assert result.returncode == process.EXIT_SOFTWARE


@pytest.mark.slow
def test_a_stop_that_hangs_is_cut_short() -> None:
    result = watched("process.DRAIN_SECONDS = 0.2\nprocess.Watchdog(900).drain()\ntime.sleep(50)")

    assert result.returncode == process.EXIT_SOFTWARE
    assert "drain_cut_short" in result.stderr


def test_memory_is_given_back_only_after_the_process_has_grown() -> None:
    resident = 100_000_000
    memory = process.FreedMemory(lambda: resident)
    assert not memory.give_back()
    resident += process.GROWN_BYTES - 1
    assert not memory.give_back()
    resident += 1
    assert memory.give_back()
    assert not memory.give_back()


def test_the_growth_of_this_process_is_measured() -> None:
    assert process.FreedMemory()._resident == pytest.approx(psutil.Process().memory_info().rss, rel=0.5)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="NOT TESTED: other libraries free by themselves")
def test_the_system_gets_back_what_a_long_message_took() -> None:
    """In a process of its own, whose heap ends with a block in use: below it glibc keeps what is free."""
    script = """
import psutil
from worker.process import GROWN_BYTES, FreedMemory

memory, resident = FreedMemory(), psutil.Process().memory_info
blocks = [bytes(1_000) for _ in range(200_000)]
last = blocks.pop()
del blocks
before = resident().rss
assert memory.give_back()
print(before - resident().rss > GROWN_BYTES)
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "True\n"
