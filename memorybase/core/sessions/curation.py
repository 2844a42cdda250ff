"""Correct what is remembered: one action on many messages, its undoing, and the history of one message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, get_args
from uuid import UUID, uuid4

from pydantic import Field

from memorybase.core import errors
from memorybase.core.database.paging import AnyRow, Page, PageRequest, page_of
from memorybase.core.described import ChangedBy, Id, MessageId, WhyChanged
from memorybase.core.ids import CallerId
from memorybase.core.messages import message_text
from memorybase.core.models import Message, MessageChange
from memorybase.core.queries import caller_ids, message_changes, messages
from memorybase.core.queries.message_changes import Attribution, ChangeKind
from memorybase.core.queries.ownership import require
from memorybase.core.read_models.views import view_of
from memorybase.core.services import Services
from memorybase.core.sessions import edits, restoring
from memorybase.core.sessions.difference import Piece, difference
from memorybase.core.validation import check_text

MAX_REASON = 500  # characters
MAX_IDS = 500  # messages of one bulk action
UNDO_PAGE = 100  # changes that one call undoes

Action = Literal["mute", "unmute", "pin", "unpin", "delete", "restore"]
_FLAGS: Mapping[str, dict[str, bool]] = {
    "mute": {"muted": True},
    "unmute": {"muted": False},
    "pin": {"pinned": True},
    "unpin": {"pinned": False},
}
_UNDO: Mapping[str, Action] = {
    "mute": "unmute",
    "unmute": "mute",
    "pin": "unpin",
    "unpin": "pin",
    "delete": "restore",
    "restore": "delete",
}


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Result of an action on one message."""

    id: Annotated[str, Field(description="The id, as it was sent.")]
    message_id: Annotated[UUID | None, Field(description="The message; null if there is none.")]
    done: Annotated[bool, Field(description="Whether it was done.")]
    error: Annotated[dict[str, Any] | None, Field(description="Code and text of the error; null without one.")]
    job_ids: Annotated[list[UUID], Field(description="The repairs that update the knowledge bases.")]


@dataclass(frozen=True, slots=True)
class BulkAnswer:
    """The result for each message, in order."""

    action: Annotated[Action, Field(description="The action.")]
    batch_id: Annotated[UUID, Field(description="Names the changes that were made together; history shows it.")]
    done: Annotated[int, Field(description="For how many messages it was done.")]
    failed: Annotated[int, Field(description="For how many messages it failed.")]
    results: Annotated[list[ActionResult], Field(description="The result for each message, in order.")]


