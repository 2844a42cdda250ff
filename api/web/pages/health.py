"""Health: every component, the live workers, and the ingestion lag."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from nicegui import ui

from api.web import parts
from api.web.layout import page_layout
from api.web.parts import Poller, Stat, Table, text_cell
from api.web.visits import Visit, Visitor
from memorybase.operations import health as vitals
from memorybase.operations.health import Part
from memorybase.services import Services

PATH = "/health"
PURPOSES = {
    "database": "Source of truth for messages.",
    "redis": "Queues jobs and locks sessions.",
    "chroma": "Stores the vectors; can be rebuilt from the database.",
    "worker": "Embeds and ingests messages.",
    "sweeper": "Recovers lost jobs and flushes idle sessions.",
}


@ui.page(PATH, title="Health")
async def health(visit: Visitor) -> None:
    await HealthPage(visit).build()


class HealthPage:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    async def build(self) -> None:
        with page_layout(self._visit, "Health", section=PATH):
            parts.heading("Health", 1)
            with ui.element("div").classes("stats"):
                self._status = Stat("Status")
                self._workers = Stat("Live workers")
                self._lag = Stat("Ingestion lag")
            self._rows = Table[Part](
                "Components", ("Component", "Purpose", "State", "Response time / last heartbeat", "Problem"),
                lambda part: part.name, self._row,
            )  # fmt: skip
            parts.hint("Run memorybase doctor on the host for fixes.")
            Poller(self._refresh, seconds=3.0)
            await self._refresh()

    async def _refresh(self) -> None:
        components = await self._visit.read(_components)
        self._rows.show(components)
        failing = [part.name for part in components if not part.ok]
        self._status.show(f"failing: {', '.join(failing)}" if failing else "ok")
        worker = next((part for part in components if part.name == "worker"), None)
        self._workers.show(parts.number(worker.alive or 0) if worker else "-")
        if "database" not in failing:
            lag = await self._visit.read(vitals.oldest_pending_seconds)
            self._lag.show("none" if lag is None else parts.duration(lag))

    def _row(self, part: Part) -> Callable[[Part], None]:
        text_cell(part.name).classes("strong")
        text_cell(PURPOSES.get(part.name, ""))
        state = text_cell()
        seen = text_cell(kind="number")
        problem = text_cell()

        def update(part: Part) -> None:
            parts.set_badge(state, "ok" if part.ok else "failing", "good" if part.ok else "bad")
            seen.set_text(_last_seen(part))
            problem.set_text(part.problem or "-")

        update(part)
        return update


def _components(services: Services, _user_id: UUID) -> list[Part]:
    return vitals.check_parts(services)


def _last_seen(part: Part) -> str:
    if part.latency_seconds is not None:
        return parts.duration(part.latency_seconds)
    return f"{parts.duration(part.age_seconds)} ago" if part.age_seconds is not None else "-"
