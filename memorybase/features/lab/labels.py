"""Labels: people say which found messages are right or wrong for a question; `memorybase evaluate --labels` reads their
export."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any
from uuid import UUID, uuid4

from pydantic import Field
from sqlalchemy.orm import Session as OrmSession

from memorybase.core import errors
from memorybase.core.caveats import Redacted
from memorybase.core.database import clock, engine
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import FlowId, Id, MessageId
from memorybase.core.ids import CallerId
from memorybase.core.messages import check_json
from memorybase.core.models import Message
from memorybase.core.queries import caller_ids
from memorybase.core.queries.ownership import check_flow, not_found, require, require_memory_base
from memorybase.core.queries.sessions import SessionRow
from memorybase.core.read_models.views import view_of
from memorybase.core.screening import comparable, screen
from memorybase.core.services import Services
from memorybase.core.validation import check_text
from memorybase.core.vectors.search import cut_query
from memorybase.features.lab import queries

MAX_SETTINGS_CHARS = 8_000  # as JSON
MAX_EXPORTED = 50_000  # labels of one flow
MAX_OF_QUESTION = 100  # right messages and wrong ones of one question in an export, each


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A judgement. `session_id` and `end_user_id`: the question was asked of this session or person only."""

    message_id: CallerId
    query: str
    right: bool
    flow_id: UUID | None = None
    session_id: str | None = None
    end_user_id: str | None = None
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LabelView:
    """A message marked as right or wrong for a question."""

    id: Id
    flow_id: FlowId
    message_id: MessageId
    message_external_id: Annotated[
        str | None, Field(description="The message's id that the caller chose; null if that is a UUID.")
    ]
    message_version: Annotated[int, Field(description="The version of the message that was judged.")]
    current_version: Annotated[int, Field(description="The version of the message now.")]
    query: Annotated[str, Field(description="The question, as it was searched.")]
    session_id: Annotated[str | None, Field(description="The question was asked of this session only; null: of all.")]
    end_user_id: Annotated[
        str | None, Field(description="The question was asked of this end user's sessions only; null: of all.")
    ]
    settings: Annotated[
        dict[str, Any], Field(description="Settings of the search that found the message: any JSON object.")
    ]
    right: Annotated[bool, Field(description="Whether the message answers the question.")]
    marked_by: Annotated[str | None, Field(description="The name of the API key; null if it was deleted.")]
    marked_at: Annotated[datetime, Field(description="When it was marked.")]
    warnings: Redacted = ()


def mark(services: Services, user_id: UUID, key_id: UUID | None, wanted: Mark) -> LabelView:
    """Label a message for a question; a second label of the same pair replaces the first.

    Raises NotFound, AmbiguousId, InvalidRequest.
    """
    wanted = replace(wanted, query=cut_query(wanted.query))
    _check(wanted)
    with services.database.reading() as db:
        flow_id = _message(db, wanted).flow_id
    asked = comparable(services, wanted.query)
    stored = screen(services, user_id, flow_id, {"query": wanted.query, "settings": dict(wanted.settings or {})})
    with services.database.transaction() as db:
        message = _message(db, wanted)
        values = {
            "id": uuid4(),
            "user_id": user_id,
            "flow_id": message.flow_id,
            "message_id": message.id,
            "message_version": message.version,
            "question_key": question_key(message.flow_id, asked, wanted.session_id, wanted.end_user_id),
            "question": stored["query"],
            "session_id": wanted.session_id,
            "end_user_id": wanted.end_user_id,
            "settings": stored["settings"],
            "right": wanted.right,
            "marked_by": key_id,
        }
        label_id = queries.put_label(db, values, clock.now(db))
        engine.created(db, label_id=label_id)
        row = queries.label_row(db, user_id, label_id)
        if row is None:
            raise not_found("label", label_id)
        return _view(row)


def _message(db: OrmSession, wanted: Mark) -> Message:
    message_id = caller_ids.locate(db, wanted.message_id, wanted.flow_id)
    return require(db.get(Message, message_id), "message", message_id)  # it may be deleted meanwhile


def question_key(flow_id: UUID, query: str, session_id: str | None, end_user_id: str | None) -> bytes:
    """The key that all labels of one question share, which is asked without its secrets."""
    return hashlib.sha256(json.dumps([str(flow_id), query, session_id, end_user_id]).encode()).digest()


