"""Health: each part, the workers' sign of life, what waits longest."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.frame import frame
from api.web.parts import Live, Rows, Stat, cell
from api.web.visits import Visit, Visitor
from memorybase.operations import health as vitals
from memorybase.operations.health import Part
from memorybase.services import Services

PLACE = "/health"
MEANINGS = {
    "database": "Keeps every message; the truth.",
    "redis": "Rings the worker, and lets one task at a session.",
    "chroma": "Holds the vectors; can be built anew from the database.",
    "worker": "Embeds and stores what is due.",
    "sweeper": "Finds what was forgotten: lost rings, dead workers, idle sessions.",
}


@ui.page(PLACE, title="Health")
async def health(visit: Visitor) -> None:
    await HealthPage(visit).build()


class HealthPage:
    """Asked anew every few seconds."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        with frame(self._visit, "Health", here=PLACE):
            parts.heading("Health", 1)
            with ui.element("div").classes("stats"):
                self._whole = Stat("Everything")
                self._workers = Stat("Workers alive")
                self._oldest = Stat("Oldest message that is due")
            self._rows = Rows[Part](
                "Parts of the stack", ("Part", "What for", "State", "Answers in / last sign of life", "What is wrong"),
                lambda part: part.name, self._row,
            )  # fmt: skip
            parts.words("memorybase doctor, on the machine itself, says what mends each.")
            Live(self._look, seconds=3.0)
            await self._look()

    async def _look(self) -> None:
        found = await self._visit.ask(_parts)
        self._rows.show(found)
        wrong = [part.name for part in found if not part.ok]
        self._whole.show(f"not well: {', '.join(wrong)}" if wrong else "well")
        worker = next((part for part in found if part.name == "worker"), None)
        self._workers.show(parts.number(worker.alive or 0) if worker else "-")
        if "database" not in wrong:
            oldest = await self._visit.ask(vitals.oldest_pending_seconds)
            self._oldest.show("nothing is due" if oldest is None else parts.span(oldest))

    def _row(self, part: Part) -> Callable[[Part], None]:
        with cell():
            ui.label(part.name).classes("strong")
        with cell():
            ui.label(MEANINGS.get(part.name, ""))
        with cell():
            state = ui.label()
        with cell("number"):
            seen = ui.label()
        with cell():
            problem = ui.label()

        def change(now: Part) -> None:
            state.set_text("ok" if now.ok else "not ok")
            state.classes(replace=f"badge {'good' if now.ok else 'bad'}")
            seen.set_text(_seen(now))
            problem.set_text(now.problem or "-")

        change(part)
        return change


def _parts(services: Services, _user_id: UUID) -> list[Part]:
    return vitals.check_parts(services)


def _seen(part: Part) -> str:
    if part.latency_seconds is not None:
        return parts.span(part.latency_seconds)
    return f"{parts.span(part.age_seconds)} ago" if part.age_seconds is not None else "-"
