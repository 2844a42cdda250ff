"""The workers with what they hold, and the request that one of them stops."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from harness import wait_until
from harness.world import World, message_of

from memorybase.core import errors
from memorybase.core.ingestion.claim import claim_job
from memorybase.core.models import Heartbeat
from memorybase.core.operations import heartbeats, workers
from memorybase.core.operations.heartbeats import HeartbeatThread
from memorybase.core.operations.workers import WorkerState


def test_workers_are_listed_with_what_they_hold(world: World) -> None:
    base = world.new_base(threshold=1)
    heartbeats.beat(world.services, "host:a:1:1", "worker")
    heartbeats.beat(world.services, "host:a:2:2", "worker")
    heartbeats.beat(world.services, "sweeper:host:3", "sweeper")
    world.say("s", "one", "two")
    (job,) = world.jobs(base)
    claim = claim_job(world.services, message_of(job), "host:a:1:1")
    assert claim is not None
    busy, idle = workers.list_workers(world.services).items
    assert (busy.name, busy.state, busy.jobs, busy.messages) == ("host:a:1:1", WorkerState.RUNNING, 1, 2)
    assert busy.oldest_job_at is not None
    assert (idle.name, idle.jobs, idle.messages, idle.oldest_job_at) == ("host:a:2:2", 0, 0, None)


def test_a_worker_without_heartbeats_is_lost(world: World) -> None:
    heartbeats.beat(world.services, "host:a:1:1", "worker")
    with world.services.database.transaction() as db:
        db.get_one(Heartbeat, "host:a:1:1").beat_at -= timedelta(hours=1)
    (worker,) = workers.list_workers(world.services).items
    assert worker.state is WorkerState.LOST
    with pytest.raises(errors.NotFound, match="no running worker named host"):
        workers.request_drain(world.services, "host")


def test_a_request_to_stop_names_one_worker(world: World) -> None:
    heartbeats.beat(world.services, "host:a:1:1", "worker")
    heartbeats.beat(world.services, "host:a:11:2", "worker")
    with pytest.raises(errors.InvalidRequest, match="name must match one worker"):
        workers.request_drain(world.services, "host:a")
    with pytest.raises(errors.NotFound, match="Running: host:a:1:1, host:a:11:2"):
        workers.request_drain(world.services, "other")
    assert workers.request_drain(world.services, ":11:") == "host:a:11:2"
    assert workers.request_drain(world.services, "host:a:1:1") == "host:a:1:1"  # a whole name, and part of another


@pytest.mark.slow
def test_a_worker_reads_the_request_with_its_next_heartbeat_once(world: World) -> None:
    asked = threading.Event()
    calls: list[None] = []

    def drain() -> None:
        calls.append(None)
        thread.draining()
        asked.set()

    thread = HeartbeatThread(world.services, "host:a:1:1", "worker", drain=drain)
    thread.confirm()
    wait_until(lambda: workers.find_worker(world.services, "host:a:1:1"), what="the first heartbeat")
    assert not asked.is_set()
    workers.request_drain(world.services, "host:a:1:1")
    assert asked.wait(30)

    def is_draining() -> bool:
        found = workers.find_worker(world.services, "host:a:1:1")
        return found is not None and found.state is WorkerState.DRAINING

    wait_until(is_draining, what="the heartbeat says that it drains")
    thread.stop()
    assert len(calls) == 1
    assert workers.find_worker(world.services, "host:a:1:1") is None


def test_in_one_process_the_worker_cannot_be_stopped_alone(world: World) -> None:
    heartbeats.beat(world.services, "host:a:1:1", "worker")
    services = replace(world.services, settings=world.services.settings.model_copy(update={"one_process": True}))
    with pytest.raises(errors.InvalidRequest, match="the API, which would stop too"):
        workers.request_drain(services, "host:a:1:1")
    (worker,) = workers.list_workers(services).items
    assert worker.state is WorkerState.RUNNING
