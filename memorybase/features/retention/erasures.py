"""Receipts of erasures: list them, read one."""

from __future__ import annotations

from uuid import UUID

from memorybase.core.database.paging import Page, PageRequest, page_of
from memorybase.core.queries.ownership import require
from memorybase.core.services import Services
from memorybase.core.sessions.receipts import ErasureReceipt, subject_of, view
from memorybase.features.retention.queries import receipts as rows


def list_receipts(
    services: Services, user_id: UUID, request: PageRequest, *, end_user_id: str | None = None
) -> Page[ErasureReceipt]:
    """The receipts, newest first, or those of one end user."""
    subject_id = None if end_user_id is None else subject_of(user_id, "erase_end_user", end_user_id)
    with services.database.reading() as db:
        found = rows.erasures_page(db, user_id, request, subject_id=subject_id)
        return page_of(found, lambda row: view(services, row.Receipt))


def get_receipt(services: Services, user_id: UUID, receipt_id: UUID) -> ErasureReceipt:
    """One receipt; raises NotFound."""
    with services.database.reading() as db:
        found = require(rows.fetch_erasure(db, user_id, receipt_id), "receipt", str(receipt_id))
        return view(services, found)
