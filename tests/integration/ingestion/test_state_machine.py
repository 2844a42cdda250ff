"""The ingestion protocol as a state machine: nothing is lost or duplicated in any order of requests, crashes, pauses.

The machine records only what was acknowledged; what must be in the stores follows from that.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from harness.constants import constants
from harness.index import assert_index_exact
from harness.pausing import POINTS, PausableWorkers
from harness.pgvectors import HookedPgVectors
from harness.world import World, build_world, message_of
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memorybase.core import errors
from memorybase.core.ingestion import recovery
from memorybase.core.memory_bases import consistency, dead_letters, deletion, manage
from memorybase.core.memory_bases import regenerate as regeneration
from memorybase.core.models import Capture, Generation, JobKind, MemoryBase
from memorybase.core.operations import sweeper, vector_indexes
from memorybase.core.services import JobMessage
from memorybase.core.sessions import edits, restoring
from memorybase.core.vectors import chunk_ids
from memorybase.core.vectors.store import CollectionRef
from memorybase.features.retention import passes

pytestmark = pytest.mark.slow

SESSIONS = ("a", "b", "c")
ROLES = ("assistant", "assistant", "user", "tool", "long", "poison", "deadly")
LEASE = 100
# No renewal falls into an example, so that a frozen worker's lease ends when the machine says so.
QUICK = {"lease_seconds": LEASE, "chunk_tokens": 16}
QUICK_CONSTANTS = {
    "memorybase.core.ingestion.scheduler.JOB_MAX_MESSAGES": 3,
    "memorybase.core.ingestion.lost_worker.MAX_LOST_WORKERS": 2,
    "memorybase.core.operations.vector_indexes.EVERY": 1e-6,
    "memorybase.core.embedding.chunking.OVERLAP": 0,  # each word of a text is in one chunk
    "memorybase.core.keyword_index.packing.PAGE": 3,
    "memorybase.core.keyword_index.packing.IDLE_SECONDS": 60.0,
}
# Enough for a test run; --hypothesis-profile=long goes on for as long as one likes.
BOUNDED = settings(max_examples=20, stateful_step_count=40, derandomize=True, database=None)

CAPTURED_UNTIL = (
    "SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_uuid WHERE s.session_id = ? AND m.captured_at <= ?"
)
RESTORABLE_UNTIL = (
    "SELECT r.message_id FROM restorable_messages r JOIN sessions s ON s.id = r.session_uuid "
    "WHERE s.session_id = ? AND replace(substr(json_extract(r.message, '$.captured_at'), 1, 26), 'T', ' ') <= ?"
)

pick = st.integers(0, 11)  # one of what there is, whatever there is
sessions = st.sampled_from(SESSIONS)
points = st.sampled_from(POINTS)
pauses = st.sampled_from([6, 61, LEASE + 1, LEASE + 1, 601])


@dataclass(frozen=True)
class Known:
    """A message whose capture was acknowledged."""

    session: str
    role: str
    is_output: bool
    text: str

    def counts_for(self, capture: str) -> bool:
        return self.is_output if capture == "outputs" else self.role in ("user", "assistant")


@dataclass
class Request:
    session: str
    run_id: UUID
    messages: list[dict[str, Any]]


@dataclass
class Marks:
    """What must never go back."""

    cursors: dict[tuple[str, int], int] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)


class Protocol(RuleBasedStateMachine):
    """Everything that can happen to two or three sessions of one flow."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        path = folder / "memorybase.db"
        self.world: World = self.new_world(path)
        self.workers = PausableWorkers(self.world)
        self.sql = sqlite3.connect(path, isolation_level=None)
        self.alive: dict[UUID, Known] = {}
        self.bases: dict[UUID, set[UUID]] = {}  # each with the messages that it skips
        self.kept_out: dict[UUID, str] = {}  # deleted one by one out of this session
        self.restorable: dict[UUID, Known] = {}
        self.requests: list[Request] = []
        self.marks = Marks()
        self.texts = self.made = 0

    def new_world(self, path: Path) -> World:
        return build_world(f"sqlite:///{path}", path.parent, **QUICK)

    # What is captured, and what becomes of it.

    @initialize(threshold=st.integers(1, 3), capture=st.sampled_from(Capture))
    def begin(self, threshold: int, capture: Capture) -> None:
        self.bases[self.world.new_base(threshold=threshold, capture=capture)] = set()
        self._post(Request("a", UUID(int=1), [self._message("assistant"), self._message("user")]), "error")

    @rule(
        session=sessions,
        roles=st.lists(st.sampled_from(ROLES), min_size=1, max_size=5),
        named=st.none() | st.integers(0, 5),
        on_conflict=st.sampled_from(["error", "keep", "update"]),
    )
    def capture(self, session: str, roles: list[str], named: int | None, on_conflict: str) -> None:
        messages = [self._message(role) for role in roles]
        if named is not None:
            messages[0]["id"] = f"message-{named}"
        self.requests.append(Request(session, UUID(int=2 + len(self.requests)), messages))
        with refused(errors.Conflict):
            self._post(self.requests[-1], on_conflict)

    @precondition(lambda self: self.requests)
    @rule(which=pick, on_conflict=st.sampled_from(["error", "keep", "update"]))
    def replay(self, which: int, on_conflict: str) -> None:
        with refused(errors.Conflict):
            self._post(one_of(self.requests, which), on_conflict)

    @precondition(lambda self: self.alive)
    @rule(which=pick, role=st.sampled_from(ROLES))
    def edit(self, which: int, role: str) -> None:
        message_id = one_of(list(self.alive), which)
        text = self._message(role)["content"]
        edits.edit_message(self.world.services, self.world.user_id, message_id, {"content": text})
        self.alive[message_id] = replace(self.alive[message_id], text=text)

    @precondition(lambda self: self.alive)
    @rule(which=pick, whole=st.sampled_from([False, False, True]))
    def delete(self, which: int, whole: bool) -> None:
        """A message, or its whole session."""
        message_id = one_of(list(self.alive), which)
        gone = self.alive[message_id].session
        if whole:
            edits.delete_session(self.world.services, self.world.user_id, self.world.flow_id, gone)
            self.alive = {key: known for key, known in self.alive.items() if known.session != gone}
            self.kept_out = {key: session for key, session in self.kept_out.items() if session != gone}
            self.restorable = {key: known for key, known in self.restorable.items() if known.session != gone}
        else:
            edits.delete_message(self.world.services, self.world.user_id, message_id)
            self.kept_out[message_id] = gone
            self.restorable[message_id] = self.alive.pop(message_id)

    @precondition(lambda self: self.alive)
    @rule(which=pick)
    def expire(self, which: int) -> None:
        """A session expires: what was captured until a message of it was."""
        message_id = one_of(list(self.alive), which)
        session = self.alive[message_id].session
        until, row = self.sql.execute(
            "SELECT m.captured_at, s.id FROM messages m JOIN sessions s ON s.id = m.session_uuid WHERE m.id = ?",
            [message_id.hex],
        ).fetchone()
        expired = {
            UUID(each)
            for query in (CAPTURED_UNTIL, RESTORABLE_UNTIL)
            for (each,) in self.sql.execute(query, [session, until])
        }
        self.sql.execute("UPDATE sessions SET expires_at = ? WHERE id = ?", [until, row])
        passes.expire_session(self.world.services, self.world.flow_id, session)
        (whole,) = self.sql.execute("SELECT deleted_at IS NOT NULL FROM sessions WHERE id = ?", [row]).fetchone()
        event(f"expired: {'whole' if whole else 'part'}")
        if whole:
            assert {key for key, known in self.alive.items() if known.session == session} <= expired
            self.kept_out = {key: kept for key, kept in self.kept_out.items() if kept != session}
        else:
            self.kept_out |= dict.fromkeys(expired & self.alive.keys(), session)
        for key in expired:
            self.alive.pop(key, None)
            self.restorable.pop(key, None)

    @precondition(lambda self: self.restorable)
    @rule(which=pick)
    def restore(self, which: int) -> None:
        """A message that was deleted by itself, unless its id was captured again in another session."""
        message_id = one_of(list(self.restorable), which)
        with refused(errors.MessageConflict):
            restoring.restore_message(self.world.services, self.world.user_id, message_id)
            self.alive[message_id] = self.restorable.pop(message_id)
            self.kept_out.pop(message_id, None)

    @precondition(lambda self: self.alive)
    @rule(which=pick, changes=st.fixed_dictionaries({}, optional={"muted": st.booleans(), "pinned": st.booleans()}))
    def mute_or_pin(self, which: int, changes: dict[str, bool]) -> None:
        if changes:
            message_id = one_of(list(self.alive), which)
            edits.edit_message(self.world.services, self.world.user_id, message_id, changes)

    @precondition(lambda self: self.alive)
    @rule(which=pick, new=sessions)
    def rename(self, which: int, new: str) -> None:
        old = one_of(list(self.alive.values()), which).session
        with refused(errors.SessionConflict):
            services, user, flow = self.world.services, self.world.user_id, self.world.flow_id
            edits.update_session(services, user, flow, old, new_session_id=new)
            for messages in (self.alive, self.restorable):
                for key, known in messages.items():
                    if known.session == old:
                        messages[key] = replace(known, session=new)
            self.kept_out = {key: new if session == old else session for key, session in self.kept_out.items()}

    # Workers, and what happens to them.

    @rule()
    def work(self) -> None:
        self.workers.drain()

    @rule(seconds=pauses)
    def some_time_later(self, seconds: int) -> None:
        self.workers.pass_time(seconds)
        self._swept()
        self.workers.drain()

    @precondition(lambda self: self.world.queue.enqueued)
    @rule(which=pick, twice=st.booleans())
    def deliver(self, which: int, twice: bool) -> None:
        """Any earlier notification."""
        for _ in range(1 + twice):
            self.workers.run(one_of(self.world.queue.enqueued, which))

    @rule(which=pick, at=points)
    def crash(self, which: int, at: str) -> None:
        for message in self._some_job(which):
            worker = self.workers.run(message, at=at, kill=True)
            event(f"crash {at}: {'killed' if worker.killed else 'not met'}")

    @precondition(lambda self: len(self.workers.frozen) < 3)
    @rule(which=pick, at=points.filter(lambda point: point != "committing"))
    def freeze(self, which: int, at: str) -> None:
        for message in self._some_job(which):
            worker = self.workers.run(message, at=at, kill=False)
            event(f"freeze {at}: {'not met' if worker.ended else 'frozen'}")

    @precondition(lambda self: self.workers.frozen)
    @rule(which=pick, kill=st.sampled_from([False, False, True]))
    def thaw(self, which: int, kill: bool) -> None:
        worker = self.workers.thaw(which % len(self.workers.frozen), kill=kill)
        event(f"thawed: {'killed' if kill else worker.outcome}")

    @precondition(lambda self: len(self.workers.frozen) < 3)
    @rule(
        which=pick,
        at=st.sampled_from(["claimed", "read", "checked", "half", "advancing"]),
        change=st.sampled_from(["edit", "capture", "delete", "rename"]),
        leases=st.integers(1, 3),
    )
    def oversleep(self, which: int, at: str, change: str, leases: int) -> None:
        """A worker freezes past its lease; meanwhile another does its work, and the messages change."""
        for message in self._some_job(which):
            worker = self.workers.run(message, at=at, kill=False)
            event(f"oversleep {at}: {'not met' if worker.ended else change}")
            if worker.ended:
                return
            self.some_time_later(LEASE + 1)
            if change == "capture":
                self.capture(SESSIONS[which % 3], ["user", "assistant", "long", "assistant"], None, "error")
                self.flush(which, None)
            elif self.alive:
                self._change(change, which)
            self.workers.drain()
            for _ in range(leases - 1):
                self.some_time_later(LEASE + 1)
            self.workers.thaw(self.workers.frozen.index(worker))

    def _change(self, change: str, which: int) -> None:
        if change == "edit":
            self.edit(which, "long" if which % 2 else "user")
        elif change == "delete":
            self.delete(which, whole=which % 3 == 0)
        else:
            self.rename(which, "c")

    @precondition(lambda self: self.workers.dead)
    @rule()
    def restart_workers(self) -> None:
        """A new worker recovers the jobs of dead workers of its data directory."""
        recovery.requeue_jobs_of_dead_workers(
            self.world.services, "worker-", lambda owner: owner not in self.workers.dead
        )

    @rule()
    def sweep(self) -> None:
        self._swept()

    @rule(seconds=pauses)
    def pass_time(self, seconds: int) -> None:
        self.workers.pass_time(seconds)

    # The parts around them.

    @rule(kind=st.sampled_from(["none", "queue", "broker", "locks", "store", "once", "poison", "deadly"]), which=pick)
    def trouble(self, kind: str, which: int) -> None:
        """One part fails, or all are well again."""
        if kind == "none":
            self._heal()
        elif kind == "queue":
            self.world.queue.clear()
        elif kind == "broker":
            self.world.queue.away = True
        elif kind == "locks":
            self.workers.locks_away = self.world.locks.away = True
        elif kind == "store":
            self.world.vectors.away = True
        elif kind == "once":
            operation = one_of(["upsert", "stored_ids", "delete", "iter_ids"], which)
            self.world.vectors.fail_next(errors.VectorStoreUnavailable(), on=operation)
        elif kind == "poison":
            for model in ("fake", "other"):
                self.world.embedders.get(model).reject("poison")
        else:
            self.workers.deadly = True

    # Memory bases.

    # Memory bases.

    @precondition(lambda self: len(self.bases) < 3)
    @rule(threshold=st.integers(1, 3), capture=st.sampled_from(Capture), now=st.booleans())
    def create_base(self, threshold: int, capture: Capture, now: bool) -> None:
        with refused(errors.VectorStoreUnavailable):
            base = self.world.new_base(threshold=threshold, capture=capture, start="now" if now else "beginning")
            self.bases[base] = {*self.alive, *self.restorable} if now else set()

    @precondition(lambda self: len(self.bases) > 1)
    @rule(which=pick)
    def delete_base(self, which: int) -> None:
        base = one_of(list(self.bases), which)
        deletion.delete_memory_base(self.world.services, self.world.user_id, base)
        del self.bases[base]

    @rule(
        which=pick,
        changes=st.fixed_dictionaries(
            {},
            optional={
                "threshold": st.integers(1, 6),
                "auto_capture": st.booleans(),
                "idle_after": st.sampled_from([0, 60, 600]),
            },
        ),
    )
    def update_base(self, which: int, changes: dict[str, Any]) -> None:
        base = one_of(list(self.bases), which)
        manage.update_memory_base(self.world.services, self.world.user_id, base, changes)

    @rule(which=pick, session=st.none() | sessions)
    def flush(self, which: int, session: str | None) -> None:
        with refused(errors.NotFound, errors.IngestionActive, errors.QueueUnavailable):
            self.world.flush(one_of(list(self.bases), which), session)

    @rule(which=pick, capture=st.none() | st.sampled_from(Capture), model=st.sampled_from([None, "fake", "other"]))
    def regenerate(self, which: int, capture: Capture | None, model: str | None) -> None:
        base = one_of(list(self.bases), which)
        with refused(errors.BuildActive, errors.VectorStoreUnavailable):
            regeneration.regenerate(
                self.world.services, self.world.user_id, base, capture=capture, embedding_model=model
            )

    @rule(which=pick)
    def stop_job(self, which: int) -> None:
        active = [job for base in self.bases for job in self.world.active_jobs(base) if job.kind != JobKind.REPAIR]
        if active:
            regeneration.cancel_job(self.world.services, self.world.user_id, one_of(active, which).id)

    @rule(which=pick, retried=st.booleans())
    def dead_letter(self, which: int, retried: bool) -> None:
        letters = [letter for base in self.bases for letter in self.world.dead_letters(base)]
        if letters:
            letter = one_of(letters, which)
            handle = dead_letters.retry_dead_letter if retried else dead_letters.discard_dead_letter
            with refused(errors.NotFound):  # of a retired generation, or put away already
                handle(self.world.services, self.world.user_id, letter.memory_base_id, letter.id)

    @rule(which=pick)
    def compare(self, which: int) -> None:
        consistency.check_mismatch(self.world.services, self.world.user_id, one_of(list(self.bases), which))

    # What holds after every step.

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        stored = {
            UUID(row[0]): row[1]
            for row in self.sql.execute(
                "SELECT m.id, s.session_id FROM messages m JOIN sessions s ON s.id = m.session_uuid"
            )
        }
        assert stored == {message_id: known.session for message_id, known in self.alive.items()}

    @invariant()
    def a_session_has_one_active_job(self) -> None:
        self._none(
            "SELECT memory_base_id, session_id FROM ingestion_jobs WHERE state IN ('queued', 'running') "
            "GROUP BY 1, 2 HAVING count(*) > 1"
        )

    @invariant()
    def nothing_goes_back(self) -> None:
        rows = self.sql.execute("SELECT id, generation, cursor_seq, epoch FROM session_progress")
        for progress_id, generation, cursor, epoch in rows:
            assert self.marks.cursors.get((progress_id, generation), 0) <= cursor
            assert self.marks.epochs.get(progress_id, 0) <= epoch
            self.marks.cursors[progress_id, generation] = cursor
            self.marks.epochs[progress_id] = epoch

    @invariant()
    def a_running_job_can_be_taken_back(self) -> None:
        """Without a lease it would be active for ever."""
        self._none(
            "SELECT j.id FROM ingestion_jobs j JOIN session_progress r ON r.id = j.progress_id "
            "WHERE j.state = 'running' AND (r.lease_until IS NULL OR r.epoch <> j.epoch)"
        )

    @invariant()
    def the_ledger_ends_at_the_cursor(self) -> None:
        # Until its repair an entry may be of the deleted message with the same id, which has another version.
        self._none(
            "SELECT l.message_id FROM ledger l JOIN messages m ON m.id = l.message_id "
            "JOIN session_progress r ON r.id = l.progress_id "
            "WHERE (l.version = m.version OR r.dirty = r.repaired) "
            "AND (m.seq > r.cursor_seq OR m.seq <= r.start_seq OR m.session_uuid <> r.session_uuid)"
        )

    @invariant()
    def the_counters_are_the_ledgers(self) -> None:
        self._none(
            "SELECT r.id FROM session_progress r LEFT JOIN ledger l ON l.progress_id = r.id GROUP BY r.id "
            "HAVING r.total_processed <> count(l.message_id) "
            "OR r.total_chunks <> coalesce(sum(l.chunks), 0)"
        )

    @invariant()
    def nothing_unexpected_was_raised(self) -> None:
        self._none("SELECT error FROM ingestion_jobs WHERE error LIKE 'Unexpected%'")
        self._none(
            "SELECT error_code, error FROM dead_letters WHERE error_code NOT IN ('text_rejected', 'worker_lost')"
        )

    @invariant()
    def what_is_served_is_there_and_is_what_was_said(self) -> None:
        """A search believes a chunk whose message is there in the same version."""
        versions = {UUID(row[0]): row[1] for row in self.sql.execute("SELECT id, version FROM messages")}
        for ref in self._collections("AND g.generation IN (b.serving, b.building)"):
            for record in self.world.vectors.records(ref).values():  # raises CollectionMissing
                parsed = chunk_ids.parse_chunk_id(record.id)
                assert parsed is not None
                known = self.alive.get(parsed.message_id)
                if known is not None and versions[parsed.message_id] == parsed.version:
                    assert record.text in known.text
                    assert record.metadata["session_id"] == known.session

    # What holds in the end.

    def teardown(self) -> None:
        with self._closing() as failed:
            if failed:
                return
            self._heal()
            while self.workers.frozen:
                self.workers.thaw(0)
            self._come_to_rest()
            for base in self.bases:
                self.world.assert_exact(base)
            for base in self.bases:
                # The broker's last fault may hit the flush.
                with refused(errors.IngestionActive, errors.QueueUnavailable):
                    self.world.flush(base)
            self._come_to_rest()
            for base, skipped in self.bases.items():
                self._assert_whole(base, skipped)
            self._assert_nothing_else()

    @contextmanager
    def _closing(self) -> Iterator[bool]:
        try:
            yield sys.exc_info()[0] is not None
        finally:
            self.workers.close()
            self.sql.close()
            self.world.close()

    def _heal(self) -> None:
        world, workers = self.world, self.workers
        world.vectors.away = world.queue.away = workers.locks_away = world.locks.away = workers.deadly = False
        world.vectors._faults._waiting.clear()
        for model in ("fake", "other"):
            world.embedders.get(model)._rejected.clear()

    def _come_to_rest(self) -> None:
        """Leases end, audits come due, backoffs are over; after a few of these nothing is left to do."""
        for _ in range(12):
            self.workers.pass_time(LEASE + 1)
            for _ in range(60):
                if not self.workers.drain() and not self._swept():
                    break
            else:
                raise AssertionError("never at rest")
            if not self._waiting():
                return
        raise AssertionError(f"still waiting: {self._waiting()}")

    def _waiting(self) -> list[Any]:
        rows = self.sql.execute(
            "SELECT * FROM session_progress "
            "WHERE audit_at IS NOT NULL OR lease_until IS NOT NULL OR dirty > repaired OR target_seq > cursor_seq"
        )
        unfinished = self.sql.execute(
            "SELECT * FROM generations WHERE state = 'building' OR (state = 'retired' AND retired_at IS NOT NULL)"
        )
        return rows.fetchall() + unfinished.fetchall()

    def _assert_whole(self, base: UUID, skipped: set[UUID]) -> None:
        """Every acknowledged message that counts is in the store once, or a dead letter."""
        self.world.assert_exact(base)
        serving = self.world.base(base).serving
        with self.world.services.database.reading() as db:
            capture = db.get_one(Generation, (base, serving)).capture
        wanted = {key for key, known in self.alive.items() if known.counts_for(capture) and key not in skipped}
        held = {entry.message_id for entry in self.world.ledger(base)}
        dead = {letter.message_id for letter in self.world.dead_letters(base)}
        assert held | dead == wanted
        assert not held & dead
        by_message: dict[UUID, list[str]] = {}
        for record in sorted(self.world.vectors.records(self.world.ref(base)).values(), key=lambda r: r.id):
            by_message.setdefault(UUID(str(record.metadata["message_id"])), []).append(record.text)
        words = {key: sorted(" ".join(pieces).split()) for key, pieces in by_message.items()}
        assert words == {key: sorted(self.alive[key].text.split()) for key in held}
        answer = consistency.check_mismatch(self.world.services, self.world.user_id, base)
        assert answer.state == "ok", answer

    def _assert_nothing_else(self) -> None:
        """Nothing is left of what was deleted, replaced or abandoned."""
        assert set(self.world.vectors.names()) == {
            ref.name for ref in self._collections("AND g.generation = b.serving")
        }
        assert set(self.world.scalars(sa.select(MemoryBase.id))) == self.bases.keys()
        self._none("SELECT id FROM ingestion_jobs WHERE state IN ('queued', 'running')")
        self._none("SELECT session_id FROM sessions WHERE deleted_at IS NOT NULL")
        self._none("SELECT id FROM dead_letters WHERE message_id NOT IN (SELECT id FROM messages)")
        assert_index_exact(self.world)

    # Small words.

    def _message(self, role: str) -> dict[str, Any]:
        """A message whose every word is its own."""
        self.texts += 1
        words = [f"{role}{self.texts}x{n}" for n in range(40 if role == "long" else 2)]
        raw: dict[str, Any] = {"role": role if role in ("user", "tool") else "assistant", "content": " ".join(words)}
        return raw | ({"tool_call_id": "call"} if role == "tool" else {})

    def _post(self, request: Request, on_conflict: str) -> None:
        answer = self.world.say(request.session, *request.messages, run_id=request.run_id, on_conflict=on_conflict)
        for raw, captured in zip(request.messages, answer.messages, strict=True):
            assert captured.deleted == (self.kept_out.get(captured.id) == request.session)
            if captured.created:
                assert captured.id not in self.alive
                self.kept_out.pop(captured.id, None)
                known = Known(request.session, raw["role"], raw["role"] == "assistant", raw["content"])
                self.alive[captured.id] = known
                for skipped in self.bases.values():
                    skipped.discard(captured.id)
            elif not captured.deleted:
                assert self.alive[captured.id].session == request.session
                if on_conflict == "update":
                    self.alive[captured.id] = replace(self.alive[captured.id], text=raw["content"])

    def _some_job(self, which: int) -> list[JobMessage]:
        """The notification of a waiting job, captured now if there is none; None if that is impossible."""
        for _ in range(2):
            waiting = [job for base in self.bases for job in self.world.active_jobs(base) if job.state == "queued"]
            if waiting:
                return [message_of(one_of(waiting, which))]
            self.capture(SESSIONS[which % 3], ["user", "assistant"], None, "error")
            self.flush(which, None)
        return []

    def _swept(self) -> int:
        report = sweeper.sweep(self.world.services)
        if not self.world.vectors.away:
            assert report.failed_steps == []
        steps = ("notified", "planned", "requeued", "builds", "deletions", "idle")
        return sum(report.done[name] for name in steps)

    def _collections(self, which: str) -> list[CollectionRef]:
        found = self.sql.execute(
            "SELECT g.collection_name, g.collection_id FROM generations g "
            f"JOIN memory_bases b ON b.id = g.memory_base_id WHERE b.deleting_at IS NULL {which}"
        )
        return [CollectionRef(name, UUID(collection)) for name, collection in found]

    def _none(self, query: str) -> None:
        assert self.sql.execute(query).fetchall() == []


