"""The cost of a capture, its trigger and a keyword search is bounded for any length of session and table."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa
from harness.statements import Statement, recorded
from harness.world import World

from memorybase.core.conversation.history import session_reader
from memorybase.core.conversation.history.read import history_of
from memorybase.core.conversation.history.request import Conversation, HistoryRequest
from memorybase.core.database import clock, paging
from memorybase.core.database.upsert import core
from memorybase.core.ingestion import scheduler
from memorybase.core.models import Base, IngestionJob, LedgerEntry, MemoryUse, Message, Run, Session, SessionProgress
from memorybase.core.queries import exports, job_lists, jobs
from memorybase.core.queries import overview as overview_queries
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.read_models import activity as activity_view
from memorybase.core.read_models import branches, memory_bases, overview, sessions
from memorybase.core.search import search, vector_search
from memorybase.core.search.request import SearchRequest
from memorybase.core.sessions import edits
from memorybase.features.retention import uses
from memorybase.features.standing_statements import profile
from memorybase.features.standing_statements.queries.statements import Owner

pytestmark = pytest.mark.slow

THRESHOLD = 20
HISTORY = 10_000
SESSIONS = 100


def fill(world: World, session_id: str, count: int) -> None:
    """A long history, as capture would have left it, without going through capture."""
    now = datetime.now(UTC)
    with world.services.database.transaction() as db:
        conversation = Session(
            id=uuid4(),
            flow_id=world.flow_id,
            session_id=session_id,
            last_seq=count,
            created_at=now,
            last_captured_at=now,
            meta={},
        )
        db.add(conversation)
        db.flush()
        run_id = uuid4()
        db.add(Run(id=run_id, flow_id=world.flow_id, session_uuid=conversation.id, created_at=now))
        db.flush()
        first = conversation.first_position
        rows = [
            message_row(world, conversation.id, run_id, seq, is_output=seq % 2 == 0, position=first + seq)
            for seq in range(1, count + 1)
        ]
        db.execute(sa.insert(core(Message)), rows)
    analyze(world)


def analyze(world: World) -> None:
    with world.services.database.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text("ANALYZE"))


def insert(world: World, table: type[Any], rows: list[dict[str, Any]]) -> None:
    """By the names of columns."""
    with world.services.database.transaction() as db:
        db.execute(sa.insert(core(table)), rows)


def message_row(world: World, session: UUID, run: UUID, seq: int, **changes: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    of_session = {"flow_id": world.flow_id, "session_uuid": session, "run_id": run, "seq": seq, "position": seq}
    said = {"role": "assistant", "is_output": True, "is_dialogue": True, "content": "text", "status": "completed"}
    others = {"files": [], "metadata": {}, "version": 1, "text_bytes": 4, "fingerprint": b""}
    return {"id": uuid4(), "timestamp": now, "captured_at": now, **of_session, **said, **others, **changes}


def ledger_row(base: UUID, progress: UUID, message: UUID, at: datetime) -> dict[str, Any]:
    counted = {"generation": 1, "version": 1, "chunks": 1, "ingested_at": at}
    return {"progress_id": progress, "message_id": message, "memory_base_id": base, **counted}


def plan_of(world: World, statement: str, parameters: Any) -> list[str]:
    """SQLite's, step by step."""
    with world.services.database.engine.connect() as connection:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]


def sent_by(world: World) -> AbstractContextManager[list[Statement]]:
    return recorded(world.services.database.engine, "SELECT", "UPDATE", "WITH")


def scans(world: World, statement: str, parameters: Any) -> list[str]:
    """Where SQLite would read a whole table, a session's messages from the first one on, or every job."""
    plan = plan_of(world, statement, parameters)
    whole = [step for step in plan if step.startswith("SCAN") and step.split()[1] in Base.metadata.tables]
    if "messages.seq >" in statement and not any("seq>" in step for step in plan):
        whole += plan
    if "ingestion_jobs.state IN" in statement and not any("uq_ingestion_jobs_active" in step for step in plan):
        whole += plan
    return whole


