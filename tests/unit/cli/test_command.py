"""What a declaration makes of a command's parameters, and how a list is printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import typer
from memorybase_client import Client
from typer.testing import CliRunner

from memorybase.cli import command
from memorybase.cli.command import PrintedList, through_stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Age:
    """A group of options."""

    older: Annotated[int, typer.Option("--older-than")] = 0
    newer: Annotated[int | None, typer.Option("--newer-than")] = None


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where the commands have connected to."""
    asked: list[Any] = []

    class Closing:
        def __enter__(self) -> str:
            return "the client"

        def __exit__(self, *_: object) -> None:
            asked.append("closed")

    def connect(*address: Any) -> Closing:
        asked.append(address)
        return Closing()

    monkeypatch.setattr(command, "connect", connect)
    return asked


def test_a_command_gets_a_client_and_its_options_in_groups(connected: list[Any]) -> None:
    said: list[Any] = []
    app = typer.Typer()

    @app.command()
    @through_stack
    def act(client: Client, ids: Annotated[list[str] | None, typer.Argument()] = None, *, age: Age) -> None:
        """Act on them."""
        said.extend((client, ids, age))

    words = ["a", "b", "--newer-than", "3", "--url", "http://x", "--key", "k"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert said == ["the client", ["a", "b"], Age(older=0, newer=3)]
    assert connected == [(None, "http://x", "k"), "closed"]
    shown = CliRunner().invoke(app, ["--help"]).output
    options = ["Act on them.", "Arguments", "--older-than", "--newer-than", "--data-dir", "--url", "--key"]
    assert sorted(options, key=shown.index) == options


def test_an_invalid_option_connects_to_nothing(connected: list[Any]) -> None:
    app = typer.Typer()

    @app.command()
    @through_stack
    def act(client: Client, *, age: Age) -> None:
        raise AssertionError(client, age)

    assert CliRunner().invoke(app, ["--older-than", "x"]).exit_code == 2
    assert connected == []


def test_a_list_has_cells_by_field_and_by_function(capsys: pytest.CaptureFixture[str]) -> None:
    items = [SimpleNamespace(id=n, at=datetime(2026, 3, 2, n, tzinfo=UTC), error=None, done=n) for n in range(3)]
    PrintedList(
        columns={"id": "id", "at": "at", "error": "error", "done": lambda each: f"{each.done}/2"},
        empty="nothing",
        shown=2,
        missing="-",
    ).show(items)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["id", "at", "error", "done"],
        ["0", "2026-03-02", "00:00:00", "-", "0/2"],
        ["1", "2026-03-02", "01:00:00", "-", "1/2"],
    ]


def test_an_empty_list_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    PrintedList(columns={"id": "id"}, empty="nothing").show([])
    PrintedList(columns={"id": "id"}).show([])
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == ["nothing", "id"]
