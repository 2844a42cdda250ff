"""The supervisor with real child processes; each is a shell."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from harness.waiting import wait_until
from memorybase_client.private_files import write_private

from memorybase.core import errors
from memorybase.stack.children import Child
from memorybase.stack.processes import DEATHS, Processes, end_leftovers
from memorybase.stack.state import DataDir

SECONDS = 20.0
pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    data = DataDir(tmp_path)
    data.make()
    return data


def shell(script: str, name: str = "shell") -> Child:
    return Child(name, ("/bin/sh", "-c", script), dict(os.environ), graceful_seconds=2)


def keep(data: DataDir, children: list[Child], scene: Callable[[Processes], Awaitable[None]]) -> list[str]:
    """Run a scenario with supervised children, stop them, and return the reports."""
    reported: list[str] = []

    async def run() -> None:
        processes = Processes(data, children, reported.append)
        await processes.start([child.name for child in children])
        try:
            await asyncio.wait_for(scene(processes), SECONDS)
        finally:
            await processes.stop()

    asyncio.run(run())
    return reported


async def until(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, condition, SECONDS)


def gone(pid: int) -> bool:
    """Whether it has ended; the process that adopted it may reap it later."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def pid_of(data: DataDir, name: str = "shell") -> int:
    try:
        return int(data.pid_file(name).read_text())
    except FileNotFoundError:
        return 0


def test_a_dead_child_is_restarted_after_its_group_was_killed(data: DataDir) -> None:
    helper = data.path / "helper"
    script = f"sleep 600 & echo $! > {helper}.new; mv {helper}.new {helper}; wait"

    async def scene(_: Processes) -> None:
        await until(helper.exists)
        first, first_helper = pid_of(data), int(helper.read_text())
        helper.unlink()
        os.kill(first, signal.SIGKILL)
        await until(helper.exists)
        assert pid_of(data) not in {0, first}
        await until(lambda: gone(first_helper))

    keep(data, [shell(script)], scene)
    wait_until(lambda: gone(int(helper.read_text())), SECONDS, "its end")


def test_a_child_that_is_killed_repeatedly_is_restarted_each_time(data: DataDir) -> None:
    async def scene(processes: Processes) -> None:
        for _ in range(4):
            await until(lambda: pid_of(data))
            old = pid_of(data)
            os.kill(old, signal.SIGKILL)
            await until(lambda old=old: pid_of(data) not in {0, old})  # type: ignore[misc]
        assert not processes.failure.done()

    reported = keep(data, [shell("exec sleep 600")], scene)
    assert reported.count("shell was ended by signal 9; restarting it") == 1
    assert all("signal 9" in line for line in reported if "restarting" in line)
    assert [line.rsplit(", ", 1)[1] for line in reported if "was restarted" in line][:4] == [
        f"restart {number}" for number in (1, 2, 3, 4)
    ]


def test_a_child_that_keeps_exiting_fails_the_stack(data: DataDir) -> None:
    async def scene(processes: Processes) -> None:
        failure = await processes.failure
        assert isinstance(failure, errors.NotReady)
        assert "exited with status 7, 3 times in a row" in failure.message
        assert failure.message.endswith("the last line: out of cheese")
        assert str(data.log_file("shell")) in failure.message

    keep(data, [shell("echo out of cheese; exit 7")], scene)


