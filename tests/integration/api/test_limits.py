"""Rate limits by key, and by address for calls without a valid key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from harness.api import Api, open_api
from harness.waiting import wait_until

from api import limits
from api.limits import MAX_BUCKETS, Buckets, Gate
from memorybase.core import errors
from memorybase.core.auth import api_keys
from memorybase.core.services import Services
from memorybase.core.settings import Settings


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slow(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """An API with a burst of three calls per key and ten failures per address, then one per second of `clock`."""
    monkeypatch.setattr(limits, "BURST_SECONDS", 3)
    monkeypatch.setattr(limits, "UNAUTHORIZED_PER_SECOND", 1)
    settings = Settings(
        data_dir=tmp_path, embedding_model="fake", api_key="the-key-from-the-settings", rate_limit_per_second=1
    )
    with open_api(settings, monotonic=clock) as opened:
        yield opened


def ask(api: Api, secret: str) -> httpx.Response:
    return api.client.get("/v1/flows", headers={"X-API-Key": secret})


class TestBuckets:
    def test_calls_are_limited_to_a_burst_then_the_rate(self, clock: Clock) -> None:
        buckets = Buckets(rate=10, burst=3, clock=clock)
        for _ in range(3):
            assert buckets.wait(b"k") == 0
            buckets.take(b"k")
        assert buckets.wait(b"k") == pytest.approx(0.1)
        assert buckets.wait(b"other") == 0
        clock.now += 0.1
        assert buckets.wait(b"k") == pytest.approx(0, abs=1e-9)

    def test_idle_time_refills_at_most_the_burst(self, clock: Clock) -> None:
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

    def test_the_number_of_buckets_is_bounded(self, clock: Clock) -> None:
        buckets = Buckets(rate=1, burst=1, clock=clock)
        for number in range(MAX_BUCKETS + 50):
            buckets.take(str(number).encode())
        assert len(buckets._full_at) == MAX_BUCKETS
        assert buckets.wait(str(MAX_BUCKETS + 49).encode()) == 1


class TestGate:
    @pytest.fixture(autouse=True)
    def _slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "UNAUTHORIZED_PER_SECOND", 1)

    def test_the_addresses_of_one_ipv6_site_share_a_bucket(self, tmp_path: Path, clock: Clock) -> None:
        gate = Gate(Settings(data_dir=tmp_path), clock=clock)
        for number in range(10):
            gate.refused(b"x", f"2001:db8:1:2::{number:x}")
        with pytest.raises(errors.RateLimited):
            gate.admit("guess", "2001:db8:1:2:ffff::1")
        gate.admit("guess", "2001:db8:1:3::1")
        gate.admit("guess", "no: address")

    def test_a_revoked_key_is_limited_by_address(self, tmp_path: Path, clock: Clock) -> None:
        gate = Gate(Settings(data_dir=tmp_path), clock=clock)
        gate.opened(gate.admit("key", "::1"))
        for _ in range(10):
            gate.refused(gate.admit("key", "::1"), "::1")
        with pytest.raises(errors.RateLimited):
            gate.admit("key", "::1")


class TestKeys:
    def test_too_many_calls_are_429_with_limit_and_retry_after(self, slow: Api) -> None:
        answers = [ask(slow, slow.secret) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        error = answers[3].json()["error"]
        assert (error["code"], error["limit"], error["retryable"]) == ("rate_limited", 1, True)
        assert error["details"]["retry_after_seconds"] == 1
        assert answers[3].headers["retry-after"] == "1"
        assert error["request_id"] == answers[3].headers["x-request-id"]

    def test_a_call_is_allowed_again_after_the_time_in_retry_after(self, slow: Api, clock: Clock) -> None:
        assert [ask(slow, slow.secret).status_code for _ in range(4)] == [200, 200, 200, 429]
        clock.now += 1
        assert [ask(slow, slow.secret).status_code for _ in range(2)] == [200, 429]

    def test_keys_are_limited_separately(self, slow: Api) -> None:
        other = slow.of_user("local")
        assert [ask(slow, slow.secret).status_code for _ in range(4)] == [200, 200, 200, 429]
        assert ask(slow, other.secret).status_code == 200

    def test_both_headers_and_both_paths_count_as_one(self, slow: Api) -> None:
        ask(slow, slow.secret)
        slow.client.get("/flows", headers={"Authorization": f"Bearer {slow.secret}"})
        ask(slow, slow.secret)
        bearer = {"Authorization": f"Bearer {slow.secret}"}
        assert slow.client.get("/flows", headers=bearer).status_code == 429

    def test_concurrent_calls_are_counted(self, slow: Api) -> None:
        ask(slow, slow.secret)
        with ThreadPoolExecutor(10) as pool:
            seen = list(pool.map(lambda _: ask(slow, slow.secret).status_code, range(10)))
        assert sorted(seen) == [200] * 2 + [429] * 8

    def test_health_has_no_key_and_no_limit(self, slow: Api) -> None:
        assert {slow.client.get("/health/live").status_code for _ in range(50)} == {200}


class TestNeighbours:
    """Callers with a valid key at an address where others try invalid ones."""

    def exhaust(self, api: Api) -> None:
        assert [ask(api, f"guess-{number}").status_code for number in range(11)] == [401] * 10 + [429]

    def test_a_key_that_was_never_used_here_is_accepted(self, slow: Api) -> None:
        never_used = slow.of_user("local").secret
        self.exhaust(slow)
        assert ask(slow, never_used).status_code == 200
        assert ask(slow, "another-guess").status_code == 429

    def test_the_key_of_the_settings_is_accepted(self, slow: Api) -> None:
        self.exhaust(slow)
        assert ask(slow, slow.secret).status_code == 200

    def test_a_revoked_key_is_not(self, slow: Api) -> None:
        key, secret = api_keys.create_key(slow.services, slow.user_id, name="old", scopes=["read"])
        api_keys.revoke_key(slow.services, slow.user_id, key.id)
        self.exhaust(slow)
        assert ask(slow, secret).status_code == 429

    def test_guesses_that_wait_together_share_a_query(self, slow: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        never_used = slow.of_user("local").secret
        self.exhaust(slow)
        asked: list[int] = []
        first_asks, may_answer = threading.Event(), threading.Event()
        real = api_keys.valid_hashes

        def counted(services: Services, hashes: set[bytes]) -> set[bytes]:
            asked.append(len(hashes))
            first_asks.set()
            assert may_answer.wait(60)
            return real(services, hashes)

        monkeypatch.setattr(api_keys, "valid_hashes", counted)
        gate: Gate = slow.client.app.state.gate  # type: ignore[attr-defined]
        with ThreadPoolExecutor(10) as pool:
            first = pool.submit(ask, slow, "guess")
            assert first_asks.wait(60)
            others = [pool.submit(ask, slow, secret) for secret in [never_used, *map(str, range(8))]]
            wait_until(lambda: len(gate._batch.wanted) == 9, what="the others wait")
            may_answer.set()
            statuses = [answer.result().status_code for answer in others]
        assert (first.result().status_code, sorted(statuses), asked) == (429, [200] + [429] * 8, [1, 9])


class TestStrangers:
    def test_an_address_that_tries_keys_is_429_before_any_look_up(
        self, slow: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_up: list[str] = []
        real = api_keys.authenticate
        monkeypatch.setattr(
            api_keys, "authenticate", lambda services, key: looked_up.append(key) or real(services, key)
        )
        answers = [ask(slow, f"guess-{number}") for number in range(30)]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 20
        assert len(looked_up) == 10
        assert answers[-1].json()["error"]["code"] == "rate_limited"
        assert answers[-1].headers["retry-after"] == "1"

    def test_an_address_without_a_key_is_429_too(self, slow: Api) -> None:
        assert [slow.client.get("/v1/flows").status_code for _ in range(11)] == [401] * 10 + [429]

    def test_a_known_key_is_not_limited_by_its_address(self, slow: Api) -> None:
        assert ask(slow, slow.secret).status_code == 200
        assert [ask(slow, "guess").status_code for _ in range(11)] == [401] * 10 + [429]
        assert ask(slow, slow.secret).status_code == 200

    def test_a_revoked_key_is_401_at_once(self, slow: Api) -> None:
        made = slow.post("/keys", {"name": "ci", "scopes": ["read"]}, expect=201)
        assert ask(slow, made["secret"]).status_code == 200
        slow.delete(f"/keys/{made['id']}")
        assert ask(slow, made["secret"]).status_code == 401


def test_by_default_a_key_has_at_least_200_calls_a_second() -> None:
    assert Settings.model_fields["rate_limit_per_second"].default >= 200
