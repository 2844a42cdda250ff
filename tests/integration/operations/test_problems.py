"""What needs a person: in words, since when, with the call that ends it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness import hooks
from harness.contract import CONTRACT
from harness.statements import recorded
from harness.world import World

from memorybase.core import errors
from memorybase.core.memory_bases import consistency
from memorybase.core.models import DeadLetter, Generation, IngestionJob, MemoryBase, Message
from memorybase.core.operations import stack_parts
from memorybase.core.operations.health import part_names
from memorybase.core.operations.problems import FixAction, Problem, ProblemKind, problems
from memorybase.core.operations.stack_parts import PartView
from memorybase.core.settings import Settings
from memorybase.core.vectors.store import CollectionRef
from memorybase.features.webhooks import deliveries, endpoints


def part(name: str, problem: str | None = None) -> PartView:
    words = stack_parts.WORDS[name]
    return PartView(
        name, words.label, words.purpose, words.stops, f"start {name}", problem is None, problem, None, None, None, None
    )


@pytest.fixture(autouse=True)
def all_parts_answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Parts are processes that this test has not; what is away is entered here."""
    away: dict[str, str] = {}
    monkeypatch.setattr(
        stack_parts, "part_views", lambda _, **__: [part(name, away.get(name)) for name in part_names(Settings())]
    )
    return away


def found(world: World, user_id: UUID | None = None) -> list[Problem]:
    seen = problems(world.services, user_id or world.user_id)
    assert seen.total == len(seen.problems)
    return seen.problems


def collection(world: World) -> CollectionRef:
    with world.services.database.reading() as db:
        return CollectionRef(*db.execute(sa.select(Generation.collection_name, Generation.collection_id)).one())


def test_a_memory_base_that_is_well_is_no_problem(world: World) -> None:
    world.new_base(threshold=5)
    world.say("s", "one")
    assert found(world) == []


def test_lost_vectors_say_since_when_and_offer_to_rebuild(world: World) -> None:
    base = world.new_base(threshold=1, name="Answers")
    world.say("s", "one", "two")
    world.settle()
    world.vectors.delete_collection(collection(world).name)
    consistency.check_mismatch(world.services, world.user_id, base)
    (problem,) = found(world)
    assert (problem.kind, problem.title) == (ProblemKind.LOST, "Answers lost its vectors")
    assert problem.text == "Its vectors are gone from the vector store. Searches by meaning fail until it is rebuilt."
    assert [(fix.action, fix.method, fix.path, fix.available) for fix in problem.fixes] == [
        (FixAction.REBUILD, "POST", f"/v1/memories/{base}/regenerate", True)
    ]
    consistency.check_mismatch(world.services, world.user_id, base)
    assert found(world)[0].since == problem.since is not None
    change(world, MemoryBase, building=2)
    assert (found(world)[0].text, found(world)[0].fixes[0].available) == ("It is being rebuilt.", False)


def test_missing_chunks_are_counted(world: World) -> None:
    base = world.new_base(threshold=1, name="Answers")
    world.say("s", "one", "two", "three")
    world.settle()
    ref = collection(world)
    stored = sorted(chunk for page in world.vectors.iter_ids(ref) for chunk in page)
    world.vectors.delete(ref, stored[:2])
    consistency.check_mismatch(world.services, world.user_id, base)
    assert found(world)[0].text == "2 of 3 chunks are missing from the vector store. Searches may miss them."


def test_dead_letters_are_counted_in_messages_texts_and_sessions(world: World) -> None:
    base = world.new_base(threshold=1, name="Support")
    world.embedder.reject("bad")
    world.embedder.reject("worse")
    world.say("s", "bad", "worse", "good")
    world.say("t", "bad")
    world.settle()
    (problem,) = found(world)
    assert (problem.kind, problem.title) == (ProblemKind.FAILED, "3 messages are not searchable")
    assert problem.text == "Support: the model gave no valid vector for 2 texts, in 2 sessions."
    assert (problem.messages, problem.texts, problem.sessions) == (3, 2, 2)
    (fix,) = problem.fixes
    assert (fix.label, fix.path) == ("Retry 3", "/v1/dead-letters/actions")
    assert fix.body == {"action": "retry", "memory_base_id": str(base)}
    change(world, DeadLetter, state="retrying")
    assert found(world) == []


def test_messages_that_nothing_will_ingest_wait_for_a_person(world: World) -> None:
    base = world.new_base(auto_capture=False, name="Accounts")
    assert found(world) == []
    world.say("s", "one", "two")
    world.say("t", "three")
    (problem,) = found(world)
    assert (problem.title, problem.text) == (
        "Accounts is not being filled",
        "Auto-capture is off; 3 messages in 2 sessions wait.",
    )
    assert [(fix.action, fix.label) for fix in problem.fixes] == [
        (FixAction.SYNC, "Ingest now: 2 sessions"),
        (FixAction.TURN_ON, "Turn on"),
    ]
    assert (problem.fixes[1].method, problem.fixes[1].path) == ("PATCH", f"/v1/memories/{base}")
    assert problem.since == world.scalar(sa.select(sa.func.min(Message.captured_at)))
    world.flush(base)
    assert found(world) == []


