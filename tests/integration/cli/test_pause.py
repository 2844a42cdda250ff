"""`memorybase pause` and `resume` of all memory bases."""

from __future__ import annotations

import pytest
from harness.api import Api
from harness.clients import client_of
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command


def test_a_maintenance_ends_without_resuming_what_was_paused_before(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "connect", lambda *_: client_of(api))
    api.flow()
    for name in ("paused before", "first", "second"):
        api.memory(name)
    run = CliRunner().invoke
    run(cli.app, ["pause", "--memory", "paused before"])
    paused, hint = run(cli.app, ["pause", "--all"]).output.splitlines()
    assert paused.startswith("paused 2 memory bases;")
    resume = hint.partition("memorybase ")[2].split()
    api.memory("created meanwhile")
    run(cli.app, ["pause", "--all"])
    assert run(cli.app, resume).output.startswith("resumed 3 memory bases;")
    still = [each["name"] for each in api.get("/memories")["items"] if each["paused_at"]]
    assert still == ["paused before"]
    assert run(cli.app, ["resume", "--all"]).output.startswith("resumed 1 memory base;")
