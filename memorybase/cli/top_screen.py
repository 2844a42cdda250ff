"""Screen of `memorybase top`: readable without colour, with tables that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from memorybase.cli.options import plural
from memorybase.cli.top_figures import BASES_SHOWN, Look, State

if TYPE_CHECKING:
    from memorybase_client import models

UNKNOWN = "-"
WIDE, MIDDLE = 100, 64  # columns of the terminal from which tables have more columns
JOB_ROWS = 8
MINUTE, HOUR, DAY = 60, 3_600, 86_400

Cells = tuple[str | Text, ...]


def screen(state: State, url: str, now: float, *, width: int, rows: int | None = None) -> Group:
    """The whole screen, in at most `rows` rows."""
    head = [*_head(state, url, now), *(_figures(state, state.look) if state.look else [])]
    lines = [Text(line, style=style, no_wrap=True, overflow="ellipsis") for line, style in head]
    if state.look is None:
        return Group(*lines)
    jobs = (state.look.running or [])[: JOB_ROWS if rows else None]
    # Between both tables, and for their titles, there are rows too; the last one stays empty.
    left = None if rows is None else max(rows - len(lines) - (len(jobs) + 2 if jobs else 0) - 3, 1)
    tables: list[Table | Text] = [Text(), _bases(state, state.look, width, left)]
    if jobs:
        tables += [Text(), _jobs(jobs, width)]
    return Group(*lines, *tables)


def duration(seconds: float | None) -> str:
    """`45 s`, `12 min`, `3 h`, `2 d`."""
    if seconds is None:
        return UNKNOWN
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def chosen(text: str) -> Text:
    """Text chosen by users; never interpreted as markup."""
    return Text(printable(text))


def printable(text: str) -> str:
    """The text without control characters of the terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _head(state: State, url: str, now: float) -> Iterator[tuple[str, str]]:
    yield f"memorybase  {printable(url)}  {_condition(state)}", "bold"
    if state.failure is not None and state.failing_since is not None:
        what = "no figures" if state.parts is not None else "no answer"
        message = printable(" ".join(state.failure.message.split()))
        yield f"OUTAGE: {what} for {duration(now - state.failing_since)}: {message}", "bold red"
        if state.look is not None:
            yield f"The figures below are {duration(now - state.look.at)} old.", "yellow"
    elif state.reason is not None:
        yield printable(state.reason), "bold red"


def _condition(state: State) -> str:
    if state.failure is not None or state.parts is None:
        return "OUTAGE" if state.failure is not None else "connecting"
    if "failing" in state.parts.values():
        return "NOT READY"
    return "DEGRADED" if "degraded" in state.parts.values() else "ready"


def _figures(state: State, look: Look) -> Iterator[tuple[str, str]]:
    yield f"parts      {_parts(state, look)}", ""
    workers, sweepers = (_count(look.metric("processes", kind)) for kind in ("worker", "sweeper"))
    held = UNKNOWN if look.running is None else plural(len(look.running), "running job")
    yield f"processes  workers {workers}, sweepers {sweepers}; {held} of yours", ""
    due, oldest = _count(look.metric("pending_messages")), _oldest(look, "oldest_pending_message_age_seconds")
    waiting = _oldest(look, "oldest_uningested_message_age_seconds")
    yield f"pending    {due} messages due, the oldest {oldest}; with those that are not due yet {waiting}", ""
    queued, running, stuck = (
        _count(look.metric(*name)) for name in (("jobs", "queued"), ("jobs", "running"), ("stuck_jobs",))
    )
    dead = _count(look.metric("dead_letters"))
    yield f"jobs       {queued} queued, {running} running, {stuck} stuck; {dead} dead letters", ""
    # Without present figures there is no present rate.
    ingested = _rate(sum(state.ingested.values()) if state.ingested and state.failure is None else None)
    captures = _rate(state.captures if state.failure is None else None)
    yield f"a second   {captures} messages captured, {ingested} ingested", ""
    paused = sum(base.paused_at is not None for base in look.bases)
    if paused:
        every = ": maintenance" if paused == look.bases_total else ""
        yield f"paused     {paused} of {plural(look.bases_total, 'memory base')}{every}", "yellow"


def _parts(state: State, look: Look) -> str:
    """Each part's state: of now if the API answers, else none."""
    if state.parts is None:
        return "unknown"
    named = {label for name, label in look.metrics or {} if name == "memorybase_part_up"}
    known = dict.fromkeys(sorted(named), "ok") | dict(state.parts)
    return ", ".join(
        f"{name} {condition.upper() if condition != 'ok' else condition}" for name, condition in known.items()
    )


def _bases(state: State, look: Look, width: int, rows: int | None) -> Table:
    ordered = sorted(
        look.bases, key=lambda base: (-base.pending_messages, -state.ingested.get(base.id, 0.0), base.name)
    )
    if rows is not None and len(ordered) > rows:
        rows = max(rows - 1, 1)  # one says how many are not shown
    of_all = f" (the {BASES_SHOWN} used last of {look.bases_total})" if look.bases_total > len(look.bases) else ""
    table = _table([f"memory base{of_all}", "state", "pending", "a second", "ingested", "dead", "last"], width)
    for base in ordered[:rows]:
        state_of = "paused" if base.paused_at is not None else base.status
        pending = f"{base.pending_messages}{'+' if base.pending_capped else ''}"
        second = _rate(state.ingested.get(base.id) if state.failure is None else None)
        cells = (
            chosen(base.name),
            state_of,
            pending,
            second,
            str(base.total_processed),
            str(base.dead_letters),
            duration(_since(base.last_sync_at)),
        )
        table.add_row(*_fitting(cells, width), style="yellow" if base.dead_letters else "")
    if rows is not None and len(ordered) > rows:
        table.add_row(*_fitting((f"... {len(ordered) - rows} more", *[""] * 6), width))
    return table


def _jobs(jobs: Sequence[models.JobView], width: int) -> Table:
    table = _table(["running job of", "kind", "done", "for", "session", "attempts", ""], width)
    for job in jobs:
        done, since = f"{job.processed}/{job.total}", duration(_since(job.started_at))
        cells = (chosen(job.memory_base_name), job.kind, done, since, chosen(job.session_id), str(job.attempts), "")
        table.add_row(*_fitting(cells, width))
    return table


def _table(titles: list[str], width: int) -> Table:
    """The first column takes what the others leave."""
    table = Table(box=None, pad_edge=False, expand=False, show_edge=False, header_style="bold")
    for number, title in enumerate(_fitting(tuple(titles), width)):
        is_text = number in {0, 1, 4} if titles[0].startswith("running") else number in {0, 1}
        table.add_column(
            title,
            no_wrap=True,
            overflow="ellipsis",
            justify="left" if is_text else "right",
            min_width=8 if number == 0 else len(title),
        )
    return table


def _fitting(cells: Cells, width: int) -> Cells:
    """The cells that have room: the first ones say most."""
    return cells if width >= WIDE else cells[:4] if width >= MIDDLE else cells[:3]


def _oldest(look: Look, name: str) -> str:
    seconds = look.metric(name)
    return "none" if seconds == 0 else duration(seconds)


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


def _rate(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1f}"


def _since(moment: datetime | None) -> float | None:
    return None if moment is None else (datetime.now(UTC) - moment).total_seconds()
