"""What goes wrong on the network of a run: which links, how, and for how long, as the seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from network.network import CUT, both_ways
from network.switch import Link, Rule

from chaos.cluster import OBSERVER, OPERATOR, Cluster

ROLES = ("api", "worker", "sweeper")
SKEW_SECONDS = (-60, -20, -3, 3, 20, 60)


@dataclass(frozen=True, slots=True)
class NetworkFault:
    """Links that one rule is put on. `text` is for the log."""

    links: set[Link]
    rule: Rule
    seconds: float
    text: str


class Partitions:
    """Faults at random. The observer's links are left alone, and those that nobody uses."""

    def __init__(self, cluster: Cluster, rng: random.Random) -> None:
        self._rng = rng
        self._stores = cluster.stores
        self._roles = {role: cluster.names(role) for role in ROLES}
        self._processes = [name for names in self._roles.values() for name in names]
        self._callers = [name for name in cluster.plan.nodes() if name.startswith("client") or name == OPERATOR]
        pairs = [(process, store) for process in self._processes for store in self._stores]
        self._pairs = pairs + [(caller, api) for caller in self._callers for api in self._roles["api"]]
        self._nodes = [*self._stores, *self._processes]
        self._all = [name for name in cluster.plan.nodes() if name != OBSERVER]
        self.kinds: dict[str, tuple[Callable[[], NetworkFault], int]] = {
            "cut_pair": (self.cut_pair, 8),
            "half_cut_pair": (self.half_cut_pair, 8),
            "isolate_node": (self.isolate_node, 5),
            "half_isolate_node": (self.half_isolate_node, 5),
            "cut_role": (self.cut_role, 3),
            "split_in_two": (self.split_in_two, 3),
            "delay_link": (self.delay_link, 5),
            "drop_packets": (self.drop_packets, 5),
            "reorder_packets": (self.reorder_packets, 4),
        }

    def cut_pair(self) -> NetworkFault:
        one, other = self._rng.choice(self._pairs)
        return NetworkFault(both_ways([(one, other)]), CUT, self._seconds(), f"{one} <-> {other}")

    def half_cut_pair(self) -> NetworkFault:
        """One direction: requests vanish, or answers do."""
        link = self._direction(*self._rng.choice(self._pairs))
        return NetworkFault({link}, CUT, self._seconds(), f"{link[0]} -> {link[1]}")

    def isolate_node(self) -> NetworkFault:
        node = self._rng.choice(self._nodes)
        return NetworkFault(both_ways(self._links_of(node)), CUT, self._seconds(), node)

    def half_isolate_node(self) -> NetworkFault:
        """It hears and is not heard, or the other way round."""
        node, mute = self._rng.choice(self._nodes), self._rng.random() < 0.5
        links = {(a, b) if mute else (b, a) for a, b in self._links_of(node)}
        return NetworkFault(links, CUT, self._seconds(), f"{'from' if mute else 'to'} {node}")

    def cut_role(self) -> NetworkFault:
        """All processes of one kind lose one store, for long enough that readiness must name it."""
        role, store = self._rng.choice(ROLES), self._rng.choice(self._stores)
        links = both_ways([(process, store) for process in self._roles[role]])
        return NetworkFault(links, CUT, self._rng.uniform(8, 14), f"every {role} <-> {store}")

    def split_in_two(self) -> NetworkFault:
        side = {name for name in self._all if self._rng.random() < 0.5}
        links = both_ways([(a, b) for a in side for b in self._all if b not in side])
        return NetworkFault(links, CUT, self._seconds(), f"{', '.join(sorted(side))} | the others")

    def delay_link(self) -> NetworkFault:
        delay = self._rng.uniform(0.01, 0.3)
        return self._slow("delayed by", Rule(delay=delay, jitter=delay / 3))

    def drop_packets(self) -> NetworkFault:
        return self._slow("loses", Rule(loss=self._rng.uniform(0.02, 0.4)))

    def reorder_packets(self) -> NetworkFault:
        return self._slow("reorders", Rule(delay=0.02, jitter=0.02, reorder=self._rng.uniform(0.1, 0.5)))

    def skew(self) -> int:
        """Seconds by which a clock is off."""
        return self._rng.choice(SKEW_SECONDS)

    def _slow(self, word: str, rule: Rule) -> NetworkFault:
        node = self._rng.choice(self._nodes)
        value = rule.loss or rule.delay
        return NetworkFault(
            both_ways(self._links_of(node)), rule, self._rng.uniform(2, 10), f"{node} {word} {value:.2f}"
        )

    def _links_of(self, node: str) -> list[Link]:
        return [(node, other) for other in self._all if other != node]

    def _direction(self, one: str, other: str) -> Link:
        return (one, other) if self._rng.random() < 0.5 else (other, one)

    def _seconds(self) -> float:
        """Mostly shorter than a lease and a heartbeat's age, sometimes longer than both."""
        return self._rng.uniform(0.3, 4) if self._rng.random() < 0.7 else self._rng.uniform(5, 14)