def test_due_messages_that_are_too_old_are_a_problem_unless_a_part_explains_it(
    world: World, all_parts_answer: dict[str, str]
) -> None:
    world.new_base(threshold=1)
    world.say("s", "one")
    assert found(world) == []
    then = datetime.now(UTC) - timedelta(minutes=11)
    change(world, Message, captured_at=then)
    assert found(world) == [], "the job is new: a session that was idle became due just now"
    change(world, IngestionJob, created_at=then)
    (problem,) = found(world)
    assert (problem.kind, problem.job_id) == (ProblemKind.OVERDUE, None)
    assert problem.text.endswith("Read the worker's log.")
    all_parts_answer["worker"] = "no worker is running"
    assert [problem.title for problem in found(world)] == ["Worker does not answer"]


def test_messages_that_wait_for_a_job_name_it(world: World) -> None:
    base = world.new_base(threshold=1, name="Answers")
    world.say("stuck", "one", "two")
    world.say("other", "three")
    then = datetime.now(UTC) - timedelta(minutes=14)
    change(world, Message, captured_at=then)
    change(world, IngestionJob, created_at=then)
    stuck = next(job for job in world.jobs(base) if job.session_id == "stuck")

    def problem_of(**values: Any) -> Problem:
        world.execute(sa.update(IngestionJob).where(IngestionJob.id == stuck.id).values(**values))
        (problem,) = found(world)
        return problem

    running = problem_of(state="running", started_at=then, attempts=7, error="The worker was lost")
    assert running.title == "A job of Answers still runs, and messages wait"
    assert running.text == (
        "Session stuck (2 messages): attempt 7, started 14 min ago. Last error: The worker was lost. "
        "1 job waits behind it."
    )
    assert (running.job_id, running.memory_base_id, running.since) == (stuck.id, base, then)
    assert [(fix.label, fix.path) for fix in running.fixes] == [("Cancel", f"/v1/jobs/{stuck.id}")]
    queued = problem_of(state="queued", available_at=datetime.now(UTC) + timedelta(minutes=5, seconds=30))
    assert queued.title == "A job of Answers is tried again, and messages wait"
    assert "Next attempt in 5 min. 1 job waits behind it." in queued.text
    just_started = problem_of(state="running", started_at=datetime.now(UTC), attempts=1, error=None)
    assert just_started.job_id is None, "it holds nobody up"


