"""A session: its messages in order, their state in a memory, their branches, and editing and deleting them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from nicegui import ui

from api.web import message_forms, message_view, parts
from api.web.layout import page_layout
from api.web.parts import KeyedList, Poller, Stat, Tone
from api.web.visits import Visit, Visitor
from memorybase import ids
from memorybase.database.paging import PageRequest
from memorybase.models import Capture, JobState
from memorybase.read_models import branches, memory_bases, sessions
from memorybase.read_models import jobs as jobs_
from memorybase.read_models.branches import Branch
from memorybase.read_models.memory_bases import BaseSessionView, MemoryBaseView
from memorybase.read_models.session_queries import MessageQuery
from memorybase.read_models.sessions import FlowView, MessageView, SessionView

PAGE_SIZE = 50

CAPTURE_HINTS = {
    Capture.OUTPUTS: "{name} ingests the flow's answers; other messages are not counted.",
    Capture.ALL: "{name} ingests questions and answers; tool and system messages are not counted.",
}


@ui.page("/session", title="Session")
async def session(visit: Visitor, flow_id: str, session_id: str, memory_base_id: UUID | None = None) -> None:
    await SessionPage(visit, ids.flow_id(visit.principal.user_id, flow_id), session_id, memory_base_id).build()


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message with its branch, the message it replies to, and its state in the memory."""

    message: MessageView
    branch: Branch | None
    reply_to: int | None  # a seq, if that message is on the page and not directly before
    state: tuple[str, Tone] | None


@dataclass(slots=True)
class Window:
    """The fifty messages shown: from `start`, or the latest, which follows new messages."""

    start: int | None = None
    total: int = 0

    @property
    def first(self) -> int:
        return max(0, self.total - PAGE_SIZE) if self.start is None else self.start

    @property
    def last(self) -> int:
        return min(self.total, self.first + PAGE_SIZE)

    def go(self, start: int) -> None:
        self.start = None if start + PAGE_SIZE >= self.total else max(0, start)

    def label(self) -> str:
        if self.total <= PAGE_SIZE:
            return parts.plural(self.total, "message")
        prefix = "Latest: " if self.start is None else ""
        return f"{prefix}{self.first + 1:,} to {self.last:,} of {self.total:,}"


class WindowPager:
    """Buttons for the first, earlier, later and latest messages."""

    def __init__(self, window: Window, on_change: Callable[[], Awaitable[None]]) -> None:
        self._window = window
        self._on_change = on_change
        with ui.element("nav").classes("pager").props('aria-label="Messages"') as self._element:
            self._backward = [
                parts.button("First", lambda: self._go(0)),
                parts.button("Earlier", lambda: self._go(window.first - PAGE_SIZE)),
            ]
            self._label = ui.label()
            self._forward = [
                parts.button("Later", lambda: self._go(window.first + PAGE_SIZE)),
                parts.button("Latest", lambda: self._go(window.total)),
            ]

    def show(self) -> None:
        self._label.set_text(self._window.label())
        for button in self._backward:
            button.set_enabled(self._window.first > 0)
        for button in self._forward:
            button.set_enabled(self._window.start is not None)
        self._element.set_visibility(self._window.total > PAGE_SIZE)

    async def _go(self, start: int) -> None:
        self._window.go(start)
        await self._on_change()


@dataclass(slots=True)
class Repairs:
    """The unfinished repair jobs of changes made on this page, by message."""

    visit: Visit
    unfinished: dict[UUID, list[UUID]] = field(default_factory=dict)

    async def refresh(self) -> list[str]:
        """Forget finished repairs; returns the errors of failed ones."""
        failed: list[str] = []
        for message_id, job_ids in list(self.unfinished.items()):
            for job_id in job_ids:
                job = await self.visit.read(jobs_.get_job, job_id)
                if job.ended and self._forget(message_id, job_id) and job.state is JobState.FAILED:
                    failed.append(job.error or "no error recorded")
        return failed

    def _forget(self, message_id: UUID, job_id: UUID) -> bool:
        """Whether the job was still listed; a concurrent refresh may have removed it."""
        jobs = self.unfinished.get(message_id, [])
        if job_id not in jobs:
            return False
        self.unfinished[message_id] = [each for each in jobs if each != job_id]
        if not self.unfinished[message_id]:
            del self.unfinished[message_id]
        return True


