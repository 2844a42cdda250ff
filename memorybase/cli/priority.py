"""priority: how large a memory base's share of the workers is, through a running stack."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect


def priority(
    level: Annotated[Literal["low", "normal", "high"], typer.Argument(help="low, normal or high.")],
    *,
    memory: Annotated[str, typer.Option("--memory", help="The memory base's name.")],
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Set the priority of a memory base; its waiting jobs get their new places at once."""
    with connect(data_dir, url, key) as client:
        changed = client.update_memory_base(find_memory_base(client, memory).id, priority=level)
    typer.echo(f"{changed.name} has {changed.priority} priority; {changed.pending_messages} messages pending")
