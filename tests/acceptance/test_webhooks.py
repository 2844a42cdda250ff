"""Every event arrives, whatever the receiver does and whenever the sender is killed."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from harness import running
from harness.receiver import Received, Receiver, receiving
from harness.stack import KEY, EmbeddedStack
from harness.waiting import wait_until
from memorybase_client import Client
from standardwebhooks import Webhook

pytestmark = pytest.mark.slow  # a stack, and leases that expire

SESSIONS = 40
KILLED_AT = (3, 12, 24)  # requests
PATIENCE = 180.0


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[EmbeddedStack]:
    stack = EmbeddedStack(tmp_path)
    stack.changes = {"MEMORYBASE_WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]'}
    stack.values = {
        "memorybase.features.webhooks.sender.TIMEOUT_SECONDS": 2,
        "memorybase.features.webhooks.sender.BACKOFF_SECONDS": 0.2,
    }
    with running(stack):
        yield stack


class Faulty:
    """Fails the first request of most events in one of several ways, and kills the sender within some requests."""

    def __init__(self, stack: EmbeddedStack) -> None:
        self._stack = stack
        self._mutex = threading.Lock()
        self._requests = 0
        self.seen: Counter[str] = Counter()  # requests by event
        # Events that were answered with 204, whether or not the sender lived to read it.
        self.accepted: set[str] = set()
        self.end = threading.Event()

    def answer(self, request: Received, connection: socket.socket) -> int | None:
        with self._mutex:
            self._requests += 1
            number = self._requests
            self.seen[request.webhook_id] += 1
            is_first = self.seen[request.webhook_id] == 1
        if number in KILLED_AT:
            # Between the request and its record: the answer comes too late.
            os.kill(self._stack.child("sweeper"), signal.SIGKILL)
        elif is_first and number % 5 == 0:
            return 500
        elif is_first and number % 5 == 1:
            self.end.wait(4)  # longer than the sender waits
        elif is_first and number % 5 == 2:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            return None
        elif is_first and number % 5 == 3:
            return 302
        with self._mutex:
            self.accepted.add(request.webhook_id)
        return 204


def test_no_event_is_lost_by_faults_of_the_receiver_or_by_kills_of_the_sender(stack: EmbeddedStack) -> None:
    faulty = Faulty(stack)
    with receiving() as receiver, receiving() as leaving, Client(stack.url, KEY) as api:
        receiver.answer = faulty.answer
        leaving.answer = lambda _request, _socket: 410
        hook = api.create_webhook(url=receiver.url, event_types=["job.completed"])
        gone = api.create_webhook(url=leaving.url, event_types=["job.completed"])
        api.put_flow("support", name="support")
        base = str(api.create_memory_base(name="notes", flow_id="support", threshold=1).id)
        for number in range(SESSIONS):
            said = [{"role": "assistant", "content": f"Parcel {number} has arrived."}]
            api.capture_run("support", session_id=f"s{number}", messages=said)
        api.wait_until_searchable(base)
        wait_until(lambda: api.get_webhook(str(hook.id)).pending == 0, PATIENCE, "all deliveries end")
        faulty.end.set()

        found = list(api.list_deliveries(str(hook.id), size=200))
        assert {str(each.state) for each in found} == {"delivered"}
        assert {str(each.event_id) for each in found} == faulty.accepted
        jobs = {str(job.id) for job in api.list_jobs(base, size=200) if str(job.state) == "done"}
        assert {request.event["data"]["job_id"] for request in receiver.requests} == jobs
        assert len(jobs) == SESSIONS
        assert max(faulty.seen.values()) > 1
        assert set(faulty.seen) == faulty.accepted
        _verify(receiver, hook.secret)
        left = api.get_webhook(str(gone.id))
        assert (left.enabled, str(left.disabled_reason)) == (False, "gone")


def _verify(receiver: Receiver, secret: str) -> None:
    """Each request has a valid signature, and an event the same body each time."""
    bodies: dict[str, set[str]] = {}
    for request in receiver.requests:
        Webhook(secret).verify(request.body, request.headers)
        bodies.setdefault(request.webhook_id, set()).add(request.body)
    assert {len(each) for each in bodies.values()} == {1}
