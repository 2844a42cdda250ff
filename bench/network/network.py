"""Nodes by name, each in a namespace of its own, and the faults of the links between them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.namespace import Namespace
from harness.process import dying_with_parent

from network.switch import Link, Rule

CUT = Rule(loss=1.0)
SUBNET = "10.77.0"
ROOT = Path(__file__).resolve().parents[2]


class Network:
    """A switch and its nodes. Links are (from, to) by the nodes' names; faults on a link add up until they end.

    Make and close it in one thread that lives on: the switch ends with it.
    """

    def __init__(self, names: Sequence[str], seed: int = 0) -> None:
        self.nodes: dict[str, Namespace] = {}
        self._cleanup = ExitStack()
        self._faults: dict[int, dict[Link, Rule]] = {}
        self._cut_since: dict[Link, float] = {}
        self._numbers = itertools.count(1)
        self._mutex = threading.Lock()
        try:
            for number, name in enumerate(names, start=1):
                self.nodes[name] = Namespace(f"{SUBNET}.{number}")
                self._cleanup.callback(self.nodes[name].close)
            self._process = self._start_switch(seed)
        except BaseException:
            self._cleanup.close()
            raise

    def address(self, name: str) -> str:
        return self.nodes[name].address

    def start(self, links: Iterable[Link], rule: Rule) -> int:
        """Begin a fault on these links; the number that ends it. It is in force when this returns."""
        number = next(self._numbers)
        with self._mutex:
            self._faults[number] = dict.fromkeys(links, rule)
            self._apply()
        return number

    def end(self, number: int) -> None:
        """End one fault; a no-op if it has ended."""
        with self._mutex:
            if self._faults.pop(number, None) is not None:
                self._apply()

    def heal(self) -> None:
        """End all faults."""
        with self._mutex:
            self._faults.clear()
            self._apply()

    def cut(self, *links: Link) -> int:
        return self.start(links, CUT)

    def cut_since(self, one: str, other: str) -> float | None:
        """Since when no call between them can succeed, because a direction is cut; None if one can."""
        with self._mutex:
            since = [self._cut_since[link] for link in ((one, other), (other, one)) if link in self._cut_since]
        return min(since, default=None)

    def is_cut(self, one: str, other: str) -> bool:
        return self.cut_since(one, other) is not None

    def counts(self) -> dict[str, dict[Link, int]]:
        """Packets so far, by link: `passed` and `dropped`."""
        names = {node.address: name for name, node in self.nodes.items()}
        with self._mutex:
            answer = self._apply()
        return {kind: {(names[a], names[b]): n for a, b, n in found} for kind, found in answer.items()}

    def close(self) -> None:
        self._cleanup.close()

    def _apply(self) -> Any:
        rules: dict[Link, Rule] = {}
        for fault in self._faults.values():
            for link, rule in fault.items():
                rules[link] = rules.get(link, Rule()).beside(rule)
        cut = {link for link, rule in rules.items() if rule.cuts}
        # A link that heals counts as whole from before the switch knows, and a cut one as cut from after it does.
        self._cut_since = {link: since for link, since in self._cut_since.items() if link in cut}
        self._tell(rules)
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        assert answer, "the switch has ended"
        for link in cut - self._cut_since.keys():
            self._cut_since[link] = time.monotonic()
        return json.loads(answer)

    def _tell(self, rules: Mapping[Link, Rule]) -> None:
        assert self._process.stdin is not None
        named = [[self.address(a), self.address(b), asdict(rule)] for (a, b), rule in rules.items()]
        self._process.stdin.write(json.dumps(named).encode() + b"\n")
        self._process.stdin.flush()

    def _start_switch(self, seed: int) -> subprocess.Popen[bytes]:
        ports = [f"{node.address}={node.tun}" for node in self.nodes.values()]
        process = subprocess.Popen(
            [*dying_with_parent(), sys.executable, "-m", "network.switch", "--seed", str(seed), *ports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{ROOT / 'tests'}"},
            pass_fds=[node.tun for node in self.nodes.values()],
            start_new_session=True,
        )
        self._cleanup.callback(_end, process)
        return process


def both_ways(links: Iterable[Link]) -> set[Link]:
    return {link for a, b in links for link in ((a, b), (b, a))}


def between(ones: Iterable[str], others: Iterable[str]) -> set[Link]:
    """From each of these to each of those."""
    return {(one, other) for one, other in itertools.product(list(ones), list(others)) if one != other}


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.kill()
    process.wait()
    process.stdout.close()
