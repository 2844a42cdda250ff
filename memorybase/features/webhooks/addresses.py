"""Which URLs and addresses may be called: an endpoint must not make memorybase call its own network.

Whoever may create an endpoint chooses its URL, and whoever controls its name chooses the addresses, at each look-up
anew. So the addresses of a name are checked when a request is sent, and the connection goes to one that was checked.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from memorybase.core import errors
from memorybase.features.webhooks.errors import AddressRefused

MAX_URL = 2_000
PORTS = {"http": 80, "https": 443}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]

# No public service has these addresses. `is_global` alone is not enough: what it covers differs between versions of
# Python, and carrier-grade NAT, benchmarks, relays and multicast are of no use to a receiver.
REFUSED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128",
        "::1/128",
        "64:ff9b:1::/48",
        "100::/64",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_LOW_BITS = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Target:
    """Address of a request: the URL's parts, with the port that it implies."""

    scheme: str
    host: str
    port: int
    path: str  # with the query


def target_of(url: str) -> Target:
    """The parts of a valid URL. Raises InvalidRequest."""
    if len(url) > MAX_URL:
        raise errors.InvalidRequest(
            f"url must have at most {MAX_URL} characters (got {len(url)})", field="url", value=len(url), limit=MAX_URL
        )
    if not url.isascii() or any(character <= " " or character in "\\\x7f" for character in url):
        raise _invalid("url must be ASCII without spaces, control characters and backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise _invalid("url must be a URL with a port of 1 to 65535") from exc
    if parts.scheme not in PORTS or not parts.hostname:
        raise _invalid("url must start with http:// or https:// and name a host")
    if port == 0 or parts.username is not None or parts.password is not None or parts.fragment:
        raise _invalid("url must have no user, password or fragment, and no port 0")
    return Target(parts.scheme, parts.hostname, port or PORTS[parts.scheme], _path_of(parts))


def check_url(url: str, allowed: Sequence[Network]) -> None:
    """Refuse a URL that is invalid, or whose host is written as an address that may not be called.

    A name is not looked up: that happens at each request. Raises InvalidRequest and AddressRefused.
    """
    host = target_of(url).host
    address = literal(host)
    if address is not None:
        check_address(address, allowed, host)
    elif host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost"):
        check_address(ipaddress.ip_address("127.0.0.1"), allowed, host)


def literal(host: str) -> Address | None:
    """The address if the host is written as one, in any form that a resolver understands, as 2130706433 or 0x7f.1."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def choose_address(
    target: Target, allowed: Sequence[Network], *, seconds: float, resolve: Resolver | None = None
) -> str:
    """The address to connect to: the first of the host's that may be called. Raises AddressRefused and OSError."""
    refused: AddressRefused | None = None
    for text in _within(seconds, resolve or _resolve, target.host, target.port):
        try:
            check_address(ipaddress.ip_address(text), allowed, target.host)
        except AddressRefused as error:
            refused = error
        else:
            return text
    raise refused or OSError("the name has no address")


def check_address(address: Address, allowed: Sequence[Network], host: str) -> None:
    """Raises AddressRefused."""
    meant = [address, *_embedded(address)]
    if any(each in network for network in allowed for each in meant if each.version == network.version):
        return
    if any(not each.is_global or each.is_multicast or _is_refused(each) for each in meant):
        raise AddressRefused(
            f"url must lead to a public address, or to one in webhook_allowed_networks (got '{host}')",
            field="url",
            value=host,
        )


def _is_refused(address: Address) -> bool:
    return any(address in network for network in REFUSED if network.version == address.version)


def _embedded(address: Address) -> list[Address]:
    """The IPv4 addresses that an IPv6 address contains: a translator or the system itself may connect to them."""
    if not isinstance(address, ipaddress.IPv6Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    found += address.teredo or ()
    if address in _NAT64 or address in _COMPATIBLE:
        found.append(ipaddress.IPv4Address(int(address) & _LOW_BITS))
    return [each for each in found if each is not None]


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _within(seconds: float, resolve: Resolver, host: str, port: int) -> Sequence[str]:
    """The resolver's answer; raises TimeoutError. The system's resolver has no deadline: its thread is left behind."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolve(host, port))
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits
            answers.put(error)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("the name was not resolved in time") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _path_of(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _invalid(message: str) -> errors.InvalidRequest:
    return errors.InvalidRequest(message, field="url")
