"""The story of a run: what its models were given, how well it fits, and when its messages were searchable."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from harness.rows import each_row
from harness.world import WorkerKilled, World, crash_after

from memorybase.core.conversation import context
from memorybase.core.conversation.context import ContextRequest, RecallOptions
from memorybase.core.database.paging import PageRequest
from memorybase.core.errors import NotFound
from memorybase.core.ids import CallerId
from memorybase.core.models import IngestionJob
from memorybase.core.read_models import ingestion, run_story
from memorybase.core.read_models.ingestion import STAGES, Ingestion
from memorybase.core.read_models.run_story import GivenView, RunStory
from memorybase.core.sessions import edits, restoring

BERTH = "Berth 12 has shore power and it is free from Friday"
QUESTION = "Which berth has shore power?"


def asked(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def story(world: World, run_id: UUID | CallerId) -> RunStory:
    return run_story.run_story(world.services, world.user_id, world.flow_id, run_id)


def give(world: World, run_id: UUID, *, session_id: str = "s", node_id: str = "answer", **changes: Any) -> None:
    """Build a context as a node of the run does."""
    fields: dict[str, Any] = {"query": QUESTION, "token_budget": 600, "recall": RecallOptions(scope="flow")} | changes
    request = ContextRequest(flow_id=world.flow_id, session_id=session_id, run_id=run_id, node_id=node_id, **fields)
    context.build_context(world.services, world.user_id, request)


def given(world: World, run_id: UUID) -> GivenView:
    (node,) = story(world, run_id).nodes
    assert node.given is not None
    return node.given


def only(world: World, run_id: UUID) -> Ingestion:
    (found,) = story(world, run_id).memories
    return found


def test_a_run_is_shown_with_its_question_what_was_given_and_its_answer(world: World) -> None:
    world.new_base()
    early = world.say("earlier", asked("I need power for my boat"), BERTH)
    world.say("s", asked("Hello"), "Good morning")
    run_id = uuid4()
    give(world, run_id)
    before = story(world, run_id)
    assert (before.captured_at, before.question, before.memories) == (None, None, [])
    world.say("s", asked(QUESTION), "Let me look", BERTH, run_id=run_id)

    shown = story(world, run_id)
    assert (shown.question, shown.answer, shown.session_id) == (QUESTION, BERTH, "s")
    view = given(world, run_id)
    assert (view.query, view.budget) == (QUESTION, 600)
    assert view.tokens.recall > 0
    assert view.tokens.history > 0
    assert view.total_tokens == view.tokens.recall + view.tokens.history
    best = view.memories[0]
    assert best.message is not None
    assert (best.message_id, best.message.content) == (early.messages[1].id, BERTH)
    assert (best.message.session_id, best.edited) == ("earlier", False)
    assert best.score == view.best_score
    scores = [-1.0 if memory.score is None else memory.score for memory in view.memories]
    assert scores == sorted(scores, reverse=True)


def test_a_memory_that_was_edited_or_deleted_since_says_so(world: World) -> None:
    world.new_base()
    first, second = (message.id for message in world.say("earlier", BERTH, "Shore power is in each berth").messages)
    run_id = uuid4()
    give(world, run_id)
    edits.edit_message(world.services, world.user_id, first, {"content": "Berth 13"})
    edits.delete_message(world.services, world.user_id, second)

    shown = {memory.message_id: memory for memory in given(world, run_id).memories}
    assert shown[first].edited
    assert shown[second].message is None


def test_a_memory_that_has_its_text_again_is_not_called_edited(world: World) -> None:
    world.new_base()
    first, second = (message.id for message in world.say("earlier", BERTH, "Shore power is in each berth").messages)
    run_id = uuid4()
    give(world, run_id)
    for text in ("Berth 13", BERTH):
        edits.edit_message(world.services, world.user_id, first, {"content": text})
    edits.delete_message(world.services, world.user_id, second)
    restoring.restore_message(world.services, world.user_id, second)

    assert {memory.edited for memory in given(world, run_id).memories} == {False}
    assert "edited_since" not in given(world, run_id).flags


@pytest.mark.parametrize("quoted", [QUESTION, f"The user asks: {QUESTION}"], ids=["alone", "within a longer query"])
def test_deleting_the_question_redacts_what_was_looked_for(world: World, quoted: str) -> None:
    run_id = uuid4()
    give(world, run_id, query=quoted)
    question, _ = world.say("s", asked(QUESTION), "Twelve", run_id=run_id).messages
    assert given(world, run_id).query == quoted

    edits.delete_message(world.services, world.user_id, question.id)

    assert given(world, run_id).query == quoted.replace(QUESTION, "[deleted]")


@each_row(
    ("query", "scores", "verdict"),
    [
        (None, [], "not_asked"),
        ("?", [], "nothing_found"),
        ("?", [0.003, 0.049], "did_not_help"),
        ("?", [0.05, None], "may_help"),
        ("?", [0.01, 0.2], "fits"),
        ("?", [0.9], "fits"),
        ("?", [None], "may_help"),
    ],
)
def test_the_verdict_is_the_band_of_the_best_score(query: str | None, scores: list[float | None], verdict: str) -> None:
    assert run_story.verdict(query, scores) == verdict


def test_the_nodes_are_shown_with_their_executions_and_without_a_view(world: World) -> None:
    run = world.say("s", asked(QUESTION), BERTH)
    give(world, run.run_id, query=None)
    assert [(node.node_id, node.answer) for node in story(world, run.run_id).nodes] == [("answer", None)]
    view = given(world, run.run_id)
    assert (view.query, view.verdict, view.memories) == (None, "not_asked", [])


def test_the_runs_of_a_session_are_linked_in_the_order_of_their_capture(world: World) -> None:
    runs = [world.say("s", f"answer {n}", run_id=CallerId.of(world.user_id, "run", f"run-{n}")) for n in range(3)]
    world.say("other", "unrelated")
    first, second, third = (story(world, run.run_id) for run in runs)
    assert (first.previous, third.next) == (None, None)
    assert second.previous is not None
    assert (second.previous.run_id, second.previous.external_id) == (first.run_id, "run-0")
    assert second.next is not None
    assert second.next.run_id == third.run_id
    assert story(world, CallerId.of(world.user_id, "run", "run-1")) == second


def test_another_users_run_and_message_are_not_found(world: World) -> None:
    run = world.say("s", asked(QUESTION), BERTH)
    other, message_id = world.new_user(), run.messages[0].id
    for call in (
        lambda: run_story.run_story(world.services, other, world.flow_id, run.run_id),
        lambda: run_story.run_story(world.services, world.user_id, world.new_flow(), run.run_id),
        lambda: run_story.uses_of_message(world.services, other, message_id, PageRequest()),
        lambda: ingestion.message_ingestion(world.services, other, message_id),
    ):
        with pytest.raises(NotFound):
            call()


# ---------------------------------------------------------------------------------------------------------------
# From capture to searchable


def test_each_step_has_a_time_and_they_are_in_order(world: World) -> None:
    base_id = world.new_base(threshold=2)
    run = world.say("s", asked(QUESTION), BERTH)
    queued = only(world, run.run_id)
    assert (queued.state, queued.messages, queued.searchable) == ("ingesting", 2, 0)
    assert (queued.searchable_at, queued.searchable_after_ms, queued.embedding_at) == (None, None, None)

    world.settle()

    done = only(world, run.run_id)
    assert (done.state, done.messages, done.searchable, done.chunks, done.attempts) == ("searchable", 2, 2, 2, 1)
    assert done.job_id == world.jobs(base_id)[0].id
    times = [getattr(done, name) for name in ("captured_at", *STAGES, "searchable_at")]
    assert None not in times
    assert times == sorted(times)
    assert done.searchable_after_ms == (times[-1] - times[0]) // timedelta(milliseconds=1)


def test_a_retried_job_shows_the_steps_of_its_last_attempt(world: World) -> None:
    base_id = world.new_base(threshold=1)
    run = world.say("s", BERTH)
    world.vectors.away = True
    world.drain()
    postponed = only(world, run.run_id)
    assert (postponed.state, postponed.embedding_at) == ("ingesting", None)
    world.vectors.away = False
    world.pass_time(3_600)
    world.settle()
    (job,) = world.jobs(base_id)
    assert job.outages == 1
    done = only(world, run.run_id)
    times = [getattr(done, name) for name in (*STAGES, "searchable_at")]
    assert times == sorted(times)


def test_times_that_a_slow_clock_reports_too_early_are_not_shown_before_the_step_before(world: World) -> None:
    base_id = world.new_base(threshold=1)
    run = world.say("s", BERTH)
    world.settle()
    (job,) = world.jobs(base_id)
    with world.services.database.transaction() as db:
        db.get_one(IngestionJob, job.id).embedding_at = job.created_at - timedelta(hours=1)
    done = only(world, run.run_id)
    assert done.embedding_at == done.started_at


def test_below_the_threshold_a_run_waits(world: World) -> None:
    world.new_base(threshold=5)
    world.say("s", "one", "two")
    run = world.say("s", "three")
    waiting = only(world, run.run_id)
    assert (waiting.state, waiting.pending, waiting.threshold, waiting.job_id) == ("waiting", 3, 5, None)
    assert waiting.auto_capture


def test_a_memory_base_that_counts_other_messages_says_so(world: World) -> None:
    world.new_base(capture="outputs", threshold=1)
    run = world.say("s", asked(QUESTION))
    world.settle()
    assert (only(world, run.run_id).state, only(world, run.run_id).messages) == ("not_counted", 0)


def test_a_message_that_cannot_be_embedded_is_named_with_its_error(world: World) -> None:
    world.embedder.reject("poison")
    world.new_base(threshold=1)
    run = world.say("s", BERTH, "poison")
    world.settle()
    failed = only(world, run.run_id)
    assert (failed.state, failed.searchable, failed.failed, failed.searchable_at) == ("failed", 1, 1, None)
    assert failed.error


def test_each_message_has_its_state_in_each_memory_base(world: World) -> None:
    world.new_base(threshold=1, capture="outputs", name="answers")
    world.new_base(threshold=50, name="all")
    run = world.say("s", asked(QUESTION), BERTH)
    world.settle()

    def states(message_id: UUID) -> dict[str, tuple[str, int]]:
        found = ingestion.message_ingestion(world.services, world.user_id, message_id)
        return {each.memory_base_name: (each.state.value, each.chunks) for each in found.memories}

    question, answer = (message.id for message in run.messages)
    assert states(question) == {"answers": ("not_counted", 0), "all": ("waiting", 0)}
    assert states(answer) == {"answers": ("searchable", 1), "all": ("waiting", 0)}


def test_a_lost_worker_leaves_no_times_of_its_attempt(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    base_id = world.new_base(threshold=1)
    world.say("s", BERTH)
    monkeypatch.setattr(world.vectors, "upsert", crash_after())
    with pytest.raises(WorkerKilled):
        world.drain()
    (job,) = world.jobs(base_id)
    assert (job.embedding_at, job.embedded_at, job.written_at) == (None, None, None)


# ---------------------------------------------------------------------------------------------------------------
# Which runs used a message


def test_a_message_lists_the_runs_whose_models_were_given_it(world: World) -> None:
    world.new_base()
    (early,) = world.say("earlier", BERTH).messages
    (hello,) = world.say("s", asked("hello")).messages
    runs = [uuid4() for _ in range(3)]
    for run_id in runs:
        give(world, run_id)
    give(world, runs[0], node_id="second", query=None)
    world.say("s", asked(QUESTION), run_id=runs[0])

    def uses(message_id: UUID) -> list[tuple[UUID, str, str]]:
        found = run_story.uses_of_message(world.services, world.user_id, message_id, PageRequest())
        assert found.total == len(found.items)
        assert [use.at for use in found.items] == sorted((use.at for use in found.items), reverse=True)
        return [(use.run_id, use.node_id, use.kind) for use in found.items]

    assert uses(early.id) == [(run_id, "answer", "recall") for run_id in reversed(runs)]
    assert set(uses(hello.id)) == {*((run_id, "answer", "history") for run_id in runs), (runs[0], "second", "history")}
    recalled = run_story.uses_of_message(world.services, world.user_id, early.id, PageRequest()).items
    assert all(use.score is not None and use.query == QUESTION for use in recalled)
    assert {use.session_id for use in recalled} == {"s"}
    assert ingestion.message_ingestion(world.services, world.user_id, hello.id).runs == 3


def test_the_idle_times_of_a_flow_are_those_of_its_memory_bases(world: World) -> None:
    usual, off = world.new_base(), world.new_base(idle_after=0)
    assert ingestion.idle_times(world.services, world.user_id, world.flow_id) == {usual: 600, off: 0}
    with pytest.raises(NotFound):
        ingestion.idle_times(world.services, world.new_user(), world.flow_id)
