"""With the statistics of a large store, no statement of a hot path reads a large table from its beginning."""

from __future__ import annotations

import itertools
import json
import math
import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness import million
from harness.statements import Statement, recorded
from harness.world import World

from memorybase.core.conversation.context import ContextRequest, RecallOptions, StandingOptions, build_context
from memorybase.core.database.paging import PageRequest
from memorybase.core.import_export import exporter
from memorybase.core.keyword_index import index, orphans, packing
from memorybase.core.memory_bases import consistency, deletion, reconcile, regenerate
from memorybase.core.models import Base
from memorybase.core.queries import keyword_index, search_pending, token_vectors
from memorybase.core.queries import search as search_queries
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.messages import MessageQuery
from memorybase.core.queries.runs import RunFilter
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import end_users, memory_bases, overview, runs, sessions
from memorybase.core.search import keyword_search, search
from memorybase.core.search.request import MODES, SearchRequest
from memorybase.core.services import Services
from memorybase.core.sessions import deletion as session_deletion
from memorybase.core.sessions import edits, flows

pytestmark = pytest.mark.slow
LARGE = {"messages", "sessions", "runs", "postings", "ledger", "session_progress", "token_vectors", "ingestion_jobs"}
# Partial indexes that have as many rows as there is work: reading all of one is cheap.
SMALL = {
    *(f"ix_session_progress_{name}" for name in ("due", "dirty", "unbuilt")),
    *(f"ix_sessions_{name}" for name in ("behind", "deleted", "unpacked")),
    *(f"ix_ingestion_jobs_{name}" for name in ("queued", "order", "running", "last", "failed")),
    "uq_ingestion_jobs_active",
}


def sent_by(world: World) -> AbstractContextManager[list[Statement]]:
    return recorded(world.services.database.engine, "SELECT", "UPDATE", "DELETE", "WITH")


def steps(world: World, statement: str, parameters: Any) -> list[str]:
    """The steps of the plan that read a large table otherwise than by an index, or prepare for that."""
    if world.services.database.is_sqlite:
        return [step for step in plan_of(world, statement, parameters) if _is_whole(step)]
    nodes = _nodes(explained(world, statement, parameters))
    whole = [node for node in nodes if node["Node Type"] == "Seq Scan" and node["Relation Name"] in LARGE]
    return [json.dumps({name: node[name] for name in ("Node Type", "Relation Name")}) for node in whole]


def explained(world: World, statement: str, parameters: Any) -> dict[str, Any]:
    """The plan of PostgreSQL. The file is small: a row costs what it would if 13 of them were in a page."""
    with world.services.database.engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL cpu_tuple_cost = 0.09")
        found = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
        connection.rollback()
    plan: dict[str, Any] = found[0]["Plan"]
    return plan


def plan_of(world: World, statement: str, parameters: Any) -> list[str]:
    """The plan of SQLite, step by step."""
    with world.services.database.engine.connect() as connection:
        return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]


def _is_whole(step: str) -> bool:
    if step.startswith("BLOOM FILTER ON"):  # it is filled with the whole table
        return step.split()[3] in LARGE
    words = step.split()
    return words[0] == "SCAN" and words[1] in LARGE and words[-1] not in SMALL


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


# (sessions, length) as multiples of 1,200 sessions of ten messages. None: no statistics, as SQLite has until somebody
# runs ANALYZE.
@pytest.fixture(params=[(100, 1), (10, 1), (1, 3), None], ids=["million", "100000", "long-sessions", "unknown"])
def large(world: World, request: pytest.FixtureRequest) -> Iterator[tuple[World, UUID]]:
    """A world whose planner believes in many messages, and its memory base."""
    for _ in range(19):
        world.new_flow()
    base = world.new_base(threshold=2)  # among several flows, as a list of all of them has
    for number in range(12):
        for topic in ("harbour crane", "winter storage", "mooring rope"):
            question = {"role": "user", "content": f"what about the {topic}?"}
            world.say(f"session {number}", question, f"the {topic} {number}", end_user_id=f"person {number % 3}")
    world.settle()
    world.say("session 1", "pending")
    if request.param is not None:
        times_sessions, times_length = request.param
        million.pretend(world.services.database, sessions=times_sessions, length=times_length)
    elif not world.services.database.is_sqlite:
        pytest.skip("PostgreSQL knows the size of its files")
    yield world, base
    million.forget(world.services.database)


