"""Receipts of erasures: the rows that were deleted, in numbers, and what stays where until when. Kept for two years.

A receipt has no id of an end user or session, only a UUID that is derived from it: whoever knows the id finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field

from memorybase.core.database import clock
from memorybase.core.described import Id
from memorybase.core.models import Receipt
from memorybase.core.queries import erasure as rows
from memorybase.core.queries.erasure import ErasureKind
from memorybase.core.services import Services
from memorybase.core.sessions.erasure import Erasure

FREED_PAGES = (
    "Texts and ids in free pages of Chroma's database and in Redis's file: `memorybase up` removes them minutes after "
    "the last repair; a server of your own keeps them until it is stopped and `chroma vacuum` has run."
)
DEAD_ROWS = "Texts and ids in dead rows of PostgreSQL until VACUUM, and in its write-ahead log and archives of that."
COUNTED = tuple(each.name for each in fields(Erasure) if each.name != "job_ids")


@dataclass(frozen=True, slots=True)
class Remainder:
    """Something that stays for a while after an erasure."""

    code: Annotated[
        str,
        Field(
            description="What it is: `store_log`, `freed_pages`, `vectors`, `write_ahead_log`, `dead_rows`, "
            "`audit_log` or `backups`."
        ),
    ]
    message: Annotated[str, Field(description="What stays where, and until when. For people; may change.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt(Erasure):
    """The rows that an erasure deleted, kept as evidence."""

    id: Id
    operation: Annotated[
        ErasureKind,
        Field(
            description="What was asked for: `erase_end_user`, `delete_session` or `redact_secrets`, which counts "
            "redacted rows."
        ),
    ]
    flow_id: Annotated[
        UUID | None, Field(description="The flow of the session; null for an end user, and for secrets of all flows.")
    ]
    subject_id: Annotated[
        UUID,
        Field(description="Derived from the id of the end user or session, which is not kept; the same for the same."),
    ]
    erased_at: Annotated[datetime, Field(description="When it was deleted from SQL.")]
    remaining: Annotated[
        list[Remainder], Field(description="What stays in files of the stores and the database, and until when.")
    ]


def subject_of(user_id: UUID, kind: ErasureKind, name: str) -> UUID:
    """The UUID of an end user's or session's id in receipts."""
    return uuid5(user_id, f"{kind}:{name}")


def keep(
    services: Services, user_id: UUID, kind: ErasureKind, name: str, erased: Erasure, *, flow_id: UUID | None = None
) -> ErasureReceipt:
    """Keep the receipt of an erasure that is committed."""
    subject_id = subject_of(user_id, kind, name)
    with services.database.transaction() as db:
        counts = {counted: getattr(erased, counted) for counted in COUNTED}
        row = rows.insert_receipt(db, user_id, kind, subject_id, flow_id, counts, clock.now(db))
    return view(services, row, job_ids=erased.job_ids)


def remaining(services: Services) -> list[Remainder]:
    """The data that stays after an erasure in this installation, and until when."""
    settings = services.settings
    stores = settings.vector_stores_in_use
    found = []
    if "chroma" in stores and settings.is_chroma_cloud:
        found.append(Remainder("store_log", "What Chroma Cloud keeps of deleted chunks, as its operator says."))
    elif "chroma" in stores:
        found += [
            Remainder("store_log", "Texts and ids in Chroma's log, until a minute after the last repair."),
            Remainder("freed_pages", FREED_PAGES),
            Remainder("vectors", "Vectors in indexes of Chroma, until each memory base is regenerated."),
        ]
    if services.database.is_sqlite:
        found.append(Remainder("write_ahead_log", "Texts and ids in SQLite's write-ahead log, for a minute."))
    if not services.database.is_sqlite or "pgvector" in stores:
        found.append(Remainder("dead_rows", DEAD_ROWS))
    found += [each for hooks in services.hooks for each in hooks.remainders(services)]
    found.append(Remainder("backups", "Everything in backups and exports, until you delete them."))
    return found


def view(services: Services, row: Receipt, job_ids: list[UUID] | None = None) -> ErasureReceipt:
    """The receipt, with what stays now."""
    counts: dict[str, Any] = {name: row.counts.get(name, 0) for name in COUNTED}
    return ErasureReceipt(
        **counts,
        job_ids=job_ids or [],
        id=row.id,
        operation=rows.KINDS[row.rule],
        flow_id=row.flow_id if row.flow_id.int else None,
        subject_id=row.subject_id,
        erased_at=row.started_at,
        remaining=remaining(services),
    )
