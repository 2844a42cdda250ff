"""Shared by commands that act on many objects: the filter, and calls that are repeated until nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase import errors
from memorybase.cli.memory_bases import find_memory_base

if TYPE_CHECKING:
    from memorybase_client import Client

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
MemoryFilterOption = Annotated[str | None, typer.Option("--memory", help="The memory base's name.")]
FlowOption = Annotated[str | None, typer.Option("--flow", help="The flow: its id, or yours.")]
SessionOption = Annotated[str | None, typer.Option("--session", help="The session's id.")]
OlderOption = Annotated[str | None, typer.Option("--older-than", help="Their age at least: 30m, 12h or 7d.")]
NewerOption = Annotated[str | None, typer.Option("--newer-than", help="Their age at most: 30m, 12h or 7d.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count them; change nothing.")]


def chosen_by(
    client: Client,
    memory: str | None,
    flow: str | None,
    session: str | None,
    older_than: str | None,
    newer_than: str | None,
    **others: str | None,
) -> dict[str, Any]:
    """The filter as fields of a request, without those that are not given."""
    fields: dict[str, Any] = {
        "memory_base_id": None if memory is None else find_memory_base(client, memory).id,
        "flow_id": flow,
        "session_id": session,
        "until": None if older_than is None else ago(older_than, "older-than"),
        "since": None if newer_than is None else ago(newer_than, "newer-than"),
        **others,
    }
    return {name: value for name, value in fields.items() if value is not None}


def repeat(call: Callable[[], Any]) -> tuple[int, dict[str, int]]:
    """Repeat the call until nothing matches. Returns the number of objects changed, and the number skipped by
    reason."""
    taken = 0
    while True:
        answer = call()
        taken += answer.taken
        # A call that took nothing would find the same again.
        if answer.dry_run or not answer.remaining or not answer.taken:
            break
    return taken, dict(answer.skipped)


def left_alone(skipped: dict[str, int]) -> str:
    """The end of a sentence about what was taken."""
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return f"; left alone: {counts}" if counts else ""


def ago(age: str, name: str) -> datetime:
    """The moment that lies as far back as the option `name` says. Raises InvalidRequest."""
    unit = UNITS.get(age[-1:])
    if unit is None or not age[:-1].isdecimal():
        raise errors.InvalidRequest(f"--{name} must be a number with m, h or d, like 12h", field=name, value=age)
    try:
        return datetime.now(UTC) - int(age[:-1]) * unit
    except OverflowError:
        raise errors.InvalidRequest(f"--{name} must be within the calendar", field=name, value=age) from None
