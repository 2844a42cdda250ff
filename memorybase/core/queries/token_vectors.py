"""Token vectors: written with the ledger, read by position, copied by a generation with the same encoding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import aliased

from memorybase.core.database.batches import is_among, pages
from memorybase.core.database.engine import connection
from memorybase.core.database.upsert import core, insert_into
from memorybase.core.models import Generation, LedgerEntry, MemoryBase, SessionProgress, TokenVectors


class MessageTokens(NamedTuple):
    """A message's packed token vectors, and the message's position."""

    message_id: UUID
    version: int
    position: int
    vectors: bytes


class TokensAt(NamedTuple):
    """Packed token vectors at a position."""

    version: int
    vectors: bytes


_AT = sa.select(TokenVectors.position, TokenVectors.version, TokenVectors.vectors).where(
    TokenVectors.memory_base_id == sa.bindparam("base"),
    TokenVectors.generation == sa.bindparam("generation"),
    is_among(TokenVectors.position, "positions"),
)


def record(
    db: OrmSession, *, base_id: UUID, generation: int, progress_id: UUID, tokens: Sequence[MessageTokens]
) -> None:
    """Write token vectors; their ledger entries must exist."""
    if tokens:
        where = {"memory_base_id": base_id, "generation": generation, "progress_id": progress_id}
        db.execute(_record(db.get_bind().dialect.name), [{**where, **item._asdict()} for item in tokens])


@lru_cache
def _record(dialect: str) -> sa.Executable:
    statement = insert_into(dialect, core(TokenVectors))
    changed = {name: statement.excluded[name] for name in ("version", "position", "vectors")}
    return statement.on_conflict_do_update(index_elements=["progress_id", "message_id"], set_=changed)


def at_positions(db: OrmSession, *, base_id: UUID, generation: int, positions: Collection[int]) -> dict[int, TokensAt]:
    """A generation's token vectors at these positions, in one statement."""
    rows = connection(db).execute(_AT, {"base": base_id, "generation": generation, "positions": list(positions)}).all()
    return {position: TokensAt(version, vectors) for position, version, vectors in rows}


def of_other_generations(
    db: OrmSession, *, progress_id: UUID, embedder: str, encoding: str, versions: Mapping[UUID, int]
) -> dict[UUID, bytes]:
    """The token vectors of these message versions in other generations with the same embedder and encoding."""
    parameters = {"progress_id": progress_id, "embedder": embedder, "encoding": encoding}
    found: dict[UUID, bytes] = {}
    for some in pages(versions):
        rows = db.execute(_in_other_generations(), {**parameters, "ids": some})
        found.update((id_, vectors) for id_, version, vectors in rows if version == versions[id_])
    return found


@lru_cache
def _in_other_generations() -> sa.Select[UUID, int, bytes]:
    own, alike = aliased(SessionProgress), aliased(SessionProgress)
    return (
        sa.select(TokenVectors.message_id, TokenVectors.version, TokenVectors.vectors)
        .select_from(own)
        .join(alike, sa.and_(alike.flow_id == own.flow_id, alike.session_id == own.session_id, alike.id != own.id))
        .join(
            Generation,
            sa.and_(Generation.memory_base_id == alike.memory_base_id, Generation.generation == alike.generation),
        )
        .join(TokenVectors, TokenVectors.progress_id == alike.id)
        .where(
            own.id == sa.bindparam("progress_id"),
            Generation.embedder == sa.bindparam("embedder"),
            Generation.token_encoding == sa.bindparam("encoding"),
            TokenVectors.message_id.in_(sa.bindparam("ids", expanding=True)),
        )
    )


def messages_without_tokens(db: OrmSession, progress_id: UUID) -> set[UUID]:
    """Messages that one session row holds without token vectors."""
    return set(db.scalars(_entries_without(LedgerEntry.message_id).where(LedgerEntry.progress_id == progress_id)))


def count_missing_by_session(db: OrmSession, progress_ids: Sequence[UUID]) -> dict[UUID, int]:
    """Number of messages without token vectors for each of these session rows, if any."""
    rows = db.execute(
        _entries_without(LedgerEntry.progress_id)
        .add_columns(sa.func.count().label("messages"))
        .where(LedgerEntry.progress_id.in_(progress_ids))
        .group_by(LedgerEntry.progress_id)
    )
    return {row.progress_id: row.messages for row in rows}


def count_missing(db: OrmSession) -> int:
    """Number of messages without token vectors in all serving generations."""
    serving = sa.exists().where(MemoryBase.id == Generation.memory_base_id, MemoryBase.serving == Generation.generation)
    return db.scalar(_entries_without(sa.func.count()).where(serving)) or 0


def count_bases_without(db: OrmSession, model: str, encoding: str | None) -> int:
    """Number of memory bases with a serving generation without token vectors, though their model gives them, or with
    those of another encoding than this model's."""
    return (
        db.scalar(
            sa.select(sa.func.count())
            .select_from(MemoryBase)
            .join(
                Generation,
                sa.and_(Generation.memory_base_id == MemoryBase.id, Generation.generation == MemoryBase.serving),
            )
            .where(
                Generation.embedding_model.not_like("openai:%"),  # endpoints give none
                sa.or_(
                    Generation.token_encoding.is_(None),
                    sa.and_(Generation.embedding_model == model, Generation.token_encoding != encoding),
                ),
                MemoryBase.deleting_at.is_(None),
            )
        )
        or 0
    )


def _entries_without(what: Any) -> sa.Select[Any]:
    return (
        sa.select(what)
        .select_from(LedgerEntry)
        .join(
            Generation,
            sa.and_(
                Generation.memory_base_id == LedgerEntry.memory_base_id,
                Generation.generation == LedgerEntry.generation,
            ),
        )
        .outerjoin(
            TokenVectors,
            sa.and_(
                TokenVectors.progress_id == LedgerEntry.progress_id,
                TokenVectors.message_id == LedgerEntry.message_id,
                TokenVectors.version == LedgerEntry.version,
            ),
        )
        .where(Generation.token_encoding.is_not(None), LedgerEntry.chunks > 0, TokenVectors.progress_id.is_(None))
    )
