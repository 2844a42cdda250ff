"""The sweeper's step that has the stores drop the logs of collections from which chunks were deleted."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from memorybase.core import errors
from memorybase.core.memory_bases.deletion import each
from memorybase.core.queries import residues
from memorybase.core.queries.residues import Residue
from memorybase.core.services import Services
from memorybase.core.vectors import purging
from memorybase.core.vectors.collection_names import store_of
from memorybase.core.vectors.store import CollectionRef

COLLECTIONS = 20  # in one pass


def purge_logs(services: Services) -> int:
    """Purge the logs that are due, and return their number. One whose store is unreachable stays due."""
    with services.database.reading() as db:
        due = residues.logs_due(db, limit=COLLECTIONS)
    return each([(store_of(ref.name), partial(_purge, services, residue, ref)) for residue, ref in due])


def _purge(services: Services, residue: Residue, ref: CollectionRef) -> bool:
    with suppress(errors.CollectionMissing):  # deleted meanwhile, with its log
        purging.purge(services.vectors, ref)
    with services.database.transaction() as db:
        residues.remove(db, residue)
        residues.note_files(db)
    return True
