"""Standing statements of end users: list, correct and delete them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from api.deps import EndUserFilter, FlowNamed, Reader, ServicesDep, Writer, keyed_router
from api.key_limits import Rule, end_user_in, flow_in, session_in, statement_in_path
from api.operations import operation
from api.schemas import Body, Identifier, SentUuid, Stored
from memorybase.standing import statements
from memorybase.standing.finder import MAX_CHARS
from memorybase.standing.statements import StandingStatementView, StandingView


class StandingStatementChanges(Body):
    """The words in the place of what was found; null: what was found again."""

    text: Stored | None = Field(
        min_length=1,
        max_length=MAX_CHARS,
        description="The words in the place of what was found; null: what was found again.",
    )


router = keyed_router("standing statements")

StatementId = Annotated[SentUuid, Path(description="The UUID of the standing statement.")]


@router.get("/standing-statements")
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


@router.patch("/standing-statements/{statement_id}")
@operation(limits=Rule([statement_in_path], []))
def edit_standing_statement(
    statement_id: StatementId, body: StandingStatementChanges, services: ServicesDep, caller: Writer
) -> StandingStatementView:
    """Put a person's own words in the place of what was found. The message stays as it is."""
    return statements.edit_statement(services, caller.user_id, statement_id, body.text, by=caller.name)


@router.delete("/standing-statements/{statement_id}", status_code=204)
@operation(limits=Rule([statement_in_path], []))
def delete_standing_statement(statement_id: StatementId, services: ServicesDep, caller: Writer) -> Response:
    """Delete a statement. It is not found in its message again; the message stays."""
    statements.delete_statement(services, caller.user_id, statement_id, by=caller.name)
    return Response(status_code=204)
