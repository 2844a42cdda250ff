"""Summaries of sessions: requested by reads, made in the background, invalidated by edits and deletions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from harness.waiting import wait_until
from harness.world import World

from memorybase.core import deadlines
from memorybase.core.conversation import Record, View
from memorybase.core.conversation.context import ContextRequest, build_context
from memorybase.core.conversation.history import session_reader
from memorybase.core.conversation.memory_use import record as uses
from memorybase.core.conversation.memory_use.provenance import ViewOrigin
from memorybase.core.conversation.session_memory.presets import FLOWX_5, TOKEN_BUFFER, SessionPreset
from memorybase.core.conversation.session_memory.summaries import (
    SUMMARIZE,
    SummaryKey,
    delete_summary,
    get_summary,
    refresh_summary,
)
from memorybase.core.conversation.session_memory.summary_job import make_requested, make_summary
from memorybase.core.conversation.summarizers import job
from memorybase.core.conversation.summarizers.job import PAGE
from memorybase.core.errors import EmbeddingFailed, NotFound, SummarizerUnavailable, SummaryRejected
from memorybase.core.messages import NewMessage
from memorybase.core.models import MemoryUse, SessionSummary
from memorybase.core.queries import threads
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits

S = "session"
NODE = "agent"


@dataclass
class Scripted:
    """A summarizer that joins what it was given, and calls `meanwhile` first."""

    name: str = "extractive"
    calls: list[tuple[str | None, list[str]]] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    error: Exception | None = None

    def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
        assert prompt is None
        self.calls.append((previous, [record.text for record in records]))
        self.meanwhile()
        if self.error is not None:
            raise self.error
        return "|".join([*([previous] if previous else []), *(record.text for record in records)])


def talk(world: World, *numbers: int, session_id: str = S) -> None:
    for number in numbers:
        question = {"role": "user", "content": f"q{number}", "id": f"{session_id}-q{number}"}
        answer = {"role": "assistant", "content": f"a{number}", "id": f"{session_id}-a{number}"}
        world.say(session_id, question, answer)


def read(world: World, preset: SessionPreset = FLOWX_5, **fields: Any) -> View:
    asked = {"flow_id": world.flow_id, "session_id": S, "token_budget": 100_000, "preset": preset} | fields
    return build_context(world.services, world.user_id, ContextRequest(**asked))


def work(world: World, by: Scripted | None = None) -> int:
    """Handle the waiting notifications as a worker does."""
    return world.queue.drain_task(SUMMARIZE, lambda each: make_summary(world.services, each, by))


def row(world: World) -> SessionSummary:
    with world.services.database.reading() as db:
        return db.scalars(sa.select(SessionSummary)).one()


def rows(world: World) -> int:
    return world.scalar(sa.select(sa.func.count()).select_from(SessionSummary)) or 0


def wanted(world: World, preset: str = "pairs_3") -> SummaryKey:
    return SummaryKey(flow_id=world.flow_id, session_id=S, preset=preset, summarizer="extractive")


def message_of(world: World, text: str) -> Any:
    return next(message.id for message in world.messages() if message.content == text)


def history(view: View) -> list[str]:
    return [record.text for record in view.records if record.kind == "history"]


def pass_time(world: World, seconds: float) -> None:
    with world.services.database.transaction() as db:
        for each in db.scalars(sa.select(SessionSummary)):
            for name in ("notify_at", "lease_until"):
                moment = getattr(each, name)
                setattr(each, name, moment and moment - timedelta(seconds=seconds))


def test_a_read_requests_a_summary_without_waiting_and_the_next_read_has_it(world: World) -> None:
    talk(world, 1, 2, 3)
    assert "Summary" not in read(world).text
    assert rows(world) == 0
    talk(world, 4, 5)

    before = read(world)
    read(world)
    assert history(before) == ["q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4", "q5", "a5"]
    assert work(world) == 1  # requested twice, enqueued once

    after = read(world)
    assert history(after) == ["q3", "a3", "q4", "a4", "q5", "a5"]
    assert after.text.endswith("Summary of previous replies: user: q1\n  assistant: a1\n  user: q2\n  assistant: a2")
    view = get_summary(world.services, world.user_id, wanted(world))
    assert (view.covers and view.covers.to_seq, view.requested_seq, view.stale, view.error) == (4, 4, False, None)
    assert (row(world).notify_at, row(world).lease_until, row(world).attempts) == (None, None, 0)


def test_routing_decisions_and_tool_results_are_no_part_of_session_memory(world: World) -> None:
    for number in range(1, 6):
        said: list[dict[str, Any]] = [
            {"role": "user", "content": f"q{number}"},
            {"role": "assistant", "content": f"route{number}", "is_output": False},
            {"role": "tool", "content": f"result{number}", "tool_call_id": "t"},
            {"role": "assistant", "content": f"a{number}"},
        ]
        world.say(S, *said)
    by = Scripted()
    assert history(read(world)) == [f"{kind}{number}" for number in range(1, 6) for kind in "qa"]
    work(world, by)

    assert by.calls == [(None, ["q1", "a1", "q2", "a2"])]
    recent = "".join(f"user: q{number}\nagent: a{number}\n" for number in (3, 4, 5))
    assert read(world).text == f"{recent}Summary of previous replies: q1|a1|q2|a2"


def test_a_capture_requests_no_summary(world: World) -> None:
    talk(world, *range(1, 9))

    assert (rows(world), world.queue.notified[SUMMARIZE.name]) == (0, [])


def test_a_summary_is_folded_from_the_previous_one_and_new_messages(world: World) -> None:
    by = Scripted()
    talk(world, 1, 2, 3, 4)
    read(world)
    work(world, by)
    talk(world, 5, 6)
    read(world)
    work(world, by)

    assert by.calls == [(None, ["q1", "a1"]), ("q1|a1", ["q2", "a2", "q3", "a3"])]
    assert (row(world).text, row(world).to_seq) == ("q1|a1|q2|a2|q3|a3", 6)


def test_a_summary_is_rebuilt_when_its_range_has_doubled(world: World) -> None:
    by = Scripted()
    texts = [text for number in range(1, 70) for text in ({"role": "user", "content": f"q{number}"}, f"a{number}")]
    world.say(S, *texts[:8])
    read(world)
    work(world, by)
    world.say(S, *texts[8:])
    read(world)
    work(world, by)

    assert row(world).requested_seq == 132
    assert by.calls[-1][0] is None
    assert len(by.calls[-1][1]) == 132


def test_a_long_session_is_folded_page_by_page_and_each_page_is_stored(world: World) -> None:
    texts = [text for number in range(PAGE) for text in ({"role": "user", "content": f"q{number}"}, f"a{number}")]
    world.say(S, *texts)
    by = Scripted()

    def fail_on_the_second_page() -> None:
        by.error = SummarizerUnavailable() if len(by.calls) == 2 else None

    by.meanwhile = fail_on_the_second_page
    read(world)
    work(world, by)

    assert (row(world).to_seq, row(world).requested_seq) == (PAGE, 2 * PAGE - 6)
    assert row(world).error == "SummarizerUnavailable: The summarizer is unavailable."
    pass_time(world, 1_000)
    world.sweep()
    work(world, by)
    assert row(world).to_seq == 2 * PAGE - 6
    assert [bool(previous) for previous, _ in by.calls] == [False, True, True]  # the first page is not read again


def test_while_the_summarizer_is_unavailable_reads_continue_and_the_job_retries(world: World) -> None:
    talk(world, *range(1, 9))
    world.embedder.fail_with(EmbeddingFailed())
    by = Scripted(error=SummarizerUnavailable("It answers 503"))

    assert read(world).text.startswith("user: q1")
    work(world, by)
    assert read(world).text.startswith("user: q1")
    assert (row(world).text, row(world).attempts) == (None, 1)
    assert world.sweep().done["summaries"] == 0  # the backoff is not over
    pass_time(world, 300)
    assert world.sweep().done["summaries"] == 1
    world.embedder.fail_with(None)
    work(world)
    assert row(world).to_seq == 10
    assert row(world).error is None


def test_a_job_waits_as_long_as_the_endpoint_asks(world: World) -> None:
    talk(world, *range(1, 9))
    read(world)
    work(world, Scripted(error=SummarizerUnavailable("It answers 429", retry_after_seconds=300.0)))
    pass_time(world, 290)
    assert world.sweep().done["summaries"] == 0
    pass_time(world, 20)
    assert world.sweep().done["summaries"] == 1


def test_failures_store_nothing_and_rejected_messages_wait_for_more(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)
    by = Scripted(error=SummaryRejected())
    work(world, by)
    for _ in range(2):
        pass_time(world, 1_000)
        world.sweep()
        work(world, by)

    assert (row(world).text, row(world).notify_at, len(by.calls)) == (None, None, 3)
    talk(world, 5)
    read(world)
    work(world)
    assert row(world).to_seq == 4


def test_the_sweeper_replaces_a_lost_notification(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    world.queue.away = True
    read(world)
    world.queue.away = False

    assert world.sweep().done["summaries"] == 0  # a worker may still take the notification
    pass_time(world, deadlines.NOTIFY_AFTER_SECONDS + 1)
    assert world.sweep().done["summaries"] == 1
    assert work(world) == 1
    assert row(world).to_seq == 2
    assert world.sweep().done["summaries"] == 0


def test_two_workers_make_one_summary(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)
    other = Scripted()
    by = Scripted(meanwhile=lambda: make_summary(world.services, row(world).id, other))

    work(world, by)

    assert (len(by.calls), other.calls) == (1, [])
    assert row(world).to_seq == 2


def test_a_worker_whose_lease_expired_stores_nothing(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)

    def overtake() -> None:
        talk(world, 5)
        read(world)
        pass_time(world, 10_000)
        make_summary(world.services, row(world).id, Scripted())

    work(world, Scripted(meanwhile=overtake))

    assert (row(world).text, row(world).to_seq) == ("q1|a1|q2|a2", 4)


def test_the_next_worker_makes_a_dead_workers_summary(world: World) -> None:
    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    talk(world, 1, 2, 3, 4)
    read(world)
    with pytest.raises(Killed):
        work(world, Scripted(meanwhile=die))

    pass_time(world, 60)
    assert world.sweep().done["summaries"] == 0  # the lease is not over
    pass_time(world, 1_000)
    assert world.sweep().done["summaries"] == 1
    work(world)
    assert row(world).to_seq == 2


# Edits and deletions


def everything_stored(world: World) -> str:
    """All stored text that may repeat a message."""
    with world.services.database.reading() as db:
        found = [each.text for each in db.scalars(sa.select(SessionSummary))]
        uses = [(use.messages, use.memory_use_summary) for use in db.scalars(sa.select(MemoryUse))]
    return repr((found, uses, [message.content for message in world.messages()]))


def test_a_deleted_message_appears_nowhere(world: World) -> None:
    talk(world, *range(1, 7))
    read(world, run_id=world.flow_id, node_id="early")
    work(world)
    used = read(world, run_id=world.flow_id, node_id=NODE)
    assert "q2" in used.text

    edits.delete_message(world.services, world.user_id, message_of(world, "q2"))

    assert "q2" not in everything_stored(world)
    assert "q2" not in read(world).text
    assert get_summary(world.services, world.user_id, wanted(world)).summary is None
    pass_time(world, 1)
    world.sweep()
    work(world)
    assert row(world).text == "user: q1\nassistant: a1\nassistant: a2\nuser: q3\nassistant: a3"
    assert "q2" not in read(world).text


def test_a_view_with_a_summary_from_before_a_deletion_is_recorded_redacted(world: World) -> None:
    """Even if there is a new summary with the same id."""
    talk(world, *range(6))
    read(world)
    work(world, Scripted())
    given = read(world)
    assert "q0" in str(given.messages)
    run_id = uuid4()

    def recorded(node_id: str) -> str:
        use = uses.NewUse(run_id=run_id, node_id=node_id, view=given, origin=ViewOrigin(session_id=S))
        uses.record_use(world.services, world.user_id, world.flow_id, use)
        nodes = uses.run_memory(world.services, world.user_id, world.flow_id, run_id).nodes
        return next(str(node.messages) for node in nodes if node.node_id == node_id)

    assert "q0" in recorded("before")
    edits.delete_message(world.services, world.user_id, message_of(world, "q0"))
    assert "q0" not in recorded("before"), "redacted by the deletion and not recorded again"
    work(world, Scripted())
    later = recorded("later")
    assert "q0" not in later
    assert "q5" in later


def test_a_deletion_during_summarization_discards_the_summary(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)
    by = Scripted(meanwhile=lambda: edits.delete_message(world.services, world.user_id, message_of(world, "q1")))

    work(world, by)

    assert row(world).text is None
    pass_time(world, 600)  # the next attempt waits longer the longer this one took
    world.sweep()
    by.meanwhile = lambda: None
    work(world, by)
    assert row(world).text == "a1"


def test_an_edit_makes_the_summary_stale_until_it_is_rebuilt(world: World) -> None:
    talk(world, 1, 2, 3, 4, 5)
    read(world)
    work(world)

    edits.edit_message(world.services, world.user_id, message_of(world, "a1"), {"content": "corrected"})

    assert get_summary(world.services, world.user_id, wanted(world)).stale
    pass_time(world, 1)
    world.sweep()
    work(world)
    view = get_summary(world.services, world.user_id, wanted(world))
    assert (view.stale, view.summary) == (False, "user: q1\nassistant: corrected\nuser: q2\nassistant: a2")


def test_an_edit_by_a_capture_makes_it_stale_and_other_captures_do_not(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)
    work(world)
    edits.edit_message(world.services, world.user_id, message_of(world, "a1"), {"metadata": {"x": 1}})
    edits.edit_message(world.services, world.user_id, message_of(world, "a4"), {"content": "later"})
    assert not row(world).stale

    changed: NewMessage = world.message({"role": "user", "content": "other", "id": f"{S}-q1"})
    world.capture(S, [changed], on_conflict="update")

    assert row(world).stale


def test_a_summary_is_renamed_and_deleted_with_its_session(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)
    work(world)

    edits.update_session(world.services, world.user_id, world.flow_id, S, new_session_id="renamed")
    assert (row(world).session_id, row(world).to_seq) == ("renamed", 2)
    edits.delete_session(world.services, world.user_id, world.flow_id, "renamed")
    assert rows(world) == 0


def test_a_rename_during_summarization_discards_the_summary_and_the_job_retries(world: World) -> None:
    talk(world, 1, 2, 3, 4)
    read(world)

    def rename() -> None:
        edits.update_session(world.services, world.user_id, world.flow_id, S, new_session_id="renamed")

    work(world, Scripted(meanwhile=rename))
    assert row(world).text is None
    pass_time(world, 1_000)
    world.sweep()
    work(world)
    assert row(world).to_seq == 2


def test_deleting_an_end_user_or_a_flow_deletes_summaries(world: World) -> None:
    for number in range(1, 5):
        world.say(S, {"role": "user", "content": f"q{number}"}, f"a{number}", end_user_id="eve")
    read(world)
    assert rows(world) == 1
    edits.erase_end_user(world.services, world.user_id, "eve")
    assert rows(world) == 0
    talk(world, 1, 2, 3, 4, session_id="other")
    read(world, session_id="other")
    assert rows(world) == 1
    assert session_deletion.delete_flow(world.services, world.user_id, world.flow_id)
    assert rows(world) == 0


# By request


def test_a_refresh_rebuilds_the_summary_and_it_can_be_deleted(world: World) -> None:
    asked = wanted(world, "token_buffer")
    talk(world, 1, 2, 3)
    assert refresh_summary(world.services, world.user_id, asked).requested_seq == 0  # nothing to summarize
    talk(world, 4, 5)
    by = Scripted()
    for _ in range(2):
        assert refresh_summary(world.services, world.user_id, asked).requested_seq == 4
        assert work(world, by) == 1

    assert by.calls == [(None, ["q1", "a1", "q2", "a2"])] * 2
    assert get_summary(world.services, world.user_id, asked).summary == "q1|a1|q2|a2"
    delete = {"preset": None, "summarizer": None}
    delete_summary(world.services, world.user_id, world.flow_id, S, **delete)
    with pytest.raises(NotFound):
        get_summary(world.services, world.user_id, asked)
    with pytest.raises(NotFound):
        delete_summary(world.services, world.user_id, world.flow_id, S, **delete)


def test_a_custom_summarizer_makes_the_summaries_of_its_name(world: World) -> None:
    mine = Scripted(name="mine")
    asked = replace(wanted(world), summarizer="mine")
    talk(world, 1, 2, 3, 4)
    read(world, summarizer="mine")
    assert world.queue.notified[SUMMARIZE.name] == []

    assert make_requested(world.services, asked, mine)
    assert not make_requested(world.services, asked, mine)

    assert get_summary(world.services, world.user_id, asked).summary == "q1|a1"
    assert "q1|a1" in read(world, summarizer="mine").text


def test_a_branch_has_a_summary_of_its_thread(world: World) -> None:
    talk(world, 1, 2, 3)
    again = {"role": "user", "content": "again", "id": "again", "parent_message_id": f"{S}-a1"}
    world.say(S, again, "anew")
    preset = replace(FLOWX_5, pairs=1)

    assert history(read(world, preset)) == ["q1", "a1", "again", "anew"]
    work(world)
    assert row(world).text == "user: q1\nassistant: a1"
    assert history(read(world, preset)) == ["again", "anew"]


def test_a_long_session_is_not_read_as_a_whole(world: World) -> None:
    texts = [text for number in range(600) for text in ({"role": "user", "content": f"q{number}"}, f"a{number}")]
    world.say(S, *texts)
    read(world)
    work(world)
    seen: list[int] = []

    def count(_connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "FROM messages" in statement:
            seen.append(cursor.rowcount)

    engine = world.services.database.engine
    sa.event.listen(engine, "after_cursor_execute", count)
    view = read(world)
    sa.event.remove(engine, "after_cursor_execute", count)

    assert len(seen) < 6
    assert len(view.report.kept) == 6


class Short(Scripted):
    """A summarizer whose summaries fit into any budget."""

    def summarize(self, previous: str | None, records: Sequence[Record], prompt: str | None = None) -> str:
        return f"{len(super().summarize(previous, records, prompt))} characters"


def linked_talk(world: World, turns: range) -> None:
    """Turns that name the answer before them."""
    for number in turns:
        question = {"role": "user", "content": f"q{number} {'x' * 100}", "id": f"q{number}"}
        if number > 1:
            question["parent_message_id"] = f"a{number - 1}"
        world.say(S, question, {"role": "assistant", "content": f"a{number}", "id": f"a{number}"})


def rows_of(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> tuple[int, int]:
    """The statements that read messages during the call, and the rows that they returned."""
    seen: list[int] = []
    with monkeypatch.context() as patch:
        for name in ("links_down_from", "messages_at"):
            patch.setattr(threads, name, _counted(getattr(threads, name), seen))
        call()
    return len(seen), sum(seen)


def _counted(original: Callable[..., Sequence[Any]], seen: list[int]) -> Callable[..., Sequence[Any]]:
    def counted(*args: Any, **named: Any) -> Sequence[Any]:
        rows = original(*args, **named)
        seen.append(len(rows))
        return rows

    return counted


@pytest.mark.parametrize(
    "preset", [TOKEN_BUFFER, pytest.param(FLOWX_5, marks=pytest.mark.slow)], ids=lambda preset: preset.name
)
def test_a_lagging_summary_of_a_linked_session_costs_the_same_however_long_the_session_is(
    world: World, monkeypatch: pytest.MonkeyPatch, preset: SessionPreset
) -> None:
    monkeypatch.setattr(session_reader, "MOST_LINKS", 120)
    monkeypatch.setattr(session_reader, "LAST_PAGE", 64)
    preset = replace(preset, uncovered_tokens=50)
    linked_talk(world, range(1, 30))
    read(world, preset, token_budget=300)
    work(world, Short())
    linked_talk(world, range(30, 70))

    near = read(world, preset, token_budget=300)
    linked_talk(world, range(70, 160))
    cost = rows_of(monkeypatch, lambda: read(world, preset, token_budget=300))
    linked_talk(world, range(160, 400))
    cost_later = rows_of(monkeypatch, lambda: read(world, preset, token_budget=300))
    far = read(world, preset, token_budget=300)

    assert near.report.summary is not None, "the thread was looked through back to the summary's end"
    assert "summary_too_old" not in near.report.flags
    assert cost == cost_later
    assert cost[1] < 700
    assert far.report.summary is None
    assert {"gap", "summary_too_old"} <= set(far.report.flags)
    work(world, Short())
    assert "summary_too_old" not in read(world, preset, token_budget=300).report.flags
    assert read(world, preset, token_budget=2_000).report.summary is not None


@pytest.mark.both_databases
def test_concurrent_reads_and_workers_end_with_one_exact_summary(world: World) -> None:
    """Whichever thread wins, the summary holds exactly its range."""
    talk(world, *range(1, 13))

    def some(number: int) -> None:
        read(world, replace(FLOWX_5, pairs=3)) if number % 2 else work(world, Scripted())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(12)))
    wait_until(lambda: not work(world, Scripted()), what="that no summary is pending")

    texts = [text for number in range(1, 10) for text in (f"q{number}", f"a{number}")]
    assert row(world).text == "|".join(texts[: row(world).to_seq])
    assert row(world).to_seq == 18


def test_a_session_that_keeps_changing_is_summarized_rarely(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "WASTED_WAIT", 1e9)  # so that the attempt was long
    talk(world, 1, 2, 3, 4)
    read(world)
    pass_time(world, deadlines.NOTIFY_AFTER_SECONDS + 1)

    def edit(text: str, by: str) -> None:
        edits.edit_message(world.services, world.user_id, message_of(world, text), {"content": by})

    work(world, Scripted(meanwhile=lambda: edit("q1", "edited")))
    edit("edited", "edited again")
    assert world.sweep().done["summaries"] == 0, (
        "the first edit wasted an attempt, and the second must not start one at once"
    )
    pass_time(world, job.LONGEST_WAIT_SECONDS + 1)
    assert world.sweep().done["summaries"] == 1
    work(world, Scripted())
    assert row(world).text == "edited again|a1"
