"""Turn distillation of a memory base on and off, and its state; list and delete its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.database import clock, engine
from memorybase.core.database.paging import Page, PageRequest
from memorybase.core.described import CreatedAt, EndUserId, Id, MemoryBaseId, MessageId, SessionId
from memorybase.core.memory_bases import preparation
from memorybase.core.queries import preparations
from memorybase.core.queries.ownership import not_found, require_memory_base
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.telemetry import get_logger
from memorybase.core.validation import check_text
from memorybase.features.facts import usage
from memorybase.features.facts.claim import DISTILL
from memorybase.features.facts.models import DistillKind, Fact
from memorybase.features.facts.queries import facts as fact_rows
from memorybase.features.facts.queries.facts import FactState
from memorybase.features.facts.recall import FactHit, FactQuery, recall

log = get_logger(__name__)

State = Literal["off", "idle", "distilling", "waiting"]
DELETE_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class FactSourceView:
    """A message that a fact rests on."""

    message_id: MessageId
    version: Annotated[int, Field(description="The version that the model read.")]
    seq: Annotated[int, Field(description="Its position in its session.")]


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact that a model derived from messages."""

    id: Id
    memory_base_id: MemoryBaseId
    session_id: SessionId
    end_user_id: EndUserId
    derived: Annotated[bool, Field(description="Always true: a model derived it from messages.")]
    who: Annotated[str, Field(description="Whom or what the fact is about.")]
    what: Annotated[str, Field(description="The fact, in one sentence.")]
    when: Annotated[
        str | None, Field(description="When it holds or happened, as the conversation says it; null if it does not.")
    ]
    said_at: Annotated[datetime, Field(description="When the newest of its sources was said.")]
    sources: Annotated[list[FactSourceView], Field(description="The messages that it rests on.")]
    superseded_by: Annotated[UUID | None, Field(description="The later fact that corrects it; null if it holds.")]
    corrects: Annotated[list[UUID], Field(description="The earlier facts that it corrects.")]
    model: Annotated[str, Field(description="The model that derived it.")]
    created_at: CreatedAt


@dataclass(frozen=True, slots=True)
class DistillationUsageView:
    """Usage of a memory base's distillation since it was first turned on."""

    requests: Annotated[int, Field(description="Number of requests to the model.")]
    prompt_tokens: Annotated[int, Field(description="Tokens of the requests.")]
    completion_tokens: Annotated[int, Field(description="Tokens of the answers.")]
    tokens_today: Annotated[int, Field(description="Tokens that this memory base used today, in UTC.")]
    cost: Annotated[
        float | None, Field(description="What the tokens cost, by the prices in the settings; null without prices.")
    ]
    facts: Annotated[int, Field(description="Number of facts that were stored, also those that say the same.")]
    refused: Annotated[
        dict[str, int], Field(description="How many facts and answers did not pass the checks, by reason.")
    ]


@dataclass(frozen=True, slots=True)
class DistillationView:
    """Whether facts are distilled for a memory base, the waiting sessions, and the usage."""

    memory_base_id: MemoryBaseId
    enabled: Annotated[bool, Field(description="Whether facts are derived from what is ingested.")]
    available: Annotated[bool, Field(description="Whether the operator has set a model for it.")]
    state: Annotated[
        State,
        Field(description="`off`, `idle`, `distilling`, or `waiting`: for the end of an outage or for the next day."),
    ]
    pending_sessions: Annotated[int, Field(description="Number of sessions with messages that were not distilled yet.")]
    skipped_messages: Annotated[
        int, Field(description="Number of messages that were given up because the model's answers were useless.")
    ]
    error: Annotated[
        str | None,
        Field(
            description="Why the latest attempt that failed did; `daily_tokens_spent`: the tokens of the day are "
            "used up."
        ),
    ]
    waits_until: Annotated[datetime | None, Field(description="When the next session is due; null if nothing waits.")]
    facts: Annotated[int, Field(description="Number of facts.")]
    tokens_today: Annotated[int, Field(description="Tokens that the whole installation used today, in UTC.")]
    daily_tokens: Annotated[int, Field(description="Tokens that the whole installation may use on a day.")]
    usage: Annotated[DistillationUsageView, Field(description="What this memory base used.")]


def set_distillation(
    services: Services, user_id: UUID, base_id: UUID, *, enabled: bool, start: Literal["now", "beginning"] = "now"
) -> DistillationView:
    """Turn distillation on or off. On: `now` begins with what is ingested from now on, `beginning` with the first
    message. Off: nothing more is asked; the facts stay until they are deleted. Raises NotFound, InvalidRequest."""
    with services.database.transaction() as db:
        base = require_memory_base(db, user_id, base_id, lock=True)
        if enabled and services.settings.distiller == "none":
            raise errors.InvalidRequest(
                "enabled needs a model: the operator sets MEMORYBASE_DISTILLER=openai and the summarizer's endpoint",
                field="enabled",
                value=enabled,
            )
        kind = DistillKind.NEW if start == "now" else DistillKind.ALL
        if not enabled:
            kind = DistillKind.OFF
        if kind is not DistillKind.NEW or not base.distill:
            preparations.delete_kinds(db, base_id, list(DistillKind))
            preparation.begin(db, services, base_id, base.serving, kind, clock.now(db))
        base.distill = enabled
        if enabled:
            engine.after_commit(db, lambda: services.queue.notify(DISTILL))
    log.info("distillation_set", memory_base_id=str(base_id), enabled=enabled)
    return get_distillation(services, user_id, base_id)


