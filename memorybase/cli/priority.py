"""priority: how large a memory base's share of the workers is, through a running stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memorybase.cli.command import through_stack
from memorybase.cli.memory_bases import find_memory_base

if TYPE_CHECKING:
    from memorybase_client import Client


@through_stack
def priority(
    client: Client,
    level: Annotated[Literal["low", "normal", "high"], typer.Argument(help="low, normal or high.")],
    *,
    memory: Annotated[str, typer.Option("--memory", help="The memory base's name.")],
) -> None:
    """Set the priority of a memory base; its waiting jobs get their new places at once."""
    changed = client.update_memory_base(find_memory_base(client, memory).id, priority=level)
    typer.echo(f"{changed.name} has {changed.priority} priority; {changed.pending_messages} messages pending")
