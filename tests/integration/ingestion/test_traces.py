"""One trace goes from a caller's request to the moment that the message is searchable, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
import sqlalchemy as sa
from harness.doubles import AtOnce
from harness.spans import Recorded, ancestors, recorded_spans
from harness.statements import recorded as recorded_statements
from harness.world import World

from memorybase.core import errors, tracing
from memorybase.core.database.statement_spans import trace_statements
from memorybase.core.ingestion import job_runner
from memorybase.core.models import IngestionJob, SessionProgress
from memorybase.core.search.request import SearchRequest
from memorybase.core.search.search import search

TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER_TRACE = "11111111111111111111111111111111"
SECRET = "ornithopter"


@pytest.fixture
def spans() -> Iterator[Recorded]:
    with recorded_spans() as recorded:
        yield recorded


def say(world: World, session_id: str, *texts: str, trace: str = TRACE) -> None:
    """A capture, inside the request of a caller with this trace."""
    request = tracing.begin("POST", "server", f"00-{trace}-b7ad6b7169203331-01")
    with tracing.within([request]):
        world.say(session_id, *texts)
    tracing.end(request)


def test_one_trace_has_every_step_in_order(world: World, spans: Recorded) -> None:
    world.new_base(threshold=2)
    say(world, "s", f"{SECRET} one", f"{SECRET} two")
    world.drain()
    seen = spans.all()
    assert {span.trace_id for span in seen} == {TRACE}
    for name, above in {
        "create_memory": ["POST"],
        "notify": ["create_memory", "POST"],
        "job": ["create_memory", "POST"],
        "claim": ["job", "create_memory", "POST"],
        "embed": ["job", "create_memory", "POST"],
        "upsert_memory": ["job", "create_memory", "POST"],
        "upsert": ["upsert_memory", "job", "create_memory", "POST"],
        "read_back": ["upsert_memory", "job", "create_memory", "POST"],
        "advance": ["job", "create_memory", "POST"],
    }.items():
        assert ancestors(spans.one(name), seen) == above, name
    steps = [spans.one(name) for name in ("create_memory", "claim", "embed", "upsert", "read_back", "advance")]
    assert all(earlier.ended <= later.began for earlier, later in pairwise(steps[1:]))
    assert spans.one("job").ended >= steps[-1].ended
    assert not any(span.is_error for span in seen)


def test_a_lost_notification_keeps_the_trace(world: World, spans: Recorded) -> None:
    world.new_base(threshold=1)
    say(world, "s", "one")
    world.queue.clear()
    world.pass_time(31)
    spans.clear()
    world.settle()
    notified, job = spans.named("notify"), spans.one("job")
    assert [span.trace_id for span in notified] == [TRACE]
    assert job.trace_id == TRACE


def test_a_lost_job_keeps_the_trace(world: World, spans: Recorded) -> None:
    """The target is in the session's progress: the sweeper makes the job again from it."""
    world.new_base(threshold=1)
    say(world, "s", "one")
    world.queue.clear()
    world.execute(sa.delete(IngestionJob))
    world.settle()
    assert spans.one("job").trace_id == TRACE


def test_a_job_that_an_outage_postponed_keeps_the_trace(world: World, spans: Recorded) -> None:
    world.new_base(threshold=1)
    say(world, "s", "one")
    world.embedder.fail_with(errors.ModelUnavailable())
    world.drain()
    world.embedder.fail_with(None)
    world.pass_time(120)
    world.settle()
    failed, done = spans.named("job")
    assert (failed.trace_id, failed.is_error, failed.attributes["error.type"]) == (TRACE, True, "model_unavailable")
    assert failed.attributes["memorybase.outcome"] == "postponed"
    assert (done.trace_id, done.is_error, done.attributes["memorybase.outcome"]) == (TRACE, False, "done")


def test_captures_during_a_job_continue_in_the_next_one(world: World, spans: Recorded) -> None:
    """The next job is inserted by the worker that ends the first, and belongs to the later caller's trace."""
    world.new_base(threshold=1)
    say(world, "s", "one")
    world.embedder.before_embed = lambda _texts: late.pop()() if late else None
    late = [lambda: say(world, "s", "two", trace=OTHER_TRACE)]
    world.settle()
    assert [span.trace_id for span in spans.named("job")] == [TRACE, OTHER_TRACE]
    assert {span.trace_id for span in spans.named("advance")} == {TRACE, OTHER_TRACE}


