"""Measures one page of every list of sessions, runs, end users and memories, and the overview.

    python bench/page_lists.py [--sessions 100000] [--memories 200] [--calls 7] [--database URL] [--keep FILE]

It fills an empty database, by default SQLite in a temporary directory, as captures and ingestion would have: two memory
bases a flow, two runs a session, one person for five sessions. Then it times pages of 50 in one process without HTTP.
Most sessions are ingested; a few wait, are being ingested, or have a dead letter. A database that was filled before, of
`--keep` or `--database`, is measured as it is.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from ingesting.doubles import FakeEmbedders, InMemoryLocks, InMemoryQueue, InMemoryVectors

from memorybase import features
from memorybase.core.auth import api_keys
from memorybase.core.database import migrate
from memorybase.core.database.engine import Database
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.database.upsert import core
from memorybase.core.keyword_index.analyzer import analyzer, term_key
from memorybase.core.memory_bases import manage
from memorybase.core.memory_bases.manage import NewMemoryBase
from memorybase.core.models import (
    Capture,
    DeadLetter,
    LedgerEntry,
    Message,
    Posting,
    Run,
    Session,
    SessionProgress,
)
from memorybase.core.operations import sweeper
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.runs import RunFilter
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.read_models import end_users, memory_bases, overview, runs, sessions
from memorybase.core.services import Services
from memorybase.core.sessions import flows
from memorybase.core.settings import Settings

RUNS = 2  # of a session, each a question and its answer
SESSIONS_OF_A_PERSON = 5
CHUNK = 2_000  # sessions in one transaction
NOUNS = ("berth", "shore", "power", "invoice", "sailmaker", "mooring", "crane", "winter", "storage", "engine", "rope")
FREQUENT, RARE = "harbour", "zephyr"
Row = dict[str, Any]


@dataclass
class Filler:
    """Rows as captures and ingestion leave them."""

    services: Services
    user_id: UUID
    random: random.Random
    now: datetime

    def fill(self, count: int, memories: int) -> None:
        flow_ids = [flows.create_flow(self.services, self.user_id, name=f"Flow {n}").id for n in range(memories // 2)]
        bases = {flow_id: [self._base(flow_id, n) for n in range(2)] for flow_id in flow_ids}
        for start in range(0, count, CHUNK):
            rows: dict[Any, list[Row]] = {}
            for number in range(start, min(start + CHUNK, count)):
                flow_id = self.random.choice(flow_ids)
                for table, row in self._session(flow_id, bases[flow_id], number):
                    rows.setdefault(table, []).append(row)
            with self.services.database.transaction(durable=False) as db:
                for table in (Session, Run, Message, Posting, SessionProgress, LedgerEntry, DeadLetter):
                    if rows.get(table):
                        db.execute(sa.insert(core(table)), rows[table])
        _mark_passed(self.services)
        database = self.services.database
        with database.engine.connect() as connection:
            # What autovacuum does meanwhile.
            statement = "ANALYZE" if database.is_sqlite else "VACUUM ANALYZE"
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text(statement))

    def _base(self, flow_id: UUID, number: int) -> UUID:
        new = NewMemoryBase(name=f"{flow_id} {number}", flow_id=flow_id, capture=Capture.ALL)
        return manage.create_memory_base(self.services, self.user_id, new)

    def _session(self, flow_id: UUID, base_ids: list[UUID], number: int) -> Iterator[tuple[Any, Row]]:
        session_id, session_uuid = f"customer-{number}", uuid4()
        last = self.now - timedelta(seconds=self.random.randrange(90 * 86_400))
        first_position = self.random.randrange(2**62)
        state = self.random.random()
        cursor = 2 * RUNS if state > 0.02 else 2 * (RUNS - 1)
        yield (
            Session,
            {
                "id": session_uuid,
                "flow_id": flow_id,
                "session_id": session_id,
                "end_user_id": f"person-{number // SESSIONS_OF_A_PERSON}",
                "first_position": first_position,
                "last_seq": 2 * RUNS,
                "documents": 2 * RUNS,
                "terms": 20,
                "keyword_language": "english",
                "created_at": last - timedelta(minutes=RUNS),
                "last_captured_at": last,
                "metadata": {},
            },
        )
        message_ids: list[UUID] = []
        for turn in range(RUNS):
            run_id, at = uuid4(), last - timedelta(minutes=RUNS - 1 - turn)
            yield Run, {"id": run_id, "flow_id": flow_id, "session_uuid": session_uuid, "created_at": at}
            for role in ("user", "assistant"):
                message_ids.append(uuid4())
                seq = len(message_ids)
                words = [FREQUENT, *self.random.sample(NOUNS, 3)]
                if number % 10_000 == 7:
                    words.append(RARE)
                yield (
                    Message,
                    _message(message_ids[-1], flow_id, session_uuid, run_id, seq, first_position, role, words, at),
                )
                for term in analyzer("english").terms(" ".join(words)):
                    yield Posting, {"term": term_key(flow_id, term), "position": first_position + seq, "times": 1}
        for base_id in base_ids:
            progress_id = uuid4()
            yield (
                SessionProgress,
                {
                    "id": progress_id,
                    "memory_base_id": base_id,
                    "generation": 1,
                    "flow_id": flow_id,
                    "session_id": session_id,
                    "session_uuid": session_uuid,
                    "cursor_seq": cursor,
                    "target_seq": cursor if state > 0.01 else 2 * RUNS,
                    "total_processed": cursor,
                    "total_chunks": cursor,
                    "last_sync_at": last,
                },
            )
            for message_id in message_ids[:cursor]:
                yield (
                    LedgerEntry,
                    {
                        "progress_id": progress_id,
                        "message_id": message_id,
                        "memory_base_id": base_id,
                        "generation": 1,
                        "version": 1,
                        "chunks": 1,
                        "ingested_at": last + timedelta(seconds=4),
                    },
                )
            if state > 0.995:
                yield (
                    DeadLetter,
                    {
                        "id": uuid4(),
                        "memory_base_id": base_id,
                        "generation": 1,
                        "progress_id": progress_id,
                        "message_id": message_ids[-1],
                        "version": 1,
                        "state": "dead",
                        "error_code": "text_rejected",
                        "error": "no valid vector",
                        "attempts": 1,
                        "created_at": last,
                        "updated_at": last,
                    },
                )


def _message(
    message_id: UUID,
    flow_id: UUID,
    session_uuid: UUID,
    run_id: UUID,
    seq: int,
    first: int,
    role: str,
    words: list[str],
    at: datetime,
) -> Row:
    text = f"Tell me about the {' and the '.join(words)}, please, before the end of the week."
    return {
        "id": message_id,
        "flow_id": flow_id,
        "session_uuid": session_uuid,
        "run_id": run_id,
        "seq": seq,
        "position": first + seq,
        "role": role,
        "is_output": role == "assistant",
        "is_dialogue": True,
        "content": text,
        "files": [],
        "metadata": {},
        "status": "completed",
        "version": 1,
        "text_bytes": len(text),
        "terms": len(words),
        "fingerprint": b"",
        "timestamp": at,
        "captured_at": at,
    }


def pages(services: Services, user_id: UUID, memories: int) -> dict[str, Callable[[str | None], Page[Any]]]:
    """Each list by its name; it is given the cursor."""

    def of_sessions(**wanted: Any) -> Callable[[str | None], Page[Any]]:
        chosen = SessionFilter(**{"order": "recent"} | wanted)
        return lambda cursor: sessions.list_sessions(services, user_id, chosen, PageRequest(cursor=cursor))

    def of_runs(**wanted: Any) -> Callable[[str | None], Page[Any]]:
        return lambda cursor: runs.list_runs(services, user_id, RunFilter(**wanted), PageRequest(cursor=cursor))

    def of_people(**wanted: Any) -> Callable[[str | None], Page[Any]]:
        return lambda cursor: end_users.list_end_users(services, user_id, PageRequest(cursor=cursor), **wanted)

    flow_id = sessions.list_flows(services, user_id, PageRequest(size=1)).items[0].id
    since = datetime.now(UTC) - timedelta(days=1)
    filters: dict[str, Row] = {
        "all": {},
        "a flow": {"flow_id": flow_id},
        "a person": {"end_user_id": "person-3"},
        "a day": {"since": since},
        "a frequent word": {"text": FREQUENT},
        "a rare word": {"text": RARE},
        "two words": {"text": "berth crane"},
        "no such word": {"text": "zzzzzz"},
        "part of an id": {"text": "customer-9999"},
        **{state: {"state": state} for state in SearchState},
        "a flow that waits": {"flow_id": flow_id, "state": SearchState.WAITING},
    }
    found = {f"sessions: {name}": of_sessions(**wanted) for name, wanted in filters.items()}
    found |= {"sessions: oldest first": of_sessions(order="created")}
    found |= {f"runs: {name}": of_runs(**wanted) for name, wanted in filters.items()}
    found |= {
        "people: last seen": of_people(),
        "people: most sessions": of_people(order="sessions"),
        "people: part of an id": of_people(text="person-77"),
        "people: of a flow": of_people(flow_id=flow_id),
        "memories": lambda cursor: memory_bases.list_memory_bases(
            services, user_id, PageRequest(size=min(memories, 200), cursor=cursor)
        ),
    }
    return found


def overviews(services: Services, user_id: UUID) -> dict[str, Callable[[], overview.Overview]]:
    """Home, for each window."""
    return {
        f"overview: {window}": lambda window=window: overview.compute(services, user_id, window)
        for window in overview.Window
    }


def measured(calls: int, page: Callable[[str | None], Page[Any]]) -> str:
    """Median and longest call in milliseconds, of the first page and, with the cursor, of the second; then rows."""
    first = page(None)
    figures = [_times(calls, lambda: page(None))]
    if first.next_cursor is not None:
        figures.append(_times(calls, lambda: page(first.next_cursor)))
    second = "{:8.1f} {:8.1f}".format(*figures[1]) if len(figures) > 1 else " " * 17
    return "{:8.1f} {:8.1f} ".format(*figures[0]) + f"{second} {len(first.items):5} {first.total:8}"


def _times(calls: int, call: Callable[[], object]) -> tuple[float, float]:
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), max(times)


def _is_filled(database: Database) -> bool:
    with database.reading() as db:
        return db.scalar(sa.select(Session.id).limit(1)) is not None


def _mark_passed(services: Services) -> None:
    """Let the sweeper's step look at every session."""
    with services.database.reading() as db:
        passes = (db.scalar(sa.select(sa.func.count()).select_from(Session)) or 0) // sweeper.LIMIT + 1
    for _ in range(passes):
        sweeper.mark_passed(services)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--memories", type=int, default=200)
    parser.add_argument("--calls", type=int, default=7)
    parser.add_argument("--database", help="an empty database; SQLite in a temporary directory without one")
    parser.add_argument("--keep", help="fill this SQLite file, or measure it if it exists")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.database or (f"sqlite:///{arguments.keep}" if arguments.keep else "")
        settings = Settings(data_dir=Path(folder), database_url=url, api_key="the-key-of-the-benchmark")
        migrate.upgrade(settings.resolved_database_url)
        database = Database(settings.resolved_database_url)
        services = Services(
            settings, database, InMemoryVectors(), FakeEmbedders(), InMemoryLocks(), InMemoryQueue(), features.hooks()
        )
        user_id = api_keys.ensure_local_user(services, settings.api_key or "")
        if not _is_filled(database):
            start = time.perf_counter()
            Filler(services, user_id, random.Random(7), datetime.now(UTC)).fill(arguments.sessions, arguments.memories)
            print(f"filled in {time.perf_counter() - start:.0f} s", flush=True)
        times = f"{'median':>8} {'longest':>8}"
        print(f"{'':<28} {'first page, ms':>17} {'second page, ms':>17}")
        print(f"{'list':<28} {times} {times}  rows    total")
        for name, page in pages(services, user_id, arguments.memories).items():
            print(f"{name:<28} {measured(arguments.calls, page)}", flush=True)
        for name, look in overviews(services, user_id).items():
            print(f"{name:<28} " + "{:8.1f} {:8.1f}".format(*_times(arguments.calls, look)), flush=True)
        database.dispose()


if __name__ == "__main__":
    main()
