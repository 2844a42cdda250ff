"""Metrics, readiness and the doctor: every number changes with what it counts, and only then."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from harness.api import Api, open_api
from harness.world import World
from prometheus_client.parser import text_string_to_metric_families

from memorybase.cli import doctor as doctor_cli
from memorybase.core import errors
from memorybase.core.database import postgresql
from memorybase.core.database.paging import PageRequest
from memorybase.core.extension import Gauge
from memorybase.core.memory_bases import dead_letters, regenerate
from memorybase.core.models import Heartbeat, IngestionJob, MemoryBase, Message
from memorybase.core.operations import exposition, health, heartbeats, store_check
from memorybase.core.operations.health import Backlog
from memorybase.core.queries import store_health
from memorybase.core.read_models import memory_bases
from memorybase.core.settings import Settings

ROOT = Path(__file__).parents[3]


def read(text: str) -> dict[str, float]:
    """Each sample's value, by its name and labels."""
    return {
        sample.name + "".join(f"{{{key}={value}}}" for key, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(api: Api) -> dict[str, float]:
    """As a scrape sees it that comes long after the one before."""
    api.client.app.state.exposition.keep_seconds = 0
    answer = api.call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return read(answer.text)


def pass_time_of_jobs(world: World, seconds: float) -> None:
    """Let time pass, also since jobs were created and ended."""
    world.pass_time(seconds)
    with world.services.database.transaction() as db:
        for job in db.scalars(sa.select(IngestionJob)):
            job.created_at -= timedelta(seconds=seconds)
            job.finished_at = job.finished_at and job.finished_at - timedelta(seconds=seconds)


def pass_time_of_store(world: World, seconds: float) -> None:
    """Let time pass since the store's last check and its last success."""
    with world.services.database.transaction() as db:
        for name in (store_health.STORE, store_health.CHECK_TURN):
            beat = db.get(Heartbeat, name)
            if beat is not None:
                beat.beat_at -= timedelta(seconds=seconds)


class TestVitals:
    def test_an_empty_installation_shows_zeros(self, world: World) -> None:
        vitals = health.read_vitals(world.services)
        assert (vitals.pending_sessions, vitals.pending_messages, vitals.oldest_pending_seconds) == (0, 0, None)
        assert (vitals.jobs_queued, vitals.jobs_running, vitals.stuck_jobs) == (0, 0, 0)
        assert vitals.oldest_job_seconds is None
        assert (vitals.dead_letters, vitals.mismatched_memory_bases, vitals.queue_stalled) == (0, 0, False)
        assert vitals.worker == vitals.sweeper == health.Liveness(0, None)

    def test_pending_messages_are_those_that_the_threshold_made_due(self, world: World) -> None:
        base = world.new_base(threshold=3)
        world.say("below", "a", "b")
        assert health.read_vitals(world.services).pending_messages == 0
        world.say("reached", "a", "b", "c", {"role": "system", "content": "never counted"})
        world.say("reached", "not due yet")
        vitals = health.read_vitals(world.services)
        assert (vitals.pending_sessions, vitals.pending_messages) == (1, 3)
        assert vitals.oldest_pending_seconds is not None
        assert 0 <= vitals.oldest_pending_seconds < 60
        world.settle()
        assert health.read_vitals(world.services).pending_messages == 0
        world.assert_exact(base)

    def test_pending_messages_count_by_the_generations_capture(self, world: World) -> None:
        world.new_base(threshold=1, capture="outputs")
        world.say("s", {"role": "user", "content": "question"}, "answer")
        assert health.read_vitals(world.services).pending_messages == 1

    def test_a_deleted_base_has_nothing_pending(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        assert health.read_vitals(world.services).pending_sessions == 1
        world.execute(sa.text("UPDATE memory_bases SET deleting_at = created_at"))
        assert health.read_vitals(world.services).pending_sessions == 0

    def test_a_builds_pending_messages_replace_the_serving_generations(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "a", "b")
        regenerate.regenerate(world.services, world.user_id, base)
        assert {row.target_seq - row.cursor_seq for row in world.rows(base)} == {2}
        vitals = health.read_vitals(world.services)
        assert (vitals.pending_sessions, vitals.pending_messages) == (1, 2)

    def test_a_running_job_is_not_stuck(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        world.pass_time(61)
        vitals: list[health.Vitals] = []
        world.embedder.before_embed = lambda _texts: vitals.append(health.read_vitals(world.services))
        world.drain()
        assert [(each.jobs_queued, each.jobs_running, each.stuck_jobs) for each in vitals] == [(0, 1, 0)]

    def test_jobs_are_stuck_once_due_for_a_minute(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        vitals = health.read_vitals(world.services)
        assert (vitals.jobs_queued, vitals.stuck_jobs, vitals.queue_stalled) == (1, 0, False)
        world.pass_time(61)
        vitals = health.read_vitals(world.services)
        assert (vitals.jobs_queued, vitals.stuck_jobs, vitals.queue_stalled) == (1, 1, True)
        assert "1 jobs are due" in (health.why_degraded(world.services) or "")

    def test_messages_below_their_threshold_count_as_not_ingested_yet(self, world: World) -> None:
        world.new_base(threshold=10, idle_after=600)
        assert health.read_vitals(world.services).oldest_uningested_seconds is None
        world.say("s", "waits for nine more, or for the idle rule")
        with world.services.database.transaction() as db:
            for message in db.scalars(sa.select(Message)):
                message.captured_at -= timedelta(seconds=500)
        vitals = health.read_vitals(world.services)
        assert vitals.oldest_pending_seconds is None
        assert vitals.oldest_uningested_seconds is not None
        assert 500 <= vitals.oldest_uningested_seconds < 560
        world.pass_time(601)
        world.sweep()
        assert (health.read_vitals(world.services).oldest_uningested_seconds or 0) >= 500  # due, and still there
        world.settle()
        assert health.read_vitals(world.services).oldest_uningested_seconds is None

    def test_messages_that_nothing_will_ingest_do_not_count(self, world: World) -> None:
        world.new_base(threshold=10, idle_after=0)
        world.new_base(auto_capture=False)
        world.say("s", "waits for a person")
        assert health.read_vitals(world.services).oldest_uningested_seconds is None

    def test_a_job_that_began_a_minute_ago_is_without_progress(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        pass_time_of_jobs(world, 61)
        seen = []

        def look(_texts: object) -> None:
            seen.append(health.read_vitals(world.services).jobs_without_progress)
            with world.services.database.transaction() as db:
                for job in db.scalars(sa.select(IngestionJob)):
                    job.started_at = job.started_at and job.started_at - timedelta(seconds=61)
            seen.append(health.read_vitals(world.services).jobs_without_progress)

        world.embedder.before_embed = look
        assert health.read_vitals(world.services).jobs_without_progress == 0  # it waits and has not begun
        world.drain()
        assert seen == [0, 1]
        assert health.read_vitals(world.services).jobs_without_progress == 0

    def test_a_job_that_begins_again_and_again_is_without_progress(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        world.embedder.fail_with(errors.ModelUnavailable())
        world.drain()
        assert health.read_vitals(world.services).jobs_without_progress == 0  # for less than a minute
        pass_time_of_jobs(world, 61)
        assert health.read_vitals(world.services).jobs_without_progress == 1
        world.embedder.fail_with(None)
        world.settle()
        assert health.read_vitals(world.services).jobs_without_progress == 0

    def test_drift_is_how_many_chunks_the_store_lost(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.say("s", "a", "b", "c")
        world.settle()
        (ref,) = [world.ref(base)]
        lost = sorted(world.vectors.records(ref))[:2]
        world.vectors.lose(ref, lost)
        world.execute(sa.update(MemoryBase).values(compare_at=None))
        world.sweep()
        vitals = health.read_vitals(world.services)
        assert (vitals.mismatched_memory_bases, vitals.missing_chunks) == (1, 2)
        assert vitals.oldest_comparison_seconds is not None
        assert vitals.oldest_comparison_seconds < 60

    def test_a_long_queue_with_recently_started_jobs_is_not_stalled(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("one", "a")
        world.say("other", "a")
        world.pass_time(61)
        first = world.queue.enqueued[0]
        world.run(first)
        vitals = health.read_vitals(world.services)
        assert (vitals.stuck_jobs, vitals.queue_stalled) == (1, False)
        assert health.why_degraded(world.services) is None
        with world.services.database.transaction() as db:
            job = db.get_one(IngestionJob, first.job_id)
            assert job.finished_at is not None
            job.finished_at -= timedelta(seconds=61)
        assert health.read_vitals(world.services).queue_stalled

    def test_jobs_that_start_again_and_again_are_no_progress(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("done", "a")
        world.settle()
        world.vectors.away = True
        world.say("s", "a")
        for _ in range(3):
            world.drain()
            vitals = health.read_vitals(world.services)
            assert (vitals.retried_jobs, vitals.queue_stalled) == (0, False)
            pass_time_of_jobs(world, 19)
            world.sweep()
        pass_time_of_jobs(world, 4)
        vitals = health.read_vitals(world.services)
        assert (vitals.stuck_jobs, vitals.retried_jobs, vitals.queue_stalled) == (0, 1, True)
        assert "none has ended" in (health.why_degraded(world.services) or "")
        world.vectors.away = False
        world.pass_time(60)
        world.settle()
        vitals = health.read_vitals(world.services)
        assert (vitals.retried_jobs, vitals.queue_stalled) == (0, False)

    def test_retried_jobs_beside_others_that_advance_are_not_stalled(self, world: World) -> None:
        world.new_base(threshold=1)
        world.vectors.away = True
        world.say("s", "a")
        world.drain()
        pass_time_of_jobs(world, 61)
        assert health.read_vitals(world.services).queue_stalled
        world.vectors.away = False
        world.say("other", "a")
        world.queue.drain(lambda job: world.run(job) if job.session_id == "other" else None)
        vitals = health.read_vitals(world.services)
        assert (vitals.stuck_jobs + vitals.retried_jobs, vitals.queue_stalled) == (1, False)

    def test_others_that_wait_for_a_long_job_are_stalled_but_not_the_job_itself(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        seen: list[tuple[int, bool]] = []

        def look(_texts: object) -> None:
            pass_time_of_jobs(world, 120)
            seen.append((0, health.read_vitals(world.services).queue_stalled))
            world.say("waiting", "a")
            pass_time_of_jobs(world, 120)
            vitals = health.read_vitals(world.services)
            seen.append((vitals.stuck_jobs, vitals.queue_stalled))

        world.embedder.before_embed = look
        world.run(world.queue.enqueued[0])
        assert seen == [(0, False), (1, True)]

    def test_a_postponed_job_is_not_stuck(self, world: World) -> None:
        world.new_base(threshold=1)
        world.say("s", "a")
        world.vectors.away = True
        world.drain()
        with world.services.database.transaction() as db:
            for job in db.scalars(sa.select(IngestionJob)):
                job.created_at -= timedelta(minutes=5)
        vitals = health.read_vitals(world.services)
        assert (vitals.jobs_queued, vitals.stuck_jobs) == (1, 0)
        assert (vitals.oldest_job_seconds or 0) > 290

    def test_deleted_bases_and_discarded_dead_letters_are_not_counted(self, world: World) -> None:
        world.embedder.reject("poison")
        base, other = world.new_base(threshold=1), world.new_base(threshold=1)
        world.say("s", "poison")
        world.settle()
        regenerate.regenerate(world.services, world.user_id, base)
        world.settle()
        assert sorted(letter.generation for letter in world.dead_letters(base)) == [1, 2]
        assert health.read_vitals(world.services).dead_letters == 2
        world.execute(sa.update(MemoryBase).values(mismatch=True))
        assert health.read_vitals(world.services).mismatched_memory_bases == 2
        with world.services.database.transaction() as db:
            db.get_one(MemoryBase, other).deleting_at = world.base(other).created_at
        vitals = health.read_vitals(world.services)
        assert (vitals.dead_letters, vitals.mismatched_memory_bases) == (1, 1)
        (letter,) = [each for each in world.dead_letters(base) if each.generation == 2]
        dead_letters.discard_dead_letter(world.services, world.user_id, base, letter.id)
        assert health.read_vitals(world.services).dead_letters == 0

    def test_a_heartbeat_from_the_future_has_age_zero(self, world: World) -> None:
        heartbeats.beat(world.services, "worker@1", "worker")
        with world.services.database.transaction() as db:
            db.get_one(Heartbeat, "worker@1").beat_at += timedelta(seconds=60)
        assert health.read_vitals(world.services).worker == health.Liveness(1, 0.0)

    def test_processes_are_counted_by_kind(self, world: World) -> None:
        heartbeats.beat(world.services, "worker@1", "worker")
        heartbeats.beat(world.services, "worker@2", "worker")
        vitals = health.read_vitals(world.services)
        assert vitals.worker.alive == 2
        assert vitals.worker.age_seconds is not None
        assert vitals.worker.age_seconds < 15
        with world.services.database.transaction() as db:
            db.get_one(Heartbeat, "worker@1").beat_at -= timedelta(seconds=60)
        vitals = health.read_vitals(world.services)
        assert (vitals.worker.alive, vitals.sweeper) == (1, health.Liveness(0, None))


class TestParts:
    def test_each_part_reports_its_state(self, world: World) -> None:
        heartbeats.beat(world.services, "worker@1", "worker")
        world.vectors.away = True
        parts = {part.name: part for part in health.check_parts(world.services)}
        assert tuple(parts) == health.part_names(world.services.settings)
        assert [name for name, part in parts.items() if not part.ok] == ["chroma", "sweeper"]
        assert parts["database"].latency_seconds is not None
        assert parts["chroma"].problem
        assert (parts["worker"].alive, parts["worker"].problem) == (1, None)
        assert (parts["sweeper"].alive, parts["sweeper"].problem) == (0, "no sweeper is running")
        with world.services.database.transaction() as db:
            db.get_one(Heartbeat, "worker@1").beat_at -= timedelta(seconds=100)
        (worker,) = [part for part in health.check_parts(world.services) if part.name == "worker"]
        assert (worker.ok, worker.alive) == (False, 0)
        assert "no heartbeat from a worker for 10" in (worker.problem or "")

    def test_workers_that_keep_crashing_soon_after_their_start_are_named(self, world: World) -> None:
        """Each leaves heartbeats that alone look like those of a living worker."""

        def worker_part() -> health.Part:
            (part,) = [part for part in health.check_parts(world.services) if part.name == "worker"]
            return part

        def beat(name: str, *, first: float, latest: float) -> None:
            heartbeats.beat(world.services, name, "worker")
            with world.services.database.transaction() as db:
                row = db.get_one(Heartbeat, name)
                row.started_at = row.beat_at - timedelta(seconds=first)
                row.beat_at -= timedelta(seconds=latest)

        for number in range(2):
            beat(f"worker@{number}", first=20 + 16 * number, latest=18 + 16 * number)
        beat("worker@now", first=2, latest=1)
        assert worker_part().ok
        beat("worker@3", first=60, latest=58)
        assert "3 workers were lost in the last two minutes" in (worker_part().problem or "")
        assert not worker_part().ok
        beat("worker@steady", first=16, latest=0)
        assert worker_part().ok

    def test_a_hanging_part_does_not_delay_the_others(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        ended = threading.Event()
        monkeypatch.setattr(health, "CHECK_SECONDS", 0.5)
        monkeypatch.setattr(world.vectors, "ping", ended.wait)
        try:
            parts = {part.name: part for part in health.check_parts(world.services)}
        finally:
            ended.set()
        assert parts["redis"].ok
        assert parts["chroma"].problem == "No answer within 0.5 s"

    def test_the_backlog_and_its_oldest_message_are_of_the_user(self, world: World) -> None:
        world.new_base(threshold=1)
        assert health.oldest_pending_seconds(world.services, world.user_id) is None
        assert health.backlog(world.services, world.user_id) == Backlog(0, None)
        world.say("s", "a", "b", "c")
        assert health.backlog(world.services, world.user_id) == Backlog(3, None)
        world.settle()
        world.say("s", "d")
        backlog = health.backlog(world.services, world.user_id)  # three were ingested within some seconds
        assert backlog.messages == 1
        assert backlog.seconds_left is not None
        assert 1 < backlog.seconds_left < 20
        assert health.backlog(world.services, world.new_user()) == Backlog(0, None)
        vitals = health.oldest_pending_seconds(world.services, world.user_id)
        assert vitals is not None
        assert 0 <= vitals < 60
        assert health.oldest_pending_seconds(world.services, world.new_user()) is None


class TestVectorStore:
    """A store that answers and does not work is named."""

    @pytest.fixture(autouse=True)
    def _processes(self, world: World) -> None:
        for kind in ("worker", "sweeper"):
            heartbeats.beat(world.services, f"{kind}@1", kind)  # type: ignore[arg-type]

    def problem(self, world: World) -> str | None:
        (chroma,) = [part for part in health.check_parts(world.services) if part.name == "chroma"]
        assert chroma.ok == (chroma.problem is None)
        return chroma.problem

    def check(self, world: World) -> bool:
        pass_time_of_store(world, 11)
        return store_check.check_store(world.services)

    def test_refused_test_writes_fail_it_within_a_minute(self, world: World) -> None:
        base = world.new_base()
        assert self.problem(world) is None
        assert self.check(world)
        world.vectors.read_only = True
        assert not self.check(world)
        assert self.problem(world) is None
        for _ in range(2):
            assert not self.check(world)
        assert "no test write has succeeded for 3" in (self.problem(world) or "")
        view = memory_bases.get_memory_base(world.services, world.user_id, base)
        assert view.status == "unavailable"
        (listed,) = memory_bases.list_memory_bases(world.services, world.user_id, PageRequest()).items
        assert listed.status == "unavailable"
        world.vectors.read_only = False
        assert self.check(world)
        assert self.problem(world) is None
        assert memory_bases.get_memory_base(world.services, world.user_id, base).status == "ready"

    def test_only_one_of_several_sweepers_checks(self, world: World) -> None:
        for _ in range(3):
            assert store_check.check_store(world.services)
        assert world.vectors.calls["check_writes"] == 1

    def test_without_a_sweeper_the_last_check_says_nothing(self, world: World) -> None:
        assert self.check(world)
        pass_time_of_store(world, 3_600)
        assert self.problem(world)
        with world.services.database.transaction() as db:
            db.get_one(Heartbeat, "sweeper@1").beat_at -= timedelta(seconds=60)
        assert self.problem(world) is None

    def test_writes_that_fail_for_workers_fail_it(self, world: World) -> None:
        """Three times in a row, which takes seconds, and without any other job that ends."""
        world.new_base(threshold=1)
        world.say("done", "a")
        world.settle()
        pass_time_of_jobs(world, 31)
        world.say("s", "a")
        world.vectors.read_only = True
        for _ in range(3):
            assert self.problem(world) is None
            world.drain()
            world.pass_time(60)
            world.sweep()
        assert "it fails 1 job repeatedly" in (self.problem(world) or "")
        world.vectors.read_only = False
        world.settle()
        assert self.problem(world) is None

    def test_a_base_without_its_collection_does_not_fail_it(self, world: World) -> None:
        base = world.new_base(threshold=1)
        world.vectors.delete_collection(world.ref(base).name)
        world.say("s", "a")
        for _ in range(4):
            world.drain()
            world.pass_time(60)
            world.sweep()
        assert world.active_jobs(base)[0].outages >= 3
        assert self.problem(world) is None

    def test_without_a_database_only_the_store_is_asked(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(world.services.database, "engine", sa.create_engine("sqlite:////nowhere/at/all.db"))
        assert self.problem(world) is None
        world.vectors.away = True
        assert self.problem(world)

    def test_the_doctor_names_it(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_cli.DoctorContext, "services", world.services)
        monkeypatch.setattr(doctor_cli.DoctorContext, "database_url", "")
        (check,) = [check for check in doctor_cli.checks_of(Settings()) if check.name == "chroma"]
        assert self.check(world)
        assert check.run(doctor_cli.DoctorContext(world.services.settings, None)).ok
        pass_time_of_store(world, 60)
        result = check.run(doctor_cli.DoctorContext(world.services.settings, None))
        assert "no test write has succeeded" in result.detail


OF_VITALS = """
pending_sessions pending_messages oldest_pending_message_age_seconds jobs{state=queued}
jobs{state=running} oldest_job_age_seconds stuck_jobs dead_letters mismatched_memory_bases
processes{kind=worker} heartbeat_age_seconds{kind=worker} processes{kind=sweeper} retried_jobs
webhooks{state=working} webhooks{state=failing} webhooks{state=disabled} webhook_deliveries_pending
oldest_uningested_message_age_seconds jobs_without_progress missing_chunks
oldest_comparison_age_seconds queued_jobs{priority=high} queued_jobs{priority=normal}
queued_jobs{priority=low}
"""


class TestMetrics:
    def test_each_part_is_a_metric(self, api: Api) -> None:
        heartbeats.beat(api.services, "worker@1", "worker")
        api.vectors.away = True
        samples = scraped(api)
        up = {name: samples[f"memorybase_part_up{{part={name}}}"] for name in health.part_names(api.services.settings)}
        assert up == {"database": 1, "redis": 1, "chroma": 0, "worker": 1, "sweeper": 0}

    def test_metrics_follow_captures_and_jobs(self, api: Api) -> None:
        api.flow()
        api.memory(threshold=2)
        before = scraped(api)
        api.capture("a", "b", "c")
        after = scraped(api)
        assert after["memorybase_runs_captured_total"] == before["memorybase_runs_captured_total"] + 1
        assert after["memorybase_messages_captured_total"] == before["memorybase_messages_captured_total"] + 3
        assert after["memorybase_capture_seconds_count"] == before["memorybase_capture_seconds_count"] + 1
        assert after["memorybase_pending_messages"] == 3
        assert after["memorybase_jobs{state=queued}"] == 1
        api.work()
        done = scraped(api)
        assert (done["memorybase_pending_messages"], done["memorybase_jobs{state=queued}"]) == (0, 0)
        assert done["memorybase_database_up"] == 1

    def test_each_number_has_its_own_metric(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        vitals = health.Vitals(
            pending_sessions=1,
            pending_messages=2,
            oldest_pending_seconds=3.0,
            jobs_queued=4,
            jobs_running=5,
            oldest_job_seconds=6.0,
            stuck_jobs=7,
            retried_jobs=13,
            queue_stalled=True,
            dead_letters=8,
            mismatched_memory_bases=9,
            of_features=(
                Gauge("memorybase_webhooks", "", {"working": 14, "failing": 15, "disabled": 16}, label="state"),
                Gauge("memorybase_webhook_deliveries_pending", "", {"": 17}),
            ),
            oldest_uningested_seconds=18.0,
            jobs_without_progress=19,
            missing_chunks=20,
            oldest_comparison_seconds=21.0,
            jobs_queued_high=22,
            jobs_queued_normal=23,
            jobs_queued_low=24,
            worker=health.Liveness(10, 11.0),
            sweeper=health.Liveness(12, None),
        )
        monkeypatch.setattr(health, "read_vitals", lambda _services: vitals)
        said = scraped(api)
        names = re.findall(r"\S+", OF_VITALS)
        assert [said[f"memorybase_{name}"] for name in names] == list(range(1, 25))
        assert said["memorybase_queue_stalled"] == 1
        assert "memorybase_heartbeat_age_seconds{kind=sweeper}" not in said
        monkeypatch.setattr(
            health, "read_vitals", lambda _services: replace(vitals, queue_stalled=False, oldest_job_seconds=None)
        )
        said = scraped(api)
        assert (said["memorybase_queue_stalled"], said["memorybase_oldest_job_age_seconds"]) == (0, 0)

    def test_on_postgresql(self, postgres_api: Api) -> None:
        postgres_api.flow()
        postgres_api.memory(threshold=1)
        postgres_api.capture("a")
        assert scraped(postgres_api)["memorybase_pending_messages"] == 1

    def test_a_key_without_read_and_no_key_are_refused(self, api: Api) -> None:
        assert api.client.get("/metrics").status_code == 401
        assert api.client.get("/v1/metrics").status_code == 401
        assert api.of_user("local", "write").refused("GET", "/metrics", 403)["code"] == "forbidden"

    def test_metrics_can_be_public(self, api_settings: Settings) -> None:
        with open_api(api_settings.model_copy(update={"metrics_public": True})) as api:
            answer = api.client.get("/metrics")
            assert answer.status_code == 200
            assert read(answer.text)["memorybase_stuck_jobs"] == 0
            assert api.client.get("/v1/flows").status_code == 401

    def test_a_database_outage_is_a_metric(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(api.services.database, "engine", sa.create_engine("sqlite:////nowhere/at/all.db"))
        vitals = read(exposition.Exposition().text(api.services).decode())
        assert vitals["memorybase_database_up"] == 0
        assert "memorybase_jobs{state=queued}" not in vitals
        assert "memorybase_runs_captured_total" in vitals

    def test_no_label_names_a_user_base_or_session(self, api: Api) -> None:
        api.flow("hushed-flow")
        api.capture("the text", flow="hushed-flow", session="hushed-session")
        labels = set(re.findall(r"\{(\w+)=", "".join(scraped(api))))
        # A route is a template, such as /flows/{flow_id}. The last ones appear once a process has refused, embedded or
        # seen a secret.
        always = {"state", "kind", "le", "part", "method", "route", "status", "store", "priority", "outcome"}
        assert always <= labels <= always | {"quota", "whose", "model", "server", "rule"}
        assert "hushed" not in api.call("GET", "/metrics").text

    def test_each_metric_is_documented(self, api: Api) -> None:
        heartbeats.beat(api.services, "worker@1", "worker")
        page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
        families = text_string_to_metric_families(api.call("GET", "/metrics").text)
        names = {
            sample.name for family in families for sample in family.samples if not sample.name.endswith("_created")
        }
        names = {re.sub(r"(_(?:capture|request)_seconds)_(bucket|count|sum)$", r"\1", name) for name in names}
        assert len(names) > 12
        missing = sorted(name for name in names if f"| `{name}` |" not in page)
        assert not missing, f"add rows for these to docs/reference/metrics.md: {missing}"


class TestReady:
    def test_a_stalled_queue_is_degraded_with_a_reason(self, api: Api) -> None:
        for kind in ("worker", "sweeper"):
            heartbeats.beat(api.services, f"{kind}@1", kind)  # type: ignore[arg-type]
        api.flow()
        api.memory(threshold=1)
        api.capture("a")
        answer = api.client.get("/health/ready").json()
        assert (answer["status"], answer["parts"]["queue"], answer["reason"]) == ("ready", "ok", None)
        with api.services.database.transaction() as db:
            for job in db.scalars(sa.select(IngestionJob)):
                job.available_at -= timedelta(seconds=61)
        answer = api.client.get("/health/ready")
        assert answer.status_code == 200
        assert (answer.json()["status"], answer.json()["parts"]["queue"]) == ("degraded", "degraded")
        assert "more than a minute" in answer.json()["reason"]
        api.work()
        assert api.client.get("/health/ready").json()["status"] == "ready"


class TestDoctor:
    def test_it_shows_the_same(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_cli.DoctorContext, "services", world.services)
        context = doctor_cli.DoctorContext(world.services.settings, None)
        checks = {check.name: check for check in doctor_cli.CHECKS}
        names = ("pending", "jobs", "stuck jobs", "dead letters", "vectors")
        assert all(checks[name].run(context).ok for name in names)
        world.new_base(threshold=1)
        world.say("s", "a")
        world.pass_time(61)
        context = doctor_cli.DoctorContext(world.services.settings, None)
        results = {name: checks[name].run(context) for name in names}
        assert results["pending"].ok
        assert "1 message due in 1 session" in results["pending"].detail
        assert not results["stuck jobs"].ok
        assert results["stuck jobs"].fix

    def test_it_says_when_postgresql_lacks_memory(self, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        context = doctor_cli.DoctorContext(Settings(database_url=postgres_url), None)
        (check,) = [check for check in doctor_cli.CHECKS if check.name == "database memory"]
        enough = check.run(context)
        monkeypatch.setattr(postgresql, "LARGE_DATABASE", 5_000_000)
        result = check.run(context)
        assert enough.ok
        assert re.fullmatch(r"shared_buffers 128 MB for [789] MB of data", result.detail)
        assert (result.ok, "shared_buffers = '1GB'" in result.fix) == (False, True)
