"""Processes in network namespaces, joined by the switch: what its faults mean to TCP. Needs root and /dev/net/tun."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest
from harness.namespace import why_not
from harness.waiting import wait_until
from network.network import Network, between, both_ways

PORT = 7_000
ROOT = Path(__file__).resolve().parents[3]
NEEDED = why_not()

pytestmark = [pytest.mark.slow, pytest.mark.skipif(NEEDED is not None, reason=f"NOT TESTED: {NEEDED}")]


@pytest.fixture
def network() -> Iterator[Network]:
    with closing(Network(("client", "server", "other"), seed=1)) as made:
        yield made


@pytest.fixture
def listener(network: Network) -> Iterator[socket.socket]:
    with network.nodes["server"].inside():
        made = socket.create_server((network.address("server"), PORT))
    with made:
        yield made


@contextmanager
def connected(network: Network, listener: socket.socket) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection, which outlives faults of any length that a test needs."""
    with network.nodes["client"].inside():
        near = socket.create_connection(listener.getsockname(), timeout=10)
    far, _ = listener.accept()
    far.settimeout(10)
    with near, far:
        yield near, far


def test_nodes_reach_each_other_and_nothing_else(network: Network, listener: socket.socket) -> None:
    with connected(network, listener) as (near, far):
        assert near.getsockname()[0] == network.address("client")
        near.sendall(b"question")
        assert far.recv(100) == b"question"
        far.sendall(b"answer")
        assert near.recv(100) == b"answer"
    with network.nodes["client"].inside(), pytest.raises(OSError, match="unreachable"):
        socket.create_connection(("192.0.2.1", 80), timeout=10)


@pytest.mark.parametrize("direction", ["there", "back", "both"])
def test_a_cut_is_silent_and_survived(network: Network, listener: socket.socket, direction: str) -> None:
    links = {"there": {("client", "server")}, "back": {("server", "client")}}.get(direction)
    with connected(network, listener) as (near, far):
        fault = network.cut(*(links or both_ways([("client", "server")])))
        assert network.is_cut("client", "server")
        assert not network.is_cut("client", "other")
        near.sendall(b"question")
        # Sent, or acknowledged, in vain.
        wait_until(lambda: sum(network.counts()["dropped"].values()), what="a packet is dropped")
        if direction == "back":  # requests arrive, answers do not
            assert far.recv(100) == b"question"
        far.settimeout(0.01)
        with pytest.raises(TimeoutError):
            far.recv(100)
        network.end(fault)
        assert not network.is_cut("client", "server")
        near.settimeout(30)  # the kernel's pause between two attempts has grown
        far.settimeout(30)
        far.sendall(b"answer")
        assert near.recv(100) == b"answer"
        if direction != "back":
            assert far.recv(100) == b"question"


def test_faults_on_one_link_end_one_by_one(network: Network) -> None:
    first = network.cut(*between(["client"], ["server", "other"]))
    second = network.cut(("client", "server"))
    network.end(first)
    network.end(first)
    assert network.is_cut("server", "client")
    assert not network.is_cut("client", "other")
    network.end(second)
    assert not network.is_cut("server", "client")
    network.cut(("client", "server"))
    network.heal()
    assert not network.is_cut("server", "client")


def test_nothing_remains_of_a_killed_harness() -> None:
    code = (
        "import sys, time, subprocess\n"
        "from network.network import Network\n"
        "from harness.process import dying_with_parent\n"
        "network = Network(('client', 'server'))\n"
        "with network.nodes['client'].inside():\n"
        "    words = [*dying_with_parent(), 'sh', '-c', 'echo; exec sleep 600']\n"
        "    child = subprocess.Popen(words, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()  # from now on it dies with its parent\n"
        "print(network._process.pid, child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'bench'}:{ROOT / 'tests'}"},
    ) as harness:
        assert harness.stdout is not None
        left = [psutil.Process(int(pid)) for pid in harness.stdout.readline().split()]
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    assert len(left) == 2
    psutil.wait_procs(left, timeout=30)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in left)
