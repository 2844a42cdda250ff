"""The deep comparison: every vector is read, found by a search for itself, and every text compared with SQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memorybase.core import errors
from memorybase.core.memory_bases.consistency import OnProgress
from memorybase.core.messages import message_text
from memorybase.core.queries import cursors, ledger, memory_bases
from memorybase.core.services import Services
from memorybase.core.vectors.chunk_ids import chunk_ids
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.index_damage import Damage, IndexUnreadable, find_damage
from memorybase.core.vectors.store import CollectionRef
from memorybase.core.vectors.stores import store_named

PAGE = 200  # messages, with their texts

State = Literal["ok", "damaged", "unreadable", "unavailable", "gone"]


@dataclass(frozen=True, slots=True)
class DeepResult:
    """unreadable: the server answers, but not for this collection. unavailable: it does not answer at all."""

    state: State
    damage: Damage


def check_memory_base(services: Services, base_id: UUID, on_progress: OnProgress) -> DeepResult | None:
    """Check the serving generation, without sessions in flight; None if the base is deleted."""
    with services.database.reading() as db:
        base = memory_bases.fetch_any_base(db, base_id)
        if base is None or base.deleting_at is not None:
            return None
        generation = memory_bases.fetch_generation(db, base_id, base.serving)
        busy = cursors.busy_sessions(db, base_id, base.serving)
        total = cursors.chunks_of_generation(db, base_id, base.serving)

    def pages() -> Iterator[dict[str, str | None]]:
        after = None
        while True:
            with services.database.reading() as db:
                page = ledger.entries_after(db, base_id, generation.generation, after, limit=PAGE)
            if not page:
                return
            after = (page[-1].progress_id, page[-1].message_id)
            yield {
                id_: message_text(entry.content) if entry.message_version == entry.version else None
                for entry in page
                if entry.progress_id not in busy
                for id_ in chunk_ids(base_id, entry.message_id, entry.version, entry.chunks)
            }

    ref = CollectionRef(generation.collection_name, generation.collection_id)
    return check(services, ref, pages(), total, on_progress)


def check(
    services: Services, ref: CollectionRef, pages: Iterator[dict[str, str | None]], total: int, on_progress: OnProgress
) -> DeepResult:
    """Check the chunks of a collection, whose texts come in pages by chunk id; None: a text that has changed."""
    damage = Damage()
    try:
        if not services.vectors.collection_exists(ref):
            return DeepResult("gone", damage)
        for texts in pages:
            damage.add(find_damage(store_named(services.vectors, store_of(ref.name)), ref, texts))
            on_progress(damage.checked, total)
    except IndexUnreadable:
        return DeepResult("unreadable", damage)
    except errors.CollectionMissing:
        return DeepResult("gone", damage)
    except errors.VectorStoreUnavailable:
        return DeepResult("unavailable", damage)
    return DeepResult("damaged" if damage else "ok", damage)
