"""What answers tell browsers, and whose address a request counts under."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from harness.api import Api, open_api
from harness.rows import each_row

from memorybase.core.settings import Settings

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture
def behind_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """An API that trusts the proxies of 10.0.0.0/8; ten failures per address, then one per second."""
    monkeypatch.setattr("api.limits.UNAUTHORIZED_PER_SECOND", 1)
    settings = Settings(
        data_dir=tmp_path, embedding_model="fake", api_key="the-key-from-the-settings", trusted_proxies=["10.0.0.0/8"]
    )
    with open_api(settings) as opened:
        yield opened


def from_address(api: Api, address: str) -> TestClient:
    return TestClient(api.client.app, client=(address, 50_000))


@each_row(("path", "status"), [("/health/live", 200), ("/v1/flows", 401), ("/nowhere", 404)])
def test_every_answer_forbids_browsers_to_guess_frame_and_store_it(api: Api, path: str, status: int) -> None:
    answer = api.client.get(path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    assert "default-src 'none'; frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "strict-transport-security" not in answer.headers


def test_https_is_believed_from_a_trusted_proxy_only(behind_proxy: Api) -> None:
    said = {"X-Forwarded-Proto": "https"}
    secure = [
        "strict-transport-security" in from_address(behind_proxy, address).get("/health/live", headers=said).headers
        for address in ("10.1.2.3", "127.0.0.1", "192.0.2.1")
    ]
    assert secure == [True, False, False]


@each_row("address", ["127.0.0.1", "::1", "192.0.2.1"])
def test_a_forwarded_address_of_a_stranger_is_ignored(behind_proxy: Api, address: str) -> None:
    client = from_address(behind_proxy, address)
    seen = [
        client.get("/v1/flows", headers={"X-API-Key": f"guess-{number}", "X-Forwarded-For": f"203.0.113.{number}"})
        for number in range(20)
    ]
    assert 429 in {answer.status_code for answer in seen}


def test_callers_behind_a_trusted_proxy_are_limited_each_by_its_own_address(behind_proxy: Api) -> None:
    client = from_address(behind_proxy, "10.1.2.3")

    def guess(address: str, number: int) -> int:
        headers = {"X-API-Key": f"guess-{number}", "X-Forwarded-For": f"198.51.100.{number}, {address}"}
        return client.get("/v1/flows", headers=headers).status_code

    assert 429 in {guess("203.0.113.1", number) for number in range(20)}
    assert guess("203.0.113.2", 99) == 401
