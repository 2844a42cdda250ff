"""The way of a run's messages from capture to ingestion, as rows of a chart. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from api.web.badges import SEARCH_STATES, Badge
from api.web.rendering import duration
from memorybase.core.queries.coverage import SearchState
from memorybase.core.read_models.ingestion import Ingestion

# What ends each step, and when it began, in order; a step that took no time of its own is not shown.
STEPS = (
    ("Below the threshold", "waited", "captured_at", "queued_at"),
    ("In the queue", "queued", "queued_at", "started_at"),
    ("Embedded", "embedded", "embedding_at", "embedded_at"),
    ("Written, read back", "written", "embedded_at", "written_at"),
)
LEAST_WAIT_SECONDS = 1.0  # below the threshold


@dataclass(frozen=True, slots=True)
class Step:
    """A row: from `start` over `width`, in percent of the whole time. `css`: its colour. `took`: in words."""

    label: str
    css: str
    start: float
    width: float
    took: str


def steps_of(ingestion: Ingestion) -> list[Step]:
    """Without the times of its jobs, only what is known. Empty without a capture."""
    captured, ended = ingestion.captured_at, ingestion.searchable_at
    if captured is None:
        return []
    known = [at for at in (captured, ingestion.queued_at, ingestion.written_at, ended) if at is not None]
    whole = max((max(known) - captured).total_seconds(), 0.001)

    def share(at: datetime) -> float:
        return round(min(100.0, 100 * (at - captured).total_seconds() / whole), 2)

    found = [Step("Captured", "captured", 0.0, 0.0, "at once")]
    for label, css, begin, end in STEPS:
        began, done = getattr(ingestion, begin), getattr(ingestion, end)
        if began is None or done is None:
            continue
        seconds = (done - began).total_seconds()
        if css != "waited" or seconds >= LEAST_WAIT_SECONDS:
            found.append(Step(label, css, share(began), max(0.0, share(done) - share(began)), duration(seconds)))
    if ended is not None:
        found.append(Step("Ingested", "done", share(ended), 0.0, f"after {after(ingestion)}"))
    return found


def after(ingestion: Ingestion) -> str:
    """How long after the capture searches by meaning found the messages."""
    ms = ingestion.searchable_after_ms
    return duration(None if ms is None else ms / 1_000)


def starts(ingestion: Ingestion, idle_after: int) -> str:
    """When the ingestion of messages that wait starts by itself; `idle_after` in seconds, 0: never when idle."""
    if not ingestion.auto_capture:
        return "This memory is off and ingests only when asked."
    idle = f", or {duration(idle_after)} after the last one" if idle_after else ""
    count = f"{ingestion.pending:,} of {ingestion.threshold:,} messages"
    return f"{count}. Ingestion starts with {ingestion.threshold:,}{idle}."


def state_of(ingestion: Ingestion) -> Badge:
    ms = ingestion.searchable_after_ms
    return of_run(ingestion.state, None if ms is None else ms / 1_000)


def of_run(state: SearchState, after_seconds: float | None) -> Badge:
    """With how long after the capture searches by meaning found the messages."""
    found = SEARCH_STATES[state]
    if state != SearchState.SEARCHABLE or after_seconds is None:
        return found
    return found._replace(text=f"{found.text} after {duration(after_seconds)}")
