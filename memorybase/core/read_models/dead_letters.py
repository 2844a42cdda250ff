"""Dead letters of all memory bases, grouped by cause and text, and what became of those that were retried."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memorybase.core.database.batches import pages
from memorybase.core.database.paging import AnyRow
from memorybase.core.queries import dead_letters
from memorybase.core.queries.dead_letters import DeadLetterFilter
from memorybase.core.queries.ownership import require_memory_base
from memorybase.core.read_models.jobs import DeadLetterView, dead_letter_view
from memorybase.core.read_models.sessions import MessageView, message_view
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services

TEXTS_OF_A_CAUSE = 20


@dataclass(frozen=True, slots=True)
class DeadLetterText:
    """Dead letters of one cause whose messages have the same text."""

    example: Annotated[DeadLetterView, Field(description="One of the dead letters.")]
    messages: Annotated[int, Field(description="Number of dead letters with this text.")]
    retrying: Annotated[int, Field(description="How many of them a job tries again.")]
    sessions: Annotated[int, Field(description="Number of sessions, counted for each memory base.")]
    since: Annotated[datetime, Field(description="When the oldest was written.")]


@dataclass(frozen=True, slots=True)
class DeadLetterCause:
    """Dead letters of one cause."""

    cause: Annotated[str, Field(description="The error code.")]
    messages: Annotated[int, Field(description="Number of dead letters of this cause.")]
    retrying: Annotated[int, Field(description="How many of them a job tries again.")]
    sessions: Annotated[int, Field(description="Number of sessions, counted for each memory base.")]
    memory_bases: Annotated[int, Field(description="Number of memory bases.")]
    since: Annotated[datetime, Field(description="When the oldest was written.")]
    distinct_texts: Annotated[int, Field(description="Number of different texts.")]
    texts: Annotated[list[DeadLetterText], Field(description="The most frequent texts.")]


@dataclass(frozen=True, slots=True)
class DeadLetterGroups:
    """Every dead letter that is not discarded, by cause."""

    causes: Annotated[list[DeadLetterCause], Field(description="The causes, most messages first.")]
    messages: Annotated[int, Field(description="Number of dead letters of all causes.")]


@dataclass(frozen=True, slots=True)
class RetriedMessage:
    """A message that was retried. `outcome`: failed means that it is a dead letter again."""

    message_id: UUID
    message: MessageView | None
    outcome: Literal["retrying", "searchable", "failed", "deleted"]


def group_dead_letters(services: Services, user_id: UUID, wanted: DeadLetterFilter) -> DeadLetterGroups:
    """Causes with most messages first, and within each the texts with most messages first; raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        if wanted.memory_base_id is not None:
            require_memory_base(db, user_id, wanted.memory_base_id)
        causes = dead_letters.dead_letter_causes(db, user_id, wanted)
        texts = dead_letters.dead_letter_texts(db, user_id, wanted, per_cause=TEXTS_OF_A_CAUSE)
        examples: dict[UUID, DeadLetterView] = {}
        for some in pages([UUID(row.example_id) for row in texts]):
            rows = dead_letters.dead_letters_of_ids(db, user_id, some)
            examples.update({row.DeadLetter.id: dead_letter_view(row) for row in rows})
    groups = [_cause(row, [_text(t, examples) for t in texts if t.error_code == row.error_code]) for row in causes]
    return DeadLetterGroups(groups, sum(group.messages for group in groups))


def dead_letter_states(services: Services, user_id: UUID, ids: Collection[UUID]) -> dict[UUID, DeadLetterView]:
    """The dead letters of these ids that are left: one that was embedded, deleted or discarded is gone."""
    left: dict[UUID, DeadLetterView] = {}
    with services.database.reading(on_replica=True) as db:
        for some in pages(ids):
            rows = dead_letters.dead_letters_of_ids(db, user_id, some)
            left.update({row.DeadLetter.id: dead_letter_view(row) for row in rows})
    return left


def outcomes(services: Services, user_id: UUID, retried: Sequence[tuple[UUID, UUID]]) -> list[RetriedMessage]:
    """Results for retried dead letters, given as pairs of dead letter and message, in their order."""
    left = dead_letter_states(services, user_id, [letter_id for letter_id, _ in retried])
    stored: dict[UUID, MessageView] = {}
    with services.database.reading(on_replica=True) as db:
        for some in pages([message_id for _, message_id in retried]):
            rows = dead_letters.messages_of_ids(db, user_id, some)
            stored.update({row.Message.id: message_view(row) for row in rows})
    return [_outcome(left.get(letter_id), stored.get(message_id), message_id) for letter_id, message_id in retried]


def _outcome(letter: DeadLetterView | None, message: MessageView | None, message_id: UUID) -> RetriedMessage:
    if letter is not None:
        return RetriedMessage(message_id, message, "retrying" if letter.state == "retrying" else "failed")
    return RetriedMessage(message_id, message, "searchable" if message else "deleted")


def _cause(row: AnyRow, texts: list[DeadLetterText]) -> DeadLetterCause:
    return view_of(
        DeadLetterCause,
        row,
        cause=row.error_code,
        retrying=int(row.retrying),
        distinct_texts=max(row.texts, len(texts)),  # SQL does not count deleted messages, which have none
        texts=texts,
    )


def _text(row: AnyRow, examples: dict[UUID, DeadLetterView]) -> DeadLetterText:
    return view_of(DeadLetterText, row, example=examples[UUID(row.example_id)], retrying=int(row.retrying))