def one_of(things: list[Any], which: int) -> Any:
    return things[which % len(things)]


@contextmanager
def refused(*errors_: type[Exception]) -> Iterator[None]:
    """A request may be refused for these reasons, and has changed nothing then."""
    try:
        yield
    except errors_ as error:
        event(f"refused: {type(error).__name__}")


class PgVectorProtocol(Protocol):
    """The same with the vectors in pgvector, where collections of three records move into a table of their own."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        super().__init__(folder)

    def new_world(self, path: Path) -> World:
        world = super().new_world(path)
        vectors = HookedPgVectors(self.url)
        world.services = replace(world.services, vectors=vectors)
        world.vectors = vectors  # type: ignore[assignment]
        return world

    @rule()
    def build_indexes(self) -> None:
        event(f"indexes built: {self._build_indexes()}")

    def _swept(self) -> int:
        return super()._swept() + self._build_indexes()

    def _build_indexes(self) -> int:
        with refused(errors.VectorStoreUnavailable):
            return vector_indexes.build_indexes(self.world.services)
        return 0

    @contextmanager
    def _closing(self) -> Iterator[bool]:
        with super()._closing() as failed:
            try:
                yield failed
            finally:
                self.world.services.vectors.close()  # type: ignore[attr-defined]


def in_any_order(machine: Callable[[], Protocol]) -> None:
    long = settings.get_current_profile_name() == "long"
    bounded = settings(settings.default if long else BOUNDED, deadline=None, suppress_health_check=list(HealthCheck))
    with constants(QUICK_CONSTANTS):
        run_state_machine_as_test(machine, settings=bounded)


def test_nothing_is_lost_or_duplicated_in_any_order_of_events(tmp_path: Path) -> None:
    in_any_order(lambda: Protocol(tmp_path / "world"))


def test_nothing_is_lost_or_duplicated_with_pgvector(tmp_path: Path, postgres_url: str) -> None:
    in_any_order(lambda: PgVectorProtocol(tmp_path / "world", postgres_url))