@pytest.mark.slow
def test_a_worker_that_keeps_exiting_is_restarted_for_ever_and_its_log_is_named(
    data: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybase.stack.processes.MAX_DELAY_SECONDS", 0.1)
    starts = data.path / "starts"
    worker = shell(f"echo start >> {starts}; echo out of cheese; exit 7", "worker")

    async def scene(processes: Processes) -> None:
        await until(lambda: starts.exists() and len(starts.read_text().split()) > DEATHS)
        assert not processes.failure.done()
        assert processes.keeps_ending("worker")

    (note,) = [line for line in keep(data, [worker], scene) if line.startswith("note: ")]
    assert note.startswith("note: worker exited with status 7, 3 times in a row. ")
    assert note.endswith("the last line: out of cheese")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ends_the_stack"), [("chroma", False), ("redis", False), ("api", True)])
def test_once_captures_are_served_only_the_api_may_end_the_stack(
    data: DataDir, monkeypatch: pytest.MonkeyPatch, name: str, ends_the_stack: bool
) -> None:
    """A store does not start on a full disk, for example."""
    monkeypatch.setattr("memorybase.stack.processes.MAX_DELAY_SECONDS", 0.1)
    starts = data.path / "starts"

    async def scene(processes: Processes) -> None:
        processes.is_serving = True
        await until(lambda: starts.exists() and len(starts.read_text().split()) >= DEATHS)
        if ends_the_stack:
            await processes.failure
        else:
            await until(lambda: len(starts.read_text().split()) > DEATHS)
            assert not processes.failure.done()

    keep(data, [shell(f"echo start >> {starts}; exit 7", name)], scene)


def test_a_full_disk_keeps_no_dead_child_from_its_restart(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    has_room = True

    def write(path: Path, text: str) -> None:
        if not has_room:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_private(path, text)

    monkeypatch.setattr("memorybase.stack.processes.write_private", write)
    started = data.path / "started"

    async def scene(_: Processes) -> None:
        nonlocal has_room
        await until(started.exists)
        first = pid_of(data)
        has_room = False
        started.unlink()
        os.kill(first, signal.SIGKILL)
        await until(started.exists)
        assert pid_of(data) == 0
        has_room = True
        await until(lambda: pid_of(data) not in {0, first})

    keep(data, [shell(f"touch {started}; exec sleep 600")], scene)


def test_a_deleted_data_directory_ends_the_stack_with_a_clear_error(data: DataDir) -> None:
    async def scene(processes: Processes) -> None:
        await until(lambda: pid_of(data))
        child = pid_of(data)
        shutil.rmtree(data.path)
        os.kill(child, signal.SIGKILL)
        failure = await processes.failure
        assert failure.message.startswith(f"The data directory {data.path} was deleted")

    keep(data, [shell("exec sleep 600")], scene)


def test_a_child_that_the_system_does_not_start_is_tried_again_after_a_pause(
    data: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybase.stack.processes.MAX_DELAY_SECONDS", 0.5)
    refused = 0

    start = asyncio.create_subprocess_exec

    async def refuse_twice(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        nonlocal refused
        if refused < 2:
            refused += 1
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return await start(*command, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse_twice)

    async def scene(_: Processes) -> None:
        await until(lambda: pid_of(data))
        assert refused == 2

    keep(data, [shell("exec sleep 600")], scene)


def test_children_stop_in_reverse_order_and_are_killed_if_they_do_not_stop(data: DataDir) -> None:
    order = data.path / "order"

    def noting(name: str) -> Child:
        trap = f"trap 'echo {name} >> {order}; exit 0' TERM"
        return shell(f"{trap}; echo up; while :; do sleep 0.05; done", name)

    stubborn = shell("trap '' TERM; echo up; while :; do sleep 0.05; done", "stubborn")

    async def scene(_: Processes) -> None:
        await until(lambda: all(data.last_log_line(name) == "up" for name in ("first", "stubborn", "last")))

    keep(data, [noting("first"), stubborn, noting("last")], scene)
    assert order.read_text().split() == ["last", "first"]
    assert list(data.run.glob("*.pid")) == []


def test_leftovers_are_ended_with_their_group(data: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybase.stack.processes.LEFTOVER_SECONDS", 1.0)
    left = subprocess.Popen(
        ["/bin/sh", "-c", "trap '' TERM; sleep 600 & wait; wait"], cwd=data.path, start_new_session=True
    )
    (helper,) = wait_until(psutil.Process(left.pid).children, SECONDS, "its own child")
    data.pid_file("worker").write_text(str(left.pid))
    said: list[str] = []
    end_leftovers(data, ["redis", "worker"], said.append)
    left.wait(SECONDS)
    wait_until(lambda: gone(helper.pid), SECONDS, "its end")
    assert not data.pid_file("worker").exists()
    assert len(said) == 1


def test_a_process_that_is_younger_than_its_pid_file_is_not_killed(data: DataDir) -> None:
    """The system has reused the process id for a process in the same directory."""
    path = data.pid_file("worker")
    with subprocess.Popen(["sleep", "600"], cwd=data.path, start_new_session=True) as bystander:
        path.write_text(str(bystander.pid))
        os.utime(path, (0, 0))
        end_leftovers(data, ["worker"], lambda _: None)
        assert bystander.poll() is None
        bystander.kill()
