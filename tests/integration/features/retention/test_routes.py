"""Retention and legal holds over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from harness.api import Api

SAID = {"messages": [{"role": "user", "content": "hello"}], "session_id": "s", "end_user_id": "anna"}


@pytest.fixture
def filled(api: Api) -> Api:
    api.flow("f")
    api.post("/flows/f/runs", SAID, expect=201)
    return api


def patched(api: Api, **fields: Any) -> Any:
    return api.call("PATCH", "/sessions", json={"flow_id": "f", "session_id": "s"} | fields).json()


def test_a_flow_keeps_its_rule_until_it_is_changed(filled: Api) -> None:
    assert filled.get("/flows/f")["retain_days"] is None
    assert filled.call("PATCH", "/flows/f", json={"retain_days": 30}).json()["retain_days"] == 30
    filled.call("PUT", "/flows/f", json={"name": "renamed"})
    assert filled.call("PATCH", "/flows/f", json={"name": "again"}).json()["retain_days"] == 30
    assert filled.call("PATCH", "/flows/f", json={"retain_days": None}).json()["retain_days"] is None


def test_a_session_shows_when_it_expires(filled: Api) -> None:
    at = (datetime.now(UTC) + timedelta(days=2)).replace(microsecond=0)
    assert datetime.fromisoformat(patched(filled, expires_at=at.isoformat())["expires_at"]) == at
    assert patched(filled, metadata={"k": "v"})["expires_at"] is not None
    in_days = datetime.fromisoformat(patched(filled, expire_in_days=7)["expires_at"])
    assert timedelta(days=6) < in_days - datetime.now(UTC) < timedelta(days=8)
    assert patched(filled, expires_at=None)["expires_at"] is None


def test_a_held_deletion_is_409_with_the_holds(filled: Api) -> None:
    placed = filled.post("/holds", {"end_user_id": "anna", "reason": "Claim 4711"}, expect=201)
    for path, query in (("/end-users/anna", {}), ("/flows/f", {}), ("/sessions", {"flow_id": "f", "session_id": "s"})):
        error = filled.call("DELETE", path, params=query, expect=409).json()["error"]
        assert (error["code"], error["retryable"], error["details"]) == ("legal_hold", False, {"holds": [placed["id"]]})
    assert filled.get("/holds")["items"] == [placed]
    filled.call("DELETE", f"/holds/{placed['id']}", expect=204)
    filled.call("DELETE", f"/holds/{placed['id']}", expect=404)
    assert filled.call("DELETE", "/end-users/anna").json()["messages"] == 1