class SessionPage:
    def __init__(self, visit: Visit, flow_id: UUID, session_id: str, base_id: UUID | None) -> None:
        self._visit = visit
        self._flow_id = flow_id
        self._session_id = session_id
        self._base_id = base_id
        self._window = Window()
        self._repairs = Repairs(visit)
        self._branches: dict[UUID, Branch] = {}
        self._branches_key: object = None

    async def build(self) -> None:
        visit = self._visit
        session = await visit.read(sessions.get_session, self._flow_id, self._session_id)
        flow = await visit.read(sessions.get_flow, self._flow_id)
        self._base = await visit.read(memory_bases.get_memory_base, self._base_id) if self._base_id else None
        with page_layout(visit, f"Session {self._session_id}", back=self._parent()):
            self._deleted = ui.element("div")
            self._header(session)
            self._facts(session, flow)
            with ui.element("div").classes("stats"):
                self._stats = {name: Stat(name) for name in self._figures(None)}
            if self._base is not None:
                parts.hint(CAPTURE_HINTS[self._base.capture].format(name=self._base.name))
            self._poller = Poller(self._refresh)
            self._repair_status = ui.label().classes("banner info").props("role=status")
            with ui.element("section").classes("message-list").props('aria-label="Messages"') as self._message_list:
                above = WindowPager(self._window, self._poller.refresh)
                self._messages = KeyedList[ShownMessage](
                    ui.element("ol").classes("messages"), "li", lambda shown: shown.message.id, self._message
                )
                below = WindowPager(self._window, self._poller.refresh)
            self._pagers = (above, below)
            await self._refresh()

    def _parent(self) -> tuple[str, str]:
        if self._base is not None:
            return self._base.name, f"/memories/{self._base.id}"
        return "Flow sessions", f"/flows/{self._flow_id}/sessions"

    def _header(self, session: SessionView) -> None:
        with ui.element("div").classes("head"):
            parts.heading(f"Session {session.session_id}", 1)
            with ui.element("div").classes("actions") as self._actions:
                if self._visit.may("write"):
                    parts.button("Delete session", self._delete_session, kind="danger")

    def _facts(self, session: SessionView, flow: FlowView) -> None:
        with ui.element("div").classes("hstack muted"):
            ui.label(f"Flow {flow.name}")
            if session.end_user_id:
                ui.label(f"End user {session.end_user_id}")
            ui.label(f"Created {parts.utc_time(session.created_at)}")
            parts.link(self._visit, "Flow sessions", f"/flows/{flow.id}/sessions")
            parts.link(self._visit, "Flow runs", f"/flows/{flow.id}/runs")
        if session.metadata:
            message_view.collapsed("Metadata", json.dumps(session.metadata, indent=2, ensure_ascii=False))

    def _figures(self, state: BaseSessionView | None) -> dict[str, str]:
        if self._base is None:
            return {"Messages": parts.number(self._window.total)}
        return {
            "Messages": parts.number(self._window.total),
            "Pending": parts.number(state.pending_messages) if state else "-",
            "Cursor": parts.number(state.cursor_seq) if state else "-",
            "Last sync": parts.ago(state.last_sync_at) if state else "-",
            "State": state.state.value if state else "-",
        }

    # -----------------------------------------------------------------------------------------------------------
    # Refreshing

    async def _refresh(self) -> None:
        visit, start = self._visit, self._window.start
        messages = await self._fetch()
        if not messages:  # the last ones were deleted, or the whole session
            await visit.read(sessions.get_session, self._flow_id, self._session_id)
            self._window.start = None
        base = None
        if self._base_id:
            base = await visit.read(memory_bases.get_base_session, self._base_id, self._session_id)
        await self._find_branches(messages)
        failed = await self._repairs.refresh()
        if start == self._window.start:  # otherwise the user paged meanwhile, and the next refresh shows that page
            self._show(messages, base)
        for error in failed:
            parts.notify(f"Repair failed: {error}", "negative")

    async def _fetch(self) -> list[MessageView]:
        start = self._window.start
        page = await self._visit.read(
            sessions.list_messages,
            MessageQuery(
                flow_id=self._flow_id,
                session_id=self._session_id,
                memory_base_id=self._base_id,
                order="desc" if start is None else "asc",
            ),
            PageRequest(size=PAGE_SIZE, offset=start or 0),
        )
        self._window.total = page.total
        return page.items[::-1] if start is None else page.items

    async def _find_branches(self, messages: Sequence[MessageView]) -> None:
        """Only if they may have changed: on an early page of a long session this reads many messages."""
        key = ([message.id for message in messages], self._window.total)
        if key != self._branches_key:
            self._branches = await self._visit.read(branches.branches, self._flow_id, self._session_id, messages)
            self._branches_key = key

    def _show(self, messages: Sequence[MessageView], base: BaseSessionView | None) -> None:
        self._messages.show(self._shown(messages, base))
        for pager in self._pagers:
            pager.show()
        for name, value in self._figures(base).items():
            self._stats[name].show(value)
        jobs = sum(map(len, self._repairs.unfinished.values()))
        self._repair_status.set_text(f"{parts.plural(jobs, 'repair')} running to update the knowledge bases.")
        self._repair_status.set_visibility(jobs > 0)

    def _shown(self, messages: Sequence[MessageView], base: BaseSessionView | None) -> list[ShownMessage]:
        seqs = {message.id: message.seq for message in messages}
        shown = []
        previous: UUID | None = None
        for message in messages:
            parent = message.parent_message_id
            reply_to = seqs.get(parent) if parent and parent != previous else None
            branch = self._branches.get(message.id)
            shown.append(ShownMessage(message, branch, reply_to, self._state(message, base)))
            previous = message.id
        return shown

    def _state(self, message: MessageView, base: BaseSessionView | None) -> tuple[str, Tone] | None:
        if message.id in self._repairs.unfinished:
            return "repair running", "busy"
        if self._base is None or base is None:
            return None
        if message.ingested:
            return "ingested", "good"
        if not _is_counted(message, self._base):
            return "not counted", "calm"
        return ("pending", "warn") if message.seq > base.cursor_seq else ("not ingested", "calm")

    # -----------------------------------------------------------------------------------------------------------
    # One message

    def _message(self, shown: ShownMessage) -> Callable[[ShownMessage], None]:
        """Build a message. Later changes update it in place, so that its buttons keep their focus."""
        message = shown.message
        current = shown  # what the buttons act on
        with ui.element("article").props(f"aria-label={json.dumps(message_view.aria_label(message))}") as article:
            with ui.element("header"):
                message_view.byline(message)
                run = parts.link(self._visit, f"Run {str(message.run_id)[:8]}",
                                 f"/flows/{message.flow_id}/runs/{message.run_id}")  # fmt: skip
                run.props(f"title={message.run_id}")
                badges = ui.element("span").classes("badges")
                if self._visit.may("write"):
                    with ui.element("span").classes("row-actions"):
                        parts.icon_button("edit", f"Edit message {message.seq}", lambda: self._edit(current.message))
                        parts.icon_button(
                            "delete", f"Delete message {message.seq}", lambda: self._delete(current.message)
                        )
            body = ui.element("div").classes("body")

        def update(new: ShownMessage, *, is_first: bool = False) -> None:
            nonlocal current
            if is_first or _badges(new) != _badges(current):
                badges.clear()
                with badges:
                    for text, tone in _badges(new):
                        parts.badge(text, tone)
            if is_first or _body(new.message) != _body(current.message):
                body.clear()
                with body:
                    message_view.message_body(new.message)
            article.classes(replace=_css_class(new))
            current = new

        update(shown, is_first=True)
        return update

    async def _edit(self, message: MessageView) -> None:
        self._track_repairs(message, await parts.attempt(message_forms.edit(self._visit, message)), "edited")
        await self._poller.refresh()

    async def _delete(self, message: MessageView) -> None:
        self._track_repairs(message, await parts.attempt(message_forms.delete(self._visit, message)), "deleted")
        await self._poller.refresh()

    def _track_repairs(self, message: MessageView, jobs: list[UUID] | None, done: str) -> None:
        if jobs is None:
            return
        if jobs:
            self._repairs.unfinished[message.id] = [*self._repairs.unfinished.get(message.id, []), *jobs]
        repairs = f"{parts.plural(len(jobs), 'repair job')} queued." if jobs else "No repair needed."
        parts.notify(f"Message {message.seq} {done}. {repairs}")

    async def _delete_session(self) -> None:
        async def work() -> None:
            session = await self._visit.read(sessions.get_session, self._flow_id, self._session_id)
            erasure = await message_forms.delete_session(self._visit, session)
            if erasure is None:
                return
            self._poller.stop()
            self._message_list.delete()
            self._actions.clear()
            with self._deleted, parts.banner("Session deleted", message_forms.receipt(erasure), "info"):
                parts.link(self._visit, "Flow sessions", f"/flows/{self._flow_id}/sessions")

        await parts.attempt(work())


def _is_counted(message: MessageView, base: MemoryBaseView) -> bool:
    """Whether the memory base's capture setting counts the message."""
    return message.is_output if base.capture == Capture.OUTPUTS else message.role in {"user", "assistant"}


def _css_class(shown: ShownMessage) -> str:
    is_off_thread = shown.branch is not None and not shown.branch.on_latest
    return "message off-thread" if is_off_thread else "message"


def _body(message: MessageView) -> tuple[object, ...]:
    return message.content, message.tool_calls, message.files, message.tool_call_id


def _badges(shown: ShownMessage) -> list[tuple[str, Tone]]:
    message, branch = shown.message, shown.branch
    badges: list[tuple[str, Tone]] = []
    if shown.reply_to is not None:
        badges.append((f"reply to #{shown.reply_to}", "calm"))
    if branch is not None and branch.siblings > 1:
        badges.append((f"branch {branch.position} of {branch.siblings}", "busy"))
    if branch is not None and not branch.on_latest:
        badges.append(("not on the latest thread", "warn"))
    if message.status != "completed":
        badges.append((message.status, "warn"))
    if message.edited_at is not None:
        badges.append((f"edited {parts.utc_time(message.edited_at)}", "calm"))
    return [*badges, shown.state] if shown.state else badges
