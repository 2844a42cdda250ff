"""What each API says about its own readiness, compared with what is known to be cut or down."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

import httpx

from memorybase.core.operations.health import CHECK_SECONDS

LOOK_SECONDS = 0.5
CALL_SECONDS = 15.0


class Links(Protocol):
    """What is known of the network."""

    def cut_since(self, one: str, other: str) -> float | None:
        """Since when no call between them can succeed; None if one can."""


class Readiness(threading.Thread):
    """Asks one API all the time. An answer of 200 is false if, for longer than it may take to notice, the API could not
    reach a store, or no worker or no sweeper could have written a heartbeat.

    Times are monotonic. What may be up counts as up: only what is certain is a violation.
    """

    def __init__(
        self,
        api: str,
        url: str,
        links: Links,
        down: Mapping[str, float],
        stores: list[str],
        processes: Mapping[str, list[str]],
        stale_seconds: float,
    ) -> None:
        super().__init__(name=f"readiness of {api}", daemon=True)
        self.looks = 0
        self.not_ready = 0
        self.certain = 0  # looks at which something was certainly broken for long enough
        self.violations: list[str] = []
        self._api = api
        self._url = url
        self._links = links
        self._down = down
        self._stores = stores
        self._processes = processes
        self._stale_seconds = stale_seconds
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            with httpx.Client(base_url=self._url, trust_env=False, timeout=CALL_SECONDS) as client:
                while not self._ended.wait(LOOK_SECONDS):
                    self.look(client)
        except Exception as error:  # noqa: BLE001 - a thread's edge: what ends it must not go unseen
            self.violations.append(f"{self.name} ended: {type(error).__name__}: {error}")

    def stop(self) -> None:
        self._ended.set()
        self.join()
        if not self.looks:
            self.violations.append(f"{self.name}: no answer was ever seen")

    def look(self, client: httpx.Client) -> None:
        """Once; nothing while the API does not answer."""
        began = time.monotonic()
        try:
            status = client.get("/health/ready").status_code
        except httpx.TransportError:
            return
        self.looks += 1
        self.not_ready += status != httpx.codes.OK
        broken = {what: began - since for what, since in self.broken_since().items() if since < began}
        if broken:
            self.certain += 1
        if status == httpx.codes.OK:
            self.violations += [
                f"{self._api} said ready, {what} for {seconds:.1f} s" for what, seconds in broken.items()
            ]

    def broken_since(self) -> dict[str, float]:
        """What readiness must have noticed, and since when it must have."""
        found: dict[str, float] = {}
        for store in self._stores:
            if (since := self._unreachable_since(self._api, store)) is not None:
                found[f"without {store}"] = since + CHECK_SECONDS
        for role, names in self._processes.items():
            silent = [since for name in names if (since := self._silent_since(name)) is not None]
            if len(silent) == len(names):
                found[f"without a {role}"] = max(silent) + self._stale_seconds + CHECK_SECONDS
        return found

    def _silent_since(self, process: str) -> float | None:
        """Since when it cannot have written a heartbeat. Two causes that take turns count from the later one."""
        return min(self._causes(process), default=None)

    def _causes(self, process: str) -> Iterator[float]:
        if (down := self._down.get(process)) is not None:
            yield down
        if "postgres" in self._stores and (since := self._unreachable_since(process, "postgres")) is not None:
            yield since

    def _unreachable_since(self, one: str, store: str) -> float | None:
        causes = (self._links.cut_since(one, store), self._down.get(store))
        return min((since for since in causes if since is not None), default=None)
