"""Flows, sessions and messages as the API shows them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.auth.limits import KeyLimits
from memorybase.core.caveats import Redacted
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import (
    FLOW_SECRETS,
    Content,
    CreatedAt,
    EndUserId,
    ExternalId,
    FlowId,
    Id,
    Metadata,
    RunId,
    SenderName,
    Seq,
    SessionId,
    SpeakerRole,
    WrittenAt,
)
from memorybase.core.ids import CallerId
from memorybase.core.keyword_index import analyzer
from memorybase.core.models import Flow, MemoryBase, Message, Session
from memorybase.core.queries import caller_ids, memory_base_lists, message_changes, runs, session_lists
from memorybase.core.queries import end_users as end_user_queries
from memorybase.core.queries import flows as flow_queries
from memorybase.core.queries import keyword_index as postings
from memorybase.core.queries import messages as message_queries
from memorybase.core.queries.coverage import RANKED, SearchState
from memorybase.core.queries.messages import MessagePosition, MessageQuery
from memorybase.core.queries.ownership import require, require_flow, require_memory_base, resolve_flow
from memorybase.core.queries.session_lists import SessionFilter
from memorybase.core.queries.text_filter import TextFilter, flows_to_filter, rarest_positions, read_filter
from memorybase.core.read_models.titles import session_title, session_titles, title_of
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.settings import SecretRule

MAX_WORDS = 6  # of the text filter
OF_EACH = 5  # of each kind that is named like a text
LEAST = 3  # characters: a shorter text is in most of the sessions, and each keystroke asks


@dataclass(frozen=True, slots=True)
class FlowView:
    """A flow."""

    id: Annotated[UUID, Field(description="The UUID of the flow.")]
    external_id: ExternalId
    name: Annotated[str, Field(description="The name, for people.")]
    created_at: CreatedAt
    retain_days: Annotated[int | None, Field(description="Days until what was captured is deleted; null: it is kept.")]
    standing: Annotated[
        bool,
        Field(
            description="Whether contexts contain the end user's standing statements unless the call says otherwise."
        ),
    ]
    secrets: Annotated[SecretRule | None, Field(description=FLOW_SECRETS)]
    time_zone: Annotated[
        str, Field(description="IANA name of the zone whose days queries and contexts mean, unless the call says one.")
    ]


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session of a flow."""

    id: Annotated[UUID, Field(description="The UUID of the session.")]
    flow_id: FlowId
    session_id: SessionId
    end_user_id: EndUserId
    title: Annotated[
        str | None,
        Field(description="`title` of its metadata, else the beginning of its first question; null without either."),
    ]
    messages: Annotated[int, Field(description="Number of messages.")]
    state: Annotated[
        SearchState,
        Field(
            description="The worst state of its messages in the flow's memory bases. One that is off counts only if "
            "no other one of the flow is on."
        ),
    ]
    metadata: Metadata
    created_at: CreatedAt
    last_captured_at: Annotated[datetime, Field(description="When a message was last captured.")]
    expires_at: Annotated[
        datetime | None,
        Field(
            description="When everything that was captured until then is deleted; null: only by the rule of its flow."
        ),
    ]
    warnings: Redacted = ()


@dataclass(frozen=True, slots=True)
class MessageView:
    """A stored message. `ingested` is present if the request named a memory base."""

    id: Id
    external_id: ExternalId
    flow_id: FlowId
    session_id: SessionId
    run_id: RunId
    end_user_id: EndUserId
    seq: Seq
    role: SpeakerRole
    is_output: Annotated[bool, Field(description="Whether the message is an output of the flow.")]
    content: Content
    tool_calls: Annotated[list[Any] | None, Field(description="Calls of tools by the model, in OpenAI's format.")]
    tool_call_id: Annotated[str | None, Field(description="The tool call that this message answers.")]
    name: Annotated[str | None, Field(description="The name of the speaker or the tool, as in OpenAI's format.")]
    sender_name: SenderName
    parent_message_id: Annotated[
        UUID | None,
        Field(description="The message that this one follows; null if it was not named or begins a thread."),
    ]
    files: Annotated[list[Any], Field(description="Files of the message, as they were sent.")]
    metadata: Metadata
    status: Annotated[str, Field(description="Whether the message is complete: `completed`, `failed` or `stopped`.")]
    version: Annotated[int, Field(description="Number of the version, from 1; each edit adds one.")]
    timestamp: WrittenAt
    captured_at: Annotated[datetime, Field(description="When the message was stored.")]
    edited_at: Annotated[datetime | None, Field(description="When the message was last edited; null if never.")]
    muted: Annotated[bool, Field(description="Whether no search recalls it; its conversation still shows it.")]
    pinned: Annotated[bool, Field(description="Whether searches return it first where it is relevant.")]
    ingested: Annotated[
        bool | None,
        Field(exclude_if=lambda value: value is None),
        Field(description="Whether the memory base that the request named holds this version."),
    ] = None


