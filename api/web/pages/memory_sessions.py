"""The sessions of one memory base and how far each of them is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from api.web import parts
from api.web.parts import Bar, Mood, Pager, Rows, cell
from api.web.visits import Visit
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import BaseSessionView, MemoryBaseView, SessionState
from memorybase.read_models.sessions import FlowView

SHOWN = 25
MOODS: dict[SessionState, Mood] = {
    SessionState.SYNCED: "good",
    SessionState.PENDING: "calm",
    SessionState.INGESTING: "busy",
    SessionState.FAILED: "bad",
}


class Sessions:
    """A page of them; `sync` ingests what is pending in one."""

    def __init__(
        self, visit: Visit, base: MemoryBaseView, flow: FlowView, sync: Callable[[str, int], Awaitable[None]]
    ) -> None:
        self._visit = visit
        self._base = base
        self._sync = sync
        parts.heading("Sessions")
        self._nothing = ui.element("div")
        with (
            self._nothing,
            parts.empty(
                "No runs yet",
                "What the flow says appears here by itself. Send its runs as your program would:",
                parts.capture_command(visit, _id_in_path(flow)),
            ),
        ):
            pass
        columns = ["Session", "Pending / threshold", "Cursor", "Processed", "Last sync", "State"]
        self._rows = Rows[tuple[BaseSessionView, int]](
            "Sessions", [*columns, ""] if visit.may("write") else columns, lambda item: item[0].session_id, self._row
        )
        self._pager = Pager(self._again, size=SHOWN)

    async def show(self, base: MemoryBaseView) -> None:
        self._base = base
        page = await self._visit.ask(memory_bases.list_base_sessions, base.id, self._pager.request)
        self._rows.show((session, base.threshold) for session in page.items)
        self._pager.show(page.total)
        self._rows.set_visibility(page.total > 0)
        self._nothing.set_visibility(page.total == 0)

    async def _again(self) -> None:
        await parts.attempt(self.show(self._base))

    def _row(self, item: tuple[BaseSessionView, int]) -> Callable[[tuple[BaseSessionView, int]], None]:
        session_id = item[0].session_id
        path = parts.session_path(self._base.flow_id, session_id, self._base.id)
        with cell():
            parts.link(self._visit, session_id, path).classes("name-link")
        with cell():
            bar = Bar(f"Pending messages of {session_id}")
        with cell("number"):
            cursor = ui.label()
        with cell("number"):
            processed = ui.label()
        with cell():
            last = ui.label()
        with cell():
            state = ui.label()
        if self._visit.may("write"):
            with cell("acts"):
                sync = parts.button("Sync Now", lambda: self._sync(session_id, waiting))
                sync.props["aria-label"] = f"Sync Now: {session_id}"
        waiting = 0

        def change(now: tuple[BaseSessionView, int]) -> None:
            nonlocal waiting
            session, threshold = now
            waiting = session.pending_messages
            bar.show(waiting, threshold, f"{parts.number(waiting)} / {parts.number(threshold)}")
            cursor.set_text(f"message {parts.number(session.cursor_seq)}" if session.cursor_seq else "at the beginning")
            processed.set_text(f"{parts.number(session.total_processed)} of {parts.number(session.total_messages)}")
            last.set_text(parts.moment(session.last_sync_at))
            state.set_text(session.state.value)
            state.classes(replace=f"badge {MOODS[session.state]}")

        change(item)
        return change


def _id_in_path(flow: FlowView) -> str:
    """The id that its runtime gave it; one with a slash cannot stand in a path."""
    return flow.external_id if flow.external_id and "/" not in flow.external_id else str(flow.id)
