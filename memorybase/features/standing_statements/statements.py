"""An end user's standing statements: list them, correct or delete one, and choose what a context contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.auth.limits import KeyLimits
from memorybase.core.caveats import Redacted
from memorybase.core.database import clock
from memorybase.core.keyword_index.analyzer import analyzer
from memorybase.core.models import Session
from memorybase.core.queries import sessions
from memorybase.core.queries.ownership import check_flow, not_found, require_session
from memorybase.core.read_models.views import view_of
from memorybase.core.screening import screen
from memorybase.core.services import Services
from memorybase.core.validation import check_text
from memorybase.features.standing_statements.finder import MAX_CHARS, is_conditional
from memorybase.features.standing_statements.models import StandingStatement
from memorybase.features.standing_statements.queries import statements as rows
from memorybase.features.standing_statements.queries.statements import FlowOfEndUser, Owner, Said
from memorybase.features.standing_statements.replacement import Replacements, holding, text_of

MAX_READ = 200  # the newest of an end user; older ones are not in the list

State = Literal["active", "replaced", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingStatementView:
    """A statement that contexts contain."""

    id: Annotated[UUID, Field(description="The UUID of the standing statement.")]
    kind: Annotated[str, Field(description="`instruction` or `preference`.")]
    text: Annotated[str, Field(description="What contexts contain: what was found, or a person's own words.")]
    found: Annotated[str, Field(description="What was found in the message, verbatim.")]
    own_words: Annotated[bool, Field(description="Whether a person wrote the text in the place of what was found.")]
    state: Annotated[
        State,
        Field(
            description="`active`; `replaced` by a later statement that repeats or contradicts it; or `deleted` "
            "by a person."
        ),
    ]
    replaced_by: Annotated[
        UUID | None, Field(description="The UUID of the later statement; null unless it was replaced.")
    ]
    message_id: Annotated[UUID, Field(description="The message that states it.")]
    message_external_id: Annotated[
        str | None, Field(description="The id that the caller chose for the message; null if that is a UUID.")
    ]
    session_id: Annotated[str, Field(description="The session of the message.")]
    seq: Annotated[int, Field(description="The seq of the message.")]
    sender_name: Annotated[str | None, Field(description="The sender of the message; null if unknown.")]
    said_at: Annotated[datetime, Field(description="The timestamp of the message.")]
    changed_by: Annotated[
        str | None, Field(description="The name of the API key that changed it last; null if nobody did.")
    ]
    changed_at: Annotated[datetime | None, Field(description="When it was changed last; null if never.")]
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingView:
    """The standing statements of an end user, or of a session without one, the latest first."""

    flow_id: Annotated[UUID, Field(description="The UUID of the flow.")]
    end_user_id: Annotated[str | None, Field(description="The person; null for a session without one.")]
    session_id: Annotated[str | None, Field(description="The session, if it has no end user; else null.")]
    in_contexts: Annotated[
        bool, Field(description="Whether the flow's contexts contain them unless the call says otherwise.")
    ]
    statements: Annotated[list[StandingStatementView], Field(description="The statements, the latest first.")]


def list_statements(
    services: Services,
    user_id: UUID,
    flow_id: UUID,
    *,
    end_user_id: str | None = None,
    session_id: str | None = None,
    every: bool = False,
) -> StandingView:
    """Statements that hold; with `every` also replaced and deleted ones. A session stands for its end user.

    Raises NotFound, InvalidRequest without an end user and a session, SessionConflict if they disagree.
    """
    if end_user_id is None and session_id is None:
        raise errors.InvalidRequest("Either end_user_id or session_id must be given", field="end_user_id")
    with services.database.reading() as db:
        check_flow(db, user_id, flow_id)
        session = None if session_id is None else require_session(db, flow_id, session_id)
        if session is not None and end_user_id not in {None, session.end_user_id}:
            raise errors.SessionConflict(
                "The session belongs to another end user or to none", field="end_user_id", value=end_user_id
            )
        end_user_id = end_user_id if session is None else session.end_user_id
        said = rows.newest(db, _owner(flow_id, session, end_user_id), limit=MAX_READ)
        in_contexts = rows.adds_to_contexts(db, flow_id)
    held = holding(said)
    return StandingView(
        flow_id=flow_id,
        end_user_id=end_user_id,
        session_id=session_id if end_user_id is None else None,
        in_contexts=in_contexts,
        statements=[_view(said, index, held) for index in (range(len(said)) if every else held.holding)],
    )


def flows_of_end_user(services: Services, user_id: UUID, end_user_id: str) -> list[FlowOfEndUser]:
    """The flows in which statements of an end user were found, by name, and how many, deleted ones too."""
    with services.database.reading() as db:
        return rows.flows_of_end_user(db, user_id, end_user_id)


def check_limits(db: OrmSession, limits: KeyLimits, user_id: UUID, statement_id: UUID) -> None:
    """Whether a limited key may reach the statement: its flow, and its end user. Raises NotFound."""
    found = rows.owner_of(db, user_id, statement_id)
    if found is None or (limits.flow_ids is not None and found.flow_id not in limits.flow_ids):
        raise missing(statement_id)
    limits.check_end_user(found.end_user_id, "standing statement", statement_id)


def edit_statement(
    services: Services, user_id: UUID, statement_id: UUID, text: str | None, *, by: str | None = None
) -> StandingStatementView:
    """Put a person's own words in the place of what was found; None: what was found again. Raises NotFound,
    InvalidRequest."""
    if text is not None:
        text = " ".join(text.split())
        check_text(text, "text")
        if not 1 <= len(text) <= MAX_CHARS:
            raise errors.InvalidRequest(
                f"text must have 1 to {MAX_CHARS} characters (got {len(text)})",
                field="text",
                value=len(text),
                limit=MAX_CHARS,
            )
        with services.database.reading() as db:
            owner_now = rows.owner_of(db, user_id, statement_id)
        if owner_now is not None:
            text = screen(services, user_id, owner_now.flow_id, text, "text")
    with services.database.transaction() as db:
        statement = _lock(db, user_id, statement_id)
        statement.edited = text
        statement.changed_at, statement.changed_by = clock.now(db), by
        db.flush()
        found = rows.one(db, user_id, statement_id)
        if found is None:
            raise missing(statement_id)
        owner = _owner_of(statement)
        said = rows.newest(db, owner, limit=MAX_READ)
    index = next((index for index, each in enumerate(said) if each.id == statement_id), None)
    return _view([found], 0, Replacements([0], {})) if index is None else _view(said, index, holding(said))


def delete_statement(services: Services, user_id: UUID, statement_id: UUID, *, by: str | None = None) -> None:
    """Delete a statement for good: it is not found again, however often its message is read. The message stays. Raises
    NotFound."""
    with services.database.transaction() as db:
        statement = _lock(db, user_id, statement_id)
        statement.deleted_at = statement.changed_at = clock.now(db)
        statement.changed_by = by


def for_context(
    db: OrmSession,
    flow_id: UUID,
    session_id: str,
    end_user_id: str | None,
    *,
    whole_flow: bool,
    query: str | None,
    as_of: datetime | None = None,
) -> list[Said]:
    """The statements for a context, the most useful first: those that share a word with the query, then those without a
    condition, then the rest; a person's own words and later ones before others.

    Without an end user only the session's own; with `whole_flow` those of all sessions without an end user.
    """
    owner = owner_of(db, flow_id, session_id, end_user_id, whole_flow=whole_flow)
    said = [] if owner is None else rows.newest(db, owner, limit=MAX_READ, as_of=as_of)
    return _ranked([said[index] for index in holding(said).holding], query)


def owner_of(
    db: OrmSession, flow_id: UUID, session_id: str, end_user_id: str | None, *, whole_flow: bool
) -> Owner | None:
    """Owner of the statements for a context; None for a session that does not exist."""
    session = None
    if end_user_id is None and not whole_flow:
        session = sessions.fetch_session(db, flow_id, session_id)
        if session is None or session.deleted_at is not None:
            return None
    return _owner(flow_id, session, end_user_id)


def missing(statement_id: UUID) -> errors.NotFound:
    """The error for a statement that does not exist, is deleted, or belongs to somebody else."""
    return not_found("standing statement", statement_id, field="statement_id")


def _ranked(said: Sequence[Said], query: str | None) -> list[Said]:
    asked = set(analyzer("english").terms(query or ""))

    def usefulness(statement: Said) -> tuple[bool, bool, bool]:
        text = text_of(statement)
        shares = not asked.isdisjoint(analyzer("english").terms(text))
        return shares, not is_conditional(text), statement.edited is not None

    return sorted(said, key=usefulness, reverse=True)


def _owner(flow_id: UUID, session: Session | None, end_user_id: str | None) -> Owner:
    return Owner(flow_id, end_user_id, session.id if session is not None and end_user_id is None else None)


def _owner_of(statement: StandingStatement) -> Owner:
    session_uuid = statement.session_uuid if statement.end_user_id is None else None
    return Owner(statement.flow_id, statement.end_user_id, session_uuid)


def _lock(db: OrmSession, user_id: UUID, statement_id: UUID) -> StandingStatement:
    statement = rows.lock(db, user_id, statement_id)
    if statement is None or statement.deleted_at is not None:
        raise missing(statement_id)
    return statement


def _view(said: Sequence[Said], index: int, held: Replacements) -> StandingStatementView:
    each, later = said[index], held.replaced_by.get(index)
    state: State = "deleted" if each.deleted_at is not None else "active" if later is None else "replaced"
    return view_of(
        StandingStatementView,
        each,
        text=text_of(each),
        own_words=each.edited is not None,
        state=state,
        replaced_by=None if later is None else said[later].id,
        warnings=(),
    )
