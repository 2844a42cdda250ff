"""What must hold: watched while the run goes on, and checked once it is at rest."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

import httpx
import sqlalchemy as sa
from harness.index import stored_postings, wanted_postings
from sqlalchemy.orm import Session as OrmSession

from chaos.clients import Kept
from chaos.history import History
from memorybase.core import errors
from memorybase.core.database.engine import Database
from memorybase.core.models import (
    ACTIVE_STATES,
    Capture,
    DeadLetter,
    Flow,
    Generation,
    GenerationState,
    IngestionJob,
    JobState,
    KnowledgeBase,
    LedgerEntry,
    MemoryBase,
    Message,
    PlannedBaseDeletion,
    Posting,
    Preparation,
    Session,
    SessionProgress,
    TokenVectors,
)
from memorybase.core.queries import token_vectors
from memorybase.core.vectors import chunk_ids, indexes
from memorybase.core.vectors.pgvector_layout import SCHEMA
from memorybase.core.vectors.store import CollectionRef, VectorStore
from memorybase.features.audit_log import chain
from memorybase.features.audit_log.models import AuditEntry
from memorybase.features.facts.models import Distillation, DistillationUsage, Fact
from memorybase.features.memory_map.models import MapPoint, MemoryMap

SAMPLE_SECONDS = 0.1
SHOWN = 5  # of each kind of violation
ID_PAGE = 5_000
TABLES_OF_VECTORS = f"SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}' AND tablename <> 'collections'"

OF_A_BASE = {
    "memory_bases": MemoryBase.id,
    "generations": Generation.memory_base_id,
    "session_progress": SessionProgress.memory_base_id,
    "ingestion_jobs": IngestionJob.memory_base_id,
    "ledger": LedgerEntry.memory_base_id,
    "token_vectors": TokenVectors.memory_base_id,
    "dead_letters": DeadLetter.memory_base_id,
    "knowledge_bases": KnowledgeBase.memory_base_id,
    "distillations": Distillation.memory_base_id,
    "distillation_usage": DistillationUsage.memory_base_id,
    "facts": Fact.memory_base_id,
    "memory_maps": MemoryMap.memory_base_id,
    "map_points": MapPoint.memory_base_id,
    "planned_base_deletions": PlannedBaseDeletion.memory_base_id,
    "preparations": Preparation.memory_base_id,
}


class Store(Protocol):
    """The vector store as the check sees it."""

    def names(self) -> set[str]:
        """Every collection's."""

    def ids(self, ref: CollectionRef) -> list[str]:
        """Every id, as often as it is listed. Raises CollectionMissing."""

    def readable(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        """Which of these can be read together with their embedding."""


class Chroma:
    """Chroma asked over HTTP: the adapter lists an id once, however often Chroma does."""

    def __init__(self, url: str, vectors: VectorStore) -> None:
        self._collections = f"{url}/api/v2/tenants/default_tenant/databases/default_database/collections"
        self._vectors = vectors

    def names(self) -> set[str]:
        answer = httpx.get(self._collections, params={"limit": 10_000}, trust_env=False, timeout=30).raise_for_status()
        return {collection["name"] for collection in answer.json()}

    def ids(self, ref: CollectionRef) -> list[str]:
        found: list[str] = []
        while True:
            body = {"limit": ID_PAGE, "offset": len(found), "include": []}
            answer = httpx.post(f"{self._collections}/{ref.id}/get", json=body, trust_env=False, timeout=60)
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise errors.CollectionMissing
            page = answer.raise_for_status().json()["ids"]
            found += page
            if len(page) < ID_PAGE:
                return found

    def readable(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        return self._vectors.stored_ids(ref, ids)


class PgVector:
    """PostgreSQL asked for the rows of every table: a collection that moved must have left none."""

    def __init__(self, url: str, vectors: VectorStore) -> None:
        self._database = Database(url, pool_size=1)
        self._vectors = vectors
        indexes.maintain(vectors, leave=())

    def names(self) -> set[str]:
        return {each.ref.name for each in self._vectors.list_collections()}

    def ids(self, ref: CollectionRef) -> list[str]:
        found = self._rows(f"SELECT number FROM {SCHEMA}.collections WHERE id = '{ref.id}'")
        if not found:
            raise errors.CollectionMissing
        ids: list[str] = []
        for (table,) in self._rows(TABLES_OF_VECTORS):
            rows = self._rows(f"SELECT id FROM {SCHEMA}.{table} WHERE collection = {found[0].number}")
            ids += [row.id for row in rows]
        return ids

    def readable(self, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
        return self._vectors.stored_ids(ref, ids)

    def moved(self) -> int:
        """How many collections have left the shared table."""
        return len(self._rows(f"SELECT FROM {SCHEMA}.collections WHERE home > 0"))

    def _rows(self, statement: str) -> Sequence[Any]:
        try:
            with self._database.reading() as db:
                return db.execute(sa.text(statement)).all()
        finally:
            self._database.dispose()  # nobody closes this object


class Sampler(threading.Thread):
    """Looks all the time: no cursor or epoch goes back, no session has two active jobs, no job changes its range."""

    def __init__(self, database_url: str, history: History | None = None) -> None:
        super().__init__(name="sampler", daemon=True)
        self._history = history
        self.violations: list[str] = []
        self.samples = 0
        self._database = Database(database_url, pool_size=1)
        self._ended = threading.Event()
        self._rows: dict[UUID, tuple[int, int]] = {}
        self._jobs: dict[UUID, tuple[object, ...]] = {}

    def run(self) -> None:
        try:
            while not self._ended.wait(SAMPLE_SECONDS):
                self.look()
        except Exception as error:  # noqa: BLE001 - a thread's edge: what ends it must not go unseen
            self.violations.append(f"the sampler ended: {type(error).__name__}: {error}")

    def look(self) -> None:
        """Once; nothing while the database is away."""
        try:
            with self._database.reading() as db:
                self._look(db)
        except errors.DatabaseUnavailable:
            return
        self.samples += 1

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self._database.dispose()
        if not self.samples:
            self.violations.append("the sampler never saw anything")

    def _look(self, db: OrmSession) -> None:
        row = SessionProgress
        for progress_id, cursor, epoch in db.execute(sa.select(row.id, row.cursor_seq, row.epoch)):
            before = self._rows.get(progress_id, (cursor, epoch))
            if cursor < before[0] or epoch < before[1]:
                self.violations.append(f"row {progress_id}: (cursor, epoch) went from {before} to {(cursor, epoch)}")
            if self._history and self._rows.get(progress_id) != (cursor, epoch):
                self._history.write("cursor", row=str(progress_id), cursor=cursor, epoch=epoch)
            self._rows[progress_id] = (cursor, epoch)
        job = IngestionJob
        active = db.execute(
            sa.select(
                job.id,
                job.memory_base_id,
                job.progress_id,
                job.kind,
                job.generation,
                job.from_seq,
                job.to_seq,
                job.cursor_id,
                job.embedder,
                job.chunker,
                job.active_in,
            ).where(job.state.in_(ACTIVE_STATES))
        ).all()
        for sessions, times in Counter((found.memory_base_id, found.active_in) for found in active).items():
            if times > 1:
                self.violations.append(f"{times} active jobs of {sessions}")
        for found in active:
            arguments = tuple(found)[1:]
            if self._jobs.setdefault(found.id, arguments) != arguments:
                self.violations.append(f"the arguments of job {found.id} changed")


def unrest(database: Database) -> dict[str, int]:
    """What still has to happen before everything that was captured is in the stores; nothing at rest."""
    row, job, base, generation = SessionProgress, IngestionJob, MemoryBase, Generation
    questions = {
        "active jobs": sa.select(job.id).where(job.state.in_(ACTIVE_STATES)),
        "sessions with pending work": sa.select(row.id).where(
            sa.or_(row.target_seq > row.cursor_seq, row.dirty > row.repaired, row.audit_at.is_not(None))
        ),
        "leases": sa.select(row.id).where(row.lease_until.is_not(None)),
        "builds": sa.select(base.id).where(base.building.is_not(None)),
        "preparations": sa.select(Preparation.memory_base_id),
        "deletions": sa.select(base.id).where(base.deleting_at.is_not(None)),
        "retired generations": sa.select(generation.collection_id).where(
            # Without a time its collection is dropped already.
            generation.state == GenerationState.RETIRED,
            generation.retired_at.is_not(None),
        ),
        "deleted sessions": sa.select(Session.id).where(Session.deleted_at.is_not(None)),
    }
    with database.reading() as db:
        return {name: len(db.execute(question).all()) for name, question in questions.items()}


def named(counts: Mapping[str, int]) -> list[str]:
    return [f"{count} {name}" for name, count in counts.items() if count]


@dataclass
class Findings:
    """Counts for the report; `violations` must be empty."""

    violations: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0
    dead_letters: int = 0
    in_ledgers: int = 0
    chunks: int = 0
    stray_collections: int = 0
    audit_entries: int = 0
    blocks_of_postings: int = 0

    def must_be_empty(self, what: str, items: Collection[object]) -> int:
        if items:
            shown = ", ".join(str(item) for item in list(items)[:SHOWN])
            self.violations.append(f"{what}: {len(items)}, such as {shown}")
        return len(items)


def check(
    database: Database,
    store: Store,
    kept: Mapping[str, Kept],
    deleted_bases: Sequence[str],
    *,
    is_audited: bool = True,
) -> Findings:
    """Everything at rest: what was acknowledged against SQL, SQL against the ledger, the ledger against the store.

    `is_audited`: every capture was over an API that keeps the audit log.
    """
    findings = Findings()
    with database.reading() as db:
        _check_messages(db, kept, findings)
        _check_keyword_index(db, findings)
        for base in db.scalars(sa.select(MemoryBase)).all():
            if str(base.id) not in deleted_bases:
                _check_base(store, db, base, findings)
        _check_deleted(store, db, deleted_bases, findings)
        if is_audited:
            _check_audit(db, findings)
    broken = chain.verify(database)
    findings.must_be_empty("breaks of the audit log", [] if broken.is_intact else [broken.reason])
    return findings


def _check_audit(db: OrmSession, findings: Findings) -> None:
    """Every captured run has an entry, if captures came over the API."""
    captures = db.scalars(sa.select(AuditEntry.objects).where(AuditEntry.operation == "capture_run"))
    recorded = {objects.get("run_id") for objects in captures}
    findings.audit_entries = db.scalar(sa.select(sa.func.count(AuditEntry.id))) or 0
    if recorded:
        stored = {str(run_id) for run_id in db.scalars(sa.select(Message.run_id).distinct())}
        findings.must_be_empty("runs without an entry in the audit log", stored - recorded)


def _check_messages(db: OrmSession, kept: Mapping[str, Kept], findings: Findings) -> None:
    """Every acknowledged message is there once, as it was last acknowledged, and nothing else is."""
    rows = db.execute(sa.select(Message, Flow.external_id).join(Flow, Flow.id == Message.flow_id))
    found = {str(m.id): Kept(flow or "", m.session_id, m.role, m.content) for m, flow in rows}
    findings.lost += findings.must_be_empty("acknowledged messages missing in SQL", kept.keys() - found.keys())
    findings.doubled += findings.must_be_empty("messages in SQL that nobody was promised", found.keys() - kept.keys())
    both = kept.keys() & found.keys()
    other = [message_id for message_id in both if found[message_id] != replace(kept[message_id], edited=False)]
    findings.lost += findings.must_be_empty("messages with another content or place", other)


def _check_keyword_index(db: OrmSession, findings: Findings) -> None:
    """Postings are those of the messages, packed or not."""
    stored, wanted = stored_postings(db).items(), wanted_postings(db).items()
    findings.must_be_empty("postings that are missing", wanted - stored)
    findings.must_be_empty("postings of no message", stored - wanted)
    packed = sa.select(sa.func.count()).where(Posting.packed.is_not(None))
    findings.blocks_of_postings = db.scalar(packed) or 0


def _check_base(store: Store, db: OrmSession, base: MemoryBase, findings: Findings) -> None:
    name, before = f"base {base.id} g{base.serving}", len(findings.violations)
    generation = db.get(Generation, (base.id, base.serving))
    if generation is None:
        findings.violations.append(f"{name}: the generation is gone")
        return
    rows = {
        row.session_id: row
        for row in db.scalars(
            sa.select(SessionProgress).where(
                SessionProgress.memory_base_id == base.id, SessionProgress.generation == base.serving
            )
        )
    }
    entries = db.scalars(
        sa.select(LedgerEntry).where(LedgerEntry.memory_base_id == base.id, LedgerEntry.generation == base.serving)
    ).all()
    counted = _counted(db, base, generation, rows)
    _check_ledger(counted, entries, _dead(db, base), name, findings)
    _check_rows(counted, rows, entries, name, findings)
    broken = _broken_chains(db, rows.values())
    findings.must_be_empty(f"{name}: cursors that took other steps than their jobs", broken)
    if len(findings.violations) == before:  # what the ledger should not hold has none
        lacking = token_vectors.count_missing_by_session(db, [row.id for row in rows.values()])
        findings.lost += findings.must_be_empty(f"{name}: sessions with messages without token vectors", lacking)
    _check_store(store, generation, entries, name, findings)


def _counted(
    db: OrmSession, base: MemoryBase, generation: Generation, rows: Mapping[str, SessionProgress]
) -> dict[UUID, Message]:
    which = Message.is_output if generation.capture == Capture.OUTPUTS else Message.is_dialogue
    messages = db.scalars(sa.select(Message).where(Message.flow_id == base.flow_id, which))
    return {
        message.id: message
        for message in messages
        if message.session_id not in rows or message.seq > rows[message.session_id].start_seq
    }


def _dead(db: OrmSession, base: MemoryBase) -> set[tuple[UUID, int]]:
    """The dead letters, by message and version: an edited message is not the one that failed."""
    letters = db.execute(
        sa.select(DeadLetter.message_id, DeadLetter.version).where(
            DeadLetter.memory_base_id == base.id, DeadLetter.generation == base.serving
        )
    )
    return {(message_id, version) for message_id, version in letters}


def _check_ledger(
    counted: Mapping[UUID, Message],
    entries: Sequence[LedgerEntry],
    dead: Collection[tuple[UUID, int]],
    name: str,
    findings: Findings,
) -> None:
    """The ledger holds the counted messages in their versions; what it does not hold is a dead letter."""
    ledger = {entry.message_id: entry for entry in entries}
    findings.dead_letters += len(dead)
    findings.in_ledgers += len(ledger)
    missing = [m for m, message in counted.items() if m not in ledger and (m, message.version) not in dead]
    findings.lost += findings.must_be_empty(f"{name}: counted, not in the ledger", missing)
    findings.doubled += findings.must_be_empty(f"{name}: in the ledger, not counted", ledger.keys() - counted.keys())
    old = [m for m in counted.keys() & ledger.keys() if counted[m].version != ledger[m].version]
    findings.lost += findings.must_be_empty(f"{name}: another version in the ledger", old)


def _check_rows(
    counted: Mapping[UUID, Message],
    rows: Mapping[str, SessionProgress],
    entries: Sequence[LedgerEntry],
    name: str,
    findings: Findings,
) -> None:
    """Every session is ingested to its last counted message, and its row counts what the ledger holds of it."""
    beyond = [m.id for m in counted.values() if m.session_id not in rows or m.seq > rows[m.session_id].cursor_seq]
    findings.lost += findings.must_be_empty(f"{name}: counted beyond the cursor", beyond)
    owners = {row.id: row.session_id for row in rows.values()}
    astray = [
        entry.message_id
        for entry in entries
        if entry.message_id in counted and owners.get(entry.progress_id) != counted[entry.message_id].session_id
    ]
    findings.doubled += findings.must_be_empty(f"{name}: in the ledger of another session", astray)
    for column, there in (
        ("total_processed", Counter(entry.progress_id for entry in entries)),
        ("total_chunks", _chunks_by_row(entries)),
    ):
        totals = [(row.session_id, getattr(row, column), there[row.id]) for row in rows.values()]
        wrong = [f"{session_id}: {total} for {right}" for session_id, total, right in totals if total != right]
        findings.must_be_empty(f"{name}: {column} is not what the ledger holds", wrong)


def _broken_chains(db: OrmSession, rows: Collection[SessionProgress]) -> list[str]:
    """Every step of a cursor is the compare-and-set of one job: each begins where the one before it ended, the first at
    the row's start, and the last ended at the cursor."""
    steps: dict[UUID, list[tuple[int, int]]] = {row.id: [] for row in rows}
    job = IngestionJob
    done = sa.select(job.progress_id, job.from_seq, job.to_seq).where(
        job.state == JobState.DONE, job.to_seq > job.from_seq, job.progress_id.in_(steps)
    )
    for progress_id, from_seq, to_seq in db.execute(done):
        steps[progress_id].append((from_seq, to_seq))
    broken = []
    for row in rows:
        taken = sorted(steps[row.id])
        ends = [row.start_seq, *(to_seq for _, to_seq in taken)]
        if [from_seq for from_seq, _ in taken] != ends[:-1] or ends[-1] != row.cursor_seq:
            broken.append(f"{row.session_id}: {row.start_seq}, {taken}, {row.cursor_seq}")
    return broken


def _chunks_by_row(entries: Sequence[LedgerEntry]) -> Counter[UUID]:
    chunks: Counter[UUID] = Counter()
    for entry in entries:
        chunks[entry.progress_id] += entry.chunks
    return chunks


def _check_store(
    store: Store, generation: Generation, entries: Sequence[LedgerEntry], name: str, findings: Findings
) -> None:
    """The ids are the ledger's, each once, and behind each an embedding can be read."""
    ref = CollectionRef(generation.collection_name, generation.collection_id)
    expected = {
        chunk
        for entry in entries
        for chunk in chunk_ids.chunk_ids(entry.memory_base_id, entry.message_id, entry.version, entry.chunks)
    }
    try:
        stored = store.ids(ref)
        readable = store.readable(ref, stored)
    except errors.CollectionMissing:
        findings.violations.append(f"{name}: the collection is gone")
        findings.lost += len(expected)
        return
    findings.chunks += len(stored)
    findings.lost += findings.must_be_empty(f"{name}: chunks missing in the store", expected - set(stored))
    findings.lost += findings.must_be_empty(f"{name}: chunks without an embedding", set(stored) - readable)
    findings.doubled += findings.must_be_empty(f"{name}: chunks of nothing in the store", set(stored) - expected)
    twice = [chunk for chunk, times in Counter(stored).items() if times > 1]
    findings.doubled += findings.must_be_empty(f"{name}: chunks twice in the store", twice)


def _check_deleted(store: Store, db: OrmSession, deleted: Sequence[str], findings: Findings) -> None:
    """No row and no collection of a deleted base or a retired generation. A collection that no generation ever got is
    counted as a stray."""
    for table, column in OF_A_BASE.items():
        left = set(db.scalars(sa.select(column))) & {UUID(base) for base in deleted}
        findings.must_be_empty(f"deleted bases still in {table}", left)
    generations = db.execute(sa.select(Generation.collection_name, Generation.state)).all()
    strays = store.names() - {name for name, state in generations if state != GenerationState.RETIRED}
    of_deleted = {name for name in strays if any(name.startswith(f"mb-{base}-") for base in deleted)}
    findings.must_be_empty("collections of deleted bases", of_deleted)
    of_retired = strays & {name for name, _ in generations}
    findings.must_be_empty("collections of retired generations", of_retired)
    findings.stray_collections = len(strays - of_deleted - of_retired)
