"""Copy the vectors that serve into files, so that a restored database need not embed its texts again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memorybase.core import errors
from memorybase.core.queries import memory_bases
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.vectors.index_damage import has_length_one
from memorybase.core.vectors.saved import VectorWriter, save_vectors
from memorybase.core.vectors.store import CollectionRef

log = get_logger(__name__)

OnProgress = Callable[[int], object]  # chunks read so far


@dataclass(frozen=True, slots=True)
class SavedCollections:
    """Number of saved vectors, and of collections that could not be read."""

    vectors: int
    unread: int


def save_all(services: Services, folder: Path, on_progress: OnProgress = lambda _: None) -> SavedCollections:
    """Save the vectors of every memory base's serving generation and of every ordinary knowledge base.

    A collection that cannot be read is skipped: its texts are in SQL, and a restore embeds them.
    """
    unread = 0
    with save_vectors(folder) as writer:
        for ref, embedder in _collections(services):
            try:
                _save(services, writer, ref, embedder, on_progress)
            except errors.EnvironmentFailure as error:
                log.warning("vectors_not_saved", collection=ref.name, error_code=error.code)
                unread += 1
        return SavedCollections(writer.count, unread)


def _collections(services: Services) -> Iterator[tuple[CollectionRef, str]]:
    """Each with the identity of its embedder."""
    with services.database.reading() as db:
        base_ids = memory_bases.active_base_ids(db)
        entries = [entry for hooks in services.hooks for each in hooks.collections for entry in each.living(db)]
    for base_id in base_ids:
        with services.database.reading() as db:
            base = memory_bases.fetch_any_base(db, base_id)
            if base is None:
                continue
            generation = memory_bases.fetch_generation(db, base_id, base.serving)
        yield CollectionRef(generation.collection_name, generation.collection_id), generation.embedder
    for entry in entries:
        if entry.collection_name is not None and entry.collection_id is not None:
            yield CollectionRef(entry.collection_name, entry.collection_id), entry.embedder


def _save(services: Services, writer: VectorWriter, ref: CollectionRef, embedder: str, on_progress: OnProgress) -> None:
    for ids in services.vectors.iter_ids(ref):
        for record in services.vectors.fetch(ref, ids).values():
            if has_length_one(record.vector):
                writer.add(embedder, record.text, record.vector)
        on_progress(writer.count)
