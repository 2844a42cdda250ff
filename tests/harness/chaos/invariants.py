"""What must hold: watched while the run goes on, and checked once it is at rest."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import httpx
import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from harness.chaos.clients import Kept
from harness.chaos.cluster import Cluster
from memorybase import chunking, errors
from memorybase.database import Database
from memorybase.models import (
    ACTIVE_STATES,
    Capture,
    DeadLetter,
    Generation,
    GenerationState,
    IngestionJob,
    LedgerEntry,
    MemoryBase,
    MemoryBaseSession,
    Message,
    Session,
)
from memorybase.vectors import CollectionRef

SAMPLE_SECONDS = 0.1
SHOWN = 5  # of each kind of violation

OF_A_BASE = {
    "memory_bases": MemoryBase.id,
    "generations": Generation.memory_base_id,
    "memory_base_sessions": MemoryBaseSession.memory_base_id,
    "ingestion_jobs": IngestionJob.memory_base_id,
    "ledger": LedgerEntry.memory_base_id,
    "dead_letters": DeadLetter.memory_base_id,
}


class Sampler(threading.Thread):
    """Looks all the time: no cursor or epoch goes back, no session has two active jobs, no job changes its range."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(name="sampler", daemon=True)
        self.violations: list[str] = []
        self.samples = 0
        self._database = Database(cluster.settings.resolved_database_url, pool_size=1)
        self._ended = threading.Event()
        self._rows: dict[UUID, tuple[int, int]] = {}
        self._jobs: dict[UUID, tuple[object, ...]] = {}

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            try:
                with self._database.reading() as session:
                    self._look(session)
            except errors.DatabaseUnavailable:
                continue

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self._database.dispose()

    def _look(self, session: OrmSession) -> None:
        row = MemoryBaseSession
        for row_id, cursor, epoch in session.execute(sa.select(row.id, row.cursor_seq, row.epoch)):
            before = self._rows.get(row_id, (cursor, epoch))
            if cursor < before[0] or epoch < before[1]:
                self.violations.append(f"row {row_id}: (cursor, epoch) went from {before} to {(cursor, epoch)}")
            self._rows[row_id] = (cursor, epoch)
        job = IngestionJob
        active = session.execute(
            sa.select(job.id, job.memory_base_id, job.row_id, job.kind, job.generation, job.from_seq, job.to_seq,
                      job.embedder, job.chunker, job.session_id).where(job.state.in_(ACTIVE_STATES))
        ).all()  # fmt: skip
        for sessions, times in Counter((found.memory_base_id, found.session_id) for found in active).items():
            if times > 1:
                self.violations.append(f"{times} active jobs of {sessions}")
        for found in active:
            arguments = tuple(found)[1:]
            if self._jobs.setdefault(found.id, arguments) != arguments:
                self.violations.append(f"the arguments of job {found.id} changed")
        self.samples += 1


def unrest(cluster: Cluster) -> list[str]:
    """What still has to happen before everything that was captured is in the stores; empty at rest."""
    row, job, base, generation = MemoryBaseSession, IngestionJob, MemoryBase, Generation
    questions = {
        "active jobs": sa.select(job.id).where(job.state.in_(ACTIVE_STATES)),
        "sessions owed work": sa.select(row.id).where(
            sa.or_(row.target_seq > row.cursor_seq, row.dirty > row.repaired, row.audit_at.is_not(None))
        ),
        "leases": sa.select(row.id).where(row.lease_until.is_not(None)),
        "builds": sa.select(base.id).where(base.building.is_not(None)),
        "deletions": sa.select(base.id).where(base.deleting_at.is_not(None)),
        "retired generations": sa.select(generation.collection_id).where(
            # Without a time its collection is dropped already.
            generation.state == GenerationState.RETIRED, generation.retired_at.is_not(None)
        ),
        "deleted sessions": sa.select(Session.id).where(Session.deleted_at.is_not(None)),
    }  # fmt: skip
    with cluster.services.database.reading() as session:
        counts = {name: len(session.execute(question).all()) for name, question in questions.items()}
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

    def must_be_empty(self, what: str, items: Collection[object]) -> int:
        if items:
            shown = ", ".join(str(item) for item in list(items)[:SHOWN])
            self.violations.append(f"{what}: {len(items)}, such as {shown}")
        return len(items)


def check(cluster: Cluster, kept: Mapping[str, Kept], deleted_bases: Sequence[str]) -> Findings:
    """Everything at rest: what was acknowledged against SQL, SQL against the ledger, the ledger against Chroma."""
    findings = Findings()
    with cluster.services.database.reading() as session:
        _check_messages(session, kept, findings)
        living = session.scalars(sa.select(MemoryBase)).all()
        for base in living:
            _check_base(cluster, session, base, findings)
        _check_deleted(cluster, session, deleted_bases, findings)
    return findings


def _check_messages(session: OrmSession, kept: Mapping[str, Kept], findings: Findings) -> None:
    """Every acknowledged message is there once, as it was last acknowledged, and nothing else is."""
    found = {str(m.id): m for m in session.scalars(sa.select(Message))}
    findings.lost += findings.must_be_empty("acknowledged messages missing in SQL", kept.keys() - found.keys())
    findings.doubled += findings.must_be_empty("messages in SQL that nobody was promised", found.keys() - kept.keys())
    both = kept.keys() & found.keys()
    other = [m for m in both if (found[m].content, found[m].session_id) != (kept[m].content, kept[m].session)]
    findings.lost += findings.must_be_empty("messages with another content or session", other)


