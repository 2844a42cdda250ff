"""retention: expired rows that were deleted, or with --dry-run would be, through a running stack."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase import errors
from memorybase.cli.extension import Commands
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 50  # receipts
COUNTS = ("sessions", "messages", "chunks", "node executions", "chat messages", "memory uses")
DELETED = (*COUNTS, "facts")  # a dry run does not count facts


def retention(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted now; change nothing.")
    ] = False,
    flow: Annotated[str | None, typer.Option("--flow", help="Only this flow: its id, or yours.")] = None,
    retain_days: Annotated[
        int | None, typer.Option("--retain-days", help="With --dry-run and --flow: as if the flow had this rule.")
    ] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """List what retention has deleted, newest first, in numbers; with --dry-run, what it would delete now."""
    if retain_days is not None and not (dry_run and flow):
        raise errors.InvalidRequest("--retain-days requires --dry-run and --flow", field="retain_days")
    with connect(data_dir, url, key) as client:
        if dry_run:
            items = client.preview_retention(flow_id=flow, retain_days=retain_days).items
            rows = [
                (
                    each.rule,
                    each.memory_base_id or each.flow_id,
                    each.retain_days,
                    each.expired_before,
                    *_counts(each, COUNTS),
                    each.held_sessions,
                )
                for each in items
            ]
            _print(("rule", "flow or memory base", "days", "expired before", *COUNTS, "held sessions"), rows)
            return
        passes = islice(client.list_retention_passes(flow_id=flow), SHOWN)
        rows = [
            (
                each.rule,
                each.memory_base_id or each.flow_id,
                each.retain_days,
                each.started_at,
                *_counts(each, DELETED),
                each.finished_at,
            )
            for each in passes
        ]
    _print(("rule", "flow or memory base", "days", "started", *DELETED, "finished"), rows)


def _counts(each: object, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(each, name.replace(" ", "_")) for name in names)


def _print(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    if not rows:
        typer.echo("nothing")
        return
    print_table(columns, ([_text(cell) for cell in row] for row in rows), whole=("flow or memory base",))


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    return f"{cell:%Y-%m-%d %H:%M} UTC" if isinstance(cell, datetime) else str(cell)


COMMANDS = Commands(panel="Access and retention", commands={"retention": retention})
