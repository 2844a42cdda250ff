"""`memorybase audit` on a database without a running stack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from harness.world import empty_world
from typer.testing import CliRunner, Result

from memorybase import cli
from memorybase.core.auth import api_keys
from memorybase.core.services import Services
from memorybase.core.settings import Settings
from memorybase.features.audit_log import chain
from memorybase.features.audit_log.models import AuditEntry


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"MEMORYBASE_{name.upper()}", raising=False)
    world = empty_world(Settings(data_dir=tmp_path, embedding_model="fake"))
    api_keys.ensure_local_user(world.services, "the-key-of-the-settings")
    yield world.services
    world.close()


def run(services: Services, *words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli.app, [*words, "--data-dir", str(services.settings.data_dir)])
    assert result.exit_code == code, result.output
    return result


def test_the_chain_is_verified_and_exported(services: Services) -> None:
    run(services, "keys", "create", "one")
    run(services, "keys", "create", "two")
    chain.seal(services)
    verified = run(services, "audit", "verify").stdout
    assert "entries 2, seq 1 to 2, not sealed yet 0" in verified
    lines = [json.loads(line) for line in run(services, "audit", "export", "--after-seq", "1").stdout.splitlines()]
    assert [(line["seq"], line["operation"]) for line in lines] == [(2, "keys create")]
    noted = next(line.split()[-1] for line in verified.splitlines() if line.startswith("last hash"))
    run(services, "audit", "verify", "--seq", "2", "--hash", noted)
    run(services, "audit", "verify", "--seq", "2", "--hash", "00" * 32, code=1)


def test_a_broken_chain_is_exit_code_1(services: Services) -> None:
    run(services, "keys", "create", "one")
    chain.seal(services)
    with services.database.transaction() as db:
        db.execute(sa.text("DROP TRIGGER audit_entries_sealed"))
        db.execute(sa.update(AuditEntry).values(operation="keys list"))
    assert "broken at seq 1" in run(services, "audit", "verify", code=1).output
