"""Summaries of sessions. Session ids are free text, so they are sent in the query or the body."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from api.context_schemas import DEFAULT_PRESET, SummaryBody, SummaryPreset
from api.deps import FlowNamed, Reader, ServicesDep, SessionNamed, Writer, keyed_router
from api.key_limits import Rule, flow_in, session_in
from api.operations import operation
from api.schemas import Name
from memorybase.core import ids
from memorybase.core.conversation.session_memory import summaries
from memorybase.core.conversation.session_memory.summaries import SummaryKey, SummaryView
from memorybase.core.conversation.summarizers.llm import checked_name

router = keyed_router("summaries")

_SESSION_IN_QUERY = Rule([flow_in("query")], [session_in("query")])


@router.get("/summary")
@operation(limits=_SESSION_IN_QUERY)
def get_summary(
    services: ServicesDep,
    caller: Reader,
    flow_id: FlowNamed,
    session_id: SessionNamed,
    summarizer: Annotated[Name | None, Query(description="What writes the summary.")] = None,
    preset: Annotated[
        SummaryPreset,
        Query(description="The preset whose summary it is; `pairs_N` is that of all but the latest N pairs."),
    ] = DEFAULT_PRESET,
) -> SummaryView:
    """Read a session's summary and the state of the next one."""
    by = summarizer or checked_name(services.settings, None)
    key = SummaryKey(flow_id=flow_id, session_id=session_id, preset=preset, summarizer=by)
    return summaries.get_summary(services, caller.user_id, key)


@router.post("/summary", status_code=202)
@operation(limits=Rule([flow_in("body")], [session_in("body")]))
def request_summary(body: SummaryBody, services: ServicesDep, caller: Writer) -> SummaryView:
    """Request a new summary of all but the latest pairs of question and reply. A worker makes it."""
    flow_id = ids.flow_id(caller.user_id, body.flow_id)
    by = checked_name(services.settings, body.summarizer)
    key = SummaryKey(flow_id=flow_id, session_id=body.session_id, preset=body.preset, summarizer=by)
    return summaries.refresh_summary(services, caller.user_id, key)


@router.delete("/summary", status_code=204)
@operation(limits=_SESSION_IN_QUERY)
def delete_summary(
    services: ServicesDep,
    caller: Writer,
    flow_id: FlowNamed,
    session_id: SessionNamed,
    summarizer: Annotated[
        Name | None, Query(description="Only summaries of this summarizer; by default of all.")
    ] = None,
    preset: Annotated[
        SummaryPreset | None, Query(description="Only the summary of this preset; by default of all.")
    ] = None,
) -> None:
    """Delete a session's summaries, or those of one summarizer or preset. A later read may request new ones."""
    summaries.delete_summary(services, caller.user_id, flow_id, session_id, preset=preset, summarizer=summarizer)
