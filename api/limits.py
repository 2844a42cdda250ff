"""How often a key may call, and how often an address may try keys that do not open: in this process, on its event loop.

A bucket is one number, the time at which it will be full again: a call moves it on by one interval, and where it would
lie further ahead than the burst allows, the call has to wait.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from ipaddress import AddressValueError, IPv6Network

from memorybase import errors
from memorybase.settings import Settings

MAX_BUCKETS = 10_000  # what is kept of strangers is bounded; a key more than that starts with a full bucket
UNAUTHORIZED_BURST_SECONDS = 10
ROUNDING_SECONDS = 1e-6
IPV6_SITE = 64  # the bits that a site is given: below them it has as many addresses as it likes


class Buckets:
    """Token buckets by name: `rate` a second, `burst` at once. A rate of 0 limits nothing."""

    def __init__(self, rate: int, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._interval = 1 / rate if rate else 0.0
        self._ahead = self._interval * max(burst, 1)
        self._clock = clock
        self._full_at: dict[bytes, float] = {}

    def __contains__(self, name: bytes) -> bool:
        return name in self._full_at

    def wait(self, name: bytes) -> float:
        """Seconds until the bucket has a token; 0 where it has one."""
        wait = self._full_at.get(name, 0.0) + self._interval - self._ahead - self._clock()
        return wait if wait > ROUNDING_SECONDS else 0.0

    def take(self, name: bytes) -> None:
        """Take a token, also where there is none."""
        if name not in self._full_at and len(self._full_at) >= MAX_BUCKETS:
            self._full_at.pop(next(iter(self._full_at)))
        self._full_at[name] = max(self._full_at.get(name, 0.0), self._clock()) + self._interval

    def forget(self, name: bytes) -> None:
        self._full_at.pop(name, None)


class Gate:
    """Lets calls through to the look-up of their key: `admit` before it, then `opened` or `refused`."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        rate = settings.unauthorized_per_second
        self._keys = Buckets(settings.rate_limit_per_second, settings.rate_limit_burst, clock=clock)
        self._addresses = Buckets(rate, rate * UNAUTHORIZED_BURST_SECONDS, clock=clock)

    def admit(self, secret: str, address: str) -> bytes:
        """The key's name for the two calls that follow; raises RateLimited."""
        name = hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
        if name in self._keys:
            # A key that has opened is not shut out by whoever else tries keys behind the same address.
            _refuse_while("This key calls too often", self._keys.wait(name), self._keys.rate)
            self._keys.take(name)
        else:
            wait = self._addresses.wait(_site(address))
            _refuse_while("Too many calls from this address without a valid key", wait, self._addresses.rate)
        return name

    def opened(self, name: bytes) -> None:
        if name not in self._keys:
            self._keys.take(name)

    def refused(self, name: bytes, address: str) -> None:
        self._keys.forget(name)  # revoked or expired: from now on a stranger
        self._addresses.take(_site(address))


def _refuse_while(message: str, wait: float, rate: int) -> None:
    if wait > 0:
        raise errors.RateLimited(f"{message}: at most {rate} a second", limit=rate, retry_after_seconds=round(wait, 3))


def _site(address: str) -> bytes:
    if ":" not in address:
        return address.encode(errors="replace")
    try:
        return IPv6Network((address.partition("%")[0], IPV6_SITE), strict=False).network_address.packed
    except (AddressValueError, ValueError):
        return address.encode(errors="replace")
