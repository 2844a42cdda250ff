"""pause and resume: hold the ingestion of memory bases back, through a running stack."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.command import through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import plural
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

MemoryOption = Annotated[str | None, typer.Option("--memory", help="The memory base's name.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every memory base of the key's user.")]
SinceOption = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%dT%H:%M:%S.%f%z"], help="Of all, those paused since then. pause --all prints it."),
]


@through_stack
def pause(client: Client, *, memory: MemoryOption = None, all_: AllOption = False) -> None:
    """Hold the ingestion of a memory base back, or of all for maintenance. Captures and searches go on."""
    changed = _set_paused(client, memory, all_=all_, paused=True)
    typer.echo(f"paused {plural(len(changed), 'memory base')}; jobs that run now end")
    times = [each.paused_at for each in changed if each.paused_at is not None]
    if all_ and times:
        since = min(times).isoformat(timespec="microseconds")
        typer.echo(f"resume them: memorybase resume --all --paused-since {since}")


@through_stack
def resume(
    client: Client, *, memory: MemoryOption = None, all_: AllOption = False, paused_since: SinceOption = None
) -> None:
    """Resume the ingestion of a memory base, or of all that are paused."""
    changed = _set_paused(client, memory, all_=all_, paused=False, since=paused_since)
    waiting = sum(each.pending_messages for each in changed)
    typer.echo(f"resumed {plural(len(changed), 'memory base')}; {plural(waiting, 'message')} pending")


def _set_paused(
    client: Client, memory: str | None, *, all_: bool, paused: bool, since: datetime | None = None
) -> list[models.MemoryBaseView]:
    """Pause or resume; the memory bases that this has changed."""
    if (memory is None) != all_:
        raise errors.InvalidRequest("Pass either --memory or --all")
    chosen = list(client.list_memory_bases()) if memory is None else [find_memory_base(client, memory)]
    return [
        client.update_memory_base(each.id, paused=paused)
        for each in chosen
        if (each.paused_at is not None) != paused
        and (since is None or (each.paused_at is not None and each.paused_at >= since))
    ]
