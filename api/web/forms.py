"""Dialogs that create, edit and delete a memory base, and what forms have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.visits import Visit
from memorybase.database import paging
from memorybase.ids import CallerId
from memorybase.memory_bases import deletion, manage
from memorybase.models import Capture
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.sessions import FlowView
from memorybase.sessions import flows as session_flows

NEW_FLOW = "New flow"
CAPTURES = {Capture.OUTPUTS: "Answers", Capture.ALL: "Questions and answers"}
STARTS = {
    "beginning": "Yes, with each session's next ingestion",
    "all": "Yes, ingest them now",
    "now": "No, only new runs",
}


async def create(visit: Visit) -> UUID | None:
    """Show the form for a new memory base and create it. Returns its id, or None if cancelled."""
    flows = (await visit.read(sessions.list_flows, paging.PageRequest(size=paging.MAX_SIZE))).items
    with dialog("New memory") as form:
        with ui.element("div").classes("form"):
            name = field(ui.input("Name").props("autofocus"))
            options = [_flow_option(flow) for flow in flows]
            flow = field(ui.select([NEW_FLOW, *options], value=options[0] if options else NEW_FLOW, label="Flow"))
            flow_id = field(ui.input("New flow ID", value="my-flow"))
            flow_id.bind_visibility_from(flow, "value", value=NEW_FLOW)
            threshold = field(ui.number("Ingestion threshold", value=50, min=1, precision=0))
            capture = field(ui.select(CAPTURES, value=Capture.OUTPUTS, label="Captured messages"))
            start = field(ui.select(STARTS, value="beginning", label="Include existing messages?"))
        auto_capture = ui.switch("Auto-capture: ingest automatically at the threshold", value=True)

        async def submit() -> None:
            index = options.index(str(flow.value)) if flow.value != NEW_FLOW else None

            async def work() -> UUID:
                target = flows[index].id if index is not None else await _create_flow(visit, str(flow_id.value or ""))
                new = manage.NewMemoryBase(
                    name=str(name.value or ""), flow_id=target, threshold=int(threshold.value or 0), kb_name=None,
                    auto_capture=bool(auto_capture.value), capture=Capture(capture.value), idle_after=None,
                    start=start.value, embedding_model=None,
                )  # fmt: skip
                return await visit.write(manage.create_memory_base, new)

            base_id = await parts.attempt(work())
            if base_id:
                form.submit(base_id)

        buttons(form, "Create", submit)
    return await result_of(form, UUID)


async def edit(visit: Visit, base_id: UUID) -> bool:
    """Show the form that edits name, threshold and idle timeout. Returns whether anything changed."""
    base = await visit.read(memory_bases.get_memory_base, base_id)
    with dialog(f"Edit {base.name}") as form:
        with ui.element("div").classes("form"):
            name = field(ui.input("Name", value=base.name).props("autofocus"))
            threshold = field(ui.number("Ingestion threshold", value=base.threshold, min=1, precision=0))
            idle_after = field(ui.number("Idle timeout (seconds)", value=base.idle_after, min=0, precision=0))
        parts.hint(
            "A lower threshold applies from the session's next run; Sync Now ingests at once. "
            "After the idle timeout, a session is ingested even below the threshold. 0 turns this off."
        )

        async def submit() -> None:
            values: dict[str, Any] = {
                "name": str(name.value or ""),
                "threshold": int(threshold.value or 0),
                "idle_after": int(idle_after.value or 0),
            }
            changes = {key: value for key, value in values.items() if value != getattr(base, key)}

            async def work() -> bool:
                await visit.write(manage.update_memory_base, base_id, changes)
                return True

            if await parts.attempt(work()):
                form.submit(bool(changes))

        buttons(form, "Save", submit)
    return bool(await result_of(form, bool))


async def delete(visit: Visit, base_id: UUID) -> bool:
    """Delete a memory base after its name is typed. Returns whether it was deleted."""
    base = await visit.read(memory_bases.get_memory_base, base_id)
    confirmed = await parts.confirm(
        f"Delete {base.name}?",
        f"This permanently deletes its knowledge base with {parts.plural(base.total_processed, 'message')}. "
        "The flow's messages stay stored, so you can create another memory from them.",
        action="Delete",
        typed=base.name,
    )
    if not confirmed:
        return False
    is_deleted = await visit.write(deletion.delete_memory_base, base_id)
    parts.notify(f"{base.name} deleted." if is_deleted else f"Deleting {base.name} once its running job has finished.")
    return True


async def _create_flow(visit: Visit, name: str) -> UUID:
    given = CallerId.of(visit.principal.user_id, "flow", name)
    await visit.write(session_flows.put_flow, name=name, flow_id=given.own, external_id=given.external_id)
    return given.own


def _flow_option(flow: FlowView) -> str:
    return f"{flow.name} ({flow.external_id or flow.id})"


def field(element: Any) -> Any:
    """A form field in the common style."""
    return element.props("outlined dense hide-bottom-space")


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """A dialog to build a form in; `result_of` opens it."""
    with ui.dialog().props(f"aria-label={json.dumps(title)}") as element, ui.card().classes("dialog"):
        parts.heading(title)
        yield element


def buttons(form: ui.dialog, action: str, on_action: parts.Handler) -> None:
    """Cancel and the action; `on_action` submits the dialog after it succeeded."""
    with ui.element("div").classes("actions"):
        parts.button("Cancel", lambda: form.submit(None))
        parts.button(action, on_action, kind="primary")


async def result_of(form: ui.dialog, kind: type[parts.Item]) -> parts.Item | None:
    """Open a dialog; what it submits, or None if it is cancelled."""
    result = await form
    form.delete()
    return result if isinstance(result, kind) else None