def rows_touched(world: World, statement: str, parameters: Any) -> int:
    """How many rows PostgreSQL reads for this statement, those thrown away too."""
    with world.services.database.engine.connect() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
        connection.rollback()

    def touched(node: dict[str, Any]) -> int:
        read = 0
        if "Relation Name" in node:
            read = round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        return read + sum(touched(child) for child in node.get("Plans", []))

    return touched(explained[0]["Plan"])


@pytest.mark.parametrize("capture", ["outputs", "all"])
def test_a_capture_reads_no_more_messages_than_its_threshold(world: World, capture: str) -> None:
    world.new_base(threshold=THRESHOLD, capture=capture)
    fill(world, "long", HISTORY)
    with sent_by(world) as sent:
        world.say("long", "the first capture plans a job", "and another message")
        world.say("long", "the second finds it active")
    assert any("FROM messages" in statement for statement, _ in sent)
    for statement, parameters in sent:
        if world.services.database.is_sqlite:
            assert scans(world, statement, parameters) == [], statement
        else:
            # The planner of a job looks at one job's worth, the trigger at one threshold's.
            bound = scheduler.JOB_MAX_MESSAGES + 2
            assert rows_touched(world, statement, parameters) <= bound, statement


def test_the_order_of_jobs_is_found_without_reading_the_queue(world: World) -> None:
    base = world.new_base(threshold=1)
    for n in range(300):
        world.say(f"session {n}", "waits")
    with sent_by(world) as sent:
        world.say("one more", "waits too")
        with world.services.database.reading() as db:
            waiting = jobs.waiting_jobs(db, clock.now(db), limit=5)
    assert [job.virtual_time for job in waiting] == [8, 16, 24, 32, 40]
    assert world.jobs(base)[-1].virtual_time == 8 * 301
    ordered = [each for each in sent if "ORDER BY ingestion_jobs.virtual_time" in each[0]]
    assert len(ordered) == 4  # what runs, what waits first, the base's last one, those that wait
    for statement, parameters in ordered:
        if world.services.database.is_sqlite:
            (step,) = scans(world, statement, parameters) or ["INDEX"]
            assert "INDEX" in step, statement  # read in order, up to the limit
        else:
            assert rows_touched(world, statement, parameters) <= 2 * 5, statement  # each with its session


def test_ended_jobs_are_found_without_reading_those_that_stay(world: World) -> None:
    base = world.new_base(threshold=1)
    for n in range(60):
        world.say(f"session {n}", "is done")
    world.settle()
    with world.services.database.transaction() as db:
        old = world.jobs(base)[0].id
        at = clock.now(db) - timedelta(days=100)
        db.execute(sa.update(IngestionJob).where(IngestionJob.id == old).values(finished_at=at))
    analyze(world)
    with sent_by(world) as sent, world.services.database.transaction() as db:
        assert jobs.delete_ended(db, clock.now(db) - timedelta(days=90), limit=10) == 1
    (found,) = [each for each in sent if "ORDER BY ingestion_jobs.finished_at" in each[0]]
    if world.services.database.is_sqlite:
        plan = plan_of(world, *found)
        assert "ix_ingestion_jobs_finished (finished_at>? AND finished_at<?)" in plan[0]
        assert not any("TEMP B-TREE" in step for step in plan)
    else:
        assert rows_touched(world, *found) <= 10


def test_a_capture_sends_the_same_statements_for_any_session_length(world: World) -> None:
    world.new_base(threshold=THRESHOLD)
    fill(world, "long", HISTORY)
    for session_id in ("short", "long", "short", "long"):  # first to get pending work, then to have it
        world.say(session_id, "hello")
    counts = []
    for session_id in ("short", "long"):
        with sent_by(world) as sent:
            world.say(session_id, "hello again")
        counts.append(len(sent))
    assert counts[0] >= counts[1] - 1  # the long one looks up its active job


