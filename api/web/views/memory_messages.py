"""A memory's messages: find, mute, pin, delete and restore them; one at a time, many, or all that match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_args
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Form
from fastapi.responses import Response

from api.web.badges import MUTED, SEARCH_STATES, Badge
from api.web.bubbles import summary
from api.web.rendering import address
from api.web.views import message_actions
from api.web.views.memory_frame import memory_page
from api.web.views.message_actions import DONE, Chosen, Reason
from api.web.visits import Visit, Visitor
from memorybase.core import errors
from memorybase.core.database.paging import PageRequest
from memorybase.core.messages import ROLES, is_dialogue, message_text
from memorybase.core.queries.coverage import SearchState
from memorybase.core.queries.messages import MessageQuery, MessageState
from memorybase.core.read_models import memory_bases, sessions, titles
from memorybase.core.read_models.memory_bases import MemoryBaseView
from memorybase.core.read_models.sessions import MessageView
from memorybase.core.sessions import restoring
from memorybase.core.sessions.restoring import DeletedMessageView

router = APIRouter(include_in_schema=False)

PAGE = 50
STEP = 100  # messages of one request of an action on all that match
FIND_LENGTH = 128
STATES = {"": "All", "pinned": "Pinned", "muted": "Muted", "failed": "Not searchable", "deleted": "Recently deleted"}


@dataclass(frozen=True, slots=True)
class Row:
    """A message as the list shows it. `state`: of its vector in this memory; None if it has none, as without text."""

    message: MessageView
    text: str
    state: Badge | None
    is_edited: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter of the address, which a form carries along."""

    q: str = ""
    speaker: str = ""
    state: str = ""

    @classmethod
    def of(cls, given: Any) -> Wanted:
        speaker, state = str(given.get("speaker", "")), str(given.get("state", ""))
        return cls(
            str(given.get("q", "")).strip()[:FIND_LENGTH],
            speaker if speaker in ROLES else "",
            state if state in STATES else "",
        )

    @classmethod
    def of_action(cls, given: Any) -> Wanted:
        """For an action on all that match. Raises InvalidRequest for what `of` leaves out, which would match more."""
        for name, allowed in (("speaker", ROLES), ("state", get_args(MessageState))):
            if (value := str(given.get(name, ""))) and value not in allowed:
                raise errors.InvalidRequest(
                    f"{name} must be one of {', '.join(allowed)}", field=name, value=value[:100], limit=list(allowed)
                )
        if (length := len(str(given.get("q", "")).strip())) > FIND_LENGTH:
            raise errors.InvalidRequest(
                f"q must have at most {FIND_LENGTH} characters", field="q", value=length, limit=FIND_LENGTH
            )
        return cls.of(given)

    @property
    def is_set(self) -> bool:
        return bool(self.q or self.speaker or self.state)

    def path(self, memory_base_id: UUID, **more: Any) -> str:
        """The list with this filter, below /ui."""
        query = {"tab": "messages", "q": self.q, "speaker": self.speaker, "state": self.state, **more}
        return address(f"/memories/{memory_base_id}", **query)

    def query(self, memory_base_id: UUID) -> MessageQuery:
        state = cast("MessageState", self.state) if self.state in get_args(MessageState) else None
        return MessageQuery(
            memory_base_id=memory_base_id, role=self.speaker or None, state=state, find=self.q or None, order="desc"
        )


async def show(visit: Visit, memory: MemoryBaseView) -> Response:
    asked = visit.request.query_params
    wanted = Wanted.of(asked)
    page = PageRequest(size=PAGE, cursor=asked.get("cursor") or None)
    values: dict[str, Any] = {"wanted": wanted, "states": STATES, "roles": ROLES, "first": bool(page.cursor)}
    if wanted.state == "deleted":
        found = await visit.read(restoring.list_deleted, page, memory_base_id=memory.id)
        texts = {each.id: summary(each.content) for each in found.items}
        named = await _titles(visit, memory, found.items)
        return await memory_page(
            visit, "memory_deleted.html", memory, "messages", found=found, texts=texts, titles=named, **values
        )
    listed = await visit.read(sessions.list_messages, wanted.query(memory.id), page)
    failed, edited = await visit.read(sessions.failed_and_edited, memory.id, listed.items)
    rows = [
        Row(each, summary(each.content, each.tool_calls or ()), _state(each, memory, failed), each.id in edited)
        for each in listed.items
    ]
    named = await _titles(visit, memory, listed.items)
    days = visit.services.settings.deleted_retention_days
    return await memory_page(
        visit, "memory_messages.html", memory, "messages", found=listed, rows=rows, days=days, titles=named, **values
    )


async def _titles(
    visit: Visit, memory: MemoryBaseView, listed: Iterable[MessageView | DeletedMessageView]
) -> dict[titles.SessionKey, titles.Titled]:
    return await visit.read(titles.session_titles, {(memory.flow_id, each.session_id) for each in listed})


def _state(message: MessageView, memory: MemoryBaseView, failed: set[UUID]) -> Badge | None:
    dialogue = is_dialogue(message.role, message.status, is_output=message.is_output)
    is_counted = message.is_output if memory.capture == "outputs" else dialogue
    if message.muted:
        return MUTED
    if message.id in failed:
        return SEARCH_STATES[SearchState.FAILED]
    if not message_text(message.content):  # there is nothing to find
        return None
    if message.ingested:
        return SEARCH_STATES[SearchState.SEARCHABLE]
    return SEARCH_STATES[SearchState.WAITING] if is_counted else None


@dataclass(frozen=True, slots=True)
class Step:
    """Of an action on every message that matches: where it goes on, and what was done before."""

    cursor: str | None
    batch: UUID
    done: int
    failed: int


async def _step(
    every: Annotated[bool, Form()] = False,
    cursor: Annotated[str, Form()] = "",
    batch: Annotated[UUID | None, Form()] = None,
    done: Annotated[int, Form()] = 0,
    failed: Annotated[int, Form()] = 0,
) -> Step | None:
    return Step(cursor or None, batch or uuid4(), done, failed) if every else None


@router.post("/memories/{memory_base_id}/messages")
async def act_here(
    visit: Visitor,
    memory_base_id: UUID,
    step: Annotated[Step | None, Depends(_step)],
    action: Annotated[str, Form()],
    ids: Chosen = None,
    reason: Reason = "",
) -> Response:
    """An action on the chosen messages, or on every one that matches: then in steps that follow one another."""
    form = await visit.request.form()
    if step is None:
        return await message_actions.act(visit, action, ids, reason, Wanted.of(form).path(memory_base_id))
    wanted = Wanted.of_action(form)
    memory = await visit.read(memory_bases.get_memory_base, memory_base_id)
    asked = PageRequest(size=STEP, cursor=step.cursor)
    page = await visit.read(sessions.list_messages, wanted.query(memory.id), asked)
    answer = await message_actions.apply(visit, action, [each.id for each in page.items], reason, step.batch)
    passed = 0 if action == "delete" else step.done + step.failed
    values: dict[str, Any] = {
        "memory": memory,
        "wanted": wanted,
        "action": action,
        "word": DONE[action],
        "reason": reason,
        "back": wanted.path(memory_base_id),
        "batch": answer.batch_id,
        "done": step.done + answer.done,
        "failed": step.failed + answer.failed,
        "errors": [each for each in answer.results if each.error],
        "cursor": page.next_cursor or "",
        "left": max(0, page.total - passed - len(page.items)),
    }
    if visit.is_fragment:
        return visit.fragment("memory_messages_step.html", **values)
    return visit.page("memory_messages_all.html", place="memories", title=memory.name, **values)
