"""Whether the vector store holds what was ingested, and building it anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.parts import Bar
from api.web.visits import Visit
from memorybase import errors
from memorybase.memory_bases import consistency, regenerate
from memorybase.memory_bases.consistency import Mismatch
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import BuildView, MemoryBaseView

AWAY = "The vector store does not answer, so nothing was compared. That is no mismatch: check again when it is back."
QUESTION = (
    "The knowledge base is built anew from the stored messages, beside the one that is searched. Search answers from "
    "the old one until the new one is complete; then the old one is deleted. No stored message is lost. {count} are "
    "embedded again, which takes its time."
)
HELP = (
    "Check now compares the vector store with what was ingested, chunk by chunk. Regenerate builds the knowledge base "
    "anew from the stored messages."
)


class Store:
    """Its banners stand above the figures, its buttons below everything."""

    def __init__(self, visit: Visit, base_id: UUID, look: Callable[[], Awaitable[None]]) -> None:
        self._visit = visit
        self._base_id = base_id
        self._look = look
        self._result: Mismatch | None = None
        self._comparing = False
        self._building: int | None = None
        self._count = 0

    def banners(self) -> None:
        with ui.element("section").classes("banner bad").props("role=alert") as self._mismatch:
            ui.label("Mismatch detected").classes("title")
            self._difference = ui.label()
            with ui.element("div").classes("ways"):
                if self._visit.may("write"):
                    parts.button("Regenerate", self._regenerate, kind="first")
                parts.button("Check again", self._compare)
        self._mismatch.set_visibility(False)
        with ui.element("section").classes("banner info").props("aria-label=Regenerating") as self._build:
            ui.label("Regenerating").classes("title")
            ui.label("A new knowledge base is built from the stored messages; search answers from the old one.")
            self._bar = Bar("Regenerating")
            with ui.element("div").classes("ways"):
                parts.link(self._visit, "Its jobs", f"/memories/{self._base_id}/jobs")
        self._build.set_visibility(False)

    def build(self) -> None:
        with parts.card("Vector store"):
            self._last = ui.label()
            self._words = ui.label().props("role=status")
            with ui.element("div").classes("ways"):
                self._check = parts.button("Check now", self._compare)
                if self._visit.may("write"):
                    parts.button("Regenerate", self._regenerate)
            ui.label(HELP).classes("quiet")

    async def show(self, base: MemoryBaseView) -> None:
        """What has changed since the last look."""
        self._count = base.total_processed
        self._last.set_text(_last(base))
        self._show_mismatch(mismatch=bool(base.mismatch))
        await self._show_build()

    def _show_mismatch(self, *, mismatch: bool) -> None:
        new = mismatch and not self._mismatch.visible
        self._mismatch.set_visibility(mismatch)
        if mismatch:
            self._difference.set_text(_difference(self._result))
        elif not self._comparing:
            self._result = None
        if new and self._result is None:
            # Somebody else has found it, the sweeper by its count: what differs is asked for once.
            with self._mismatch:
                ui.timer(0.1, self._compare, once=True)

    async def _show_build(self) -> None:
        found = await self._visit.ask(memory_bases.get_generations, self._base_id)
        if found.building:
            self._building = found.building.generation
            self._bar.show(found.building.messages_passed, found.building.messages, _progress(found.building))
        elif self._building is not None:
            self._words.set_text("")
            if found.serving == self._building:
                parts.tell("Regenerate is done: the new knowledge base is searched from now on.")
            else:
                parts.tell("The regenerate was given up: the knowledge base is the one from before.", "warning")
            self._building = None
        self._build.set_visibility(found.building is not None)

    async def _compare(self) -> None:
        if self._comparing:
            return
        self._comparing = True
        self._check.disable()
        self._words.set_text("Comparing, chunk by chunk; a large memory takes its time.")
        try:
            self._result = await parts.attempt(self._visit.ask(consistency.check_mismatch, self._base_id))
        finally:
            self._comparing = False
            self._check.enable()
        self._words.set_text(_outcome(self._result))
        await self._look()

    async def _regenerate(self) -> None:
        question = QUESTION.format(count=parts.plural(self._count, "message"))
        if await parts.confirm("Regenerate?", question, action="Regenerate"):
            await parts.attempt(self._begin())
            await self._look()

    async def _begin(self) -> None:
        try:
            started = await self._visit.act(regenerate.regenerate, self._base_id)
        except errors.BuildActive:
            parts.tell(
                "A regenerate is going on already, so no second one was started. Wait until it is done, or cancel one "
                "of its jobs, which gives it up.",
                "warning",
            )
        else:
            self._building = started.generation
            self._words.set_text("Regenerating; how far it is stands at the top of the page.")


def _last(base: MemoryBaseView) -> str:
    if base.mismatch_checked_at is None:
        return "Not compared yet; the sweeper looks every minute."
    when = parts.ago(base.mismatch_checked_at)
    return f"Compared {when}: {'it differs' if base.mismatch else 'it holds what was ingested'}."


def _difference(result: Mismatch | None) -> str:
    words = "The vector store does not hold what was ingested"
    if result is None:
        words += "; what differs is being counted."
    elif result.state == "mismatch":
        words += (
            f": expected {parts.plural(result.expected, 'chunk')}, found {parts.number(result.found)} "
            f"({parts.number(result.missing)} missing, {parts.number(result.extra)} extra)."
        )
        if result.missing_token_vectors:
            words += f" {parts.plural(result.missing_token_vectors, 'message')} without token vectors."
    else:
        words += "; it does not answer now, so what differs cannot be counted."
    return f"{words} Search misses what is missing. Regenerate builds the knowledge base anew from the stored messages."


def _outcome(result: Mismatch | None) -> str:
    if result is None:
        return ""
    if result.state == "unavailable":
        return AWAY
    if result.state == "mismatch":
        return ""  # the banner says it
    return f"No mismatch: all {parts.plural(result.expected, 'chunk')} are there, and no other."


def _progress(build: BuildView) -> str:
    share = build.messages_passed / build.messages if build.messages else 1.0
    return f"{share:.0%}: {parts.number(build.sessions_built)} of {parts.plural(build.sessions, 'session')} complete"
