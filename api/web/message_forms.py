"""Dialogs that edit and delete messages and delete sessions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.forms import buttons, dialog, result_of
from api.web.message_view import TEXT_TYPES
from api.web.visits import Visit
from memorybase import messages
from memorybase.database.paging import PageRequest
from memorybase.read_models import memory_bases
from memorybase.read_models.sessions import MessageView, SessionView
from memorybase.sessions import edits
from memorybase.sessions.edits import Erasure


async def edit(visit: Visit, message: MessageView) -> list[UUID] | None:
    """Edit a message's text. Returns the ids of the repair jobs, or None if nothing changed."""
    repairs = await _repairs_hint(visit, message.flow_id, "re-embeds the message if it was ingested")
    with dialog(f"Edit message {message.seq}") as form:
        fields = [_textarea(name, text) for name, text in _texts(message.content)]
        parts.hint(
            f"Edits are permanent and searchable at once. {repairs} Summaries that cover the message are regenerated; "
            "recorded model inputs do not change. Only text can be edited, not tool calls, files or other parts."
        )

        async def submit() -> None:
            changed = _with_texts(message.content, [str(field.value or "") for field in fields])

            async def work() -> list[UUID]:
                if changed == message.content:
                    return []
                limit = visit.services.settings.max_message_bytes
                changes = messages.normalise_changes({"content": changed}, max_message_bytes=limit)
                return await visit.write(edits.edit_message, message.id, changes)

            jobs = await parts.attempt(work())
            if jobs is not None:
                form.submit(jobs if changed != message.content else None)

        buttons(form, "Save", submit)
    return await result_of(form, list)


async def delete(visit: Visit, message: MessageView) -> list[UUID] | None:
    """Delete a message after confirmation. Returns the ids of the repair jobs, or None if it was not deleted."""
    repairs = await _repairs_hint(visit, message.flow_id, "removes the message from the knowledge base")
    confirmed = await parts.confirm(
        f"Delete message {message.seq}?",
        f"This is permanent, and search stops finding the message at once. Sending it again does not restore it. "
        f"{repairs} Its text is removed from summaries and recorded contexts.",
        action="Delete",
    )
    return await parts.attempt(visit.write(edits.delete_message, message.id)) if confirmed else None


async def delete_session(visit: Visit, session: SessionView) -> Erasure | None:
    """Delete a session after its id is typed. Returns the receipt, or None if it was not deleted."""
    confirmed = await parts.confirm(
        f"Delete session {session.session_id}?",
        f"This permanently deletes its {parts.plural(session.messages, 'message')}, runs, summaries and recorded "
        "contexts. Search stops finding them at once; repair jobs update the knowledge bases.",
        action="Delete",
        typed=session.session_id,
    )
    if not confirmed:
        return None
    return await parts.attempt(visit.write(edits.delete_session, session.flow_id, session.session_id))


def receipt(erasure: Erasure) -> str:
    """What a deletion removed, as text."""
    counts = (
        parts.plural(erasure.messages, "message"),
        parts.plural(erasure.runs, "run"),
        parts.plural(erasure.summaries, "summary", "summaries"),
        parts.plural(erasure.memory_uses + erasure.node_executions, "context"),
    )
    text = f"Deleted {', '.join(counts)}."
    if not erasure.chunks:
        return text
    chunks = parts.plural(erasure.chunks, "chunk")
    return f"{text} {parts.plural(erasure.pending_repairs, 'repair')} will remove {chunks} from the knowledge bases."


async def _repairs_hint(visit: Visit, flow_id: UUID, what: str) -> str:
    """What the repair jobs of the flow's memories will do, as a sentence."""
    count = (await visit.read(memory_bases.list_memory_bases, PageRequest(size=1), flow_id=flow_id)).total
    if count == 0:
        return "No memory needs an update."
    where = "the flow's memory" if count == 1 else f"each of the flow's {count:,} memories"
    return f"A repair job in {where} {what}."


def _textarea(name: str, text: str) -> ui.textarea:
    return ui.textarea(name, value=text).props("outlined autogrow autofocus input-class=tall-input")


def _texts(content: Any) -> list[tuple[str, str]]:
    """The editable texts of a content, each with a label."""
    if not isinstance(content, list):
        return [("Text", content or "")]
    indices = _text_indices(content)
    return [(f"Text {number}" if len(indices) > 1 else "Text", content[index]["text"])
            for number, index in enumerate(indices, start=1)] or [("Text to add", "")]  # fmt: skip


def _with_texts(content: Any, texts: list[str]) -> Any:
    """The content with its texts replaced."""
    if not isinstance(content, list):
        return texts[0] if texts[0] or content is not None else None
    changed = [dict(part) for part in content]
    indices = _text_indices(content)
    for index, text in zip(indices, texts, strict=False):
        changed[index]["text"] = text
    if not indices and texts[0]:
        changed.append({"type": "text", "text": texts[0]})
    return changed


def _text_indices(content: list[Any]) -> list[int]:
    return [index for index, part in enumerate(content) if part.get("type") in TEXT_TYPES]