def test_a_search_for_one_end_user_reads_only_their_messages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_search, "FIRST_FETCH", 1)  # which is of somebody else
    monkeypatch.setattr(vector_search, "CHUNKS_PER_MESSAGE", 0)
    base = world.new_base(threshold=1)
    world.say("theirs", "a zebra", end_user_id="ada")
    world.say("another's", "zebra", end_user_id="bob")
    world.settle()
    fill(world, "long", HISTORY)
    wanted = SearchRequest(memory_base_id=base, query="zebra", mode="dense", end_user_id="ada", top_k=5)
    with sent_by(world) as sent:
        assert len(search.search(world.services, world.user_id, wanted).results) == 1
    ((statement, parameters),) = [each for each in sent if each[0].startswith("SELECT messages.id \nFROM messages")]
    if world.services.database.is_sqlite:
        plan = plan_of(world, statement, parameters)
        assert all("session_uuid=?" in step for step in plan), plan
    else:
        assert rows_touched(world, statement, parameters) <= 5


def test_a_profile_reads_a_bounded_part_of_a_long_history(world: World) -> None:
    world.say("first", "a zebra")
    fill(world, "long", HISTORY)
    add_passed_sessions(world, [world.flow_id], 1_000, datetime.now(UTC) - timedelta(days=1))
    owner = Owner(world.flow_id, None, None)
    bound = 2 * (profile.NEWEST_READ + profile.OLDEST_READ)
    with sent_by(world) as sent, world.services.database.reading() as db:
        profile.of_person(db, owner)
    assert any("FROM messages" in statement for statement, _ in sent)
    for statement, parameters in sent:
        if world.services.database.is_sqlite:
            assert scans(world, statement, parameters) == [], statement
        elif "FROM messages" in statement:
            assert rows_touched(world, statement, parameters) <= bound, statement


def test_a_keyword_search_reads_only_the_messages_at_its_positions(world: World) -> None:
    base = world.new_base(threshold=1)
    fill(world, "long", HISTORY)
    world.say("other", "where does the zebra live", "in the savannah")
    world.settle()
    wanted = SearchRequest(memory_base_id=base, query="zebra", mode="keyword", include_pending=False)
    with sent_by(world) as sent:
        assert len(search.search(world.services, world.user_id, wanted).results) == 2
    reading = [
        (statement, parameters)
        for statement, parameters in sent
        if re.search(r"messages.position (IN|= ANY)", statement)
    ]
    assert len(reading) == 2  # the candidates, and the turns before them
    for statement, parameters in reading:
        if world.services.database.is_sqlite:
            plan = plan_of(world, statement, parameters)
            assert any("SEARCH messages USING INDEX ix_messages_position" in step for step in plan), plan
        else:
            assert rows_touched(world, statement, parameters) <= 50, statement