def pages(world: World, base: UUID) -> dict[str, Callable[[], object]]:
    services, user_id, flow_id = world.services, world.user_id, world.flow_id
    page = PageRequest()

    def list_sessions(**wanted: Any) -> Callable[[], object]:
        chosen = SessionFilter(**{"order": "recent", "flow_id": flow_id} | wanted)
        return lambda: sessions.list_sessions(services, user_id, chosen, page)

    def list_runs(**wanted: Any) -> Callable[[], object]:
        return lambda: runs.list_runs(services, user_id, RunFilter(flow_id=flow_id, **wanted), page)

    def list_messages(**wanted: Any) -> Callable[[], object]:
        return lambda: sessions.list_messages(services, user_id, MessageQuery(flow_id=flow_id, **wanted), page)

    found: dict[str, Callable[[], object]] = {
        "capture": lambda: world.say("session 2", "harbour", "rope"),
        "job": world.drain,
        "search": lambda: search.search(services, user_id, SearchRequest(memory_base_id=base, query="harbour rope")),
        "search in a session": lambda: search.search(
            services, user_id, SearchRequest(memory_base_id=base, query="harbour", session_id="session 3")
        ),
        "context": lambda: build_context(
            services,
            user_id,
            ContextRequest(flow_id=flow_id, session_id="session 3", token_budget=500, query="winter crane"),
        ),
        "search as of a date": lambda: search.search(
            services, user_id, SearchRequest(memory_base_id=base, query="harbour rope", as_of=datetime.now(UTC))
        ),
        "context as of a date": lambda: build_context(
            services,
            user_id,
            ContextRequest(
                flow_id=flow_id,
                session_id="session 3",
                token_budget=500,
                query="winter crane",
                as_of=datetime.now(UTC),
                standing=StandingOptions(include=True),
                recall=RecallOptions(lines=["facts"]),
            ),
        ),
        "memories": lambda: memory_bases.list_memory_bases(services, user_id, page),
        "overview": lambda: overview.compute(services, user_id, overview.Window.WEEK),
        "sessions": list_sessions(),
        "sessions, oldest first": list_sessions(order="created"),
        "sessions with words": list_sessions(text="harbour crane", flow_id=None),
        "sessions of a person": list_sessions(end_user_id="person 1"),
        "sessions that wait": list_sessions(state=SearchState.WAITING),
        "runs": list_runs(),
        "runs with words": list_runs(text="harbour crane"),
        "messages of a flow": list_messages(),
        "newest messages of a flow": list_messages(order="desc"),
        "messages of a session": list_messages(session_id="session 3"),
        "messages of a memory base": list_messages(memory_base_id=base),
        "end users": lambda: end_users.list_end_users(services, user_id, page),
        "sweep": world.sweep,
    }
    return found


def test_no_hot_statement_reads_a_large_table_from_its_beginning(large: tuple[World, UUID]) -> None:
    world, base = large
    found: dict[str, list[str]] = {}
    for name, call in pages(world, base).items():
        with sent_by(world) as sent:
            call()
        for statement, parameters in sent:
            if "LIKE" in statement:  # a part of an id is looked for in every id: no index has those
                continue
            for step in steps(world, statement, parameters):
                found.setdefault(name, []).append(f"{step}: {statement}")
    assert not found, json.dumps(found, indent=1)


MANY = 5_000  # rows, as many as the largest page has; a flow has 6,000 sessions

# A part of each statement that reads more rows of a large table, and why it may.
READS_MANY = {
    "FROM (SELECT messages.id AS id": "the total of a list counts up to 100,000",
    "FROM (SELECT runs.id AS id": "the same",
    "FROM (SELECT sessions.id AS id": "the same",
    "AS total_processed": "a memory base adds up what its sessions have, in an index alone",
    "sum(session_progress.total_chunks)": "the same, once a comparison",
    "ORDER BY session_progress.last_sync_at DESC": "a comparison looks once for the sessions that were ingested last",
    "buckets.position": "the overview counts what is in its window, in an index alone",
    "WITH people AS": "end users are known by their sessions alone",
}


def long_operations(world: World, base: UUID) -> dict[str, Callable[[], object]]:
    """What is done once in a while; each may take what the ones before it left."""
    services, user_id, flow_id = world.services, world.user_id, world.flow_id
    return {
        "mismatch": lambda: consistency.check_mismatch(services, user_id, base),
        "reconcile": lambda: reconcile.reconcile_base(services, base, repair=True),
        "export": lambda: list(exporter.export(services, exporter.ExportScope(user_id=user_id))),
        "reindex": lambda: list(index.reindex(_in_german(world))),
        "pack": lambda: packing.pack(services),
        "orphans": lambda: orphans.collect(services),
        "retention": lambda: (flows.update_flow(services, user_id, flow_id, {"retain_days": 1}), world.sweep()),
        "rename of a session": lambda: edits.update_session(
            services, user_id, flow_id, "session 4", new_session_id="other name"
        ),
        "deletion of a session": lambda: (edits.delete_session(services, user_id, flow_id, "session 5"), world.sweep()),
        "erasure of a person": lambda: (edits.erase_end_user(services, user_id, "person 2"), world.sweep()),
        "new memory base": world.new_base,
        "regenerate": lambda: (regenerate.regenerate(services, user_id, base), world.settle()),
        "deletion of a memory base": lambda: deletion.delete_memory_base(services, user_id, base),
        "deletion of a flow": lambda: session_deletion.delete_flow(services, user_id, flow_id),
    }


