"""The audit log: who changed or read what, when, and from where."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from api.admission import Work, admission_of
from api.auditing import Audit
from api.contract.lines import JSON_LINES, LINES_OF_AUDIT
from api.deps import Admin, PageDep, ServicesDep, keyed_router
from api.operations import operation
from api.routes.portability import STREAM_HEADERS
from api.schemas import Moment, Name, Until
from memorybase.audit import entries
from memorybase.audit.entries import AuditEntryView
from memorybase.audit.record import Kind
from memorybase.database.paging import MAX_INTEGER, Page
from memorybase.queries.audit_entries import EntryFilter

router = keyed_router("audit")


class AuditFilter(BaseModel):
    """Which entries to list."""

    key_id: UUID | None = Field(default=None, description="Only what this API key did.")
    operation: Name | None = Field(
        default=None, description="Only operations with this in their name, such as `erase`; case does not matter."
    )
    kind: Kind | None = Field(default=None, description="Only changes, reads, refusals or checkpoints.")
    since: Moment | None = Field(
        default=None, description="Only entries from this time on. Inclusive, like `until`. Without a time zone: UTC."
    )
    until: Until | None = Field(default=None, description="Only entries up to this time.")


@router.get("/audit")
def list_audit_entries(
    services: ServicesDep,
    caller: Admin,
    page: PageDep,
    which: Annotated[AuditFilter, Query()],
) -> Page[AuditEntryView]:
    """List changes, exports, reads on the page and refusals, newest first. No entry contains text."""
    wanted = EntryFilter(**dict(which))
    return entries.list_entries(services, caller.user_id, wanted, page)


@router.get("/audit/export", response_class=StreamingResponse, responses={200: LINES_OF_AUDIT})
@operation(audit=Audit.EXPORT)
def export_audit_entries(
    request: Request,
    services: ServicesDep,
    caller: Admin,
    after_seq: Annotated[int, Query(ge=0, le=MAX_INTEGER, description="The last `seq` that you have.")] = 0,
) -> StreamingResponse:
    """Export sealed entries as JSON lines, in the order of the hash chain. Continue with the last line's `seq`."""
    lines = entries.export_entries(services, caller.user_id, EntryFilter(), after_seq)
    answer = admission_of(request)[Work.READ].iterate(lines)
    return StreamingResponse(answer, media_type=JSON_LINES, headers=STREAM_HEADERS)
