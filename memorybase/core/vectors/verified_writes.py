"""Writes that are verified: each record can be read back, and a query reaches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memorybase.core import tracing
from memorybase.core.errors import VectorStoreUnavailable
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.store import READ_BATCH, CollectionRef, VectorRecord, VectorStore, batches

log = get_logger(__name__)


def write_records(
    store: VectorStore,
    ref: CollectionRef,
    records: Sequence[VectorRecord],
    *,
    missing: Sequence[VectorRecord] | None = None,
    before_rewrite: Callable[[Sequence[VectorRecord]], Sequence[VectorRecord]] | None = None,
) -> None:
    """Upsert the records, read them back, and rewrite those that no query reaches. Raises VectorStoreUnavailable.

    `missing`: upsert only these, but verify all, since an earlier attempt may have ended between the two.
    `before_rewrite` returns which unreachable records may still be deleted and rewritten.
    """
    with tracing.span("upsert", "client"):
        store.upsert(ref, records if missing is None else missing)
    with tracing.span("read_back", "client"):
        read_back(store, ref, [record.id for record in records])
        unreachable = find_unreachable(store, ref, records)
    if unreachable and before_rewrite is not None:
        unreachable = list(before_rewrite(unreachable))
    rewrite(store, ref, unreachable)


def read_back(store: VectorStore, ref: CollectionRef, ids: Sequence[str]) -> None:
    """Raises VectorStoreUnavailable unless every id can be read: an acknowledged write alone proves nothing."""
    missing = set(ids) - store.stored_ids(ref, ids)
    if missing:
        raise VectorStoreUnavailable(f"{len(missing)} of {len(ids)} chunks could not be read back")


def find_unreachable(store: VectorStore, ref: CollectionRef, records: Sequence[VectorRecord]) -> list[VectorRecord]:
    """The stored records that no query reaches: Chroma's index can leave a record unreachable for good."""
    reached = store.reached_ids(ref, records)
    return [record for record in records if record.id not in reached]


def unreachable_ids(store: VectorStore, ref: CollectionRef, ids: Sequence[str]) -> set[str]:
    """Those of these stored ids that no query for their own vector reaches, also because it cannot be read."""
    unreachable: set[str] = set()
    for batch in batches(ids, READ_BATCH):
        fetched = store.fetch(ref, batch, texts=False)
        # No store searches for what is not finite: random bytes, read from a damaged file.
        stored = {id_: chunk for id_, chunk in fetched.items() if np.isfinite(chunk.vector).all()}
        unreachable.update(id_ for id_ in batch if id_ not in stored)
        records = [VectorRecord(id_, chunk.vector, "", {}) for id_, chunk in stored.items()]
        unreachable.update(record.id for record in find_unreachable(store, ref, records))
    return unreachable


def rewrite(store: VectorStore, ref: CollectionRef, records: Sequence[VectorRecord]) -> None:
    """Delete and upsert the records: only that makes them reachable again, an upsert alone does not."""
    if not records:
        return
    store.delete(ref, [record.id for record in records])
    store.upsert(ref, records)
    read_back(store, ref, [record.id for record in records])
    log.info("unreachable_records_rewritten", records=len(records))
