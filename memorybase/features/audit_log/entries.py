"""Entries as the API shows and exports them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memorybase.core.database.paging import Page, PageRequest, page_of
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.features.audit_log import queries
from memorybase.features.audit_log.models import AuditEntry
from memorybase.features.audit_log.queries import EntryFilter, Row

EXPORT_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class AuditEntryView:
    """One entry of the audit log."""

    id: Annotated[int, Field(description="Number of the entry, in the order of writing.")]
    seq: Annotated[
        int | None, Field(description="Position in the hash chain; null until the sweeper has sealed the entry.")
    ]
    hash: Annotated[
        str | None,
        Field(
            description="SHA-256 of the previous entry's hash and this entry, in hexadecimal; null until it is sealed."
        ),
    ]
    at: Annotated[datetime, Field(description="When it happened.")]
    kind: Annotated[
        str,
        Field(
            description="`change`, `read` (content shown on the page, or an export), `denied` (a call outside a "
            "key's limits) or `prune` (a checkpoint: older entries were deleted)."
        ),
    ]
    user_id: Annotated[UUID | None, Field(description="The user; null for the sweeper.")]
    key_id: Annotated[UUID | None, Field(description="The API key; null for the command line and the sweeper.")]
    person: Annotated[
        str | None,
        Field(description="The person whom a trusted proxy names, or the user of the command line; null if unknown."),
    ]
    via: Annotated[str, Field(description="`api`, `page`, `cli` or `sweeper`.")]
    operation: Annotated[str, Field(description="The operation, or the method and path of the page.")]
    objects: Annotated[
        dict[str, str | int | list[str]], Field(description="Ids in the request and of what it created. Never text.")
    ]
    address: Annotated[
        str | None,
        Field(description="The address of the caller; behind a trusted proxy, the one that the proxy names."),
    ]
    request_id: Annotated[
        str | None, Field(description="The request, as in the header `X-Request-Id`; null without one.")
    ]


def list_entries(services: Services, user_id: UUID, wanted: EntryFilter, request: PageRequest) -> Page[AuditEntryView]:
    """Newest first."""
    with services.database.reading() as db:
        return page_of(queries.entries_page(db, user_id, wanted, request), lambda row: _view(row.AuditEntry))


def export_entries(services: Services, user_id: UUID, wanted: EntryFilter, after: int = 0) -> Iterator[str]:
    """Sealed entries as JSON lines, in the order of the chain. `after`: the last seq that the caller has."""
    while True:
        with services.database.reading(snapshot=False) as db:
            rows = queries.entries_after(db, user_id, wanted, after, at_most=EXPORT_BATCH)
        for row in rows:
            yield json.dumps(asdict(_view(row)), default=_plain, ensure_ascii=False) + "\n"
        if len(rows) < EXPORT_BATCH:
            return
        after = rows[-1].seq or after


def _view(row: Row | AuditEntry) -> AuditEntryView:
    return view_of(AuditEntryView, row, hash=None if row.hash is None else row.hash.hex())


def _plain(value: object) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else str(value)