def _in_german(world: World) -> Services:
    german = world.services.settings.model_copy(update={"keyword_language": "german"})
    return replace(world.services, settings=german)


@pytest.mark.parametrize("large", [(100, 1)], ids=["million"], indirect=True)
def test_what_reads_many_rows_is_known(large: tuple[World, UUID]) -> None:
    world, base = large
    if world.services.database.is_sqlite:
        pytest.skip("SQLite does not say how many rows it expects")
    found: dict[str, dict[str, int]] = {}
    for name, call in (pages(world, base) | long_operations(world, base)).items():
        with sent_by(world) as sent:
            call()
        for statement, parameters in sent:
            if rows := many_rows(world, statement, parameters):
                found[f"{name}: {statement}"] = rows
    unknown = {name: rows for name, rows in found.items() if not any(part in name for part in READS_MANY)}
    assert not unknown, json.dumps(unknown, indent=1)
    unused = [part for part in READS_MANY if not any(part in name for name in found)]
    assert not unused, "these read no more than others now"


def many_rows(world: World, statement: str, parameters: Any) -> dict[str, int]:
    """Large tables from which the plan reads more than MANY rows, and how many."""
    read = _rows_read(explained(world, statement, parameters), math.inf, 1)
    return {table: int(rows) for table, rows in read if table in LARGE and rows > MANY}


def _rows_read(node: dict[str, Any], most: float, times: float) -> Iterator[tuple[str, float]]:
    """(table, rows) of each step that reads one. `most`: where a limit above it ends it; `times`: how often it runs."""
    rows = float(node["Plan Rows"])
    if node["Node Type"] == "Limit":
        most = min(most, rows)
    elif node["Node Type"] in ("Sort", "Aggregate", "Hash", "Materialize", "SetOp"):
        most = math.inf  # it reads all before it returns the first
    if "Relation Name" in node:
        yield node["Relation Name"], min(rows, most) * times
    children = node.get("Plans", [])
    for child in children:
        relation, again = child.get("Parent Relationship"), 1.0
        if relation == "SubPlan":
            again = rows
        elif node["Node Type"] == "Nested Loop" and relation == "Inner":
            again = float(children[0]["Plan Rows"])
        of_child = 1 if relation in ("InitPlan", "SubPlan") else most  # a subquery's first row is enough
        yield from _rows_read(child, of_child, times * max(1, min(again, most)))


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_page_of_a_flows_messages_does_not_sort_all_of_them(large: tuple[World, UUID], order: Any) -> None:
    world, _ = large
    wanted = MessageQuery(flow_id=world.flow_id, order=order)
    with sent_by(world) as sent:
        found = sessions.list_messages(world.services, world.user_id, wanted, PageRequest(size=5))
    assert len(found.items) == 5
    ((statement, parameters),) = [each for each in sent if "ORDER BY messages.captured_at" in each[0]]
    if world.services.database.is_sqlite:
        plan = plan_of(world, statement, parameters)
        assert "USE TEMP B-TREE FOR ORDER BY" not in plan, plan
    else:
        kinds = [node["Node Type"] for node in _nodes(explained(world, statement, parameters))]
        assert "Sort" not in kinds, kinds


def test_pending_messages_are_read_session_by_session(large: tuple[World, UUID]) -> None:
    world, base = large
    wanted = SearchRequest(memory_base_id=base, query="harbour rope")
    with sent_by(world) as sent:
        search.search(world.services, world.user_id, wanted)
    ((statement, parameters),) = [each for each in sent if "AS behind" in each[0]]
    if world.services.database.is_sqlite:
        plan = plan_of(world, statement, parameters)
        reads = [step for step in plan if step.startswith(("SEARCH messages", "SCAN messages"))]
    else:
        nodes = _nodes(explained(world, statement, parameters))
        of_messages = [node for node in nodes if node.get("Relation Name") == "messages"]
        reads = [f"{node.get('Index Cond', '')} {node.get('Recheck Cond', '')}" for node in of_messages]
    assert reads
    assert all("session_uuid" in read or "id = " in read or "(id=?)" in read for read in reads), reads


