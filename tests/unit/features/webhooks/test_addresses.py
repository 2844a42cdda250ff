"""Which URLs and addresses a webhook may call, with the forms in which a private address can be written."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network
from threading import Event

import pytest
from harness.rows import each_row

from memorybase.core import errors
from memorybase.features.webhooks import addresses
from memorybase.features.webhooks.addresses import Network, Target, check_url, choose_address
from memorybase.features.webhooks.errors import AddressRefused

PRIVATE = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.170",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "fec0::1",
    # An IPv4 address inside: mapped, compatible, translated, 6to4, Teredo (server or client), local translation.
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:7f00:1::1",
    "2001:0:808:808:0:0:80ff:fffe",
    "64:ff9b:1::7f00:1",
]
PUBLIC = ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
# As a browser or a resolver reads them: all are 127.0.0.1.
WRITTEN = ["2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "127.0.0.1", "[::1]", "[::ffff:7f00:1]"]
TARGET = Target("https", "hooks.example.com", 443, "/")


def networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(each) for each in texts)


@each_row("text", PRIVATE)
def test_a_private_address_is_refused_by_whatever_name_it_came(text: str) -> None:
    with pytest.raises(AddressRefused) as refused:
        choose_address(TARGET, (), seconds=5, resolve=lambda _host, _port: [text])
    assert (refused.value.field, refused.value.value) == ("url", "hooks.example.com")


@each_row("text", PUBLIC)
def test_a_public_address_is_chosen(text: str) -> None:
    assert choose_address(TARGET, (), seconds=5, resolve=lambda _host, _port: [text]) == text


@each_row("host", WRITTEN)
def test_a_url_with_a_private_address_is_refused_at_once_however_it_is_written(host: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises(AddressRefused):
            check_url(f"{scheme}://{host}:8080/hook", ())


@each_row("host", ["localhost", "LOCALHOST.", "api.localhost"])
def test_localhost_is_refused_at_once(host: str) -> None:
    with pytest.raises(AddressRefused):
        check_url(f"http://{host}/", ())


def test_a_named_network_is_allowed_and_nothing_beside_it() -> None:
    allowed = networks("10.1.0.0/16", "fd12::/64")
    for text in ("10.1.2.3", "::ffff:10.1.2.3", "fd12::1"):
        assert choose_address(TARGET, allowed, seconds=5, resolve=lambda _host, _port, t=text: [t]) == text  # type: ignore[misc]
    for text in ("10.2.0.1", "fd13::1", "127.0.0.1"):
        with pytest.raises(AddressRefused):
            addresses.check_address(ip_address(text), allowed, "h")


def test_of_several_addresses_one_that_may_be_called_is_chosen() -> None:
    answers = ["127.0.0.1", "1.1.1.1"]
    assert choose_address(TARGET, (), seconds=5, resolve=lambda _host, _port: answers) == "1.1.1.1"


@each_row(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com",
        "example.com/hook",
        "http://",
        "http:///x",
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://example.com/#part",
        "https://example.com:0/",
        "https://example.com:70000/",
        "https://example.com:x/",
        "https://exa mple.com/",
        "https://example.com/\r\nX-Header: 1",
        "https://example.com\\@10.0.0.1/",
        "https://b\u00fccher.example/",
        "https://example.com/" + "x" * 2_000,
        "https://[::1/",
        "",
    ],
)
def test_an_invalid_url_is_refused_by_its_field(url: str) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        check_url(url, networks("0.0.0.0/0", "::/0"))
    assert refused.value.field == "url"


def test_a_name_is_not_looked_up_when_its_url_is_checked() -> None:
    check_url("https://no-such-name.invalid/hook?token=x", ())


def test_a_resolver_that_does_not_answer_is_left_behind() -> None:
    asked, end = Event(), Event()

    def never(_host: str, _port: int) -> list[str]:
        asked.set()
        end.wait()
        return []

    with pytest.raises(TimeoutError):
        choose_address(TARGET, (), seconds=0.05, resolve=never)
    assert asked.is_set()
    end.set()


def test_a_failure_of_the_resolver_is_its_own() -> None:
    def fail(_host: str, _port: int) -> list[str]:
        raise socket.gaierror

    with pytest.raises(socket.gaierror):
        choose_address(TARGET, (), seconds=5, resolve=fail)
