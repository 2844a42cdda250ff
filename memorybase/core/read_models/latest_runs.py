"""The latest runs in a few words: question, answer, whether it can be found, given memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core.database.paging import AnyRow
from memorybase.core.described import CreatedAt, ExternalId, FlowId, RunId, SessionId
from memorybase.core.messages import message_text
from memorybase.core.models import Run
from memorybase.core.queries import coverage, memory_uses, overview
from memorybase.core.queries import runs as run_queries
from memorybase.core.queries.coverage import RANKED, SearchState
from memorybase.core.read_models.runs import searchable_after_seconds
from memorybase.core.read_models.views import view_of

SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class LatestRun:
    """A run, its topic, and the progress of its ingestion."""

    run_id: RunId
    external_id: ExternalId
    flow_id: FlowId
    flow_name: Annotated[str, Field(description="The name of the flow.")]
    session_id: SessionId
    question: Annotated[str | None, Field(description="The user's last message in it, shortened; null without one.")]
    answer: Annotated[str | None, Field(description="The assistant's last message in it, shortened; null without one.")]
    created_at: CreatedAt
    state: Annotated[
        SearchState,
        Field(
            description="Whether searches by meaning find its messages: the worst state in a memory base of its flow."
        ),
    ]
    searchable_after_seconds: Annotated[
        float | None, Field(description="Time from the run until all its messages were searchable; null before.")
    ]
    pending: Annotated[int | None, Field(description="Pending messages of its session while it waits.")]
    threshold: Annotated[
        int | None, Field(description="The threshold that they wait for; null if only a flush ingests them.")
    ]
    memories: Annotated[
        int | None, Field(description="Number of memories that its nodes were given; null if nothing was recorded.")
    ]
    tokens: Annotated[int | None, Field(description="Number of tokens of these memories.")]


def latest_runs(db: OrmSession, flow_ids: Sequence[UUID], limit: int) -> list[LatestRun]:
    """The latest runs of these flows, newest first; at most five queries."""
    found = overview.latest_runs(db, flow_ids, limit) if flow_ids else []
    if not found:
        return []
    ids = [row.Run.id for row in found]
    texts = {(row.run_id, row.role): message_text(row.content) for row in overview.last_words(db, ids)}
    waiting = coverage.waiting_of_runs(db, [row.Run.id for row in found if RANKED[row.state] is SearchState.WAITING])
    since = run_queries.searchable_since(db, ids)
    given: dict[UUID, list[dict[str, object]]] = {}
    for run_id, sources in memory_uses.sources_of_runs(db, flow_ids, ids):
        given.setdefault(run_id, []).extend(sources)
    return [_run(row, texts, waiting.get(row.Run.id), since.get(row.Run.id), given.get(row.Run.id)) for row in found]


def _run(
    row: AnyRow,
    texts: dict[tuple[UUID, str], str],
    waits: AnyRow | None,
    since: datetime | None,
    given: Sequence[dict[str, object]] | None,
) -> LatestRun:
    run: Run = row.Run
    state = RANKED[row.state]
    recalled = None if given is None else [source for source in given if source.get("kind") == "recall"]
    return view_of(
        LatestRun,
        run,
        row,
        run_id=run.id,
        question=_short(texts.get((run.id, "user"))),
        answer=_short(texts.get((run.id, "assistant"))),
        state=state,
        searchable_after_seconds=searchable_after_seconds(run, state, since),
        pending=waits.pending if waits is not None else None,
        threshold=waits.threshold if waits is not None and waits.auto_capture else None,
        memories=None if recalled is None else len(recalled),
        tokens=None if recalled is None else sum(int(str(source.get("tokens", 0))) for source in recalled),
    )


def _short(text: str | None) -> str | None:
    if not text:
        return None
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS].rstrip()}…"
