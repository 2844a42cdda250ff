"""Rate limits in this process, on its event loop: by API key, and by address for calls without a valid key. A valid key
is never limited by others who try invalid ones from its address.

A bucket is one number, the time at which it is full again. A call adds one interval; if the time would then lie further
ahead than the burst allows, the call must wait.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv6Network

from cachetools import LRUCache
from fastapi.concurrency import run_in_threadpool

from memorybase.core import errors
from memorybase.core.auth import access_tokens, api_keys
from memorybase.core.services import Services
from memorybase.core.settings import Settings

MAX_BUCKETS = 10_000  # bounds the memory; beyond it the least recently used bucket is dropped, and is full again
BURST_SECONDS = 5  # of its rate a key may use at once, after a pause
UNAUTHORIZED_PER_SECOND = 5  # calls without a valid key, from one address
UNAUTHORIZED_BURST_SECONDS = 10
ROUNDING_SECONDS = 1e-6
POLICY = "calls"  # its name in the headers
IPV6_SITE = 64  # a site owns all addresses below this prefix


class Buckets:
    """Token buckets by name: `rate` per second, `burst` at once. A rate of 0: unlimited."""

    def __init__(self, rate: int, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._interval = 1 / rate if rate else 0.0
        self._ahead = self._interval * max(burst, 1)
        self._clock = clock
        self._full_at: LRUCache[bytes, float] = LRUCache(MAX_BUCKETS)

    def __contains__(self, name: bytes) -> bool:
        return name in self._full_at

    def wait(self, name: bytes) -> float:
        """Seconds until the bucket has a token; 0 if it has one."""
        wait = self._full_at.get(name, 0.0) + self._interval - self._ahead - self._clock()
        return wait if wait > ROUNDING_SECONDS else 0.0

    def left(self, name: bytes) -> tuple[int, float]:
        """Tokens in the bucket, and seconds until it is full."""
        until_full = max(self._full_at.get(name, 0.0) - self._clock(), 0.0)
        return max(int((self._ahead - until_full + ROUNDING_SECONDS) / self._interval), 0), until_full

    def take(self, name: bytes) -> None:
        """Take a token, even if the bucket is empty."""
        self._full_at[name] = max(self._full_at.get(name, 0.0), self._clock()) + self._interval

    def forget(self, name: bytes) -> None:
        self._full_at.pop(name, None)


class AddressLimited(errors.RateLimited):
    """Too many calls from this address without a valid key."""


@dataclass(slots=True)
class _Batch:
    """Secrets whose validity one query finds out."""

    wanted: set[bytes] = field(default_factory=set)
    valid: Collection[bytes] | None = None


class Gate:
    """Limits calls: `enter` before the key is authenticated, then `opened` or `refused`."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._batch = _Batch()
        self._one_query = asyncio.Lock()
        rate = settings.rate_limit_per_second
        self._keys = Buckets(rate, rate * BURST_SECONDS, clock=clock)
        self._policy = policy_of(rate, rate * BURST_SECONDS)
        rate = UNAUTHORIZED_PER_SECOND
        self._addresses = Buckets(rate, rate * UNAUTHORIZED_BURST_SECONDS, clock=clock)

    async def enter(self, services: Services, secret: str, address: str) -> bytes:
        """The name for the call of `opened` or `refused`; raises RateLimited."""
        try:
            return self.admit(secret, address)
        except AddressLimited:
            name = api_keys.hash_of(secret)
            if access_tokens.is_valid(services, secret) or (secret and await self._is_valid(services, name)):
                return name
            raise

    async def _is_valid(self, services: Services, name: bytes) -> bool:
        """Callers who wait here at the same time share one query: trying keys costs the database little."""
        batch = self._batch
        batch.wanted.add(name)
        async with self._one_query:
            if batch.valid is None:
                self._batch, batch.valid = _Batch(), ()
                batch.valid = await run_in_threadpool(api_keys.valid_hashes, services, batch.wanted)
        return name in batch.valid

    def admit(self, secret: str, address: str) -> bytes:
        """Like `enter`, without a query: raises AddressLimited for a key that has not succeeded here before."""
        name = api_keys.hash_of(secret)
        if name in self._keys:
            # A known key is not limited by others who try invalid keys from the same address.
            _refuse_while(errors.RateLimited, "Too many calls with this key", self._keys.wait(name), self._keys.rate)
            self._keys.take(name)
        else:
            message = "Too many calls from this address without a valid key"
            wait = self._addresses.wait(site_of(address))
            _refuse_while(AddressLimited, message, wait, self._addresses.rate)
        return name

    def opened(self, name: bytes) -> None:
        if name not in self._keys:
            self._keys.take(name)

    def headers(self, name: bytes) -> dict[str, str]:
        """The remaining calls of a known key in this process, as headers of the IETF's draft."""
        if not self._keys.rate:
            return {}
        left, until_full = self._keys.left(name)
        return {"RateLimit-Policy": self._policy, "RateLimit": f'"{POLICY}";r={left};t={math.ceil(until_full)}'}

    def refused(self, name: bytes, address: str) -> None:
        self._keys.forget(name)  # revoked or expired: now limited by address
        self._addresses.take(site_of(address))


def _refuse_while(kind: type[errors.RateLimited], message: str, wait: float, rate: int) -> None:
    if wait > 0:
        raise kind(
            f"{message}: at most {rate} per second. Retry after the time in Retry-After",
            limit=rate,
            retry_after_seconds=round(wait, 3),
        )


def policy_of(rate: int, burst: int) -> str:
    """The quota of whole seconds in which an empty bucket is full again."""
    quota = max(rate, burst)
    return f'"{POLICY}";q={quota};w={math.ceil(quota / rate) if rate else 1}'


def site_of(address: str) -> bytes:
    """The name that an address counts under: its network, for IPv6."""
    if ":" not in address:
        return address.encode(errors="replace")
    try:
        return IPv6Network((address.partition("%")[0], IPV6_SITE), strict=False).network_address.packed
    except (AddressValueError, ValueError):
        return address.encode(errors="replace")