def list_labels(
    services: Services, user_id: UUID, request: PageRequest, *, flow_id: UUID | None = None, right: bool | None = None
) -> Page[LabelView]:
    """Newest first. Raises NotFound."""
    with services.database.reading() as db:
        if flow_id is not None:
            check_flow(db, user_id, flow_id)
        return page_of(queries.labels_page(db, user_id, flow_id=flow_id, right=right, request=request), _view)


def marks_of(
    services: Services,
    user_id: UUID,
    flow_ids: Collection[UUID],
    query: str,
    message_ids: Collection[UUID],
    *,
    session_id: str | None = None,
    end_user_id: str | None = None,
) -> dict[UUID, tuple[UUID, bool]]:
    """By message: its label for this question, and whether it says right."""
    asked = comparable(services, query)
    keys = [question_key(flow_id, asked, session_id, end_user_id) for flow_id in flow_ids]
    with services.database.reading() as db:
        return queries.marks(db, user_id, keys, message_ids)


def remove_label(services: Services, user_id: UUID, label_id: UUID) -> None:
    """Raises NotFound."""
    with services.database.transaction() as db:
        if not queries.delete_label(db, user_id, label_id):
            raise not_found("label", label_id)


def follow_rename(db: OrmSession, services: Services, session: SessionRow, former_id: str) -> None:
    """Let the questions that were asked of a session alone have its new id. A label of that id, which no session had,
    gives way."""
    for former_key, question, end_user_id in queries.questions_of_session(db, session.flow_id, former_id):
        asked = comparable(services, question)
        key = question_key(session.flow_id, asked, session.session_id, end_user_id)
        queries.move_question(db, session.flow_id, former_key, key, session.session_id)


def export_labels(
    services: Services, user_id: UUID, *, flow_id: UUID | None = None, memory_base_id: UUID | None = None
) -> str:
    """The labels of a flow, or of a memory base's flow, as questions in JSON lines: `evidence` has the right messages,
    `wrong` the others. Raises NotFound, InvalidRequest."""
    if (flow_id is None) == (memory_base_id is None):
        raise errors.InvalidRequest("Either flow_id or memory_base_id must be given", field="flow_id")
    with services.database.reading() as db:
        if flow_id is not None:
            check_flow(db, user_id, flow_id)
        elif memory_base_id is not None:
            flow_id = require_memory_base(db, user_id, memory_base_id).flow_id
        rows = queries.labels_of_questions(db, flow_id, limit=MAX_EXPORTED)
    questions = (list(of_question) for _, of_question in groupby(rows, key=lambda row: row.question_key))
    return "".join(json.dumps(_question(of_question), ensure_ascii=False) + "\n" for of_question in questions)


def _question(rows: list[AnyRow]) -> dict[str, Any]:
    first = rows[0]
    filters = {"session_id": first.session_id, "end_user_id": first.end_user_id}
    judged = {
        name: [str(row.message_id) for row in rows if row.right == right][:MAX_OF_QUESTION]
        for name, right in (("evidence", True), ("wrong", False))
    }
    return {"question": first.question, **judged, **{name: value for name, value in filters.items() if value}}


def _check(wanted: Mark) -> None:
    if not wanted.query.strip():
        raise errors.InvalidRequest("query must not be empty", field="query")
    check_text(wanted.query, "query")
    for name in ("session_id", "end_user_id"):
        value = getattr(wanted, name)
        if value is not None:
            check_text(value, name)
    if wanted.settings is not None:
        check_json(wanted.settings, "settings")
        size = len(json.dumps(wanted.settings))
        if size > MAX_SETTINGS_CHARS:
            raise errors.InvalidRequest(
                f"settings must have at most {MAX_SETTINGS_CHARS} characters as JSON (got {size})",
                field="settings",
                value=size,
                limit=MAX_SETTINGS_CHARS,
            )


def _view(row: AnyRow) -> LabelView:
    label = row.SearchLabel
    return view_of(
        LabelView,
        label,
        message_external_id=row.external_id,
        current_version=row.version,
        query=label.question,
        marked_by=row.key_name,
        warnings=(),
    )
