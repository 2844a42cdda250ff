"""The sessions of one memory base and the progress of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from api.web import parts
from api.web.parts import Pager, ProgressBar, Table, Tone, cell, text_cell
from api.web.visits import Visit
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import BaseSessionView, MemoryBaseView, SessionState
from memorybase.read_models.sessions import FlowView

PAGE_SIZE = 25
SESSION_TONES: dict[SessionState, Tone] = {
    SessionState.SYNCED: "good",
    SessionState.PENDING: "calm",
    SessionState.INGESTING: "busy",
    SessionState.FAILED: "bad",
}


class Sessions:
    """A table of sessions, page by page; `sync` ingests the pending messages of one."""

    def __init__(
        self, visit: Visit, base: MemoryBaseView, flow: FlowView, sync: Callable[[str, int], Awaitable[None]]
    ) -> None:
        self._visit = visit
        self._base = base
        self._sync = sync
        parts.heading("Sessions")
        self._empty = ui.element("div")
        with self._empty:
            parts.empty_state(
                "No runs yet",
                "Sessions appear here when a program captures a run:",
                parts.capture_command(visit, _id_in_path(flow)),
            )
        columns = ["Session", "Pending / threshold", "Cursor", "Processed", "Last sync", "State"]
        self._rows = Table[tuple[BaseSessionView, int]](
            "Sessions", [*columns, ""] if visit.may("write") else columns, lambda item: item[0].session_id, self._row
        )
        self._pager = Pager(self._reload, size=PAGE_SIZE)

    async def show(self, base: MemoryBaseView) -> None:
        self._base = base
        page = await self._visit.read(memory_bases.list_base_sessions, base.id, self._pager.request)
        self._rows.show((session, base.threshold) for session in page.items)
        self._pager.show(page.total)
        self._rows.set_visibility(page.total > 0)
        self._empty.set_visibility(page.total == 0)

    async def _reload(self) -> None:
        await parts.attempt(self.show(self._base))

    def _row(self, item: tuple[BaseSessionView, int]) -> Callable[[tuple[BaseSessionView, int]], None]:
        session_id = item[0].session_id
        path = parts.session_path(self._base.flow_id, session_id, self._base.id)
        with cell():
            parts.link(self._visit, session_id, path).classes("name-link")
        with cell():
            bar = ProgressBar(f"Pending messages of {session_id}")
        cursor = text_cell(kind="number")
        processed = text_cell(kind="number")
        last_sync = text_cell()
        state = text_cell()
        if self._visit.may("write"):
            with cell("row-actions"):
                sync = parts.button("Sync Now", lambda: self._sync(session_id, pending))
                sync.props["aria-label"] = f"Sync Now: {session_id}"
        pending = 0

        def update(item: tuple[BaseSessionView, int]) -> None:
            nonlocal pending
            session, threshold = item
            pending = session.pending_messages
            bar.show(pending, threshold, parts.pending(pending, threshold))
            cursor.set_text(f"message {parts.number(session.cursor_seq)}" if session.cursor_seq else "not started")
            processed.set_text(f"{parts.number(session.total_processed)} of {parts.number(session.total_messages)}")
            last_sync.set_text(parts.utc_time(session.last_sync_at))
            parts.set_badge(state, session.state.value, SESSION_TONES[session.state])

        update(item)
        return update


def _id_in_path(flow: FlowView) -> str:
    """The id that the runtime gave it, unless it has a slash, which a path cannot hold."""
    return flow.external_id if flow.external_id and "/" not in flow.external_id else str(flow.id)
