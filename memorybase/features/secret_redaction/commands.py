"""secrets: find keys and passwords in what is stored, and redact them, through a running stack."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.command import through_stack
from memorybase.cli.extension import Commands

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Keys and passwords in what is stored: find and redact them.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """A group, although it has one command."""


@app.command()
@through_stack
def scan(
    client: Client,
    *,
    flow: Annotated[str | None, typer.Option("--flow", help="Only this flow: its id, or yours.")] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Redact them for good. Without it nothing is changed.")
    ] = False,
) -> None:
    """Count the secrets in messages and everything else that was captured, by kind; with --redact, replace them."""
    kinds, totals = Counter[str](), Counter[str]()
    cursor: str | None = None
    while True:
        part = client.scan_secrets(flow_id=flow, redact=redact, cursor=cursor)
        for each in part.found:
            typer.echo(f"{each.kind}  {each.place} {each.id}  {each.field}:{each.at}")
        kinds.update(part.kinds or {})
        rows = sum((part.places or {}).values())
        totals.update(rows=rows, scanned=part.scanned, redacted=part.redacted, held=part.held)
        if part.receipt_id is not None:
            typer.echo(f"receipt {part.receipt_id}")
        cursor = part.next_cursor
        if cursor is None:
            break
    by_kind = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "no secrets"
    typer.echo(f"{by_kind}: {totals['rows']} of {totals['scanned']} rows")
    if redact:
        typer.echo(f"redacted {totals['redacted']} rows; {totals['held']} are on legal hold")
    elif kinds:
        typer.echo("nothing was changed; --redact replaces them for good")


COMMANDS = Commands(panel="Access and retention", commands={"secrets": app})
