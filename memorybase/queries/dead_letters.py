"""Dead letters: messages that a generation could not embed, and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession

from memorybase.database.batches import pages
from memorybase.database.upsert import core, insert
from memorybase.models import DeadLetter, MemoryBase, Message, SessionProgress
from memorybase.queries.ledger import SETTLED, _is_message


class Failure(NamedTuple):
    """Why a message could not be embedded."""

    message_id: UUID
    version: int
    code: str
    error: str


_SETTLED_OF_IDS = sa.select(DeadLetter.message_id, DeadLetter.version).where(
    DeadLetter.progress_id == sa.bindparam("progress_id"),
    DeadLetter.message_id.in_(sa.bindparam("ids", expanding=True)),
    DeadLetter.state.in_(SETTLED),
)


def settled_dead_letters(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> set[tuple[UUID, int]]:
    """The settled dead letters among these messages, by id and version."""
    rows = db.execute(_SETTLED_OF_IDS, {"progress_id": progress_id, "ids": list(ids)})
    return {(message_id, version) for message_id, version in rows}


def add_dead_letters(
    db: OrmSession, *, base_id: UUID, generation: int, progress_id: UUID, failures: Sequence[Failure], now: datetime
) -> None:
    """Write dead letters; a repeated failure counts as one more attempt."""
    for failure in failures:
        statement = insert(db, DeadLetter).values(
            id=uuid4(), memory_base_id=base_id, generation=generation, progress_id=progress_id,
            message_id=failure.message_id, version=failure.version, state="dead", error_code=failure.code,
            error=failure.error, attempts=1, created_at=now, updated_at=now,
        )  # fmt: skip
        db.execute(
            statement.on_conflict_do_update(
                index_elements=["progress_id", "message_id"],
                set_={
                    "version": failure.version,
                    "state": "dead",
                    "error_code": failure.code,
                    "error": failure.error,
                    "attempts": DeadLetter.attempts + 1,
                    "updated_at": now,
                },
            )
        )


_CLEAR = sa.delete(core(DeadLetter)).where(
    core(DeadLetter).c.progress_id == sa.bindparam("progress_id"),
    core(DeadLetter).c.message_id.in_(sa.bindparam("ids", expanding=True)),
)


def clear_dead_letters(db: OrmSession, progress_id: UUID, ids: Collection[UUID]) -> None:
    """Delete the dead letters of messages that are now embedded or deleted."""
    for some in pages(ids):
        db.execute(_CLEAR, {"progress_id": progress_id, "ids": some})


def dead_letters_without_message(db: OrmSession, progress_id: UUID) -> list[UUID]:
    return list(
        db.scalars(
            sa.select(DeadLetter.message_id)
            .join(SessionProgress, SessionProgress.id == DeadLetter.progress_id)
            .outerjoin(Message, _is_message(DeadLetter.message_id))
            .where(DeadLetter.progress_id == progress_id, Message.id.is_(None))
        )
    )


def session_of_dead_letter(db: OrmSession, base_id: UUID, dead_letter_id: UUID) -> str | None:
    return db.scalar(
        sa.select(SessionProgress.session_id)
        .join(DeadLetter, DeadLetter.progress_id == SessionProgress.id)
        .where(DeadLetter.id == dead_letter_id, DeadLetter.memory_base_id == base_id)
    )


def fetch_dead_letter(db: OrmSession, base_id: UUID, dead_letter_id: UUID) -> DeadLetter | None:
    """A dead letter of the serving generation or the build, locked."""
    return db.scalar(
        sa.select(DeadLetter)
        .join(MemoryBase, MemoryBase.id == DeadLetter.memory_base_id)
        .where(
            DeadLetter.id == dead_letter_id,
            DeadLetter.memory_base_id == base_id,
            DeadLetter.generation.in_([MemoryBase.serving, MemoryBase.building]),
        )
        .with_for_update(of=DeadLetter)
        .execution_options(populate_existing=True)
    )
