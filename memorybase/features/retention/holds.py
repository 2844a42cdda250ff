"""Place, list and lift legal holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import Id
from memorybase.core.queries.ownership import check_flow, not_found, require_session
from memorybase.core.read_models.views import view_of
from memorybase.core.screening import screen
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.features.retention.models import LegalHold
from memorybase.features.retention.queries import holds

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HoldView:
    """A legal hold on a flow, on one of its sessions, or on an end user in all flows. What it keeps is not deleted."""

    id: Id
    flow_id: Annotated[
        UUID | None, Field(description="The held flow, or that of the held session; null for an end user.")
    ]
    session_id: Annotated[
        str | None, Field(description="The held session, by its present id; null for a flow or an end user.")
    ]
    end_user_id: Annotated[str | None, Field(description="The held end user; null for a flow or a session.")]
    reason: Annotated[str | None, Field(description="Why, for people.")]
    placed_by: Annotated[str | None, Field(description="The name of the API key.")]
    placed_at: Annotated[datetime, Field(description="When it was placed.")]


def place_hold(
    services: Services,
    user_id: UUID,
    *,
    flow_id: UUID | None = None,
    session_id: str | None = None,
    end_user_id: str | None = None,
    reason: str | None = None,
    placed_by: str | None = None,
) -> HoldView:
    """Hold a flow, a session of it, or an end user: from this commit on nothing of it is deleted. An end user may be
    unknown yet. Raises NotFound, InvalidRequest."""
    if (flow_id is None) == (end_user_id is None):
        raise errors.InvalidRequest("Pass either flow_id or end_user_id", field="flow_id")
    if session_id is not None and flow_id is None:
        raise errors.InvalidRequest("session_id requires flow_id", field="session_id")
    reason = screen(services, user_id, flow_id, reason, "reason")
    with services.database.transaction() as db:
        session_uuid = _found(db, user_id, flow_id, session_id)
        hold = LegalHold(
            id=uuid4(),
            user_id=user_id,
            flow_id=flow_id,
            session_uuid=session_uuid,
            end_user_id=end_user_id,
            reason=reason,
            placed_by=placed_by,
            placed_at=clock.now(db),
        )
        holds.add(db, hold)
        # A deletion may have ended while this waited for it: what is gone cannot be held.
        if flow_id is not None:
            db.expire_all()
            _found(db, user_id, flow_id, session_id)
        view = _view_of(hold, session_id)
    log.info("legal_hold_placed", hold_id=str(view.id))
    return view


def _found(db: OrmSession, user_id: UUID, flow_id: UUID | None, session_id: str | None) -> UUID | None:
    """The row of the session, if one is named. Raises NotFound for it or the flow."""
    if flow_id is None:
        return None
    check_flow(db, user_id, flow_id)
    return None if session_id is None else require_session(db, flow_id, session_id).id


def list_holds(
    services: Services,
    user_id: UUID,
    request: PageRequest,
    *,
    flow_id: UUID | None = None,
    end_user_id: str | None = None,
) -> Page[HoldView]:
    """The user's holds, oldest first. Raises NotFound for a flow of others."""
    with services.database.reading() as db:
        if flow_id is not None:
            check_flow(db, user_id, flow_id)
        return page_of(holds.page(db, user_id, request, flow_id=flow_id, end_user_id=end_user_id), _view)


def is_held(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> bool:
    """Whether a hold keeps the session. Raises NotFound."""
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        require_session(db, flow_id, session_id)
        return holds.has_held_session(db, user_id, flow_id, session_id)


def lift_hold(services: Services, user_id: UUID, hold_id: UUID) -> None:
    """Lift a hold: rows that only this one kept can be deleted, and expired ones are deleted by the next pass. Raises
    NotFound."""
    with services.database.transaction() as db:
        if not holds.remove(db, user_id, hold_id):
            raise not_found("hold", hold_id)
    log.info("legal_hold_lifted", hold_id=str(hold_id))


def _view(row: AnyRow) -> HoldView:
    return _view_of(row.LegalHold, row.session_id)


def _view_of(hold: LegalHold, session_id: str | None) -> HoldView:
    return view_of(HoldView, hold, session_id=session_id)
