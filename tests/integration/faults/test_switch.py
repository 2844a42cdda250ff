"""The switch passes, drops, delays and reorders packets as its rules say."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from network.switch import Rule, Switch

pytestmark = pytest.mark.slow  # It tests the harness's network, with real sockets.

A, B, C = "10.77.0.1", "10.77.0.2", "10.77.0.3"
CUT = Rule(loss=1.0)


def packet(source: str, target: str, payload: bytes = b"", *, version: int = 4) -> bytes:
    header = bytes([version << 4]) + bytes(11)
    return header + socket.inet_aton(source) + socket.inet_aton(target) + payload


class Wires:
    """A switch on socket pairs in the place of TUN devices."""

    def __init__(self) -> None:
        self.pairs = {address: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for address in (A, B, C)}
        for pair in self.pairs.values():
            for end in pair:
                end.setblocking(False)
        self.ports = {address: pair[0].fileno() for address, pair in self.pairs.items()}
        self.switch = Switch(self.ports, seed=1)

    def send(self, source: str, target: str, *payloads: bytes, at: float = 0.0) -> None:
        for payload in payloads:
            self.pairs[source][1].send(packet(source, target, payload))
        self.switch.receive(self.ports[source], at)

    def received(self, address: str) -> list[bytes]:
        found: list[bytes] = []
        while True:
            try:
                found.append(self.pairs[address][1].recv(100)[20:])
            except BlockingIOError:
                return found

    def close(self) -> None:
        for pair in self.pairs.values():
            for end in pair:
                end.close()


@pytest.fixture
def wires() -> Iterator[Wires]:
    made = Wires()
    yield made
    made.close()


def test_a_packet_reaches_its_target_alone(wires: Wires) -> None:
    wires.send(A, B, b"one", b"two")
    assert (wires.received(B), wires.received(C), wires.received(A)) == ([b"one", b"two"], [], [])
    assert wires.switch.passed == {(A, B): 2}


@pytest.mark.parametrize("stray", [packet(A, "10.77.0.255"), packet(A, B, version=6), b""])
def test_other_packets_are_ignored(wires: Wires, stray: bytes) -> None:
    wires.switch._take(stray, 0.0)
    assert wires.received(B) == []
    assert not wires.switch.passed


def test_a_cut_has_a_direction(wires: Wires) -> None:
    wires.switch.replace_rules({(A, B): CUT})
    wires.send(A, B, b"lost")
    wires.send(B, A, b"back")
    wires.send(A, C, b"other")
    assert (wires.received(B), wires.received(A), wires.received(C)) == ([], [b"back"], [b"other"])
    assert wires.switch.dropped == {(A, B): 1}
    wires.switch.replace_rules({})
    wires.send(A, B, b"healed")
    assert wires.received(B) == [b"healed"]


def test_a_delayed_packet_comes_when_it_is_due(wires: Wires) -> None:
    wires.switch.replace_rules({(A, B): Rule(delay=1.0, jitter=0.5)})
    wires.send(A, B, b"late", at=10.0)
    wires.switch.deliver_due(10.49)
    assert wires.received(B) == []
    assert wires.switch.idle_seconds(10.49) > 0
    wires.switch.deliver_due(11.51)
    assert wires.received(B) == [b"late"]


def test_some_packets_overtake_delayed_ones(wires: Wires) -> None:
    wires.switch.replace_rules({(A, B): Rule(delay=1.0, reorder=0.5)})
    numbers = [b"%d" % n for n in range(20)]
    wires.send(A, B, *numbers)
    early = wires.received(B)
    assert 0 < len(early) < len(numbers)
    wires.switch.deliver_due(1.0)
    assert sorted(early + wires.received(B)) == sorted(numbers)


def test_a_cut_takes_the_packets_under_way(wires: Wires) -> None:
    wires.switch.replace_rules({(A, B): Rule(delay=1.0)})
    wires.send(A, B, b"under way")
    wires.switch.replace_rules({(A, B): CUT})
    wires.switch.deliver_due(1.0)
    assert wires.received(B) == []
    assert wires.switch.dropped == {(A, B): 1}


def test_a_share_is_lost(wires: Wires) -> None:
    wires.switch.replace_rules({(A, B): Rule(loss=0.5)})
    for _ in range(20):
        wires.send(A, B, *[b"x"] * 5)
        wires.received(B)
    assert wires.switch.passed[A, B] + wires.switch.dropped[A, B] == 100
    assert min(wires.switch.passed[A, B], wires.switch.dropped[A, B]) > 0


def test_rules_on_one_link_add_up() -> None:
    slow = Rule(loss=0.5, delay=1.0, jitter=0.1).beside(Rule(loss=0.5, delay=0.5, reorder=0.2))
    assert slow == Rule(loss=0.75, delay=1.5, jitter=0.1, reorder=0.2)
    assert slow.beside(CUT).cuts
