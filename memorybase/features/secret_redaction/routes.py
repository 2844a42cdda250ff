"""Look for secrets in what is stored, and redact them."""

from __future__ import annotations

from pydantic import Field

from api.deps import ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.schemas import Body, Identifier
from memorybase.core import ids
from memorybase.features.secret_redaction import scan
from memorybase.features.secret_redaction.scan import SecretScan

router = keyed_router("secrets")
ROUTES = Routes(router=router, tag="secrets", description="Keys and passwords in what is stored.")


class ScanBody(Body):
    """Which flow to look through, and whether to redact."""

    flow_id: Identifier | None = Field(
        default=None, description="The flow: a UUID or the caller's id; by default all flows."
    )
    redact: bool = Field(default=False, description="Redact what is found, for good; else nothing is changed.")
    cursor: str | None = Field(default=None, max_length=500, description="The `next_cursor` of the call before.")


@router.post("/secrets/scan")
def scan_secrets(body: ScanBody, services: ServicesDep, caller: Writer) -> SecretScan:
    """Look through some stored rows for secrets, and redact them if asked. Repeat with `next_cursor` until it is null.
    Redacted text is gone for good; what a legal hold keeps stays as it is."""
    flow_id = None if body.flow_id is None else ids.flow_id(caller.user_id, body.flow_id)
    return scan.scan(services, caller.user_id, flow_id=flow_id, redact=body.redact, cursor=body.cursor, by=caller.name)
