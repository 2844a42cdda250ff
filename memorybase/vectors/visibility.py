"""What makes a write trustworthy: it can be read back, and a query reaches it."""

from __future__ import annotations

from collections.abc import Sequence

from memorybase.errors import VectorStoreUnavailable
from memorybase.telemetry import get_logger
from memorybase.vectors.store import READ_BATCH, CollectionRef, VectorRecord, VectorStore, batches

log = get_logger(__name__)


def read_back(store: VectorStore, ref: CollectionRef, ids: Sequence[str]) -> None:
    """An acknowledged write is believed once it can be read. Raises VectorStoreUnavailable."""
    missing = set(ids) - store.stored_ids(ref, ids)
    if missing:
        raise VectorStoreUnavailable(f"{len(missing)} of {len(ids)} chunks could not be read back")


def find_unreachable(store: VectorStore, ref: CollectionRef, records: Sequence[VectorRecord]) -> list[VectorRecord]:
    """Which of these stored records no query comes upon: Chroma's index leaves some so for good."""
    reached = store.reached_ids(ref, records)
    return [record for record in records if record.id not in reached]


def unreachable_ids(store: VectorStore, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
    """Which of these are stored and come upon by no query for their own vector."""
    hidden: set[str] = set()
    for batch in batches(ids, READ_BATCH):
        stored = store.fetch(ref, batch, texts=False)
        records = [VectorRecord(id_, each.vector, "", {}) for id_, each in stored.items()]
        hidden.update(record.id for record in find_unreachable(store, ref, records))
    return hidden


def rewrite(store: VectorStore, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
    """Delete and write these, if any, which gives hidden records their place in the index; an upsert alone does not."""
    if not records:
        return
    store.delete(ref, [record.id for record in records])
    store.upsert(ref, records)
    read_back(store, ref, [record.id for record in records])
    log.info("hidden_records_written_again", records=len(records))
