"""retention: expired rows that were deleted, or with --dry-run would be, through a running stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase.cli.command import PrintedList, through_stack
from memorybase.cli.extension import Commands
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models


def _subject(each: models.RetentionPreview | models.RetentionPassView) -> object:
    return each.memory_base_id or each.flow_id


_RULE: dict[str, str | Callable[[Any], object]] = {
    "rule": "rule",
    "flow or memory base": _subject,
    "days": "retain_days",
}
_COUNTED = ("sessions", "messages", "chunks", "node executions", "chat messages", "memory uses")
_COUNTS = {name: name.replace(" ", "_") for name in _COUNTED}
PREVIEWS = PrintedList(
    columns={**_RULE, "expired before": "expired_before", **_COUNTS, "held sessions": "held_sessions"},
    empty="nothing",
    whole=("flow or memory base",),
    missing="-",
    times="%Y-%m-%d %H:%M UTC",
)
PASSES = replace(
    PREVIEWS,
    columns={**_RULE, "started": "started_at", **_COUNTS, "facts": "facts", "finished": "finished_at"},
    shown=50,
)


@through_stack
def retention(
    client: Client,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted now; change nothing.")
    ] = False,
    flow: Annotated[str | None, typer.Option("--flow", help="Only this flow: its id, or yours.")] = None,
    retain_days: Annotated[
        int | None, typer.Option("--retain-days", help="With --dry-run and --flow: as if the flow had this rule.")
    ] = None,
) -> None:
    """List what retention has deleted, newest first, in numbers; with --dry-run, what it would delete now."""
    if retain_days is not None and not (dry_run and flow):
        raise errors.InvalidRequest("--retain-days requires --dry-run and --flow", field="retain_days")
    if dry_run:
        PREVIEWS.show(client.preview_retention(flow_id=flow, retain_days=retain_days).items)
    else:
        PASSES.show(client.list_retention_passes(flow_id=flow))


COMMANDS = Commands(panel="Access and retention", commands={"retention": retention})