def list_flows(
    services: Services, user_id: UUID, request: PageRequest, limits: KeyLimits | None = None
) -> Page[FlowView]:
    """Oldest first. With limits their flows, or else those with sessions of their end user."""
    only = None if limits is None else limits.flow_ids
    end_user_id = limits.end_user_id if limits is not None and only is None else None
    with services.database.reading(on_replica=True) as db:
        found = flow_queries.flows_page(db, user_id, request, only=only, end_user_id=end_user_id)
        return page_of(found, lambda row: flow_view(row.Flow))


def get_flow(services: Services, user_id: UUID, flow_id: UUID) -> FlowView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return flow_view(require_flow(db, user_id, flow_id))


def get_flows(services: Services, user_id: UUID, flow_ids: Collection[UUID]) -> dict[UUID, FlowView]:
    """The flows of one page by id, without those that no longer exist."""
    with services.database.reading() as db:
        return {flow.id: flow_view(flow) for flow in flow_queries.flows_by_id(db, user_id, flow_ids)}


def list_sessions(services: Services, user_id: UUID, wanted: SessionFilter, request: PageRequest) -> Page[SessionView]:
    """Raises NotFound for the flow, InvalidRequest."""
    with services.database.reading(on_replica=True) as db:
        if wanted.flow_id is not None:
            require_flow(db, user_id, wanted.flow_id)
        text = text_filter(services, db, user_id, wanted.flow_id, wanted.text)
        found = session_lists.sessions_page(db, user_id, wanted, text, request)
        rows = session_lists.sessions_of_ids(db, [row.id for row in found.rows])
        return page_of(found, lambda row: _session(rows[row.id]))


def text_filter(
    services: Services, db: OrmSession, user_id: UUID, flow_id: UUID | None, text: str | None
) -> TextFilter | None:
    """The filter of a list for this text; None without one."""
    if text is None or not text.strip():
        return None
    text = text.strip()
    flows = [flow_id] if flow_id is not None else flows_to_filter(db, user_id)
    words = analyzer.analyzer(services.settings.keyword_language)
    asked = words.asked(text, partial(postings.languages_of, db, flows))
    terms = asked.terms[:MAX_WORDS]
    keys = [(flow, tuple(analyzer.term_keys(flow, term, asked) for term in terms)) for flow in flows]
    return read_filter(db, user_id, flow_id, text, keys)


def states_of(
    services: Services, user_id: UUID, chosen: Collection[tuple[UUID, str]]
) -> list[tuple[UUID, str, SearchState | None]]:
    """(flow, session id, state) of each, in the given order; without a state it does not exist."""
    with services.database.reading(on_replica=True) as db:
        found = {
            flow_id: session_lists.states_of(db, user_id, flow_id, [name for flow, name in chosen if flow == flow_id])
            for flow_id in {flow for flow, _ in chosen}
        }
    return [
        (flow_id, name, RANKED[found[flow_id][name]] if name in found[flow_id] else None) for flow_id, name in chosen
    ]


def get_session(services: Services, user_id: UUID, flow_id: UUID, session_id: str) -> SessionView:
    """Raises NotFound."""
    with services.database.reading() as db:
        require_flow(db, user_id, flow_id)
        return _session(require(session_lists.fetch_session_view(db, flow_id, session_id), "session", session_id))


def list_messages(services: Services, user_id: UUID, query: MessageQuery, request: PageRequest) -> Page[MessageView]:
    """By seq within one session, by time of capture across sessions; raises NotFound and InvalidRequest."""
    with services.database.reading(on_replica=True) as db:
        query, base = _resolved(db, services, user_id, query)
        return page_of(message_queries.messages_page(db, user_id, query, base, request), message_view)


def get_message(services: Services, user_id: UUID, message_id: UUID) -> MessageView:
    """Raises NotFound."""
    with services.database.reading() as db:
        return message_view(require(message_queries.fetch_message_view(db, user_id, message_id), "message", message_id))