def get_distillation(services: Services, user_id: UUID, base_id: UUID) -> DistillationView:
    """Raises NotFound."""
    settings = services.settings
    with services.database.reading() as db:
        base = require_memory_base(db, user_id, base_id)
        now = clock.now(db)
        pending, used = fact_rows.pending(db, base.id), fact_rows.usage_of(db, base.id)
        today, facts = fact_rows.tokens_of_day(db, now.date()), fact_rows.count_facts(db, base.id)
    prompt, completion = (used.prompt_tokens, used.completion_tokens) if used else (0, 0)
    cost = usage.cost(settings, prompt, completion)
    is_waiting = pending.next_at is not None and pending.next_at > now
    return DistillationView(
        memory_base_id=base_id,
        enabled=base.distill,
        available=settings.distiller != "none",
        state=_state(enabled=base.distill, pending=pending.sessions, waiting=is_waiting),
        pending_sessions=pending.sessions,
        skipped_messages=pending.messages_skipped,
        error=pending.error_code if base.distill else None,
        waits_until=pending.next_at if is_waiting and base.distill else None,
        facts=facts,
        tokens_today=today,
        daily_tokens=settings.distiller_daily_tokens,
        usage=DistillationUsageView(
            requests=used.requests if used else 0,
            prompt_tokens=prompt,
            completion_tokens=completion,
            tokens_today=used.day_tokens if used and used.day == now.date() else 0,
            cost=None if cost is None else round(cost, 6),
            facts=used.facts if used else 0,
            refused=dict(used.refused) if used else {},
        ),
    )


def _state(*, enabled: bool, pending: int, waiting: bool) -> State:
    if not enabled:
        return "off"
    if not pending:
        return "idle"
    return "waiting" if waiting else "distilling"


def list_facts(
    services: Services,
    user_id: UUID,
    base_id: UUID,
    request: PageRequest,
    *,
    state: FactState = "current",
    session_id: str | None = None,
    end_user_id: str | None = None,
) -> Page[FactView]:
    """Newest first, each once. Raises NotFound."""
    for name, value in (("session_id", session_id), ("end_user_id", end_user_id)):
        if value is not None:
            check_text(value, name)
    with services.database.reading() as db:
        require_memory_base(db, user_id, base_id)
        found = fact_rows.facts_page(db, base_id, request, state=state, session_id=session_id, end_user_id=end_user_id)
        views = _views(db, [row[0] for row in found.rows])
    return Page(views, found.total, request.page, request.size, found.next_cursor, found.total_capped)


def get_fact(services: Services, user_id: UUID, base_id: UUID, fact_id: UUID) -> FactView:
    """Raises NotFound, also for a fact whose sources have changed."""
    with services.database.reading() as db:
        require_memory_base(db, user_id, base_id)
        fact = fact_rows.fetch(db, base_id, fact_id)
        if fact is None:
            raise not_found("fact", fact_id)
        return _views(db, [fact])[0]


def search_facts(services: Services, user_id: UUID, query: FactQuery) -> list[FactHit]:
    """The facts about a question, best first. Raises NotFound, InvalidRequest."""
    if not query.query.strip():
        raise errors.InvalidRequest("query must not be empty", field="query")
    check_text(query.query, "query")
    with services.database.reading() as db:
        for base_id in query.base_ids:
            require_memory_base(db, user_id, base_id)
    return recall(services, query)


def delete_fact(services: Services, user_id: UUID, base_id: UUID, fact_id: UUID) -> None:
    """Delete a fact and those that say the same. A fact that it corrected holds again, unless a later fact corrects it
    too. Raises NotFound."""
    with services.database.transaction() as db:
        require_memory_base(db, user_id, base_id)
        if not fact_rows.delete(db, base_id, fact_id):
            raise not_found("fact", fact_id)


def delete_facts(services: Services, user_id: UUID, base_id: UUID) -> int:
    """Delete every fact of a memory base, and return their number. Raises NotFound."""
    with services.database.reading() as db:
        require_memory_base(db, user_id, base_id)
    deleted = 0
    while True:
        with services.database.transaction() as db:
            some = fact_rows.delete_some(db, base_id, limit=DELETE_PAGE)
        deleted += some
        if some < DELETE_PAGE:
            return deleted


def _views(db: OrmSession, facts: Sequence[Fact]) -> list[FactView]:
    ids = [fact.id for fact in facts]
    sources = fact_rows.sources_of(db, ids)
    corrects, end_users = fact_rows.correcting(db, ids), fact_rows.end_users_of(db, facts)
    return [
        view_of(
            FactView,
            fact,
            end_user_id=end_users.get((fact.flow_id, fact.session_id)),
            derived=True,
            when=fact.when_text,
            sources=[view_of(FactSourceView, each) for each in sources if each.fact_id == fact.id],
            superseded_by=fact.superseded_by_id,
            corrects=corrects.get(fact.id, []),
        )
        for fact in facts
    ]
