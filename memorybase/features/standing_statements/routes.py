"""Standing statements of end users: list, correct and delete them; their profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from api.deps import EndUserFilter, EndUserId, FlowNamed, Reader, ServicesDep, Writer, keyed_router
from api.extension import Routes
from api.key_limits import Asked, Rule, end_user_in, flow_in, own_end_user, session_in
from api.operations import operation
from api.schemas import Body, Identifier, SentUuid, Stored
from memorybase.core import caveats
from memorybase.core.screening import counting
from memorybase.features.standing_statements import profile, statements
from memorybase.features.standing_statements.finder import MAX_CHARS
from memorybase.features.standing_statements.profile import MAX_ITEMS, ProfileView
from memorybase.features.standing_statements.statements import StandingStatementView, StandingView


def _statement_in_path(asked: Asked) -> None:
    """A statement of the key's flows and end user."""
    for statement_id in asked.uuids("path", "statement_id"):
        statements.check_limits(asked.db, asked.limits, asked.user_id, statement_id)


class StandingStatementChanges(Body):
    """The words in the place of what was found; null: what was found again."""

    text: Stored | None = Field(
        min_length=1,
        max_length=MAX_CHARS,
        description="The words in the place of what was found; null: what was found again.",
    )


TAG = "standing statements"
router = keyed_router()
ROUTES = Routes(router=router, tag=TAG, description="What end users ask for or prefer: list, correct, delete.")

StatementId = Annotated[SentUuid, Path(description="The UUID of the standing statement.")]


@router.get("/standing-statements", tags=[TAG])
@operation(limits=Rule([flow_in("query")], [end_user_in("query"), session_in("query")]))
def list_standing_statements(
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowNamed,
    end_user_id: EndUserFilter = None,
    session_id: Annotated[Identifier | None, Query(description="In place of end_user_id: the session's.")] = None,
    every: Annotated[bool, Query(description="Also replaced and deleted ones.")] = False,
) -> StandingView:
    """List what an end user asked for or prefers from then on, the latest first: at most 200 statements."""
    return statements.list_statements(
        services,
        caller.user_id,
        flow_id,
        end_user_id=end_user_id,
        session_id=session_id,
        every=every,
    )


@router.patch("/standing-statements/{statement_id}", tags=[TAG])
@operation(limits=Rule([_statement_in_path], []))
def edit_standing_statement(
    statement_id: StatementId, body: StandingStatementChanges, services: ServicesDep, caller: Writer
) -> StandingStatementView:
    """Put a person's own words in the place of what was found. The message stays as it is."""
    with counting() as replaced:
        edited = statements.edit_statement(services, caller.user_id, statement_id, body.text, by=caller.name)
    return replace(edited, warnings=caveats.redacted(replaced))


@router.delete("/standing-statements/{statement_id}", status_code=204, tags=[TAG])
@operation(limits=Rule([_statement_in_path], []))
def delete_standing_statement(statement_id: StatementId, services: ServicesDep, caller: Writer) -> Response:
    """Delete a statement. It is not found in its message again; the message stays."""
    statements.delete_statement(services, caller.user_id, statement_id, by=caller.name)
    return Response(status_code=204)


@router.get("/end-users/{end_user_id}/profile", tags=["sessions"])
@operation(limits=Rule([flow_in("query")], [own_end_user]))
def get_end_user_profile(
    end_user_id: EndUserId,
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowNamed,
    limit: Annotated[int, Query(ge=1, le=MAX_ITEMS, description=f"Maximum items to return. At most {MAX_ITEMS}.")] = 50,
) -> ProfileView:
    """Read what an end user said about themselves in a flow: what is pinned, wished, repeated or said of themselves."""
    return profile.get_profile(services, caller.user_id, flow_id, end_user_id, limit=limit)
