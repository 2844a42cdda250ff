"""The registry of all knowledge bases: entries in SQL, each with a file beside its collection."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database.paging import AnyRow
from memorybase.core.models import NAME_LENGTH, Generation, KnowledgeBase, MemoryBase
from memorybase.core.queries import knowledge_bases
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.validation import check_text

METADATA_FILE = "embedding_metadata.json"

log = get_logger(__name__)


def check_free(db: OrmSession, user_id: UUID, name: str, field: str) -> None:
    """Raises NameTaken if the user has a knowledge base of this name, even if it is being deleted."""
    found = knowledge_bases.fetch_knowledge_base(db, user_id, name)
    if found is not None:
        raise errors.NameTaken(field=field, value=name, existing_id=str(found.id))


def entry_of_memory_base(db: OrmSession, memory_base_id: UUID) -> KnowledgeBase | None:
    return knowledge_bases.knowledge_base_of_memory_base(db, memory_base_id)


def entry_of(base: MemoryBase, generation: Generation) -> KnowledgeBase:
    """A new entry for a memory base."""
    return KnowledgeBase(
        id=uuid4(),
        user_id=base.user_id,
        name=base.kb_name,
        memory_base_id=base.id,
        embedding_model=generation.embedding_model,
        embedder=generation.embedder,
        chunker=generation.chunker,
        created_at=base.created_at,
    )


def add(db: OrmSession, entry: KnowledgeBase, name_field: str) -> None:
    """Register a knowledge base in the caller's transaction. Raises NameTaken with existing_id."""
    if not knowledge_bases.add_knowledge_base(db, entry):
        check_free(db, entry.user_id, entry.name, name_field)
        raise errors.NameTaken(field=name_field, value=entry.name)  # the other one was deleted meanwhile


def write_metadata(services: Services, entry: KnowledgeBase | AnyRow) -> None:
    """Write embedding_metadata.json atomically. SQL is the source of truth, so a disk error is only logged."""
    path = _metadata_file(services, entry.id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, _metadata_of(entry))
    except OSError:
        log.exception("knowledge_metadata_not_written", knowledge_base_id=str(entry.id))


def _metadata_file(services: Services, kb_id: UUID) -> Path:
    return services.settings.knowledge_dir / str(kb_id) / METADATA_FILE  # names never become paths


def _metadata_of(entry: KnowledgeBase | AnyRow) -> bytes:
    content = {
        "id": str(entry.id),
        "name": entry.name,
        "is_memory_base": entry.memory_base_id is not None,
        "memory_base_id": str(entry.memory_base_id) if entry.memory_base_id else None,
        "embedding_model": entry.embedding_model,
        "embedder": entry.embedder,
        "chunker": entry.chunker,
        "created_at": entry.created_at.isoformat(),
    }
    return json.dumps(content, indent=2).encode()


def refresh_metadata(services: Services, rows: Sequence[AnyRow]) -> None:
    """Write the files that are missing or old: a process may have died after its commit, or have another disk."""
    written = [row for row in rows if row.deleting_at is None and not _is_current(services, row)]
    for row in written:
        write_metadata(services, row)
    if written:
        with services.database.reading() as db:
            living = knowledge_bases.living_ids(db, [row.id for row in written])
        for row in written:
            if row.id not in living:  # deleted meanwhile
                remove_metadata(services, row.id)


def _is_current(services: Services, row: AnyRow) -> bool:
    try:
        return _metadata_file(services, row.id).read_bytes() == _metadata_of(row)
    except OSError:
        return False


def remove_metadata(services: Services, kb_id: UUID) -> None:
    """Remove the entry's file and folder if they exist."""
    path = _metadata_file(services, kb_id)
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the folder may hold other files
        path.parent.rmdir()


def _replace(path: Path, content: bytes) -> None:
    """Write a temporary file, sync and rename it: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_name(name: str, field: str) -> None:
    """Raises InvalidRequest for names that no knowledge base or memory base may have."""
    if not name.strip():
        raise errors.InvalidRequest(f"{field} must not be empty", field=field)
    # Clients remove these from a URL, so no request could name it; tools that create folders by name would fail too.
    if name in {".", ".."}:
        raise errors.InvalidRequest(f"{field} must be usable in a path (got {name!r})", field=field, value=name)
    if len(name) > NAME_LENGTH:
        raise errors.InvalidRequest(
            f"{field} must have at most {NAME_LENGTH} characters (got {len(name)})",
            field=field,
            value=len(name),
            limit=NAME_LENGTH,
        )
    check_text(name, field)