@dataclass(frozen=True, slots=True)
class Undone:
    """Number of changes that were undone and that could not be; `after` continues with the rest, if there is one."""

    done: int
    failed: int
    after: UUID | None


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One change of a message."""

    id: Id
    message_id: MessageId
    action: Annotated[
        ChangeKind, Field(description="What was done: `edit`, `mute`, `unmute`, `pin`, `unpin`, `delete` or `restore`.")
    ]
    at: Annotated[datetime, Field(description="When.")]
    by: ChangedBy
    reason: WhyChanged
    version: Annotated[int, Field(description="The message's version after the change.")]
    former: Annotated[
        dict[str, Any] | None,
        Field(description="The fields that an edit replaced, as they were; null of other changes."),
    ]
    difference: Annotated[
        list[Piece] | None,
        Field(description="What an edit did to the text, in reading order; null if it changed no text."),
    ]
    batch_id: Annotated[
        UUID | None, Field(description="The same for changes that were made together; null if it was made alone.")
    ]


def check_reason(reason: str | None) -> str | None:
    """The reason without surrounding blanks, None if nothing is left. Raises InvalidRequest."""
    if reason is None:
        return None
    check_text(reason, "reason")
    if len(reason) > MAX_REASON:
        raise errors.InvalidRequest(
            f"reason must have at most {MAX_REASON} characters (got {len(reason)})",
            field="reason",
            value=len(reason),
            limit=MAX_REASON,
        )
    return reason.strip() or None


def act(
    services: Services,
    user_id: UUID,
    action: Action,
    ids: Sequence[CallerId | UUID],
    attribution: Attribution,
    *,
    flow_id: UUID | None = None,
) -> BulkAnswer:
    """Apply one action to each message, each in its own transaction: one that fails does not stop the others. Raises
    InvalidRequest for an unknown action or too many ids, EnvironmentFailure for an outage."""
    if action not in get_args(Action):
        raise errors.InvalidRequest(f"action must be one of {', '.join(get_args(Action))}", field="action")
    if len(ids) > MAX_IDS:
        raise errors.InvalidRequest(
            f"ids must have at most {MAX_IDS} items (got {len(ids)})", field="ids", value=len(ids), limit=MAX_IDS
        )
    attribution = replace(attribution, batch_id=attribution.batch_id or uuid4())
    results = [_result(services, user_id, action, each, attribution, flow_id) for each in dict.fromkeys(ids)]
    done = sum(result.done for result in results)
    if attribution.batch_id is None:
        raise AssertionError("the batch has an id")
    return BulkAnswer(action, attribution.batch_id, done, len(results) - done, results)


def _result(
    services: Services,
    user_id: UUID,
    action: Action,
    given: CallerId | UUID,
    attribution: Attribution,
    flow_id: UUID | None,
) -> ActionResult:
    sent = str(given) if isinstance(given, UUID) else str(given.sent)
    message_id = given if isinstance(given, UUID) else None
    try:
        if isinstance(given, CallerId):
            find = restoring.find_deleted if action == "restore" else caller_ids.find
            message_id = find(services, given, flow_id)
        jobs = _done(services, user_id, action, _known(message_id), attribution)
    except errors.EnvironmentFailure:
        raise
    except errors.MemorybaseError as error:
        return ActionResult(
            sent, message_id, done=False, error={"code": error.code, "message": error.message}, job_ids=[]
        )
    return ActionResult(sent, message_id, done=True, error=None, job_ids=jobs)


def _known(message_id: UUID | None) -> UUID:
    if message_id is None:
        raise AssertionError("the id was resolved")
    return message_id


def _done(services: Services, user_id: UUID, action: Action, message_id: UUID, attribution: Attribution) -> list[UUID]:
    if action == "delete":
        return edits.delete_message(services, user_id, message_id, attribution).job_ids
    if action == "restore":
        return restoring.restore_message(services, user_id, message_id, attribution)
    return edits.edit_message(services, user_id, message_id, _FLAGS[action], attribution)


def undo(
    services: Services, user_id: UUID, batch_id: UUID, attribution: Attribution, *, after: UUID | None = None
) -> Undone:
    """Undo the next changes of a batch: the opposite action, or the former fields of an edit. A message whose later
    changes contradict stays as it is and counts as failed."""
    with services.database.reading() as db:
        changes = message_changes.of_batch(db, user_id, batch_id, after=after, limit=UNDO_PAGE)
    done = 0
    for change in changes:
        try:
            _undo_one(services, user_id, change, attribution)
            done += 1
        except errors.EnvironmentFailure:
            raise
        except errors.MemorybaseError:
            continue
    rest = changes[-1].id if len(changes) == UNDO_PAGE else None
    return Undone(done, len(changes) - done, rest)


def _undo_one(services: Services, user_id: UUID, change: MessageChange, attribution: Attribution) -> None:
    if change.action == "edit":
        former = {name: value for name, value in (change.former or {}).items() if name in edits.EDITABLE}
        edits.edit_message(services, user_id, change.message_id, former, attribution)
    else:
        _done(services, user_id, _UNDO[change.action], change.message_id, attribution)


def history(services: Services, user_id: UUID, message_id: UUID, request: PageRequest) -> Page[ChangeView]:
    """The changes of a message, newest first. Raises NotFound."""
    with services.database.reading() as db:
        message = require(messages.fetch_message(db, user_id, message_id), "message", message_id)
        found = message_changes.page(db, message.flow_id, message_id, request)
        contents = _contents_after(
            message, found.rows, lambda number: message_changes.edits_after(db, message.flow_id, message_id, number)
        )
        return page_of(found, lambda row: _view(row.MessageChange, contents.get(row.MessageChange.id)))


def _contents_after(
    message: Message, rows: Sequence[AnyRow], edits_after: Callable[[int], Sequence[MessageChange]]
) -> dict[UUID, Any]:
    """The content after each edit of a page, newest first: what the next edit of the content replaced, else today's."""
    changed = [row.MessageChange for row in rows if "content" in (row.MessageChange.former or {})]
    if not changed:
        return {}
    later = next((each for each in edits_after(changed[0].number) if "content" in (each.former or {})), None)
    content = message.content if later is None or later.former is None else later.former["content"]
    contents: dict[UUID, Any] = {}
    for change in changed:
        contents[change.id] = content
        content = change.former["content"]
    return contents


def _view(change: MessageChange, content: Any) -> ChangeView:
    pieces = None
    if change.former is not None and "content" in change.former:
        pieces = difference(message_text(change.former["content"]), message_text(content))
    return view_of(ChangeView, change, difference=pieces)
