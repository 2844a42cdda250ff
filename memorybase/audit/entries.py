"""Entries as the API shows and exports them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from uuid import UUID

from memorybase.database.paging import Page, PageRequest, page_of
from memorybase.models import AuditEntry
from memorybase.queries import audit_entries
from memorybase.queries.audit_entries import EntryFilter, Row
from memorybase.services import Services

EXPORT_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class AuditEntryView:
    """One entry. `seq` and `hash` are null until the sweeper has sealed it."""

    id: int
    seq: int | None
    hash: str | None
    at: datetime
    kind: str
    user_id: UUID | None
    key_id: UUID | None
    person: str | None
    via: str
    operation: str
    objects: dict[str, str | int | list[str]]
    address: str | None
    request_id: str | None


def list_entries(services: Services, user_id: UUID, wanted: EntryFilter, request: PageRequest) -> Page[AuditEntryView]:
    """Newest first."""
    with services.database.reading() as db:
        return page_of(audit_entries.entries_page(db, user_id, wanted, request), lambda row: _view(row.AuditEntry))


def export_entries(services: Services, user_id: UUID, wanted: EntryFilter, after: int = 0) -> Iterator[str]:
    """Sealed entries as JSON lines, in the order of the chain. `after`: the last seq that the caller has."""
    while True:
        with services.database.reading(snapshot=False) as db:
            rows = audit_entries.entries_after(db, user_id, wanted, after, at_most=EXPORT_BATCH)
        for row in rows:
            yield json.dumps(asdict(_view(row)), default=_plain, ensure_ascii=False) + "\n"
        if len(rows) < EXPORT_BATCH:
            return
        after = rows[-1].seq or after


def _view(row: Row | AuditEntry) -> AuditEntryView:
    return AuditEntryView(
        id=row.id,
        seq=row.seq,
        hash=None if row.hash is None else row.hash.hex(),
        at=row.at,
        kind=row.kind,
        user_id=row.user_id,
        key_id=row.key_id,
        person=row.person,
        via=row.via,
        operation=row.operation,
        objects=row.objects,
        address=row.address,
        request_id=row.request_id,
    )


def _plain(value: object) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else str(value)
