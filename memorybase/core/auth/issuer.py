"""The operator's authorization server: its metadata, and the keys with which it signs.

A thread of its own fetches them, within bounds. So nobody holds a thread or a lock during a request to that server, and
one that hangs delays only those whose tokens have an unknown key.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from memorybase.core import errors
from memorybase.core.settings import is_secure
from memorybase.core.telemetry import get_logger

FRESH_SECONDS = 600.0  # until keys are fetched again, while the old ones are used
STALE_SECONDS = 86_400.0  # that keys are used while the server is away
RETRY_SECONDS = 10.0  # between two fetches, however many tokens name unknown keys
OPERATION_SECONDS = 3.0  # of connecting, and of each read
FETCH_SECONDS = 6.0  # of all answers together
MAX_BYTES = 1_000_000  # of an answer

Jwk = Mapping[str, Any]
log = get_logger(__name__)


class Refused(Exception):
    """The server answered, with something that cannot be used. `is_of_caller`: it blames the request."""

    def __init__(self, reason: str, *, is_of_caller: bool = False) -> None:
        super().__init__(reason)
        self.is_of_caller = is_of_caller


class Issuer:
    """The signing keys of the authorization server with this issuer identifier. Thread-safe."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._clock = clock
        self._mutex = threading.Lock()
        self._metadata: Mapping[str, Any] = {}
        self._keys: tuple[Jwk, ...] = ()
        self._fetched_at = self._next_fetch = -STALE_SECONDS
        self._running: Future[None] | None = None
        self._failure: str | None = None

    def pending(self, kid: str | None) -> Future[None] | None:
        """What to wait for before `key`; None if it can answer now. It ends within FETCH_SECONDS and a read."""
        with self._mutex:
            return self._fetching(is_known=self._find(kid) is not None)

    def metadata(self) -> Mapping[str, Any]:
        """Its metadata. Blocks the thread for a bounded time. Raises IssuerUnavailable."""
        with self._mutex:
            running = self._fetching(is_known=bool(self._metadata))
        if running is not None:
            wait((running,), FETCH_SECONDS)
        with self._mutex:
            if not self._metadata:
                raise self._unavailable()
            return self._metadata

    def _fetching(self, *, is_known: bool) -> Future[None] | None:
        """A fetch if one is due, which is only waited for if what is wanted is not known."""
        now = self._clock()
        is_due = not is_known or now - self._fetched_at >= FRESH_SECONDS
        if is_due and self._running is None and now >= self._next_fetch:
            self._running = Future()
            self._running.set_running_or_notify_cancel()  # no waiter can cancel it
            threading.Thread(target=self._fetch, args=(self._running,), name="issuer-keys", daemon=True).start()
        return None if is_known else self._running

    def _unavailable(self) -> errors.IssuerUnavailable:
        reason = self._failure or "does not answer"
        return errors.IssuerUnavailable(
            f"The authorization server {self.url} {reason}. Try again; API keys work meanwhile"
        )

    def key(self, kid: str | None) -> Jwk:
        """The key with this id, or the only one. Raises Unauthorized if the server has no such key, and
        IssuerUnavailable if its keys are unknown."""
        with self._mutex:
            found = self._find(kid)
            if found is None and (self._failure is not None or self._running is not None or not self._keys):
                raise self._unavailable()
        if found is None:
            raise errors.Unauthorized("The access token is signed with a key that its issuer does not have")
        return found

    def _find(self, kid: str | None) -> Jwk | None:
        if self._clock() - self._fetched_at >= STALE_SECONDS:
            return None
        named = [each for each in self._keys if kid is None or each.get("kid") == kid]
        return named[0] if len(named) == 1 or (named and kid is not None) else None

    def _fetch(self, running: Future[None]) -> None:
        fetched, failure = None, None
        try:
            fetched = self._fetched()
        except httpx.HTTPError as error:
            failure = f"cannot be reached ({type(error).__name__})"
        except Refused as error:
            failure = str(error)
        except Exception as error:
            # The edge of a thread: whoever waits must learn that it has ended.
            log.exception("issuer_fetch_crashed")
            failure = f"cannot be asked ({type(error).__name__})"
        with self._mutex:
            now = self._clock()
            self._next_fetch, self._failure, self._running = now + RETRY_SECONDS, failure, None
            if fetched is not None:
                self._metadata, self._keys = fetched
                self._fetched_at = now
        if failure is not None:
            log.warning("issuer_keys_not_fetched", issuer=self.url, reason=failure)
        running.set_result(None)

    def _fetched(self) -> tuple[Mapping[str, Any], tuple[Jwk, ...]]:
        deadline = time.monotonic() + FETCH_SECONDS
        with httpx.Client(timeout=OPERATION_SECONDS) as client:
            metadata = metadata_of(client, self.url, deadline)
            url = metadata.get("jwks_uri")
            if not isinstance(url, str) or not is_secure(url):
                raise Refused("names no https jwks_uri in its metadata")
            keys = (answer(client, url, deadline) or {}).get("keys")
        if not isinstance(keys, list):
            raise Refused("has no keys at its jwks_uri")
        return metadata, tuple(key for key in keys if isinstance(key, dict) and key.get("use", "sig") == "sig")


def metadata_of(client: httpx.Client, issuer: str, deadline: float) -> Mapping[str, Any]:
    """The metadata of OpenID Connect Discovery, or else of RFC 8414."""
    parts = urlsplit(issuer)
    of_oauth = parts._replace(path=f"/.well-known/oauth-authorization-server{parts.path.rstrip('/')}")
    for url in (f"{issuer.rstrip('/')}/.well-known/openid-configuration", urlunsplit(of_oauth)):
        found = answer(client, url, deadline)
        if found is not None:
            if found.get("issuer") != issuer:
                raise Refused(f"calls itself {str(found.get('issuer'))[:200]!r}: set MEMORYBASE_OAUTH_ISSUER to that")
            return found
    raise Refused("has no metadata at /.well-known/openid-configuration")


def answer(
    client: httpx.Client, url: str, deadline: float, form: Mapping[str, str] | None = None
) -> Mapping[str, Any] | None:
    """The JSON object that a GET, or a POST of a form, returns, bounded in time and size; None if there is none."""
    received = b""
    method, headers = ("GET" if form is None else "POST"), {"Accept": "application/json"}
    with client.stream(method, url, headers=headers, data=form) as response:
        if response.status_code in {404, 410}:
            return None
        if response.status_code != 200:
            is_of_caller = response.is_client_error and response.status_code != httpx.codes.TOO_MANY_REQUESTS
            raise Refused(f"answered with status {response.status_code}", is_of_caller=is_of_caller)
        for part in response.iter_bytes():
            received += part
            if len(received) > MAX_BYTES or time.monotonic() > deadline:
                raise Refused("sent an answer that is too long or too slow")
    try:
        found = json.loads(received)
    except ValueError:
        raise Refused("sent an answer that is not JSON") from None
    if not isinstance(found, dict):
        raise Refused("sent an answer that is not a JSON object")
    return found
