"""The hash chain: SHA-256 of the previous entry's hash and this entry's fields, in the order of sealing.

Entries are sealed in batches under the lock of one row, so changes never wait for it. Until an entry is sealed, seconds
after it was written, a change of its row goes unnoticed; deleting it is refused by a trigger.

Pruning deletes the oldest entries and appends one of the kind `prune`, a checkpoint with the seq and the hash of the
last one deleted: the rest of the chain starts there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, timedelta

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.calls import Actor
from memorybase.core.database import clock
from memorybase.core.database.engine import Database
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.features.audit_log import queries
from memorybase.features.audit_log.queries import Ends, Row
from memorybase.features.audit_log.recording import values_of

SEAL_BATCH = 500  # entries in one transaction, which on SQLite keeps other writers waiting
SEAL_LIMIT = 20_000  # in one pass of the sweeper
PRUNE_BATCH = 5_000
PRUNE_EVERY = timedelta(days=1)  # entries live at most this much longer: a checkpoint for each pass would be many
VERIFY_BATCH = 2_000

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of checking the whole chain. `broken_seq`: the first position where it does not hold, and why."""

    entries: int
    first_seq: int
    last_seq: int
    last_hash: str
    unsealed: int
    broken_seq: int | None = None
    reason: str = ""

    @property
    def is_intact(self) -> bool:
        return self.broken_seq is None


def hash_of(previous: bytes, entry: Row) -> bytes:
    """The hash of an entry after another."""
    fields = {
        "seq": entry.seq,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "kind": entry.kind,
        "user_id": _text(entry.user_id),
        "key_id": _text(entry.key_id),
        "person": entry.person,
        "via": entry.via,
        "operation": entry.operation,
        "objects": entry.objects,
        "address": entry.address,
        "request_id": entry.request_id,
    }
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(previous + plain.encode()).digest()


def seal(services: Services) -> int:
    """Append entries to the chain, and return their number. Only one sweeper does so at a time."""
    with services.database.reading(snapshot=False) as db:
        if not queries.unsealed_entries(db, at_most=1):
            return 0
    done = 0
    while done < SEAL_LIMIT:
        with services.database.transaction() as db:
            ends = queries.lock_chain(db)
            sealed = 0 if ends is None else _seal_batch(db, ends)
        done += sealed
        if sealed < SEAL_BATCH:
            break
    return done


def _seal_batch(db: OrmSession, ends: Ends) -> int:
    seq, digest = ends.seq, ends.hash
    seals: list[tuple[int, int, bytes]] = []
    for entry in queries.unsealed_entries(db, at_most=SEAL_BATCH):
        seq += 1
        digest = hash_of(digest, entry._replace(seq=seq))
        seals.append((entry.id, seq, digest))
    if seals:
        queries.seal_entries(db, seals)
        queries.save_chain(db, seq=seq, hash=digest)
        # Whoever keeps the log lines elsewhere can tell a chain that was computed anew: `audit verify --hash`.
        log.info("audit_sealed", seq=seq, hash=digest.hex(), entries=len(seals))
    return len(seals)


def prune(services: Services) -> int:
    """Delete entries older than the setting audit_retention_days, with a checkpoint. Returns the number deleted."""
    days = services.settings.audit_retention_days
    if not days:
        return 0
    with services.database.reading() as db:
        before = clock.now(db) - timedelta(days=days)
        ends = queries.chain_ends(db)
        oldest = [] if ends is None else queries.sealed_entries(db, after=ends.pruned_seq, at_most=1)
    if not oldest or oldest[0].at >= before - PRUNE_EVERY:
        return 0
    with services.database.transaction() as db:
        ends = queries.lock_chain(db)
        last = ends and queries.prunable(db, after=ends.pruned_seq, before=before, at_most=PRUNE_BATCH)
        if last is None or last.seq is None or last.hash is None:
            return 0
        queries.save_chain(db, pruned_seq=last.seq, pruned_hash=last.hash)
        deleted = queries.delete_through(db, last.seq)
        checkpoint = {"through_seq": last.seq, "hash": last.hash.hex(), "entries": deleted}
        queries.insert_entry(db, values_of(Actor("sweeper"), "prune", "prune_audit_log", checkpoint))
    log.info("audit_pruned", seq=last.seq, entries=deleted)
    return deleted


def verify(database: Database, *, seq: int | None = None, expected: str | None = None) -> Verification:
    """Recompute the chain. `seq` and `expected`: a hash noted earlier, which the entry with this seq must have.

    Raises NotReady without the chain's row.
    """
    with database.reading() as db:
        ends = queries.chain_ends(db)
        if ends is None:
            raise errors.NotReady("The audit log has no chain. Run: memorybase migrate")
        check = _Check(ends, seq, expected)
        for entry in _sealed(db, ends.pruned_seq):
            if not check.take(entry):
                break
        unsealed = queries.count_unsealed(db)
    check.finish(unsealed)
    return Verification(
        check.entries, ends.pruned_seq + 1, check.seq, check.digest.hex(), unsealed, check.broken_seq, check.reason
    )


def _sealed(db: OrmSession, after: int) -> Iterator[Row]:
    while entries := queries.sealed_entries(db, after=after, at_most=VERIFY_BATCH):
        yield from entries
        after = entries[-1].seq or after


class _Check:
    """Follows the chain from its first entry."""

    def __init__(self, ends: Ends, noted_seq: int | None, noted_hash: str | None) -> None:
        self._ends = ends
        self._noted = noted_seq, noted_hash
        self._pruned: tuple[int, str] | None = None  # as the last checkpoint says
        self.seq, self.digest = ends.pruned_seq, ends.pruned_hash
        self.entries = 0
        self.broken_seq: int | None = None
        self.reason = ""

    def take(self, entry: Row) -> bool:
        """Whether the entry follows from the one before it."""
        if entry.seq != self.seq + 1:
            return self._broken(self.seq + 1, "the entry is missing")
        if entry.hash != hash_of(self.digest, entry):
            return self._broken(entry.seq, "the entry, or the one before it, is not what was sealed")
        self.seq, self.digest = entry.seq, entry.hash
        self.entries += 1
        if self._noted[0] == entry.seq and self._noted[1] not in {None, entry.hash.hex()}:
            return self._broken(entry.seq, "the hash is not the one that was noted: the chain was computed anew")
        if entry.kind == "prune":
            self._pruned = entry.objects["through_seq"], entry.objects["hash"]
        return True

    def finish(self, unsealed: int) -> None:
        """Compare the ends of the chain with what was found."""
        if self.broken_seq is not None:
            return
        ends = self._ends
        pruned = (ends.pruned_seq, ends.pruned_hash.hex()) if ends.pruned_seq else None
        if (self.seq, self.digest) != (ends.seq, ends.hash):
            self._broken(self.seq + 1, f"the chain ends before seq {ends.seq}, which was sealed")
        elif not unsealed and self._pruned != pruned:  # an unsealed entry may be the checkpoint
            self._broken(ends.pruned_seq, "no checkpoint says that entries up to here were pruned")
        elif self._noted[0] is not None and self._noted[0] > self.seq:
            self._broken(self.seq + 1, f"the chain ends before seq {self._noted[0]}, which was noted")

    def _broken(self, seq: int, reason: str) -> bool:
        self.broken_seq, self.reason = seq, reason
        return False


def _text(value: object) -> str | None:
    return None if value is None else str(value)
