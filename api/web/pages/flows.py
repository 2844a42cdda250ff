"""The sessions of a flow, and its runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.layout import page_layout
from api.web.parts import Pager, Poller, Table, cell, text_cell
from api.web.visits import Visit, Visitor
from memorybase import ids
from memorybase.database.paging import Page, PageRequest
from memorybase.read_models import sessions as session_lists
from memorybase.read_models.sessions import RunView, SessionView

Item = TypeVar("Item")

# Each refresh counts the messages of fifty sessions or runs.
REFRESH_SECONDS = 5.0


@ui.page("/flows/{flow_id}/sessions", title="Sessions")
async def sessions(visit: Visitor, flow_id: str) -> None:
    await SessionsPage(visit, ids.flow_id(visit.principal.user_id, flow_id)).build()


@ui.page("/flows/{flow_id}/runs", title="Runs")
async def runs(visit: Visitor, flow_id: str) -> None:
    await RunsPage(visit, ids.flow_id(visit.principal.user_id, flow_id)).build()


def run_label(external_id: str | None, run_id: UUID) -> str:
    """The caller's id of a run, else the first digits of its own."""
    return external_id or f"Run {str(run_id)[:8]}"


class FlowPage(ABC, Generic[Item]):
    """A list of a flow's items, page by page."""

    title: str
    columns: Sequence[str]
    other: tuple[str, str]  # text and last path segment of the link to the flow's other list

    def __init__(self, visit: Visit, flow_id: UUID) -> None:
        self.visit = visit
        self.flow_id = flow_id

    async def build(self) -> None:
        flow = await self.visit.read(session_lists.get_flow, self.flow_id)
        title = f"{self.title}: {flow.name}"
        with page_layout(self.visit, title, back=("All memories", "/")):
            with ui.element("div").classes("head"):
                parts.heading(title, 1)
                parts.link(self.visit, self.other[0], f"/flows/{flow.id}/{self.other[1]}")
            self._empty = ui.element("div")
            with self._empty:
                parts.empty_state(
                    f"No {self.title.lower()} yet",
                    f"{self.title} appear here when a program captures a run:",
                    parts.capture_command(self.visit, flow.external_id or str(flow.id)),
                )
            self._poller = Poller(self._refresh, seconds=REFRESH_SECONDS)
            self._rows = Table[Item](self.title, self.columns, self.key, self.row)
            self._pager = Pager(self._poller.refresh)
            await self._refresh()

    @abstractmethod
    async def fetch(self, request: PageRequest) -> Page[Item]: ...

    @abstractmethod
    def key(self, item: Item) -> Hashable: ...

    @abstractmethod
    def row(self, item: Item) -> Callable[[Item], None]: ...

    async def _refresh(self) -> None:
        page = await self.fetch(self._pager.request)
        self._rows.show(page.items)
        self._rows.set_visibility(page.total > 0)
        self._empty.set_visibility(page.total == 0)
        self._pager.show(page.total)


class SessionsPage(FlowPage[SessionView]):
    title = "Sessions"
    columns = ("Session", "End user", "Messages", "Created", "Last message")
    other = ("Flow runs", "runs")

    async def fetch(self, request: PageRequest) -> Page[SessionView]:
        return await self.visit.read(session_lists.list_sessions, request, flow_id=self.flow_id, end_user_id=None)

    def key(self, item: SessionView) -> Hashable:
        return item.id, item.session_id  # a renamed session has a new link

    def row(self, item: SessionView) -> Callable[[SessionView], None]:
        with cell():
            path = parts.session_path(item.flow_id, item.session_id)
            parts.link(self.visit, item.session_id, path).classes("name-link")
        text_cell(item.end_user_id or "-")
        messages = text_cell(kind="number")
        text_cell(parts.utc_time(item.created_at))
        last = text_cell()

        def update(session: SessionView) -> None:
            messages.set_text(parts.number(session.messages))
            last.set_text(parts.utc_time(session.last_captured_at))

        update(item)
        return update


class RunsPage(FlowPage[RunView]):
    title = "Runs"
    columns = ("Run", "Session", "End user", "Messages", "Captured")
    other = ("Flow sessions", "sessions")

    async def fetch(self, request: PageRequest) -> Page[RunView]:
        return await self.visit.read(session_lists.list_runs, self.flow_id, request)

    def key(self, item: RunView) -> Hashable:
        return item.run_id

    def row(self, item: RunView) -> Callable[[RunView], None]:
        with cell():
            label = run_label(item.external_id, item.run_id)
            parts.link(self.visit, label, f"/flows/{item.flow_id}/runs/{item.run_id}").classes("name-link")
        with cell():
            parts.link(self.visit, item.session_id, parts.session_path(item.flow_id, item.session_id))
        text_cell(item.end_user_id or "-")
        messages = text_cell(kind="number")
        text_cell(parts.utc_time(item.created_at))

        def update(run: RunView) -> None:
            messages.set_text(parts.number(run.messages))

        update(item)
        return update
