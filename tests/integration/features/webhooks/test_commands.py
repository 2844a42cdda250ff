"""`memorybase webhooks`: what is listed, replayed and discarded."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from click.testing import Result
from harness.api import Api
from harness.clients import client_of
from harness.hooks import FAILED, GONE, deliver
from harness.rows import each_row
from memorybase_client import errors as client_errors
from typer.testing import CliRunner

from memorybase import cli
from memorybase.cli import command
from memorybase.core import errors
from memorybase.features.webhooks import deliveries

Shell = Callable[..., Result]


@pytest.fixture
def shell(api: Api, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(command, "connect", lambda *_: client_of(api))
    return lambda *words: CliRunner().invoke(cli.app, ["webhooks", *words])


@pytest.fixture
def hook(api: Api) -> str:
    given = {"url": "https://hooks.example.com/x", "event_types": ["job.completed"], "description": "[Alerts]"}
    created: str = api.post("/webhooks", given, expect=201)["id"]
    return created


def let_events_die(api: Api, hook: str, count: int) -> list[str]:
    """The ids of so many dead deliveries: the receiver is gone. They are pending in turn, since it disables the
    webhook."""
    api.flow()
    if not api.get("/memories")["items"]:
        api.memory(threshold=1)
    for _ in range(count):
        api.capture("hello", session=uuid4().hex)
        api.work()
        deliver(api, GONE)
        api.patch(f"/webhooks/{hook}", {"enabled": True})
    return [each["id"] for each in api.get(f"/webhooks/{hook}/deliveries", state="dead")["items"]]


def test_webhooks_and_their_deliveries_are_listed(api: Api, shell: Shell, hook: str) -> None:
    assert shell("deliveries", hook).output == "no deliveries\n"
    dead = let_events_die(api, hook, 1)
    pending = api.post(f"/webhooks/{hook}/test", expect=201)["id"]
    (line,) = shell("list").output.splitlines()[1:]
    assert line.split() == [hook, "https://hooks.example.com/x", "[Alerts]", "enabled", "0", "1"]
    listed = shell("deliveries", hook).output
    assert listed.index(pending) < listed.index(dead[0])
    assert "job.completed  dead" in listed
    assert "status 410" in listed
    assert pending not in shell("deliveries", hook, "--state", "dead").output
    api.patch(f"/webhooks/{hook}", {"enabled": False})
    assert "disabled: request" in shell("list").output
    api.delete(f"/webhooks/{hook}")
    assert shell("list").output == "no webhooks\n"


def test_dead_deliveries_are_discarded_by_id_by_age_and_all(
    api: Api, shell: Shell, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "DISCARD_LIMIT", 2)
    first, second, *others = let_events_die(api, hook, 5)
    assert shell("discard", hook, first, second).output == "discarded 2 deliveries\n"
    assert isinstance(shell("discard", hook, first).exception, client_errors.NotFound)
    assert shell("discard", hook, "--older-than", "1h").output == "discarded 0 deliveries\n"
    assert api.get(f"/webhooks/{hook}")["dead"] == len(others)
    assert shell("discard", hook, "--all").output == "discarded 3 deliveries\n"
    assert api.get(f"/webhooks/{hook}/deliveries")["items"] == []


def test_an_invalid_id_or_state_is_named_with_its_bound(shell: Shell, hook: str) -> None:
    def said(*words: str) -> str:
        refused = shell("deliveries", *words).exception
        assert isinstance(refused, client_errors.InvalidRequest)
        return cli.describe(refused)

    assert said("mine") == "webhook_id must be a UUID (value: mine)"
    assert said(hook, "--state", "lost") == "state must be 'pending', 'delivered' or 'dead' (value: lost)"


def test_deliveries_are_replayed_by_id_and_all(
    api: Api, shell: Shell, hook: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "REPLAY_LIMIT", 1)
    first, *_ = let_events_die(api, hook, 3)
    assert shell("replay", hook, first).output == "replaying 1 delivery\n"
    assert [str(each.id) for each in deliver(api, FAILED)] == [first]
    assert shell("replay", hook, "--all").output == "replaying 2 deliveries\n"
    assert api.get(f"/webhooks/{hook}")["dead"] == 0


@each_row(
    "words",
    [
        ("discard",),
        ("replay",),
        ("discard", "--all", str(UUID(int=1))),
        ("discard", ""),
        ("discard", "--all", "--older-than", "1h"),
        ("discard", "--older-than", "soon"),
    ],
)
def test_a_command_that_does_not_say_what_is_refused(shell: Shell, hook: str, words: tuple[str, ...]) -> None:
    command, *others = words
    assert isinstance(shell(command, hook, *others).exception, errors.InvalidRequest)