def find_message(services: Services, user_id: UUID, flow_id: UUID, given: CallerId) -> MessageView:
    """The flow's message by an id that its caller chose. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        message_id = caller_ids.locate(db, given, flow_id)
        return message_view(require(message_queries.fetch_message_view(db, user_id, message_id), "message", message_id))


def failed_and_edited(
    services: Services, user_id: UUID, base_id: UUID, messages: Sequence[MessageView]
) -> tuple[set[UUID], set[UUID]]:
    """The messages among these that the memory base could not embed in their version, and those with another text than
    was captured. Raises NotFound."""
    with services.database.reading(on_replica=True) as db:
        base = require_memory_base(db, user_id, base_id)
        changed = {each.id: each.content for each in messages if each.edited_at is not None}
        edited = message_changes.edited_since(db, base.flow_id, changed)
        return message_queries.failed_among(db, base, [each.id for each in messages]), edited


def message_view(row: AnyRow) -> MessageView:
    """The view of a row with Message, end_user_id and ingested."""
    message: Message = row.Message
    ingested = None if row.ingested is None else bool(row.ingested)
    return view_of(MessageView, message, row, metadata=message.meta, ingested=ingested)


def _resolved(
    db: OrmSession, services: Services, user_id: UUID, query: MessageQuery
) -> tuple[MessageQuery, MemoryBase | None]:
    """The query, with the flow that other fields imply, and its memory base. Raises NotFound for ids of others."""
    flow_id, base = resolve_flow(db, user_id, query.flow_id, query.memory_base_id)
    if base is None and (query.ingested is not None or query.state == "failed"):
        name = "ingested" if query.ingested is not None else "state"
        raise errors.InvalidRequest(f"{name} requires memory_base_id", field=name)
    if query.find is not None and flow_id is None:
        raise errors.InvalidRequest("find requires flow_id or memory_base_id", field="find")
    run_id = query.run_id
    if isinstance(run_id, CallerId):
        run_id = caller_ids.locate(db, run_id, flow_id)
    elif run_id is not None:
        require(runs.fetch_run_of_user(db, user_id, run_id), "run", run_id)
    if flow_id is None and query.session_id is not None:
        flows = session_lists.flows_with_session(db, user_id, query.session_id)
        flow_id = flows[0] if len(flows) == 1 else None
    before = _position(db, query, flow_id, "before_message_id")
    after = _position(db, query, flow_id, "after_message_id")
    keys, rarest = None, None
    if query.find is not None and flow_id is not None:
        words = analyzer.analyzer(services.settings.keyword_language)
        asked = words.asked(query.find, partial(postings.languages_of, db, [flow_id]))
        keys = tuple(analyzer.term_keys(flow_id, term, asked) for term in asked.terms)
        rarest = rarest_positions(db, [(flow_id, keys)])
    found = replace(query, flow_id=flow_id, run_id=run_id, find_keys=keys, find_positions=rarest)
    return replace(found, before=before, after=after), base


def _position(db: OrmSession, query: MessageQuery, flow_id: UUID | None, name: str) -> MessagePosition | None:
    """Where the message stands that this field names. Raises NotFound if it is not among those of the query."""
    given: CallerId | None = getattr(query, name)
    if given is None:
        return None
    message_id = caller_ids.locate(db, given, flow_id, field=name)
    position = message_queries.fetch_position(
        db, message_id, session_id=query.session_id, end_user_id=query.end_user_id
    )
    return require(position, "message", given.sent, field=name)


def flow_view(flow: Flow) -> FlowView:
    return view_of(FlowView, flow)


def _session(row: AnyRow) -> SessionView:
    session: Session = row.Session
    return view_of(
        SessionView,
        session,
        row,
        title=session_title(session, row.question),
        state=RANKED[row.state],
        metadata=session.meta,
        warnings=(),
    )


@dataclass(frozen=True, slots=True)
class Named:
    """An object with a name like a text. `name`: what a session is called. `id`: the caller's id of a session or a
    person, else a UUID. `flow_id` is None for a person. `written_at`: of a session's newest message."""

    kind: Literal["flow", "memory", "session", "person"]
    name: str
    id: str
    flow_id: UUID | None
    written_at: datetime | None = None


def find_named(services: Services, user_id: UUID, text: str) -> list[Named]:
    """At most five of each kind; nothing for an empty text. Flows and memory bases by a part of their name, people by
    their whole id; sessions whose whole id the text is, then those that the filter of their list finds, if the text has
    LEAST characters, latest capture first. Objects with a planned deletion are left out."""
    if not text.strip():
        return []
    with services.database.reading(on_replica=True) as db:
        called = flow_queries.flows_called(db, user_id, text, limit=OF_EACH)
        named = [Named("flow", name, str(id_), id_) for id_, name in called]
        memories = memory_base_lists.bases_called(db, user_id, text, limit=OF_EACH)
        named += [Named("memory", name, str(id_), flow_id) for id_, name, flow_id in memories]
        exact = session_lists.sessions_of_id(db, user_id, text, limit=OF_EACH)
        is_person = end_user_queries.has_session(db, user_id, text)
    listed: list[tuple[UUID, str]] = []
    if len(text.strip()) >= LEAST:
        wanted = SessionFilter(text=text, order="recent", without_planned=True)
        page = list_sessions(services, user_id, wanted, PageRequest(size=OF_EACH))
        listed = [(each.flow_id, each.session_id) for each in page.items]
    keys = list(dict.fromkeys([*exact, *listed]))[:OF_EACH]
    titles = session_titles(services, user_id, keys)
    for key in keys:
        titled = titles.get(key)
        named.append(Named("session", title_of(titles, *key), key[1], key[0], titled.written_at if titled else None))
    return [*named, Named("person", text, text, None)] if is_person else named