def test_a_long_message_is_a_problem_that_tells_its_progress(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("long", "one")
    world.say("short", "two")
    first = next(job for job in world.jobs(base) if job.session_id == "long")
    progress = {"state": "running", "stored_chunks": 1200, "total_chunks": 3470}

    def started(minutes: int) -> list[Problem]:
        at = datetime.now(UTC) - timedelta(minutes=minutes)
        world.execute(sa.update(IngestionJob).where(IngestionJob.id == first.id).values(started_at=at, **progress))
        return found(world)

    assert started(1) == []
    change(world, Message, captured_at=datetime.now(UTC) - timedelta(minutes=11))  # which this explains
    (problem,) = started(14)
    assert (problem.kind, problem.job_id, problem.memory_base_id) == (ProblemKind.LONG, first.id, base)
    assert problem.text == "Session long: 1,200 of 3,470 chunks are stored. 1 job waits; they take turns."
    (cancel,) = problem.fixes
    assert (cancel.action, cancel.method, cancel.path) == (FixAction.CANCEL, "DELETE", f"/v1/jobs/{first.id}")


def test_a_part_that_is_away_comes_first_with_its_command(world: World, all_parts_answer: dict[str, str]) -> None:
    world.new_base(auto_capture=False)
    world.say("s", "one")
    all_parts_answer["chroma"] = "no answer within 1 s"
    first, second = found(world)
    assert (first.kind, first.part, second.kind) == (ProblemKind.PART, "chroma", ProblemKind.PAUSED)
    assert first.text.startswith("No answer within 1 s. Searches by meaning fail; searches by words answer.")
    assert [fix.command for fix in first.fixes] == ["start chroma"]


def test_the_database_is_away(world: World, all_parts_answer: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    all_parts_answer["database"] = "the database is locked"
    assert [problem.part for problem in found(world)] == ["database"]
    del all_parts_answer["database"]

    def away() -> Any:
        raise errors.DatabaseUnavailable("the connection is refused")

    monkeypatch.setattr(type(world.services.database), "reading", lambda _: away())
    (problem,) = found(world)
    assert (problem.part, problem.text.split(".")[0]) == ("database", "The connection is refused")


def test_problems_of_another_user_are_not_shown(world: World) -> None:
    world.new_base(auto_capture=False)
    world.say("s", "one")
    assert found(world, world.new_user()) == []


def test_any_number_of_memory_bases_costs_the_same_number_of_queries(world: World) -> None:
    def count() -> int:
        with recorded(world.services.database.engine) as sent:
            found(world)
        return len(sent)

    world.new_base(auto_capture=False)
    world.say("s", "one")
    few = count()
    for _ in range(5):
        world.new_base(auto_capture=False)
    assert count() == few


def webhook_problems(world: World) -> list[Problem]:
    return [each for each in found(world) if each.kind is ProblemKind.WEBHOOK]


def test_a_webhook_that_did_not_get_events_is_a_problem_until_they_are_replayed(world: World) -> None:
    webhook = hooks.subscribe(world, url="https://hooks.example.com/services/secret-part?token=x")
    other = hooks.subscribe(world)
    hooks.happen(world, 3)
    for each in (webhook, other):
        hooks.let_die(world, each.id)
    endpoints.change(world.services, world.user_id, other.id, {"enabled": False})
    (problem,) = webhook_problems(world)
    assert (problem.title, problem.webhook_id) == ("3 events were not delivered", webhook.id)
    assert problem.text == "All attempts to send them to the webhook hooks.example.com failed."
    assert "secret-part" not in repr(problem)
    oldest = min(row.occurred_at for row in hooks.rows(world, webhook.id))
    assert problem.since == oldest
    (replay,) = problem.fixes
    assert (replay.label, replay.path) == ("Replay 3", f"/v1/webhooks/{webhook.id}/replay")
    since = datetime.fromisoformat((replay.body or {})["since"])
    assert deliveries.replay_dead(world.services, world.user_id, webhook.id, since).replayed == 3
    assert webhook_problems(world) == []


def test_a_webhook_whose_dead_deliveries_are_discarded_is_no_problem(world: World) -> None:
    webhook = hooks.subscribe(world)
    hooks.happen(world, 3)
    hooks.let_die(world, webhook.id)
    deliveries.discard(world.services, world.user_id, webhook.id, hooks.rows(world)[0].id)
    (problem,) = webhook_problems(world)
    assert problem.title == "2 events were not delivered"
    deliveries.discard_dead(world.services, world.user_id, webhook.id, None)
    assert webhook_problems(world) == []


def test_a_webhook_that_was_disabled_because_it_failed_is_a_problem_and_one_of_a_person_is_not(world: World) -> None:
    gone, stopped = hooks.subscribe(world, description="Alerts"), hooks.subscribe(world)
    endpoints.change(world.services, world.user_id, stopped.id, {"enabled": False})
    hooks.happen(world)
    hooks.deliver(world, hooks.GONE)
    (problem,) = webhook_problems(world)
    assert (problem.title, problem.webhook_id) == ("The webhook Alerts is disabled", gone.id)
    assert problem.text == "It answered 410. 1 event was not delivered; new ones are not recorded."
    assert [fix.action for fix in problem.fixes] == [FixAction.ENABLE, FixAction.REPLAY]
    assert problem.since == hooks.endpoint_row(world, gone.id).disabled_at
    endpoints.change(world.services, world.user_id, gone.id, {"enabled": True})
    hooks.let_die(world, gone.id, days=8)
    world.sweep()  # deletes old deliveries
    assert webhook_problems(world) == []


def test_the_webhooks_of_another_user_are_no_problem_of_mine(world: World) -> None:
    hooks.subscribe(world)
    hooks.happen(world)
    hooks.deliver(world, hooks.GONE)
    assert found(world, world.new_user()) == []


def test_dead_deliveries_are_counted_by_their_index(sqlite_world: World) -> None:
    webhook = hooks.subscribe(sqlite_world)
    hooks.happen(sqlite_world, 3)
    hooks.let_die(sqlite_world, webhook.id)
    with recorded(sqlite_world.services.database.engine) as sent:
        found(sqlite_world)
    statement, values = next(each for each in sent if "webhook_deliveries.state = 'dead'" in each[0])
    with sqlite_world.services.database.engine.connect() as connection:
        plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(values)).all())
    assert "ix_webhook_deliveries_dead" in plan


def change(world: World, table: Any, **values: Any) -> None:
    world.execute(sa.update(table).values(**values))


def test_the_calls_that_end_a_problem_are_calls_of_the_api(world: World) -> None:
    base = world.new_base(threshold=1)
    world.embedder.reject("bad")
    world.say("s", "bad", "good")
    world.settle()
    world.vectors.delete_collection(collection(world).name)
    world.new_base(auto_capture=False)
    hooks.subscribe(world)
    hooks.happen(world)
    hooks.deliver(world, hooks.GONE)
    consistency.check_mismatch(world.services, world.user_id, base)
    operations = {(method.upper(), path) for path, item in CONTRACT["paths"].items() for method in item}
    fixes = [fix for problem in found(world) for fix in problem.fixes]
    assert {fix.action for fix in fixes} == {
        FixAction.REBUILD,
        FixAction.RETRY,
        FixAction.SYNC,
        FixAction.TURN_ON,
        FixAction.ENABLE,
        FixAction.REPLAY,
    }
    for fix in fixes:
        name = "webhook_id" if "/webhooks/" in (fix.path or "") else "memory_base_id"
        path = re.sub(r"[0-9a-f-]{36}", f"{{{name}}}", fix.path or "")
        assert (fix.method, path) in operations
