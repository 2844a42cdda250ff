"""How often a key may call, and how often an address may try keys that do not open."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from harness.api import Api, open_api

from api.limits import MAX_BUCKETS, Buckets, Gate
from memorybase import errors
from memorybase.settings import Settings


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Api]:
    """An API of which each key has three calls, each address ten failures, and then one a second."""
    settings = Settings(
        data_dir=tmp_path, embedding_model="fake", api_key="the-key-from-the-settings",
        rate_limit_per_second=1, rate_limit_burst=3, unauthorized_per_second=1,
    )  # fmt: skip
    with open_api(settings) as opened:
        yield opened


def ask(api: Api, secret: str) -> httpx.Response:
    return api.client.get("/v1/flows", headers={"X-API-Key": secret})


class TestBuckets:
    def test_a_burst_then_the_rate(self, clock: Clock) -> None:
        buckets = Buckets(rate=10, burst=3, clock=clock)
        for _ in range(3):
            assert buckets.wait(b"k") == 0
            buckets.take(b"k")
        assert buckets.wait(b"k") == pytest.approx(0.1)
        assert buckets.wait(b"other") == 0
        clock.now += 0.1
        assert buckets.wait(b"k") == pytest.approx(0, abs=1e-9)

    def test_a_quiet_time_gives_no_more_than_the_burst(self, clock: Clock) -> None:
        buckets = Buckets(rate=10, burst=3, clock=clock)
        buckets.take(b"k")
        clock.now += 3_600
        for _ in range(3):
            buckets.take(b"k")
        assert buckets.wait(b"k") == pytest.approx(0.1)

    def test_a_rate_of_zero_limits_nothing(self, clock: Clock) -> None:
        buckets = Buckets(rate=0, burst=1, clock=clock)
        for _ in range(1_000):
            buckets.take(b"k")
        assert buckets.wait(b"k") == 0

    def test_what_is_kept_is_bounded(self, clock: Clock) -> None:
        buckets = Buckets(rate=1, burst=1, clock=clock)
        for number in range(MAX_BUCKETS + 50):
            buckets.take(str(number).encode())
        assert len(buckets._full_at) == MAX_BUCKETS
        assert buckets.wait(str(MAX_BUCKETS + 49).encode()) == 1


class TestGate:
    def settings(self, tmp_path: Path) -> Settings:
        return Settings(data_dir=tmp_path, unauthorized_per_second=1)

    def test_the_addresses_of_one_ipv6_site_share_a_bucket(self, tmp_path: Path, clock: Clock) -> None:
        gate = Gate(self.settings(tmp_path), clock=clock)
        for number in range(10):
            gate.refused(b"x", f"2001:db8:1:2::{number:x}")
        with pytest.raises(errors.RateLimited):
            gate.admit("guess", "2001:db8:1:2:ffff::1")
        gate.admit("guess", "2001:db8:1:3::1")
        gate.admit("guess", "no: address")

    def test_a_revoked_key_counts_as_unknown_again(self, tmp_path: Path, clock: Clock) -> None:
        gate = Gate(self.settings(tmp_path), clock=clock)
        gate.opened(gate.admit("key", "::1"))
        for _ in range(10):
            gate.refused(gate.admit("key", "::1"), "::1")
        with pytest.raises(errors.RateLimited):
            gate.admit("key", "::1")


class TestKeys:
    def test_too_many_calls_are_429_with_the_limit_and_when_to_come_back(self, slow: Api) -> None:
        answers = [ask(slow, slow.secret) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        error = answers[3].json()["error"]
        assert (error["code"], error["limit"], error["retryable"]) == ("rate_limited", 1, True)
        assert 0 < error["details"]["retry_after_seconds"] <= 1
        assert answers[3].headers["retry-after"] == "1"
        assert error["request_id"] == answers[3].headers["x-request-id"]

    def test_another_key_is_not_held_up(self, slow: Api) -> None:
        other = slow.of_user("local")
        assert 429 in {ask(slow, slow.secret).status_code for _ in range(20)}
        assert ask(slow, other.secret).status_code == 200

    def test_both_headers_and_both_paths_count_as_one(self, slow: Api) -> None:
        ask(slow, slow.secret)
        slow.client.get("/flows", headers={"Authorization": f"Bearer {slow.secret}"})
        ask(slow, slow.secret)
        bearer = {"Authorization": f"Bearer {slow.secret}"}
        # One a second is allowed again; on a busy machine a second or two pass meanwhile.
        assert 429 in {slow.client.get("/flows", headers=bearer).status_code for _ in range(5)}

    def test_at_the_same_time(self, slow: Api) -> None:
        ask(slow, slow.secret)
        with ThreadPoolExecutor(10) as pool:
            seen = list(pool.map(lambda _: ask(slow, slow.secret).status_code, range(10)))
        assert 2 <= seen.count(200) <= 3  # a second may pass meanwhile
        assert set(seen) == {200, 429}

    def test_health_needs_no_key_and_has_no_limit(self, slow: Api) -> None:
        assert {slow.client.get("/health/live").status_code for _ in range(50)} == {200}


class TestStrangers:
    def test_an_address_that_tries_keys_is_429_before_any_look_up(
        self, slow: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_up: list[str] = []
        from memorybase.auth import api_keys

        real = api_keys.authenticate
        monkeypatch.setattr(
            api_keys, "authenticate", lambda services, key: looked_up.append(key) or real(services, key)
        )
        answers = [ask(slow, f"guess-{number}") for number in range(30)]
        seen = [answer.status_code for answer in answers]
        assert seen[:10] == [401] * 10
        assert seen.count(401) == len(looked_up) < 15
        assert answers[-1].json()["error"]["code"] == "rate_limited"
        assert int(answers[-1].headers["retry-after"]) >= 1

    def test_a_request_without_a_key_is_limited_too(self, slow: Api) -> None:
        assert {slow.client.get("/v1/flows").status_code for _ in range(15)} == {401, 429}

    def test_a_valid_key_still_works_after_failed_guesses_from_its_address(self, slow: Api) -> None:
        assert ask(slow, slow.secret).status_code == 200
        assert 429 in {ask(slow, "guess").status_code for _ in range(30)}
        assert ask(slow, slow.secret).status_code == 200

    def test_a_revoked_key_is_401_at_once(self, slow: Api) -> None:
        made = slow.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        assert ask(slow, made["secret"]).status_code == 200
        slow.delete(f"/keys/{made['id']}")
        assert ask(slow, made["secret"]).status_code == 401


def test_by_default_a_key_has_at_least_200_calls_a_second() -> None:
    assert Settings.model_fields["rate_limit_per_second"].default >= 200
