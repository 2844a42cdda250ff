"""Shared by commands that act on many objects: the filter, and calls that are repeated until nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase.cli.memory_bases import find_memory_base
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client

UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
MemoryFilterOption = Annotated[str | None, typer.Option("--memory", help="The memory base's name.")]
OlderOption = Annotated[str | None, typer.Option("--older-than", help="Their age at least: 30m, 12h or 7d.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count them; change nothing.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which objects. `code`, of an error: each kind has an option of its own."""

    memory: MemoryFilterOption = None
    flow: Annotated[str | None, typer.Option("--flow", help="The flow: its id, or yours.")] = None
    session: Annotated[str | None, typer.Option("--session", help="The session's id.")] = None
    code: str | None = None
    older_than: OlderOption = None
    newer_than: Annotated[str | None, typer.Option("--newer-than", help="Their age at most: 30m, 12h or 7d.")] = None

    def request(self, client: Client, code: str) -> dict[str, Any]:
        """The fields of a request, without those that are not given; `code` is the name of that field there."""
        wanted = {
            "memory_base_id": None if self.memory is None else find_memory_base(client, self.memory).id,
            "flow_id": self.flow,
            "session_id": self.session,
            "until": None if self.older_than is None else ago(self.older_than, "older-than"),
            "since": None if self.newer_than is None else ago(self.newer_than, "newer-than"),
            code: self.code,
        }
        return {name: value for name, value in wanted.items() if value is not None}


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
