"""Making, changing and deleting a memory base, in dialogs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.visits import Visit
from memorybase import messages
from memorybase.database import paging
from memorybase.memory_bases import deletion, manage
from memorybase.models import Capture
from memorybase.read_models import memory_bases, sessions
from memorybase.read_models.sessions import FlowView
from memorybase.sessions import flows as session_flows

NEW_FLOW = "A new flow"
CAPTURES = {Capture.OUTPUTS: "The flow's answers", Capture.ALL: "Questions and answers"}
STARTS = {"beginning": "With all that is stored of the flow", "now": "With the next run"}


async def create(visit: Visit) -> UUID | None:
    """Ask for a new memory base and make it; its id, or None when the reader would rather not."""
    flows = (await visit.ask(sessions.list_flows, paging.PageRequest(size=paging.MAX_SIZE))).items
    with dialog("New memory") as opened:
        with ui.element("div").classes("form"):
            name = field(ui.input("Name").props("autofocus"))
            options = [_flow_words(flow) for flow in flows]
            flow = field(ui.select([NEW_FLOW, *options], value=options[0] if options else NEW_FLOW, label="Flow"))
            flow_id = field(ui.input("Id of the new flow", value="my-flow"))
            flow_id.bind_visibility_from(flow, "value", value=NEW_FLOW)
            threshold = field(ui.number("Ingest after so many messages", value=50, min=1, precision=0))
            capture = field(ui.select(CAPTURES, value=Capture.OUTPUTS, label="What is remembered"))
            start = field(ui.select(STARTS, value="beginning", label="From when on"))
        auto = ui.switch("Auto-capture: ingest by itself when the threshold is reached", value=True)

        async def make() -> None:
            chosen = options.index(str(flow.value)) if flow.value != NEW_FLOW else None

            async def work() -> UUID:
                target = flows[chosen].id if chosen is not None else await _new_flow(visit, str(flow_id.value or ""))
                new = manage.NewMemoryBase(
                    name=str(name.value or ""), flow_id=target, threshold=int(threshold.value or 0), kb_name=None,
                    auto_capture=bool(auto.value), capture=Capture(capture.value), idle_after=None,
                    start=start.value, embedding_model=None,
                )  # fmt: skip
                return await visit.act(manage.create_memory_base, new)

            made = await parts.attempt(work())
            if made:
                opened.submit(made)

        ways(opened, "Create", make)
    return await asked(opened, UUID)


async def change(visit: Visit, base_id: UUID) -> bool:
    """Ask for another name, threshold or idle time; whether anything was changed."""
    base = await visit.ask(memory_bases.get_memory_base, base_id)
    with dialog(f"Change {base.name}") as opened:
        with ui.element("div").classes("form"):
            name = field(ui.input("Name", value=base.name).props("autofocus"))
            threshold = field(ui.number("Ingest after so many messages", value=base.threshold, min=1, precision=0))
            idle = field(ui.number("Ingest the rest after idle seconds", value=base.idle_after, min=0, precision=0))
        ui.label(
            "A lower threshold takes effect with the next run; Sync Now ingests at once. 0 idle seconds: never."
        ).classes("quiet")

        async def save() -> None:
            changes: dict[str, Any] = {
                "name": str(name.value or ""),
                "threshold": int(threshold.value or 0),
                "idle_after": int(idle.value or 0),
            }
            changed = {key: value for key, value in changes.items() if value != getattr(base, key)}

            async def work() -> bool:
                await visit.act(manage.update_memory_base, base_id, changed)
                return True

            if await parts.attempt(work()):
                opened.submit(bool(changed))

        ways(opened, "Save", save)
    return bool(await asked(opened, bool))


async def delete(visit: Visit, base_id: UUID) -> bool:
    """Delete once its name has been typed; whether it was."""
    base = await visit.ask(memory_bases.get_memory_base, base_id)
    sure = await parts.confirm(
        f"Delete {base.name}?",
        f"Its knowledge base with {parts.plural(base.total_processed, 'message')} is deleted, and nothing brings it "
        "back. The flow's messages stay stored: another memory can be made of them.",
        action="Delete",
        typed=base.name,
    )
    if not sure:
        return False
    gone = await visit.act(deletion.delete_memory_base, base_id)
    parts.tell(f"{base.name} is deleted." if gone else f"{base.name} is being deleted; a job still ends.")
    return True


async def _new_flow(visit: Visit, named: str) -> UUID:
    flow_id, external_id = messages.resolve_id(visit.principal.user_id, "flow", named)
    await visit.act(session_flows.put_flow, name=named, flow_id=flow_id, external_id=external_id)
    return flow_id


def _flow_words(flow: FlowView) -> str:
    return f"{flow.name} ({flow.external_id or flow.id})"


def field(made: Any) -> Any:
    """A field of a form, in the look that all have."""
    return made.props("outlined dense hide-bottom-space")


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """A form in a dialog, opened by `asked`."""
    with ui.dialog().props(f"aria-label={json.dumps(title)}") as made, ui.card().classes("question"):
        parts.heading(title)
        yield made


def ways(opened: ui.dialog, action: str, act: parts.Handler) -> None:
    """The buttons below a form: leave it, or act; `act` submits when it succeeded."""
    with ui.element("div").classes("ways"):
        parts.button("Cancel", lambda: opened.submit(None))
        parts.button(action, act, kind="first")


async def asked(opened: ui.dialog, kind: type[parts.Item]) -> parts.Item | None:
    """What the dialog was left with; None when it was left without."""
    answer = await opened
    opened.delete()
    return answer if isinstance(answer, kind) else None
