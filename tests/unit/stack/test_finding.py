"""How commands find a running stack from any folder."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import typer
from memorybase_client import local_stack
from memorybase_client.local_stack import LocalStack

from memorybase.cli import hooks, options
from memorybase.core import errors
from memorybase.core.settings import Settings
from memorybase.stack import announce
from memorybase.stack.run import run_stack
from memorybase.stack.state import (
    DATABASE,
    DataDir,
    RunningStack,
    check_database,
    check_port,
    find_data_dir,
    settings_in_use,
)

OTHER, HERE = "http://127.0.0.1:8123", "http://127.0.0.1:8124"


class Machine:
    """Data directories with stacks that count as running, and the folder in which a command is called."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.other, self.here = DataDir(folder / "other"), DataDir(folder / "here" / "memorybase-data")
        self.here.path.parent.mkdir()
        self._stack = stack

    def start(self, data: DataDir, url: str) -> None:
        data.make()
        data.write_stack(RunningStack(1, url, f"redis://of-{url[-4:]}", "http://chroma"))
        self._stack.enter_context(data.locked())

    def start_other(self, key: str = "its key") -> None:
        self.start(self.other, OTHER)
        local_stack.note(LocalStack(OTHER, key, str(self.other.path)))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    for name in (*Settings.model_fields, "url"):
        monkeypatch.delenv(f"MEMORYBASE_{name.upper()}", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:
        found = Machine(tmp_path, stack)
        monkeypatch.chdir(found.here.path.parent)
        yield found


def test_a_stack_is_found_by_option_environment_folder_and_note(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = tmp_path / "stated"
    assert find_data_dir().path == machine.here.path
    machine.start_other()
    assert find_data_dir().path == machine.other.path
    machine.start(machine.here, HERE)
    assert find_data_dir().path == machine.here.path
    monkeypatch.setenv("MEMORYBASE_DATA_DIR", str(machine.other.path))
    assert find_data_dir().path == machine.other.path
    assert find_data_dir(stated).path == stated


def test_a_note_that_a_killed_stack_left_is_no_stack(machine: Machine) -> None:
    local_stack.note(LocalStack(OTHER, "its key", str(machine.other.path)))

    assert find_data_dir().path == machine.here.path
    with pytest.raises(errors.NotReady, match=r"No stack is running in .*here/memorybase-data\. Start it with"):
        options.address(None, None, None)


def test_when_the_latest_stack_ends_an_earlier_one_is_found_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, latest = (
        LocalStack(url, "a key", str(of.path)) for url, of in ((HERE, machine.here), (OTHER, machine.other))
    )
    found: list[LocalStack | None] = []

    async def pause(_: float) -> None:
        found.append(local_stack.find())
        if len(found) == 2:
            local_stack.forget(latest)
        elif len(found) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(announce.asyncio, "sleep", pause)
    machine.start(machine.here, HERE)
    machine.start_other("a key")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(announce.stay_noted(earlier))

    assert found == [latest, latest, earlier]


def test_commands_call_what_option_environment_or_the_running_stack_names(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.start_other()
    assert options.address(None, None, None) == (OTHER, "its key")
    assert options.address(None, f"{OTHER}/", None) == (f"{OTHER}/", "its key")
    with pytest.raises(errors.Unauthorized, match="http://remote requires an API key"):
        options.address(None, "http://remote", None)

    monkeypatch.setenv("MEMORYBASE_URL", "http://remote")
    monkeypatch.setenv("MEMORYBASE_API_KEY", "stated")
    assert options.address(None, None, None) == ("http://remote", "stated")
    assert options.address(machine.other.path, None, "option") == (OTHER, "option")
    assert options.address(None, HERE, None) == (HERE, "stated")


def test_without_a_stack_in_the_stated_directory_the_error_says_where_one_runs(machine: Machine) -> None:
    machine.start_other()

    with pytest.raises(errors.NotReady) as refused:
        options.address(machine.here.path, None, None)

    assert str(refused.value) == (
        f"No stack is running in {machine.here.path}. A stack runs in {machine.other.path} and serves {OTHER}: "
        f"add --data-dir {machine.other.path}."
    )


def test_a_command_that_works_on_the_database_takes_that_of_the_running_stack(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.start_other()
    (machine.other.path / DATABASE).touch()
    found = options.stored_settings(None)
    assert (found.data_dir, found.redis_url) == (machine.other.path, "redis://of-8123")
    assert capsys.readouterr().err == f"note: this is the stack in {machine.other.path}\n"

    options.stored_settings(machine.other.path)
    assert capsys.readouterr().err == ""

    monkeypatch.setenv("MEMORYBASE_DATABASE_URL", "postgresql://production")
    assert settings_in_use().redis_url == Settings().redis_url


def test_a_database_of_this_folder_comes_before_another_stack(machine: Machine) -> None:
    machine.start_other()
    machine.here.make()
    (machine.here.path / DATABASE).touch()

    assert settings_in_use().resolved_database_url == f"sqlite:///{machine.here.path / DATABASE}"


def test_without_a_database_the_error_names_the_directory_and_the_stack_that_runs(machine: Machine) -> None:
    with pytest.raises(errors.NotReady) as refused:
        check_database(settings_in_use())
    assert str(refused.value) == (
        f"There is no database at {machine.here.path / DATABASE}. Name the stack's data directory with --data-dir, or "
        "start one there: memorybase up"
    )

    machine.start_other()
    with pytest.raises(errors.NotReady, match=f"A stack runs in {machine.other.path} and serves {OTHER}: add"):
        check_database(settings_in_use(machine.here.path))


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_taken_port_is_refused_with_the_stack_that_has_it_before_anything_is_made(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, *, is_noted: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        machine.start(machine.other, f"http://127.0.0.1:{port}")
        if is_noted:
            local_stack.note(LocalStack(f"http://127.0.0.1:{port}", "key", str(machine.other.path)))
        else:
            monkeypatch.chdir(machine.other.path)  # in which the API of a stack runs

        with pytest.raises(errors.EnvironmentFailure, match=f"taken by the stack in {machine.other.path}"):
            run_stack(machine.here.path, "127.0.0.1", port, print)

    assert not machine.here.path.exists()


def test_another_program_on_the_port_is_named_by_its_process(machine: Machine) -> None:
    machine.start_other()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(errors.EnvironmentFailure, match=rf"is taken by process {os.getpid()} \("),
    ):
        check_port("127.0.0.1", server.getsockname()[1])


@pytest.mark.parametrize(("platform", "reason"), [("linux", "requires root"), ("win32", "reserved by Windows")])
def test_a_port_that_the_system_refuses_says_why(platform: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def bind(self, address: object) -> None:
            raise PermissionError(13, f"Permission denied: {address}")

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(errors.EnvironmentFailure, match=reason):
        check_port("127.0.0.1", 80)


def test_hooks_are_installed_for_the_stack_of_options_of_before_or_that_is_found(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typer, "prompt", lambda text, **_: f"answer to {text}")

    def found(url: str | None = None, before: dict[str, str] | None = None) -> tuple[str, str]:
        client, key = hooks._client(None, url, before or {})
        with client:
            return client.url, key

    with pytest.raises(errors.NotReady):
        found()
    machine.start_other()
    assert found() == (OTHER, "its key")
    assert found(OTHER) == (OTHER, "its key")
    assert found(before={"url": "http://before", "key": "earlier"}) == ("http://before", "earlier")
    assert found("http://remote") == ("http://remote", "answer to API key for http://remote")
    monkeypatch.setenv("MEMORYBASE_URL", "http://stated")
    assert found() == ("http://stated", "answer to API key for http://stated")
