"""Create flows, explicitly or with the first capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors, time_zones
from memorybase.core.database import clock, engine
from memorybase.core.models import Flow
from memorybase.core.queries import flows
from memorybase.core.queries.expiry import check_retain_days
from memorybase.core.queries.ownership import not_found, require_locked_flow
from memorybase.core.services import Services

CHANGEABLE = ("name", "retain_days", "standing", "secrets", "time_zone")


def create_flow(
    services: Services,
    user_id: UUID,
    *,
    name: str,
    time_zone: str | None = None,
    before_commit: Callable[[OrmSession, Flow], object] | None = None,
) -> Flow:
    """Create a flow with a new id. `before_commit` is called in the transaction that creates it. Raises InvalidRequest
    for a time zone."""
    time_zones.checked(time_zone)
    with services.database.transaction() as db:
        flow = _add(db, user_id, uuid4(), name=name, time_zone=time_zone)
        if before_commit is not None:
            before_commit(db, flow)
        return flow


def put_flow(
    services: Services,
    user_id: UUID,
    *,
    name: str,
    flow_id: UUID,
    time_zone: str | None = None,
    external_id: str | None = None,
    rename: bool = True,
) -> tuple[Flow, bool]:
    """Create or rename the flow with the runtime's own id; also returns whether it is new.

    Raises NotFound for another user's id, Conflict while the flow is being deleted, InvalidRequest for a time zone.
    """
    time_zones.checked(time_zone)

    def put() -> tuple[Flow, bool]:
        with services.database.transaction() as db:
            existing = flows.lock_flow(db, flow_id)
            if existing is None:
                return _add(db, user_id, flow_id, name=name, time_zone=time_zone, external_id=external_id), True
            if existing.user_id != user_id:
                raise not_found("flow", flow_id)
            if existing.deleting_at is not None:
                raise errors.Conflict("The flow is being deleted", field="flow_id", value=flow_id)
            if rename:
                existing.name = name
                existing.time_zone = time_zone or existing.time_zone
            return existing, False

    try:
        return put()
    except errors.ConstraintViolated:
        # Two requests with the same id: the other one created it. Or the user is gone, which the second try says.
        return put()


def _add(
    db: OrmSession, user_id: UUID, flow_id: UUID, *, name: str, time_zone: str | None, external_id: str | None = None
) -> Flow:
    flow = Flow(
        id=flow_id,
        user_id=user_id,
        external_id=external_id,
        name=name,
        standing=False,
        time_zone=time_zone or time_zones.DEFAULT,
        created_at=clock.now(db),
    )
    db.add(flow)
    engine.created(db, flow_id=flow_id)
    return flow


def update_flow(services: Services, user_id: UUID, flow_id: UUID, changes: Mapping[str, Any]) -> Flow:
    """Change the name, how many days the flow keeps messages (None: for ever; the sweeper's next pass deletes what is
    older), whether its contexts contain standing statements, what it does with secrets that callers send (None: what
    the installation does), or its time zone. Raises NotFound, InvalidRequest."""
    for name in changes:
        if name not in CHANGEABLE:
            raise errors.InvalidRequest(f"{name} of a flow cannot be changed", field=name, limit=list(CHANGEABLE))
    check_retain_days(changes.get("retain_days"))
    time_zones.checked(changes.get("time_zone"))
    with services.database.transaction() as db:
        flow = require_locked_flow(db, user_id, flow_id)
        for name, value in changes.items():
            setattr(flow, name, value)
        if "retain_days" in changes:
            flow.retention_due_at = None if flow.retain_days is None else clock.now(db)
        db.flush()
        return flow
