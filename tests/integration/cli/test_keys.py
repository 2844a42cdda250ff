"""`memorybase keys` and `memorybase quotas` on a database without a running stack."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from harness.rows import each_row
from harness.world import empty_world
from typer.testing import CliRunner, Result

from memorybase import cli
from memorybase.core import errors, ids
from memorybase.core.auth import api_keys
from memorybase.core.models import ApiKey
from memorybase.core.services import Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings
from memorybase.features.audit_log.models import AuditEntry


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMORYBASE_{name.upper()}", raising=False)
    world = empty_world(Settings(data_dir=tmp_path, embedding_model="fake"))
    user_id = api_keys.ensure_local_user(world.services, "the-key-of-the-settings")
    flow_id = ids.flow_id(user_id, "support")
    flows.put_flow(world.services, user_id, name="support", flow_id=flow_id, external_id="support")
    yield world.services
    world.close()


def run(services: Services, *words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli.app, [*words, "--data-dir", str(services.settings.data_dir)])
    assert result.exit_code == code, result.output
    return result


def test_the_name_of_a_key_is_shown_as_it_is(services: Services) -> None:
    run(services, "keys", "create", "[bold]browser")
    assert "[bold]browser" in run(services, "keys", "list").stdout


def test_a_limited_key_is_created_listed_and_rotated(services: Services) -> None:
    secret = run(services, "keys", "create", "browser", "--flow", "support", "--end-user", "anna").stdout.strip()
    principal = api_keys.authenticate(services, secret)
    assert (sorted(principal.scopes), principal.limits and principal.limits.end_user_id) == (["read", "write"], "anna")
    assert "end user anna" in run(services, "keys", "list").stdout
    rotated = run(services, "keys", "rotate", str(principal.key_id), "--overlap", "0").stdout.strip()
    assert api_keys.authenticate(services, rotated).limits == principal.limits
    with services.database.reading() as db:
        stored = db.execute(sa.select(AuditEntry.operation, AuditEntry.via, AuditEntry.objects)).all()
        keys = {str(key): None for key in db.scalars(sa.select(ApiKey.id))}
    assert [(row.operation, row.via) for row in stored] == [("keys create", "cli"), ("keys rotate", "cli")]
    assert all(row.objects["key_id"] in keys for row in stored)


def test_a_user_without_a_name_is_recorded_by_number(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    run(services, "keys", "create", "browser")
    with services.database.reading() as db:
        assert db.scalars(sa.select(AuditEntry.person)).all() == ["54321"]


@each_row("overlap", [-1, 2_592_001, 10**20])
def test_an_overlap_beyond_its_bound_is_refused(services: Services, overlap: int) -> None:
    run(services, "keys", "create", "browser")
    key_id = run(services, "keys", "list").stdout.splitlines()[-1].split()[0]
    refused = run(services, "keys", "rotate", key_id, "--overlap", str(overlap), code=1).exception
    assert isinstance(refused, errors.InvalidRequest)
    assert (refused.field, refused.value, refused.limit) == ("overlap_seconds", overlap, [0, 2_592_000])


def test_quotas_are_set_shown_and_recorded(services: Services) -> None:
    shown = run(services, "quotas", "set", "--messages-per-day", "12345", "--end-users", "7").stdout
    assert re.search(r"messages_per_day +12345 +0", shown)
    shown = run(services, "quotas", "set", "--end-users", "default").stdout
    assert re.search(r"end_users +unlimited", shown)
    assert "12345" in shown, "what is not named stays"
    run(services, "keys", "create", "browser")
    key_id = run(services, "keys", "list").stdout.splitlines()[-1].split()[0]
    assert re.search(
        r"searches_per_minute +60",
        run(services, "quotas", "set", "--key", key_id, "--searches-per-minute", "60").stdout,
    )
    run(services, "quotas", "set", "--end-users", "many", code=1)
    with services.database.reading() as db:
        found = sa.select(AuditEntry.via).where(AuditEntry.operation == "quotas set")
        assert db.scalars(found).all() == ["cli"] * 3
