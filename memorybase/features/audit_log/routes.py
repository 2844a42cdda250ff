"""The audit log: who changed or read what, when, and from where."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from api.admission import Work, admission_of
from api.contract.lines import JSON_LINES, STREAM_HEADERS, text_of
from api.deps import Admin, PageDep, ServicesDep, keyed_router
from api.extension import Routes
from api.operations import operation
from api.schemas import Moment, Name, Until
from memorybase.core.calls import Effect
from memorybase.core.database.paging import MAX_INTEGER, Page
from memorybase.features.audit_log import entries
from memorybase.features.audit_log.entries import AuditEntryView
from memorybase.features.audit_log.queries import EntryFilter
from memorybase.features.audit_log.recording import Kind

LINES: dict[str, Any] = {"content": text_of(JSON_LINES, "AuditEntryView", "JSON lines: one AuditEntryView on each.")}

router = keyed_router("audit")
ROUTES = Routes(router=router, tag="audit", description="Who changed or read what, when, and from where.")


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


@router.get("/audit/export", response_class=StreamingResponse, responses={200: LINES})
@operation(effect=Effect.READ)
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
