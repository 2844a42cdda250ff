"""Comparing the vector store with the ingested messages, and regenerating it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.parts import ProgressBar
from api.web.visits import Visit
from memorybase import errors
from memorybase.memory_bases import consistency, regenerate
from memorybase.memory_bases.consistency import Mismatch
from memorybase.read_models import memory_bases
from memorybase.read_models.memory_bases import BuildView, MemoryBaseView

UNAVAILABLE = (
    "The vector store does not respond, so nothing was compared. This is not a mismatch. Check again when the store is "
    "available."
)
QUESTION = (
    "This embeds {count} again into a new knowledge base, which may take several minutes. Search uses the current one "
    "until the new one is complete; then the current one is deleted. No stored message is lost."
)
HELP = (
    "Check now compares the vector store with the ingested messages, chunk by chunk. Regenerate rebuilds the knowledge "
    "base from the stored messages."
)


class Store:
    """Banners above the figures, and a card with buttons at the bottom of the page."""

    def __init__(self, visit: Visit, base_id: UUID, refresh: Callable[[], Awaitable[None]]) -> None:
        self._visit = visit
        self._base_id = base_id
        self._refresh = refresh
        self._result: Mismatch | None = None
        self._comparing = False
        self._building: int | None = None
        self._message_count = 0

    def build_banners(self) -> None:
        with ui.element("section").classes("banner bad").props("role=alert") as self._mismatch_banner:
            ui.label("Mismatch detected").classes("title")
            self._difference = ui.label()
            with ui.element("div").classes("actions"):
                if self._visit.may("write"):
                    parts.button("Regenerate", self._regenerate, kind="primary")
                parts.button("Check again", self._compare)
        self._mismatch_banner.set_visibility(False)
        with ui.element("section").classes("banner info").props("aria-label=Regenerating") as self._build_banner:
            ui.label("Regenerating").classes("title")
            ui.label(
                "A new knowledge base is being built from the stored messages. "
                "Search uses the current one until the new one is complete."
            )
            self._bar = ProgressBar("Regenerating")
            with ui.element("div").classes("actions"):
                parts.link(self._visit, "View jobs", f"/memories/{self._base_id}/jobs")
        self._build_banner.set_visibility(False)

    def build(self) -> None:
        with parts.card("Vector store"):
            self._last_check = ui.label()
            self._status = ui.label().props("role=status")
            with ui.element("div").classes("actions"):
                self._check = parts.button("Check now", self._compare)
                if self._visit.may("write"):
                    parts.button("Regenerate", self._regenerate)
            parts.hint(HELP)

    async def show(self, base: MemoryBaseView) -> None:
        self._message_count = base.total_processed
        self._last_check.set_text(_last_check(base))
        self._show_mismatch(mismatch=bool(base.mismatch))
        await self._show_build()

    def _show_mismatch(self, *, mismatch: bool) -> None:
        is_new = mismatch and not self._mismatch_banner.visible
        self._mismatch_banner.set_visibility(mismatch)
        if mismatch:
            self._difference.set_text(_difference(self._result))
        elif not self._comparing:
            self._result = None
        if is_new and self._result is None:
            # The sweeper found it by counting: compare once, to show the differences.
            with self._mismatch_banner:
                ui.timer(0.1, self._compare, once=True)

    async def _show_build(self) -> None:
        generations = await self._visit.read(memory_bases.get_generations, self._base_id)
        if generations.building:
            self._building = generations.building.generation
            self._bar.show(
                generations.building.messages_passed, generations.building.messages, _progress(generations.building)
            )
        elif self._building is not None:
            self._status.set_text("")
            if generations.serving == self._building:
                parts.notify("Regenerate complete: search now uses the new knowledge base.")
            else:
                parts.notify("Regenerate cancelled: search still uses the previous knowledge base.", "warning")
            self._building = None
        self._build_banner.set_visibility(generations.building is not None)

    async def _compare(self) -> None:
        if self._comparing:
            return
        self._comparing = True
        self._check.disable()
        self._status.set_text("Comparing chunks. This may take several minutes.")
        try:
            self._result = await parts.attempt(self._visit.read(consistency.check_mismatch, self._base_id))
        finally:
            self._comparing = False
            self._check.enable()
        self._status.set_text(_outcome(self._result))
        await self._refresh()

    async def _regenerate(self) -> None:
        question = QUESTION.format(count=parts.plural(self._message_count, "message"))
        if await parts.confirm("Regenerate?", question, action="Regenerate"):
            await parts.attempt(self._start())
            await self._refresh()

    async def _start(self) -> None:
        try:
            started = await self._visit.write(regenerate.regenerate, self._base_id)
        except errors.BuildActive:
            parts.notify(
                "A regenerate is already running. Wait until it is complete, or cancel one of its jobs to cancel it.",
                "warning",
            )
        else:
            self._building = started.generation
            self._status.set_text("Regenerating. Progress is shown at the top of the page.")


def _last_check(base: MemoryBaseView) -> str:
    if base.mismatch_checked_at is None:
        return "Not compared yet. The sweeper checks every minute."
    result = "mismatch" if base.mismatch else "no mismatch"
    return f"Compared {parts.ago(base.mismatch_checked_at)}: {result}."


def _difference(result: Mismatch | None) -> str:
    text = "The vector store differs from the ingested messages"
    if result is None:
        text += ". Counting the differences."
    elif result.state == "mismatch":
        text += (
            f": expected {parts.plural(result.expected, 'chunk')}, found {parts.number(result.found)} "
            f"({parts.number(result.missing)} missing, {parts.number(result.extra)} extra)."
        )
        if result.altered:
            text += f" Chunks with another text or a lost vector: {parts.number(result.altered)}."
        if result.missing_token_vectors:
            text += f" Messages without token vectors: {parts.number(result.missing_token_vectors)}."
    else:
        text += ". It does not respond now, so the differences cannot be counted."
    return f"{text} Results may be incomplete. Regenerate rebuilds the knowledge base from the stored messages."


def _outcome(result: Mismatch | None) -> str:
    if result is None:
        return ""
    if result.state == "unavailable":
        return UNAVAILABLE
    if result.state == "mismatch":
        return ""  # the banner shows it
    return f"No mismatch: all {parts.plural(result.expected, 'chunk')} are present, with no extra ones."


def _progress(build: BuildView) -> str:
    share = build.messages_passed / build.messages if build.messages else 1.0
    return f"{share:.0%}: {parts.number(build.sessions_built)} of {parts.plural(build.sessions, 'session')} complete"
