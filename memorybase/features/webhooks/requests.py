"""One POST to a checked address, bounded in time and size. Redirects are not followed, proxies are not used."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

import httpx

from memorybase import __version__
from memorybase.core.retry_after import seconds_in
from memorybase.features.webhooks.addresses import Network, Resolver, Target, choose_address, target_of
from memorybase.features.webhooks.errors import AddressRefused

MAX_RESPONSE_BYTES = 65_536  # read and dropped, so that the receiver can finish its answer
USER_AGENT = f"memorybase-webhooks/{__version__}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of an attempt. `error` names the failure without quoting the receiver; None: it answered with 2xx."""

    status: int | None = None
    error: str | None = None
    retry_after: float | None = None  # seconds, if the receiver asked for it

    @property
    def delivered(self) -> bool:
        return self.error is None

    @property
    def is_gone(self) -> bool:
        return self.status == http.client.GONE


def post(
    url: str,
    body: str,
    headers: Mapping[str, str],
    *,
    allowed: Sequence[Network],
    seconds: float,
    resolve: Resolver | None = None,
) -> Attempt:
    """Send the request within `seconds`, with its look-up of the name."""
    deadline = time.monotonic() + seconds
    try:
        target = target_of(url)
        address = choose_address(target, allowed, seconds=seconds, resolve=resolve)
    except AddressRefused:
        return Attempt(error="address refused")
    except TimeoutError:
        return Attempt(error="name not resolved in time")
    except (OSError, UnicodeError):
        return Attempt(error="name not resolved")
    connection = _Pinned(target, address, deadline)
    try:
        with connection.closed_at(deadline):
            connection.request("POST", target.path, body=body.encode(), headers=_sent(headers))
            with connection.getresponse() as response:
                response.read(MAX_RESPONSE_BYTES)
                if time.monotonic() >= deadline:  # what was cut off within its headers looks complete
                    raise TimeoutError
                return _answered(response.status, response.getheader("Retry-After"))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Attempt(error=_reason(error, late=time.monotonic() >= deadline))
    finally:
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """A connection to one address for a host: the name is not looked up again, and TLS verifies the name."""

    def __init__(self, target: Target, address: str, deadline: float) -> None:
        super().__init__(target.host, target.port)
        self.default_port = {"https": http.client.HTTPS_PORT}.get(target.scheme, http.client.HTTP_PORT)
        self._target = target
        self._address = address
        self._deadline = deadline

    def connect(self) -> None:
        # What the kernel waits for at a time; `closed_at` bounds the sum.
        seconds = max(self._deadline - time.monotonic(), 0.001)
        self.sock = socket.create_connection((self._address, self._target.port), timeout=seconds)
        if self._target.scheme == "https":
            self.sock = _tls().wrap_socket(self.sock, server_hostname=self._target.host, do_handshake_on_connect=False)
            if time.monotonic() >= self._deadline:  # `closed_at` may have closed the socket below
                raise TimeoutError
            self.sock.do_handshake()

    @contextmanager
    def closed_at(self, deadline: float) -> Iterator[None]:
        """End the connection then: a receiver that sends a byte now and then would pass every timeout of a read."""
        timer = threading.Timer(max(deadline - time.monotonic(), 0), self._shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _shut(self) -> None:
        with suppress(OSError, TypeError):  # it is closed already, or not open yet
            # Not the method of a TLS socket, which would also change what the reading thread uses.
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


@cache
def _tls() -> ssl.SSLContext:
    """Verifies names. Trusts the public authorities and those of the system, which a private one may be among."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _sent(headers: Mapping[str, str]) -> dict[str, str]:
    return {"Content-Type": "application/json", "User-Agent": USER_AGENT, "Connection": "close", **headers}


def _answered(status: int, retry_after: str | None) -> Attempt:
    if 200 <= status < 300:
        return Attempt(status=status)
    return Attempt(status=status, error=f"status {status}", retry_after=seconds_in(retry_after))


def _reason(error: Exception, *, late: bool) -> str:
    if late or isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate not valid"
    if isinstance(error, ssl.SSLError):
        return "TLS failed"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, http.client.HTTPException | ValueError) and not isinstance(
        error, http.client.RemoteDisconnected
    ):
        return "no valid HTTP answer"
    return "connection failed"