def test_the_idle_rule_continues_the_trace_of_the_capture(world: World, spans: Recorded) -> None:
    world.new_base(threshold=100, idle_after=60)
    say(world, "s", "one")
    world.pass_time(61)
    world.sweep()
    world.drain()
    assert spans.one("job").trace_id == TRACE


def test_a_flush_by_request_is_traced_as_that_request(world: World, spans: Recorded) -> None:
    base = world.new_base(threshold=100)
    say(world, "s", "one")
    request = tracing.begin("POST", "server", f"00-{OTHER_TRACE}-b7ad6b7169203331-01")
    with tracing.within([request]):
        world.flush(base)
    world.settle()
    assert spans.one("job").trace_id == OTHER_TRACE


def test_jobs_in_one_batch_each_have_all_their_spans(world: World, spans: Recorded) -> None:
    world.new_base(threshold=1)
    traces = [digit * 32 for digit in "12345"]
    for trace in traces:
        say(world, f"session {trace[0]}", "text", trace=trace)
    turns = iter([True] * 20)
    job_runner.run_jobs(
        world.services,
        world.queue.enqueued[0],
        owner="test",
        may_continue=lambda: next(turns, False),
        new_thread=AtOnce,
        now=lambda: 0.0,  # a pause of the machine makes batches smaller
    )
    # The first ones run alone: only then it is known how fast texts are embedded.
    assert max(span.attributes["memorybase.messages"] for span in spans.named("embed")) > 1
    for name in ("job", "claim", "embed", "upsert_memory", "upsert", "read_back", "advance"):
        assert sorted(span.trace_id for span in spans.named(name)) == traces, name


def test_a_caller_who_does_not_sample_is_not_sampled_later(world: World, spans: Recorded) -> None:
    world.new_base(threshold=1)
    request = tracing.begin("POST", "server", f"00-{TRACE}-b7ad6b7169203331-00")
    with tracing.within([request]):
        world.say("s", "one")
    world.drain()
    assert spans.all() == []


def test_a_search_shows_its_halves(world: World, spans: Recorded) -> None:
    base = world.new_base(threshold=1)
    world.say("s", f"{SECRET} flies")
    world.settle()
    spans.clear()
    request = tracing.begin("POST", "server", f"00-{TRACE}-b7ad6b7169203331-01")
    with tracing.within([request]):
        found = search(world.services, world.user_id, SearchRequest(query=SECRET, memory_base_id=base))
    tracing.end(request)
    assert found.results
    seen = spans.all()
    for name in ("keyword_search", "embed_query", "vector_search"):
        assert ancestors(spans.one(name), seen) == ["search_memory", "POST"], name


def test_no_span_has_text_or_ids_of_callers(world: World, spans: Recorded) -> None:
    base = world.new_base(threshold=1)
    trace_statements(world.services.database.engine)
    say(world, "session-of-jane", f"{SECRET} one", f"{SECRET} two")
    world.embedder.reject(f"{SECRET} two")
    world.settle()
    request = tracing.begin("POST", "server", f"00-{TRACE}-b7ad6b7169203331-01")
    with tracing.within([request]):
        search(world.services, world.user_id, SearchRequest(query=SECRET, memory_base_id=base))
        with pytest.raises(ValueError, match=SECRET), tracing.span("broken"):
            raise ValueError(f"the text {SECRET}")
    tracing.end(request)
    shown = " ".join(f"{span.name} {span.attributes}" for span in spans.all())
    assert len(spans.all()) > 50
    assert "SELECT messages" in shown
    assert "ValueError" in shown
    assert SECRET not in shown
    assert "jane" not in shown


@pytest.mark.both_databases
def test_traces_cost_a_capture_no_statement(world: World) -> None:
    world.new_base(threshold=2)
    world.say("warm", "one", "two")
    with recorded_statements(world.services.database.engine) as without:
        world.say("a", "one", "two")
    with recorded_spans(), recorded_statements(world.services.database.engine) as with_traces:
        say(world, "b", "one", "two")
    assert [text for text, _ in with_traces] == [text for text, _ in without]


def test_without_traces_nothing_is_stored(world: World) -> None:
    world.new_base(threshold=1)
    world.say("s", "one")
    with world.services.database.reading() as db:
        assert set(db.scalars(sa.select(IngestionJob.traceparent))) == {None}
        assert set(db.scalars(sa.select(SessionProgress.traceparent))) == {None}
