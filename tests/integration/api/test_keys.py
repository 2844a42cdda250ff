"""API keys: authentication, scopes, revocation, expiry."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.api import Api
from harness.rows import each_row

from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.cache import Cache
from memorybase.core.database import engine
from memorybase.core.models import ApiKey
from memorybase.core.queries import credentials
from memorybase.core.services import ProcessState


def test_a_call_without_a_valid_key_is_401(api: Api) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-API-Key": "wrong"}, {"Authorization": "Basic x"}):
        answer = api.client.get("/v1/flows", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_the_key_is_checked_before_the_body(api: Api) -> None:
    assert api.client.post("/v1/flows", content=b"{").status_code == 401
    assert api.client.post("/v1/flows", json={"x": 1}).status_code == 401


@each_row("header", ["Authorization", "X-API-Key"])
def test_both_headers_work_on_versioned_and_bare_paths(api: Api, header: str) -> None:
    value = f"bearer {api.secret}" if header == "Authorization" else api.secret
    for path in ("/v1/memories", "/memories"):
        assert api.client.get(path, headers={header: value}).status_code == 200


def test_a_key_with_non_ascii_letters_works(api: Api) -> None:
    api_keys.ensure_local_user(api.services, "schlüssel-🔑")
    answer = api.client.get("/v1/flows", headers={"X-API-Key": "schlüssel-🔑".encode()})
    assert answer.status_code == 200


class TestLife:
    def test_the_secret_is_shown_once(self, api: Api) -> None:
        made = api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 200
        listed = api.call("GET", "/keys")
        assert made["secret"] not in listed.text
        assert {key["name"] for key in listed.json()["items"]} == {"local", "ci"}
        assert made["secret"].startswith(made["prefix"])

    def test_only_the_hash_of_a_key_is_stored(self, api: Api) -> None:
        secret = api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)["secret"]
        with api.services.database.reading() as db:
            kept = db.scalars(sa.select(ApiKey).where(ApiKey.name == "ci")).one()
        assert kept.key_hash == hashlib.sha256(secret.encode()).digest()
        assert secret not in {str(getattr(kept, column.key)) for column in sa.inspect(ApiKey).columns}

    def test_a_revoked_key_is_refused_at_once(self, api: Api) -> None:
        made = api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        api.delete(f"/keys/{made['id']}")
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 401
        assert api.refused("DELETE", f"/keys/{made['id']}", 404)["field"] == "key_id"

    def test_last_used_at_is_written_once_a_minute(self, api: Api) -> None:
        def noted() -> datetime | None:
            with api.services.database.reading() as db:
                return db.scalars(sa.select(ApiKey.last_used_at)).one()

        api.get("/flows")
        first = noted()
        api.get("/flows")
        assert first is not None
        assert noted() == first
        with api.services.database.transaction() as db:
            db.execute(sa.update(ApiKey).values(last_used_at=first - timedelta(seconds=61)))
        api.get("/flows")
        assert (noted() or first) >= first

    def test_the_key_of_the_settings_works_from_its_first_use(self, api: Api) -> None:
        with api.services.database.transaction() as db:
            db.execute(sa.delete(ApiKey))
        assert api.get("/flows")["total"] == 0

    def test_a_revoked_key_of_the_settings_stays_revoked(self, api: Api) -> None:
        api.delete(f"/keys/{api.get('/keys')['items'][0]['id']}")
        api.refused("GET", "/keys", 401)
        with pytest.raises(errors.Unauthorized):
            api_keys.authenticate(api.services, api.secret)

    def test_there_is_one_local_user(self, api: Api) -> None:
        assert {api_keys.ensure_local_user(api.services, api.secret) for _ in range(3)} == {api.user_id}
        assert api.get("/keys")["total"] == 1


class TestValidKeys:
    """A valid key is not looked up again for a moment."""

    @pytest.fixture(autouse=True)
    def _for_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(api_keys, "VALID_SECONDS", 3600.0)

    def test_it_is_looked_up_once(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        looked_up: list[bytes] = []
        real = credentials.key_by_hash

        def note(db: Any, key_hash: bytes) -> Any:
            looked_up.append(key_hash)
            return real(db, key_hash)

        monkeypatch.setattr(credentials, "key_by_hash", note)
        secret = api.of_user("local").secret
        first, second = (api_keys.authenticate(api.services, secret) for _ in range(2))
        assert first == second
        assert looked_up == [api_keys.hash_of(secret)]

    def test_it_is_refused_at_once_where_it_was_revoked(self, api: Api) -> None:
        made = api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 200
        api.delete(f"/keys/{made['id']}")
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 401

    def test_it_ends_at_once_where_it_was_rotated(self, api: Api) -> None:
        made = api.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 200
        api.post(f"/keys/{made['id']}/rotate", {"overlap_seconds": 0}, expect=201)
        assert api.client.get("/v1/flows", headers={"X-API-Key": made["secret"]}).status_code == 401

    def test_a_revocation_during_the_look_up_counts(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        key, secret = api_keys.create_key(api.services, api.user_id, name="ci", scopes=["read"])
        real = credentials.mark_key_used

        def revoke_too(db: Any, key_id: UUID, **times: datetime) -> None:
            real(db, key_id, **times)
            engine.after_commit(db, lambda: api_keys.revoke_key(api.services, api.user_id, key_id))

        monkeypatch.setattr(credentials, "mark_key_used", revoke_too)
        assert api_keys.authenticate(api.services, secret).key_id == key.id
        with pytest.raises(errors.Unauthorized):
            api_keys.authenticate(api.services, secret)

    def test_it_expires_meanwhile(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        soon = datetime.now(UTC) + timedelta(hours=1)
        _, secret = api_keys.create_key(api.services, api.user_id, name="ci", scopes=["read"], expires_at=soon)
        api_keys.authenticate(api.services, secret)
        later = type("Later", (datetime,), {"now": staticmethod(lambda _: soon)})
        monkeypatch.setattr(api_keys, "datetime", later)
        with pytest.raises(errors.Unauthorized):
            api_keys.authenticate(api.services, secret)

    def test_one_revoked_elsewhere_is_refused_once_its_time_has_passed(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [0.0]
        monkeypatch.setattr(api_keys, "Cache", partial(Cache, clock=lambda: now[0]))
        services = replace(api.services, state=ProcessState())
        key, secret = api_keys.create_key(services, api.user_id, name="ci", scopes=["read"])
        api_keys.authenticate(services, secret)
        with services.database.transaction() as db:
            assert credentials.revoke_key(db, api.user_id, key.id, now=datetime.now(UTC))
        assert api_keys.authenticate(services, secret).key_id == key.id
        now[0] += 3600
        with pytest.raises(errors.Unauthorized):
            api_keys.authenticate(services, secret)