def _check_base(cluster: Cluster, session: OrmSession, base: MemoryBase, findings: Findings) -> None:
    generation = session.get_one(Generation, (base.id, base.serving))
    rows = {
        row.session_id: row
        for row in session.scalars(sa.select(MemoryBaseSession).where(
            MemoryBaseSession.memory_base_id == base.id, MemoryBaseSession.generation == base.serving))
    }  # fmt: skip
    counted = _counted(session, base, generation, rows)
    ledger = {
        entry.message_id: entry
        for entry in session.scalars(sa.select(LedgerEntry).where(
            LedgerEntry.memory_base_id == base.id, LedgerEntry.generation == base.serving))
    }  # fmt: skip
    dead = set(session.scalars(sa.select(DeadLetter.message_id).where(
        DeadLetter.memory_base_id == base.id, DeadLetter.generation == base.serving)))  # fmt: skip
    findings.dead_letters += len(dead)
    findings.in_ledgers += len(ledger)
    name = f"base {base.id} g{base.serving}"
    findings.lost += findings.must_be_empty(
        f"{name}: counted, not in the ledger", counted.keys() - ledger.keys() - dead
    )
    findings.doubled += findings.must_be_empty(f"{name}: in the ledger, not counted", ledger.keys() - counted.keys())
    old = [m for m in counted.keys() & ledger.keys() if counted[m].version != ledger[m].version]
    findings.lost += findings.must_be_empty(f"{name}: another version in the ledger", old)
    beyond = [m.id for m in counted.values() if m.session_id not in rows or m.seq > rows[m.session_id].cursor_seq]
    findings.lost += findings.must_be_empty(f"{name}: counted beyond the cursor", beyond)
    held = Counter(entry.row_id for entry in ledger.values())
    totals = [(row.session_id, row.total_processed, held[row.id]) for row in rows.values()]
    wrong = [f"{session_id}: {total} for {there}" for session_id, total, there in totals if total != there]
    findings.must_be_empty(f"{name}: total_processed is not the distinct messages", wrong)
    _check_store(cluster, generation, ledger, name, findings)


def _counted(
    session: OrmSession, base: MemoryBase, generation: Generation, rows: Mapping[str, MemoryBaseSession]
) -> dict[UUID, Message]:
    which = Message.is_output if generation.capture == Capture.OUTPUTS else Message.is_dialogue
    messages = session.scalars(sa.select(Message).where(Message.flow_id == base.flow_id, which))
    return {
        message.id: message
        for message in messages
        if message.session_id not in rows or message.seq > rows[message.session_id].start_seq
    }


def _check_store(
    cluster: Cluster, generation: Generation, ledger: Mapping[UUID, LedgerEntry], name: str, findings: Findings
) -> None:
    """The ids are the ledger's, each once, and behind each an embedding can be read."""
    vectors = cluster.services.vectors
    ref = CollectionRef(generation.collection_name, generation.collection_id)
    try:
        stored = [chunk for page in vectors.iter_ids(ref) for chunk in page]
        readable = vectors.stored_ids(ref, stored)
    except errors.CollectionMissing:
        findings.violations.append(f"{name}: the collection is gone")
        return
    findings.chunks += len(stored)
    expected = {
        chunk
        for entry in ledger.values()
        for chunk in chunking.chunk_ids(entry.memory_base_id, entry.message_id, entry.version, entry.chunks)
    }
    findings.lost += findings.must_be_empty(f"{name}: chunks missing in Chroma", expected - set(stored))
    findings.lost += findings.must_be_empty(f"{name}: chunks without an embedding", set(stored) - readable)
    findings.doubled += findings.must_be_empty(f"{name}: chunks of nothing in Chroma", set(stored) - expected)
    twice = [chunk for chunk, times in Counter(stored).items() if times > 1]
    findings.doubled += findings.must_be_empty(f"{name}: chunks twice in Chroma", twice)


def _check_deleted(cluster: Cluster, session: OrmSession, deleted: Sequence[str], findings: Findings) -> None:
    """No row and no collection of a deleted base. A collection that no generation ever got is counted as a stray."""
    for table, column in OF_A_BASE.items():
        left = set(session.scalars(sa.select(column))) & {UUID(base) for base in deleted}
        findings.must_be_empty(f"deleted bases still in {table}", left)
    known = set(
        session.scalars(sa.select(Generation.collection_name).where(Generation.state != GenerationState.RETIRED))
    )
    strays = collections(cluster) - known
    of_deleted = {name for name in strays if any(name.startswith(f"mb-{base}-") for base in deleted)}
    findings.must_be_empty("collections of deleted bases", of_deleted)
    findings.stray_collections = len(strays - of_deleted)


def collections(cluster: Cluster) -> set[str]:
    url = f"{cluster.settings.chroma_url}/api/v2/tenants/default_tenant/databases/default_database/collections"
    answer = httpx.get(url, params={"limit": 10_000}, trust_env=False, timeout=30).raise_for_status()
    return {collection["name"] for collection in answer.json()}
