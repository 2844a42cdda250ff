"""A session: its messages in order, what is ingested of them, their threads, and mending them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from nicegui import ui

from api.web import message_forms, parts, saying
from api.web.frame import frame
from api.web.parts import Keyed, Live, Mood, Stat
from api.web.visits import Visit, Visitor
from memorybase.database.paging import PageRequest
from memorybase.messages import resolve_id
from memorybase.models import Capture, JobState
from memorybase.read_models import branches, memory_bases, sessions
from memorybase.read_models import jobs as work
from memorybase.read_models.branches import Branch
from memorybase.read_models.memory_bases import BaseSessionView, MemoryBaseView, SessionState
from memorybase.read_models.session_queries import MessageQuery
from memorybase.read_models.sessions import FlowView, MessageView, SessionView

SIZE = 50

STATES: dict[SessionState, Mood] = {
    SessionState.SYNCED: "good",
    SessionState.PENDING: "calm",
    SessionState.INGESTING: "busy",
    SessionState.FAILED: "bad",
}
RULES = {
    Capture.OUTPUTS: "{name} takes the flow's answers in; other messages are not counted.",
    Capture.ALL: "{name} takes questions and answers in; messages of tools and of the system are not counted.",
}


@ui.page("/session", title="Session")
async def session(visit: Visitor, flow_id: str, session_id: str, memory_base_id: UUID | None = None) -> None:
    flow, _ = resolve_id(visit.principal.user_id, "flow", flow_id)
    await SessionPage(visit, flow, session_id, memory_base_id).build()


@dataclass(frozen=True, slots=True)
class Told:
    """A message as it stands on the page: with its branch, what it answers, and how far it is in the memory."""

    message: MessageView
    branch: Branch | None
    answers: int | None  # the seq, where that is on the page and not the one before
    state: tuple[str, Mood] | None


@dataclass(slots=True)
class Window:
    """Which fifty messages are shown: from a start, or the latest, which goes along with new ones."""

    start: int | None = None
    total: int = 0

    @property
    def first(self) -> int:
        return max(0, self.total - SIZE) if self.start is None else self.start

    @property
    def last(self) -> int:
        return min(self.total, self.first + SIZE)

    def go(self, start: int) -> None:
        self.start = None if start + SIZE >= self.total else max(0, start)

    def words(self) -> str:
        if self.total <= SIZE:
            return parts.plural(self.total, "message")
        which = "The latest, " if self.start is None else ""
        return f"{which}{self.first + 1:,} to {self.last:,} of {self.total:,}"


class Turner:
    """The ways to the first, the latest, and the messages beside those shown."""

    def __init__(self, window: Window, turned: Callable[[], Awaitable[None]]) -> None:
        self._window = window
        self._turned = turned
        with ui.element("nav").classes("pager").props('aria-label="Messages"') as self._element:
            self._back = [
                parts.button("First", lambda: self._go(0)),
                parts.button("Earlier", lambda: self._go(window.first - SIZE)),
            ]
            self._words = ui.label()
            self._on = [
                parts.button("Later", lambda: self._go(window.first + SIZE)),
                parts.button("Latest", lambda: self._go(window.total)),
            ]

    def show(self) -> None:
        self._words.set_text(self._window.words())
        for way in self._back:
            way.set_enabled(self._window.first > 0)
        for way in self._on:
            way.set_enabled(self._window.start is not None)
        self._element.set_visibility(self._window.total > SIZE)

    async def _go(self, start: int) -> None:
        self._window.go(start)
        await self._turned()


@dataclass(slots=True)
class Repairs:
    """The repairs that changes made here have started, by message; None is one that was deleted."""

    visit: Visit
    under_way: dict[UUID, list[UUID]] = field(default_factory=dict)

    async def look(self) -> list[str]:
        """The errors of those that have ended by now."""
        failed: list[str] = []
        for message_id, job_ids in list(self.under_way.items()):
            for job_id in job_ids:
                job = await self.visit.ask(work.get_job, job_id)
                if job.ended and self._end(message_id, job_id) and job.state is JobState.FAILED:
                    failed.append(job.error or "its job says no reason")
        return failed

    def _end(self, message_id: UUID, job_id: UUID) -> bool:
        """Whether it was under way until now: another look may have seen it."""
        left = self.under_way.get(message_id, [])
        if job_id not in left:
            return False
        self.under_way[message_id] = [each for each in left if each != job_id]
        if not self.under_way[message_id]:
            del self.under_way[message_id]
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
        self._branched: object = None

    async def build(self) -> None:
        visit = self._visit
        session = await visit.ask(sessions.get_session, self._flow_id, self._session_id)
        flow = await visit.ask(sessions.get_flow, self._flow_id)
        self._base = await visit.ask(memory_bases.get_memory_base, self._base_id) if self._base_id else None
        with frame(visit, f"Session {self._session_id}", back=self._from()):
            self._gone = ui.element("div")
            self._head(session)
            self._facts(session, flow)
            with ui.element("div").classes("stats"):
                self._stats = {name: Stat(name) for name in self._figures(None)}
            if self._base is not None:
                ui.label(RULES[self._base.capture].format(name=self._base.name)).classes("quiet")
            self._working = ui.label().classes("banner info").props("role=status")
            with ui.element("section").classes("talk-of").props('aria-label="Messages"') as self._talk:
                above = Turner(self._window, self._again)
                messages = Keyed[Told](
                    ui.element("ol").classes("talk"), "li", lambda told: told.message.id, self._message
                )
                below = Turner(self._window, self._again)
            self._turners = (above, below)
            self._messages = messages
            self._live = Live(self._look)
            await self._look()

    def _from(self) -> tuple[str, str]:
        if self._base is not None:
            return self._base.name, f"/memories/{self._base.id}"
        return "All sessions of the flow", f"/flows/{self._flow_id}/sessions"

    def _head(self, session: SessionView) -> None:
        with ui.element("div").classes("head"):
            parts.heading(f"Session {session.session_id}", 1)
            with ui.element("div").classes("ways"):
                if self._visit.may("write"):
                    parts.button("Delete session", self._delete_session, kind="danger")

    def _facts(self, session: SessionView, flow: FlowView) -> None:
        with ui.element("div").classes("row-of quiet"):
            ui.label(f"Flow {flow.name}")
            if session.end_user_id:
                ui.label(f"End user {session.end_user_id}")
            ui.label(f"Since {parts.moment(session.created_at)}")
            parts.link(self._visit, "Sessions of the flow", f"/flows/{flow.id}/sessions")
            parts.link(self._visit, "Runs of the flow", f"/flows/{flow.id}/runs")
        if session.metadata:
            saying.folded("Metadata", json.dumps(session.metadata, indent=2, ensure_ascii=False))

    def _figures(self, state: BaseSessionView | None) -> dict[str, str]:
        if self._base is None:
            return {"Messages": parts.number(self._window.total)}
        return {
            "Messages": parts.number(self._window.total),
            "Pending": parts.number(state.pending_messages) if state else "-",
            "Ingested up to message": parts.number(state.cursor_seq) if state else "-",
            "Last sync": parts.ago(state.last_sync_at) if state else "-",
            "State": state.state.value if state else "-",
        }

    # -----------------------------------------------------------------------------------------------------------
    # What is shown

    async def _again(self) -> None:
        await self._live.now()

    async def _look(self) -> None:
        visit, start = self._visit, self._window.start
        messages = await self._fetch()
        if not messages:  # those at the end are gone, or it is as a whole
            await visit.ask(sessions.get_session, self._flow_id, self._session_id)
            self._window.start = None
        base = None
        if self._base_id:
            base = await visit.ask(memory_bases.get_base_session, self._base_id, self._session_id)
        await self._find_branches(messages)
        failed = await self._repairs.look()
        if start == self._window.start:  # else the reader has gone on meanwhile, and another look shows that
            self._show(messages, base)
        for error in failed:
            parts.tell(f"A repair failed: {error}", "negative")

    async def _fetch(self) -> list[MessageView]:
        start = self._window.start
        page = await self._visit.ask(
            sessions.list_messages,
            MessageQuery(
                flow_id=self._flow_id,
                session_id=self._session_id,
                memory_base_id=self._base_id,
                order="desc" if start is None else "asc",
            ),
            PageRequest(size=SIZE, offset=start or 0),
        )
        self._window.total = page.total
        return page.items[::-1] if start is None else page.items

    async def _find_branches(self, messages: Sequence[MessageView]) -> None:
        """Anew where they may have changed: the way from the latest message to an early page is long."""
        now = ([message.id for message in messages], self._window.total)
        if now != self._branched:
            self._branches = await self._visit.ask(branches.branches, self._flow_id, self._session_id, messages)
            self._branched = now

    def _show(self, messages: Sequence[MessageView], base: BaseSessionView | None) -> None:
        self._messages.show(self._told(messages, base))
        for turner in self._turners:
            turner.show()
        for name, value in self._figures(base).items():
            self._stats[name].show(value)
        jobs = sum(map(len, self._repairs.under_way.values()))
        self._working.set_text(f"{parts.plural(jobs, 'repair')} under way: the knowledge bases follow the change.")
        self._working.set_visibility(jobs > 0)

    def _told(self, messages: Sequence[MessageView], base: BaseSessionView | None) -> list[Told]:
        seqs = {message.id: message.seq for message in messages}
        told = []
        before: UUID | None = None
        for message in messages:
            parent = message.parent_message_id
            answers = seqs.get(parent) if parent and parent != before else None
            told.append(Told(message, self._branches.get(message.id), answers, self._state(message, base)))
            before = message.id
        return told

    def _state(self, message: MessageView, base: BaseSessionView | None) -> tuple[str, Mood] | None:
        if message.id in self._repairs.under_way:
            return "repair under way", "busy"
        if self._base is None or base is None:
            return None
        if message.ingested:
            return "ingested", "good"
        if not _counts(message, self._base):
            return "not counted", "calm"
        return ("pending", "warn") if message.seq > base.cursor_seq else ("not ingested", "calm")

    # -----------------------------------------------------------------------------------------------------------
    # One message

    def _message(self, told: Told) -> Callable[[Told], None]:
        """Builds it; what is changed later changes in place, so that its buttons keep their focus."""
        message = told.message
        now = [told]  # what the buttons act on
        with ui.element("article").props(f"aria-label={json.dumps(saying.name(message))}") as article:
            with ui.element("header"):
                saying.who(message)
                run = parts.link(self._visit, f"Run {str(message.run_id)[:8]}",
                                 f"/flows/{message.flow_id}/runs/{message.run_id}")  # fmt: skip
                run.props(f"title={message.run_id}")
                badges = ui.element("span").classes("badges")
                if self._visit.may("write"):
                    with ui.element("span").classes("acts"):
                        parts.icon_button("edit", f"Edit message {message.seq}", lambda: self._edit(now[0].message))
                        parts.icon_button(
                            "delete", f"Delete message {message.seq}", lambda: self._delete(now[0].message)
                        )
            body = ui.element("div").classes("body")

        def change(new: Told) -> None:
            if _badges(new) != _badges(now[0]):
                badges.clear()
                _show_badges(badges, new)
            if _said(new.message) != _said(now[0].message):
                body.clear()
                _show_body(body, new)
            article.classes(replace=_kind(new))
            now[0] = new

        _show_badges(badges, told)
        _show_body(body, told)
        article.classes(replace=_kind(told))
        return change

    async def _edit(self, message: MessageView) -> None:
        self._follow(message, await parts.attempt(message_forms.edit(self._visit, message)), "changed")
        await self._live.now()

    async def _delete(self, message: MessageView) -> None:
        self._follow(message, await parts.attempt(message_forms.delete(self._visit, message)), "deleted")
        await self._live.now()

    def _follow(self, message: MessageView, jobs: list[UUID] | None, done: str) -> None:
        if jobs is None:
            return
        if jobs:
            self._repairs.under_way[message.id] = [*self._repairs.under_way.get(message.id, []), *jobs]
        started = f"{parts.plural(len(jobs), 'job')} started to repair the knowledge bases." if jobs else (
            "No job had to be started.")  # fmt: skip
        parts.tell(f"Message {message.seq} is {done}. {started}")

    async def _delete_session(self) -> None:
        async def ask() -> None:
            session = await self._visit.ask(sessions.get_session, self._flow_id, self._session_id)
            gone = await message_forms.delete_session(self._visit, session)
            if gone is None:
                return
            self._live.stop()
            self._talk.delete()
            with self._gone, parts.banner("This session is deleted", message_forms.receipt(gone), "info"):
                parts.link(self._visit, "Sessions of the flow", f"/flows/{self._flow_id}/sessions")

        await parts.attempt(ask())


def _counts(message: MessageView, base: MemoryBaseView) -> bool:
    """Whether the memory base's rule of capture counts it."""
    return message.is_output if base.capture == Capture.OUTPUTS else message.role in {"user", "assistant"}


def _kind(told: Told) -> str:
    off = told.branch is not None and not told.branch.on_latest
    return "message off" if off else "message"


def _said(message: MessageView) -> tuple[object, ...]:
    return message.content, message.tool_calls, message.files, message.tool_call_id


def _badges(told: Told) -> list[tuple[str, Mood]]:
    message, branch = told.message, told.branch
    found: list[tuple[str, Mood]] = []
    if told.answers is not None:
        found.append((f"answers #{told.answers}", "calm"))
    if branch is not None and branch.siblings > 1:
        found.append((f"{branch.position} of {branch.siblings}", "busy"))
    if branch is not None and not branch.on_latest:
        found.append(("not on the latest thread", "warn"))
    if message.status != "completed":
        found.append((message.status, "warn"))
    if message.edited_at is not None:
        found.append((f"edited {parts.moment(message.edited_at)}", "calm"))
    return [*found, told.state] if told.state else found


def _show_badges(badges: ui.element, told: Told) -> None:
    with badges:
        for words, mood in _badges(told):
            parts.badge(words, mood)


def _show_body(body: ui.element, told: Told) -> None:
    with body:
        saying.message(told.message)
