"""Changing and deleting messages and sessions, in dialogs that say what follows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.forms import asked, dialog, ways
from api.web.saying import TEXT_TYPES
from api.web.visits import Visit
from memorybase import messages
from memorybase.database.paging import PageRequest
from memorybase.read_models import memory_bases
from memorybase.read_models.sessions import MessageView, SessionView
from memorybase.sessions import edits
from memorybase.sessions.edits import Erasure


async def edit(visit: Visit, message: MessageView) -> list[UUID] | None:
    """Ask for other words and store them; the repairs that follow, or None when nothing was changed."""
    follows = await _followers(visit, message.flow_id, "a repair, which embeds it again where it was ingested")
    with dialog(f"Edit message {message.seq}") as opened:
        fields = [_field(name, words) for name, words in _texts(message.content)]
        ui.label(
            f"The old words are kept nowhere; searches know the new ones at once. {follows} A summary that covers the "
            "message is made anew; what models were given before stays. Only text is edited: other parts, tool calls "
            "and files stay."
        ).classes("quiet")

        async def save() -> None:
            changed = _with_texts(message.content, [str(field.value or "") for field in fields])

            async def work() -> list[UUID]:
                if changed == message.content:
                    return []
                limit = visit.services.settings.max_message_bytes
                changes = messages.normalise_changes({"content": changed}, max_message_bytes=limit)
                return await visit.act(edits.edit_message, message.id, changes)

            jobs = await parts.attempt(work())
            if jobs is not None:
                opened.submit(jobs if changed != message.content else None)

        ways(opened, "Save", save)
    return await asked(opened, list)


async def delete(visit: Visit, message: MessageView) -> list[UUID] | None:
    """Delete a message once that is wanted; the repairs that follow, or None when it stays."""
    follows = await _followers(visit, message.flow_id, "a repair, which removes it from the knowledge base")
    sure = await parts.confirm(
        f"Delete message {message.seq}?",
        f"It is deleted for good, and sending it again does not bring it back. No search shows it from then on. "
        f"{follows} Its words are taken out of summaries and of the contexts that models were given or gave.",
        action="Delete",
    )
    return await parts.attempt(visit.act(edits.delete_message, message.id)) if sure else None


async def delete_session(visit: Visit, session: SessionView) -> Erasure | None:
    """Delete a session once its id has been typed; the receipt, or None when it stays."""
    sure = await parts.confirm(
        f"Delete session {session.session_id}?",
        f"Its {parts.plural(session.messages, 'message')}, its runs, its summaries and the contexts that its models "
        "were given and gave are deleted for good. No search shows anything of it from then on; the knowledge bases "
        "follow in repairs.",
        action="Delete",
        typed=session.session_id,
    )
    if not sure:
        return None
    return await parts.attempt(visit.act(edits.delete_session, session.flow_id, session.session_id))


def receipt(gone: Erasure) -> str:
    """What was deleted, in words."""
    counted = (
        parts.plural(gone.messages, "message"),
        parts.plural(gone.runs, "run"),
        parts.plural(gone.summaries, "summary", "summaries"),
        parts.plural(gone.memory_uses + gone.node_executions, "context"),
    )
    repairs = f"{parts.plural(gone.pending_repairs, 'repair')} {_takes(gone.pending_repairs)}"
    said = f"{', '.join(counted)} are gone."
    return f"{said} {repairs} {parts.plural(gone.chunks, 'chunk')} out of the knowledge bases." if gone.chunks else said


def _takes(count: int) -> str:
    return "takes" if count == 1 else "take"


async def _followers(visit: Visit, flow_id: UUID, how: str) -> str:
    """How the flow's memories follow, as a sentence."""
    count = (await visit.ask(memory_bases.list_memory_bases, PageRequest(size=1), flow_id=flow_id)).total
    if count == 0:
        return "The flow has no memory that would have to follow."
    who = "The flow's memory follows in" if count == 1 else f"The flow's {count:,} memories follow, each in"
    return f"{who} {how}."


def _field(name: str, words: str) -> ui.textarea:
    made = ui.textarea(name, value=words).props("outlined autogrow autofocus input-class=long")
    return made.classes("wide-field")


def _texts(content: Any) -> list[tuple[str, str]]:
    """What can be edited of a content, each with its name."""
    if not isinstance(content, list):
        return [("Text", content or "")]
    indices = _indices(content)
    return [(f"Text {number}" if len(indices) > 1 else "Text", content[index]["text"])
            for number, index in enumerate(indices, start=1)] or [("Text to add", "")]  # fmt: skip


def _with_texts(content: Any, texts: list[str]) -> Any:
    """The content with these texts in place of its own."""
    if not isinstance(content, list):
        return texts[0] if texts[0] or content is not None else None
    changed = [dict(part) for part in content]
    indices = _indices(content)
    for index, words in zip(indices, texts, strict=False):
        changed[index]["text"] = words
    if not indices and texts[0]:
        changed.append({"type": "text", "text": texts[0]})
    return changed


def _indices(content: list[Any]) -> list[int]:
    return [index for index, part in enumerate(content) if part.get("type") in TEXT_TYPES]
