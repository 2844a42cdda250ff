"""The command `memorybase-mcp`, up to the point where it serves."""

from __future__ import annotations

import gc
import runpy
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from memorybase_client import local_stack, mcp
from memorybase_client.mcp import __main__ as command

ROOT = Path(__file__).resolve().parents[3]
VARIABLES = ("MEMORYBASE_URL", "MEMORYBASE_API_KEY", "MEMORYBASE_FLOW", "MEMORYBASE_END_USER")
Options = dict[str, str | None]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Options:
    """What the command would serve."""
    found: Options = {}

    def record(url: str, key: str, **scope: str | None) -> None:
        found.update(url=url, key=key, **scope)

    # Instead of the module, whose import takes a second.
    monkeypatch.setattr(mcp, "server", SimpleNamespace(serve_stdio=record), raising=False)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return found


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["memorybase-mcp", *options])
    command.main()


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What the command writes to standard error."""
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *options)
    printed = capsys.readouterr()
    assert ended.value.code != 0
    assert printed.out == ""
    return printed.err


def test_options_come_before_the_environment(served: Options, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in zip(VARIABLES, ("http://one", "key one", "flow one", "user one"), strict=True):
        monkeypatch.setenv(name, value)
    (tmp_path / "api_key").write_text("key two\n")

    run(monkeypatch)
    from_environment = dict(served)
    run(
        monkeypatch,
        "--url",
        "https://two/",
        "--key-file",
        str(tmp_path / "api_key"),
        "--flow",
        "flow two",
        "--end-user",
        "user two",
    )

    assert from_environment == {"url": "http://one", "key": "key one", "flow": "flow one", "end_user": "user one"}
    assert served == {"url": "https://two", "key": "key two", "flow": "flow two", "end_user": "user two"}


def test_without_options_it_serves_the_stack_of_this_machine(served: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    local_stack.note(local_stack.LocalStack("http://127.0.0.1:8123", "its key"))

    run(monkeypatch)

    assert (served["url"], served["key"]) == ("http://127.0.0.1:8123", "its key")


def test_an_empty_scope_is_none(served: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", "key")
    monkeypatch.setenv("MEMORYBASE_FLOW", "")

    run(monkeypatch, "--end-user", "")

    assert gc.isenabled()  # again, after the import
    assert served == {"url": "http://127.0.0.1:8000", "key": "key", "flow": None, "end_user": None}


@pytest.mark.usefixtures("served")
def test_without_a_usable_key_it_says_where_to_put_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "api_key"
    assert "set MEMORYBASE_API_KEY" in refused(monkeypatch, capsys)
    assert f"{file} cannot be read: No such file" in refused(monkeypatch, capsys, "--key-file", str(file))
    file.write_bytes(b"\xff")
    assert "it is not UTF-8" in refused(monkeypatch, capsys, "--key-file", str(file))
    file.write_text(" \n")
    monkeypatch.setenv("MEMORYBASE_API_KEY", "of another stack")
    assert "must hold an API key (it is empty)" in refused(monkeypatch, capsys, "--key-file", str(file))
    file.write_text("secret\nsecret\n")
    shown = refused(monkeypatch, capsys, "--key-file", str(file))
    assert "no control characters" in shown
    assert "secret" not in shown


@pytest.mark.usefixtures("served")
def test_an_address_that_is_no_url_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", "key")

    shown = refused(monkeypatch, capsys, "--url", "localhost:8000")

    assert "must begin with http:// or https:// (got 'localhost:8000')" in shown


@pytest.mark.usefixtures("served")
def test_the_key_is_no_option(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unrecognized arguments: --key" in refused(monkeypatch, capsys, "--key", "secret")


@pytest.mark.usefixtures("served")
def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", "key")
    monkeypatch.setattr(command, "is_installed", lambda: False)

    assert "pip install './clients/python[mcp]'" in refused(monkeypatch, capsys)


def test_the_console_script_and_the_module_are_the_command(served: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["memorybase-mcp"].partition(":")
    assert getattr(import_module(module), function) is command.main

    monkeypatch.setenv("MEMORYBASE_API_KEY", "key")
    monkeypatch.setattr(sys, "argv", ["memorybase-mcp"])
    monkeypatch.delitem(sys.modules, "memorybase_client.mcp.__main__")
    runpy.run_module("memorybase_client.mcp", run_name="__main__")

    assert served["key"] == "key"


def test_the_server_and_the_client_want_the_same_sdk() -> None:
    server, client = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "clients" / "python")
    )
    assert set(client["optional-dependencies"]["mcp"]) <= set(server["dependencies"])
