"""Runs as the API shows them: what was asked and answered, whether it is searchable, what the models were given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import CreatedAt, EndUserId, ExternalId, FlowId, RunId, SessionId
from memorybase.core.models import Run
from memorybase.core.queries import memory_uses
from memorybase.core.queries import runs as run_queries
from memorybase.core.queries.coverage import RANKED, SearchState
from memorybase.core.queries.ownership import not_found, require_flow
from memorybase.core.queries.runs import RunFilter
from memorybase.core.read_models.sessions import text_filter
from memorybase.core.read_models.views import excerpt, view_of
from memorybase.core.services import Services


@dataclass(frozen=True, slots=True)
class RecalledView:
    """The memory that the models of a run's nodes were given."""

    nodes: Annotated[int, Field(description="Number of nodes with a recorded memory use.")]
    memories: Annotated[int, Field(description="Number of different messages that were recalled.")]
    tokens: Annotated[int, Field(description="Tokens of the recalled messages, over all nodes.")]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of a flow: its messages, its last question and answer, and whether its messages are searchable."""

    run_id: RunId
    external_id: ExternalId
    flow_id: FlowId
    session_id: SessionId
    end_user_id: EndUserId
    messages: Annotated[int, Field(description="Number of messages.")]
    created_at: CreatedAt
    question: Annotated[
        str | None, Field(description="The beginning of its last message of a user; null without text.")
    ]
    answer: Annotated[
        str | None, Field(description="The beginning of its last message of the assistant; null without text.")
    ]
    state: Annotated[
        SearchState,
        Field(
            description="The worst state of its messages in the flow's memory bases. One that is off counts only if "
            "no other one of the flow is on."
        ),
    ]
    searchable_after_seconds: Annotated[
        float | None,
        Field(description="Time from its capture until its last message was ingested; null unless `searchable`."),
    ]
    given: Annotated[
        RecalledView | None,
        Field(description="What the models of its nodes were given from memory; null if nothing is recorded."),
    ]


def list_runs(services: Services, user_id: UUID, wanted: RunFilter, request: PageRequest) -> Page[RunView]:
    """Newest first; raises NotFound for the flow, InvalidRequest."""
    with services.database.reading(on_replica=True) as db:
        if wanted.flow_id is not None:
            require_flow(db, user_id, wanted.flow_id)
        text = text_filter(services, db, user_id, wanted.flow_id, wanted.text)
        found = run_queries.runs_page(db, user_id, wanted, text, request)
        views = _views(db, run_queries.runs_of_ids(db, [row.id for row in found.rows]).values())
        return page_of(found, lambda row: views[row.id])


def get_run(services: Services, user_id: UUID, run_id: UUID, *, flow_id: UUID | None = None) -> RunView:
    """Raises NotFound, also for a run of another flow than `flow_id`."""
    with services.database.reading() as db:
        row = run_queries.fetch_run_view(db, user_id, run_id)
        if row is None or flow_id not in {None, row.Run.flow_id}:
            raise not_found("run", run_id)
        return _views(db, [row])[run_id]


def _views(db: OrmSession, rows: Collection[AnyRow]) -> dict[UUID, RunView]:
    runs = [row.Run for row in rows]
    if not runs:
        return {}
    given = _given(db, runs)
    since = run_queries.searchable_since(db, [run.id for run in runs])
    return {row.Run.id: _view(row, given.get(row.Run.id), since.get(row.Run.id)) for row in rows}


def _view(row: AnyRow, given: RecalledView | None, since: datetime | None) -> RunView:
    run: Run = row.Run
    state = RANKED[row.state]
    return view_of(
        RunView,
        run,
        row,
        run_id=run.id,
        question=excerpt(row.question),
        answer=excerpt(row.answer),
        state=state,
        searchable_after_seconds=searchable_after_seconds(run, state, since),
        given=given,
    )


def searchable_after_seconds(run: Run, state: SearchState, since: datetime | None) -> float | None:
    """Seconds from its capture until all of it is searchable, which it is `since` then; None in another state."""
    if state is not SearchState.SEARCHABLE or since is None:
        return None
    return round(max((since - run.created_at).total_seconds(), 0.0), 3)


def _given(db: OrmSession, runs: list[Run]) -> dict[UUID, RecalledView]:
    recalled: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    nodes: dict[UUID, int] = defaultdict(int)
    for run_id, sources in memory_uses.sources_of_runs(db, {run.flow_id for run in runs}, [run.id for run in runs]):
        nodes[run_id] += 1
        recalled[run_id] += [source for source in sources if source["kind"] == "recall"]
    return {
        run_id: RecalledView(
            count,
            len({message_id for source in recalled[run_id] for message_id in source["message_ids"]}),
            sum(source["tokens"] for source in recalled[run_id]),
        )
        for run_id, count in nodes.items()
    }
