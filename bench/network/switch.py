"""The switch: it forwards packets between TUN devices, and drops, delays and reorders them by rules.

A process of its own (`python -m network.switch`), so that a busy harness delays no packet. It reads its rules
from standard input, one JSON document a line, and answers each line once the rules are in force.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import random
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PACKET_BYTES = 65_536
AT_ONCE = 64  # packets of one port before the others' turn
IDLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to packets of one direction: the share that is lost, seconds of delay and its jitter, and the share
    that is not delayed and so overtakes others."""

    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    reorder: float = 0.0

    @property
    def cuts(self) -> bool:
        return self.loss >= 1

    def beside(self, other: Rule) -> Rule:
        """Both in force on one link."""
        return Rule(
            loss=1 - (1 - self.loss) * (1 - other.loss),
            delay=self.delay + other.delay,
            jitter=self.jitter + other.jitter,
            reorder=max(self.reorder, other.reorder),
        )


Link = tuple[str, str]  # from this address to that one


class Switch:
    """Forwards between ports: a file descriptor for each IPv4 address, one packet a read and a write."""

    def __init__(self, ports: Mapping[str, int], seed: int = 0) -> None:
        self.rules: dict[tuple[bytes, bytes], Rule] = {}
        self.passed: Counter[Link] = Counter()
        self.dropped: Counter[Link] = Counter()
        self._ports = {socket.inet_aton(address): port for address, port in ports.items()}
        self._rng = random.Random(seed)
        self._late: list[tuple[float, int, bytes]] = []
        self._order = itertools.count()

    def replace_rules(self, rules: Mapping[Link, Rule]) -> None:
        self.rules = {(socket.inet_aton(a), socket.inet_aton(b)): rule for (a, b), rule in rules.items()}

    def receive(self, port: int, now: float) -> None:
        """Take what waits at a port."""
        for _ in range(AT_ONCE):
            try:
                packet = os.read(port, PACKET_BYTES)
            except BlockingIOError:
                return
            self._take(packet, now)

    def deliver_due(self, now: float) -> None:
        """Deliver the delayed packets whose time has come. A cut takes those under way, too."""
        while self._late and self._late[0][0] <= now:
            packet = heapq.heappop(self._late)[2]
            rule = self.rules.get(_ends(packet))
            self._deliver(packet, lost=rule is not None and rule.cuts)

    def idle_seconds(self, now: float) -> float:
        """How long nothing is due."""
        return min(IDLE_SECONDS, max(0.0, self._late[0][0] - now)) if self._late else IDLE_SECONDS

    def _take(self, packet: bytes, now: float) -> None:
        if not packet or packet[0] >> 4 != 4 or packet[16:20] not in self._ports:
            return  # IPv6's looks for neighbours, and broadcasts
        rule = self.rules.get(_ends(packet))
        if rule is None:
            self._deliver(packet)
        elif self._rng.random() < rule.loss:
            self._deliver(packet, lost=True)
        elif rule.delay and self._rng.random() >= rule.reorder:
            due = now + max(0.0, rule.delay + self._rng.uniform(-rule.jitter, rule.jitter))
            heapq.heappush(self._late, (due, next(self._order), packet))
        else:
            self._deliver(packet)

    def _deliver(self, packet: bytes, *, lost: bool = False) -> None:
        source, target = _ends(packet)
        if not lost:
            try:
                os.write(self._ports[target], packet)
            except OSError:  # its queue is full, or its namespace has ended: a lost packet
                lost = True
        counter = self.dropped if lost else self.passed
        counter[socket.inet_ntoa(source), socket.inet_ntoa(target)] += 1


def _ends(packet: bytes) -> tuple[bytes, bytes]:
    return packet[12:16], packet[16:20]


def serve(switch: Switch, ports: Mapping[str, int], commands: int, answers: int) -> None:
    """Forward until the commands end: then the harness has ended, whatever ended it."""
    selector = selectors.DefaultSelector()
    for port in ports.values():
        os.set_blocking(port, False)
        selector.register(port, selectors.EVENT_READ)
    selector.register(commands, selectors.EVENT_READ)
    waiting = b""
    while True:
        for key, _ in selector.select(switch.idle_seconds(time.monotonic())):
            if key.fd != commands:
                switch.receive(key.fd, time.monotonic())
                continue
            read = os.read(commands, PACKET_BYTES)
            if not read:
                return
            *lines, waiting = (waiting + read).split(b"\n")
            for line in lines:
                os.write(answers, _obey(switch, json.loads(line)) + b"\n")
        switch.deliver_due(time.monotonic())


def _obey(switch: Switch, rules: list[tuple[str, str, dict[str, Any]]]) -> bytes:
    """Replace the rules; the answer has the packets of each link that passed and that were dropped so far."""
    switch.replace_rules({(source, target): Rule(**rule) for source, target, rule in rules})
    counts = {"passed": switch.passed, "dropped": switch.dropped}
    return json.dumps({name: [[*link, n] for link, n in count.items()] for name, count in counts.items()}).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("ports", nargs="+", help="address=descriptor")
    options = parser.parse_args()
    ports = {address: int(number) for address, _, number in (port.partition("=") for port in options.ports)}
    serve(Switch(ports, options.seed), ports, sys.stdin.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    main()