def test_a_search_reads_only_the_pending_messages_of_a_large_flow(world: World) -> None:
    base = world.new_base(threshold=100)
    for number in range(SESSIONS):
        fill(world, f"s{number}", HISTORY // SESSIONS)
    with world.services.database.transaction() as db:
        db.execute(sa.update(Session).values(last_seq=0))  # as if they were ingested
    world.say("one of many", "a zebra")
    with sent_by(world) as sent:
        wanted = SearchRequest(memory_base_id=base, query="zebra")
        assert len(search.search(world.services, world.user_id, wanted).results) == 1
    ((statement, parameters),) = [each for each in sent if "AS behind" in each[0]]
    if world.services.database.is_sqlite:
        assert not scans(world, statement, parameters)
    else:
        assert rows_touched(world, statement, parameters) <= 4 * SESSIONS


def test_a_view_reads_only_the_messages_that_it_returns(world: World) -> None:
    fill(world, "long", HISTORY)  # outputs alone
    first, last = (world.messages("long")[position].id for position in (0, -1))
    conversation = Conversation(world.services, world.user_id, world.flow_id, "long")

    def check(wanted: int, leaf_id: UUID | None = None) -> None:
        with sent_by(world) as sent:
            view = history_of(conversation, HistoryRequest(leaf_id=leaf_id, max_tokens=40)).view
        assert len(view.messages) == wanted
        reading = [(statement, parameters) for statement, parameters in sent if "FROM messages" in statement]
        assert 3 <= len(reading) <= 20
        for statement, parameters in reading:
            if world.services.database.is_sqlite:
                plan = plan_of(world, statement, parameters)
                assert not any(step.startswith("SCAN") or "TEMP B-TREE" in step for step in plan), plan
            else:
                # The session, the rows of the last page, and to each the one before it in its run.
                assert rows_touched(world, statement, parameters) <= 4 * session_reader.LONGEST_TURN + 1, statement

    check(10)
    world.say("long", {"role": "user", "content": "go on"}, "yes")
    check(2)
    world.say("long", {"role": "user", "content": "back", "parent_message_id": str(first)}, "to the beginning")
    check(2)
    check(10, leaf_id=last)


def test_an_activity_reads_only_its_window(world: World) -> None:
    base = world.new_base(threshold=1)
    fill(world, "long", HISTORY)
    long_ago = datetime.now(UTC) - timedelta(days=3)
    with world.services.database.transaction() as db:
        of_session = {"flow_id": world.flow_id, "session_id": "long", "session_uuid": db.scalar(sa.select(Session.id))}
        row = SessionProgress(id=uuid4(), memory_base_id=base, generation=1, **of_session)
        db.add(row)
        db.flush()
        db.execute(sa.update(Message).values(captured_at=long_ago))
        ids = db.scalars(sa.select(Message.id)).all()
        db.execute(sa.insert(LedgerEntry), [ledger_row(base, row.id, each, long_ago) for each in ids])
    analyze(world)
    world.say("other", "one", "two")
    world.settle()
    with sent_by(world) as sent:
        activity = activity_view.activity(
            world.services, world.user_id, base, since=datetime.now(UTC) - timedelta(hours=1)
        )
    assert sum(bucket.ingested for bucket in activity.buckets) == 2
    assert len(sent) <= 6
    reading = [each for each in sent if "FROM messages" in each[0] or "FROM ledger" in each[0]]
    assert len(reading) == 2
    for statement, parameters in reading:
        if world.services.database.is_sqlite:
            assert scans(world, statement, parameters) == [], statement
            plan = str(plan_of(world, statement, parameters))
            assert "captured_at>" in plan or "ingested_at>" in plan, plan
        else:
            assert rows_touched(world, statement, parameters) <= 10, statement


def add_passed_sessions(world: World, flow_ids: list[UUID], count: int, at: datetime) -> list[UUID]:
    """As many sessions in each flow, marked as passed."""
    counts = {"last_seq": 1, "passed_seq": 1, "documents": 0, "terms": 0, "metadata": {}}
    times = {"created_at": at, "last_captured_at": at}
    rows = [
        {"id": uuid4(), "flow_id": flow_id, "session_id": f"passed {n}", "first_position": n, **counts, **times}
        for flow_id in flow_ids
        for n in range(count)
    ]
    insert(world, Session, rows)
    return [row["id"] for row in rows]


def test_sessions_of_a_window_are_counted_in_the_index_of_latest_sessions(world: World) -> None:
    flow_ids = [world.new_flow() for _ in range(30)]
    since = datetime.now(UTC) - timedelta(days=1)
    add_passed_sessions(world, flow_ids, 100, since - timedelta(days=1))
    analyze(world)
    with sent_by(world) as sent, world.services.database.reading() as db:
        assert overview_queries.sessions_since(db, flow_ids, since) == {}
    ((statement, parameters),) = [each for each in sent if "FROM sessions" in each[0]]
    if world.services.database.is_sqlite:
        plan = str(plan_of(world, statement, parameters))
        assert "ix_sessions_recent (flow_id=? AND last_captured_at>?)" in plan, plan
    else:
        assert rows_touched(world, statement, parameters) <= 10, statement


def test_a_list_of_memory_bases_reads_only_the_sessions_that_are_behind(world: World) -> None:
    world.new_base(threshold=1)
    add_passed_sessions(world, [world.flow_id], 3_000, datetime.now(UTC))
    world.say("behind", "one")
    analyze(world)
    with sent_by(world) as sent:
        page = memory_bases.list_memory_bases(world.services, world.user_id, paging.PageRequest())
    assert [(base.sessions, base.pending_messages) for base in page.items] == [(3_001, 1)]
    (reading,) = [each for each in sent if "sum(session_progress.total_processed)" in each[0]]
    if world.services.database.is_sqlite:
        plan = plan_of(world, *reading)
        assert len([step for step in plan if "sessions USING INDEX ix_sessions_behind" in step]) == 2, plan
        assert len([step for step in plan if "COVERING INDEX ix_session_progress_totals" in step]) == 2, plan
    else:
        assert rows_touched(world, *reading) <= 3_001 + 20  # all are counted, in an index


def test_messages_that_wait_are_read_session_by_session(world: World) -> None:
    """With statistics, a planner expects many sessions behind, and reads all messages of the flow."""
    world.new_base(threshold=100)
    now = datetime.now(UTC)
    sessions_, each = 1_000, 10
    runs = [
        {"id": uuid4(), "flow_id": world.flow_id, "session_uuid": session, "created_at": now}
        for session in add_passed_sessions(world, [world.flow_id], sessions_, now)
    ]
    rows = [
        message_row(world, run["session_uuid"], run["id"], seq, position=number * each + seq)
        for number, run in enumerate(runs)
        for seq in range(1, each + 1)
    ]
    insert(world, Run, runs)
    insert(world, Message, rows)
    for number in range(20):
        world.say(f"behind {number}", "one")
    analyze(world)
    with sent_by(world) as sent, world.services.database.reading() as db:
        found = overview_queries.waiting(db, [world.flow_id], now - timedelta(days=1))
    assert len(found) == 20
    (reading,) = [each for each in sent if "messages" in each[0]]
    if world.services.database.is_sqlite:
        plan = plan_of(world, *reading)
        (step,) = [step for step in plan if step.startswith(("SEARCH messages", "SCAN messages"))]
        assert "session_uuid=?" in step, step
    else:
        assert rows_touched(world, *reading) < 3 * sessions_, "all sessions are read, and few messages"


def test_active_jobs_of_a_memory_base_are_found_without_its_ended_ones(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "is done")
    world.settle()
    with world.services.database.transaction() as db:
        done = {column.name: getattr(world.jobs(base)[0], column.key) for column in IngestionJob.__table__.columns}
        db.execute(sa.insert(core(IngestionJob)), [{**done, "id": uuid4()} for _ in range(1_000)])
    analyze(world)
    with sent_by(world) as sent, world.services.database.reading() as db:
        wanted = job_lists.JobFilter(memory_base_id=base)
        job_lists.find_jobs(db, world.user_id, job_lists.JobAction.RETRY, wanted, clock.now(db), limit=10)
    (reading,) = [each for each in sent if "ingestion_jobs" in each[0]]
    if world.services.database.is_sqlite:
        assert scans(world, *reading) == []
    else:
        assert rows_touched(world, *reading) <= 10


def test_an_overview_looks_up_the_latest_messages_in_the_ledger(world: World) -> None:
    base = world.new_base(threshold=1)
    world.say("s", "one", "two")
    world.settle()
    progress_id, now = world.row(base, "s").id, datetime.now(UTC)
    insert(world, LedgerEntry, [ledger_row(base, progress_id, uuid4(), now) for _ in range(HISTORY)])
    analyze(world)
    with sent_by(world) as sent:
        seen = overview.compute(world.services, world.user_id, overview.Window.DAY)
    assert seen.delay_median_seconds is not None
    (reading,) = [each for each in sent if "ledger.ingested_at, memory_bases.created_at" in each[0]]
    if world.services.database.is_sqlite:
        plan = str(plan_of(world, *reading))
        assert "message_id=?" in plan, plan
    else:
        assert rows_touched(world, *reading) <= 50, reading[0]


def test_the_branches_of_a_page_are_read_in_a_few_statements(world: World) -> None:
    fill(world, "long", HISTORY)
    question = world.messages("long")[-1].id
    for again in ("one", "two"):
        world.say("long", {"role": "assistant", "content": again, "parent_message_id": str(question)})
    wanted = MessageQuery(flow_id=world.flow_id, session_id="long", order="desc")
    page = sessions.list_messages(world.services, world.user_id, wanted, paging.PageRequest(size=50))
    with sent_by(world) as sent:
        found = branches.branches(world.services, world.user_id, world.flow_id, "long", page.items)
    assert [found[message.id].siblings for message in page.items[:3]] == [2, 2, 1]
    assert [found[message.id].on_latest for message in page.items[:3]] == [True, False, True]
    assert len(sent) <= 12
    for statement, parameters in sent:
        if world.services.database.is_sqlite:
            assert scans(world, statement, parameters) == [], statement
        else:
            # The newest turn of the run, and what is beside each message of the page.
            assert rows_touched(world, statement, parameters) <= session_reader.LONGEST_TURN + 500, statement


def test_what_becomes_of_one_sessions_memory_uses_reads_no_others(world: World) -> None:
    sessions_, each = 300, 10
    _fill_uses(world, sessions_, each)
    uses_after = (exports.uses_of_session_after, exports.uses_of_runs_after)
    with world.services.database.reading() as db:
        row_id = db.scalars(sa.select(Session.id).where(Session.session_id == "session 7")).one()
    (message,) = world.say("session 7", "\u043c\u043e\u0439 \u043a\u043b\u044e\u0447").messages
    with recorded(world.services.database.engine, "SELECT", "UPDATE", "DELETE") as sent:
        with world.services.database.reading() as db:
            found = [use for after in uses_after for use in after(db, row_id, None, limit=100)]
        edits.delete_message(world.services, world.user_id, message.id)
        edits.delete_session(world.services, world.user_id, world.flow_id, "session 7")
        edits.erase_end_user(world.services, world.user_id, "person 8")
        uses.delete_expired(world.services)
    assert len(found) == each
    of_uses = [each for each in sent if re.search(r"(FROM|JOIN|UPDATE) memory_uses", each[0])]
    assert len(of_uses) >= 10
    for statement, parameters in of_uses:
        if world.services.database.is_sqlite:
            plan = plan_of(world, statement, parameters)
            whole = r"(SCAN memory_uses|SEARCH memory_uses .*\((flow_id=\?)?\)).*"
            assert not any(re.fullmatch(whole, step) for step in plan), (statement, plan)
        elif statement.startswith("SELECT"):
            assert rows_touched(world, statement, parameters) <= 10 * each, statement


def _fill_uses(world: World, count: int, each: int) -> None:
    """Sessions with uses, half of them of captured runs."""
    now = datetime.now(UTC)
    times = {"created_at": now, "last_captured_at": now}
    used = {"node_id": "llm", "messages": [], "sources": [], "report": {}, "query": "which?", "recorded_at": now}
    for number in range(count):
        name = {"session_id": f"session {number}", "end_user_id": f"person {number}", "flow_id": world.flow_id}
        session_id, runs = uuid4(), [uuid4() for _ in range(each)]
        insert(world, Session, [name | {"id": session_id, "last_seq": 0, "metadata": {}, **times}])
        captured = {"flow_id": world.flow_id, "session_uuid": session_id, "created_at": now}
        insert(world, Run, [{"id": run_id, **captured} for run_id in runs[::2]])
        insert(world, MemoryUse, [name | {"id": uuid4(), "run_id": run_id, **used} for run_id in runs])
    analyze(world)