class Step(NamedTuple):
    """A step of a plan that reads a table."""

    table: str
    index: str | None
    condition: str  # that the index answers

    def is_as_written(self, lookup: str) -> bool:
        """A lookup is an index, or a table with the columns of a condition."""
        table, _, columns = lookup.rstrip(")").partition("(")
        if not columns:
            return self.index == lookup
        return table == self.table and all(re.search(rf"\b{name}\b", self.condition) for name in columns.split(", "))


def reads(world: World, statement: str, parameters: Any) -> set[Step]:
    if world.services.database.is_sqlite:
        pattern = r"(?:SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?(?:INDEX )?(\w+)(?: KEY)?(?: \((.*)\))?)?"
        matches = [re.match(pattern, step) for step in plan_of(world, statement, parameters)]
        found = [Step(each[1], each[2], each[3] or "") for each in matches if each]
    else:
        found = list(_steps(explained(world, statement, parameters), ""))
    return {step for step in found if step.table in Base.metadata.tables}


def _steps(node: dict[str, Any], table: str) -> Iterator[Step]:
    table = node.get("Relation Name", table)  # of a bitmap's indexes only the node above has it
    if "Index Name" in node or node["Node Type"] == "Seq Scan":
        yield Step(table, node.get("Index Name"), node.get("Index Cond", ""))
    for child in node.get("Plans", []):
        yield from _steps(child, table)


def table_of(lookup: str) -> str:
    of_indexes = {index.name: table.name for table in Base.metadata.tables.values() for index in table.indexes}
    return of_indexes.get(lookup) or lookup.partition("(")[0]


def written_lookups() -> dict[str, list[list[str]]]:
    """By function: what it looks rows up by, of each list at least one."""
    rows = re.findall(r"^    (\w+) +(\S.*(?:\n {24}.*)*)", search_queries.__doc__ or "", re.MULTILINE)
    return {name: [each.split(" or ") for each in " ".join(lookups.split()).split("; ")] for name, lookups in rows}


def search_with_all_options(world: World, base: UUID) -> None:
    everywhere: list[dict[str, Any]] = [{"memory_base_id": base}, {"flow_id": world.flow_id}]
    scopes: list[dict[str, Any]] = [{}, {"session_id": "session 3"}, {"end_user_id": "person 1"}]
    for mode, where, scope in itertools.product(MODES, everywhere, scopes):
        asked = SearchRequest(query="What did Anna say about the harbour crane?", mode=mode, **where, **scope)
        shown = replace(asked, neighbors=1, fold_alike=True)
        assert search.search(world.services, world.user_id, shown).results
        assert search.search(world.services, world.user_id, replace(shown, as_of=datetime.now(UTC))).results
    for bases in (None, [base]):
        search.search_several(world.services, world.user_id, SearchRequest(query="crane"), bases)


def sent_by_function(
    world: World, base: UUID, functions: Collection[str], modules: Collection[str]
) -> dict[str, list[Statement]]:
    engine, sent = world.services.database.engine, defaultdict(list)

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        frames = [frame for frame, _ in traceback.walk_stack(None) if frame.f_globals.get("__name__") in modules]
        names = [frame.f_code.co_name for frame in frames]
        if names:
            sent[next((name for name in names if name in functions), names[-1])].append((statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        search_with_all_options(world, base)
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    return sent


# A flow with few sessions is read by any of their indexes.
@pytest.mark.parametrize("large", [(100, 1), None], ids=["million", "unknown"], indirect=True)
def test_a_search_looks_rows_up_as_is_written(large: tuple[World, UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    world, base = large
    monkeypatch.setattr(keyword_search, "POSTINGS_READ", 3)  # further positions are looked up for candidates
    pinned, edited, *_ = world.messages("session 2")
    edits.edit_message(world.services, world.user_id, pinned.id, {"pinned": True})
    edits.edit_message(world.services, world.user_id, edited.id, {"content": "the harbour crane moved"})
    written = written_lookups()
    modules = [each.__name__ for each in (search_queries, search_pending, keyword_index, token_vectors)]
    sent = sent_by_function(world, base, written, modules)
    wrong = [f"{name} is not sent, or not written" for name in written.keys() ^ sent.keys()]
    # PostgreSQL reads the few rows of other tables without an index.
    tables = set(Base.metadata.tables) if world.services.database.is_sqlite else LARGE
    for name in written.keys() & sent.keys():
        steps = {step for each in sent[name] for step in reads(world, *each) if step.table in tables}
        lookups = [each for each in itertools.chain(*written[name]) if table_of(each) in tables]
        used = {each for each in lookups if any(step.is_as_written(each) for step in steps)}
        wrong += [f"{name}: {step}" for step in steps if not any(map(step.is_as_written, lookups))]
        wrong += [
            f"{name} does not use {' or '.join(group)}"
            for group in written[name]
            if table_of(group[0]) in tables and not used & set(group)
        ]
    assert not wrong, "\n".join(wrong)
