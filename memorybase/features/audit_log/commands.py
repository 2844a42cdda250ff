"""audit: verify and export the audit log, directly in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.extension import Commands
from memorybase.cli.options import DataDirOption, stored_settings
from memorybase.core import errors

if TYPE_CHECKING:
    from pathlib import Path

    from memorybase.core.services import Services

app = typer.Typer(help="The audit log: verify its hash chain, export it.", no_args_is_help=True)
COMMANDS = Commands(panel="Access and retention", commands={"audit": app})


@app.command()
def verify(
    seq: Annotated[int | None, typer.Option(help="The seq of a hash that you noted.")] = None,
    expected: Annotated[str, typer.Option("--hash", help="The hash that you noted, in hexadecimal.")] = "",
    data_dir: DataDirOption = None,
) -> None:
    """Recompute the hash of every entry. Exit code 1 if an entry was changed, removed or inserted.

    Somebody who may write to the database can compute the whole chain anew. Note the last seq and hash elsewhere from
    time to time, and pass them to find that out.
    """
    from memorybase.features.audit_log import chain

    if (seq is None) != (not expected):
        raise errors.InvalidRequest("--seq and --hash must be given together", field="seq")
    found = chain.verify(_services(data_dir).database, seq=seq, expected=expected.lower() or None)
    typer.echo(f"entries {found.entries}, seq {found.first_seq} to {found.last_seq}, not sealed yet {found.unsealed}")
    typer.echo(f"last hash {found.last_hash}")
    if not found.is_intact:
        typer.echo(f"broken at seq {found.broken_seq}: {found.reason}", err=True)
        raise typer.Exit(1)
    typer.echo("the chain is intact")


@app.command()
def export(
    after_seq: Annotated[int, typer.Option(help="The last seq that you have.")] = 0, data_dir: DataDirOption = None
) -> None:
    """Print the local user's sealed entries as JSON lines, in the order of the chain."""
    from memorybase.core.auth.api_keys import LOCAL_USER
    from memorybase.core.queries.credentials import user_by_name
    from memorybase.features.audit_log import entries
    from memorybase.features.audit_log.queries import EntryFilter

    services = _services(data_dir)
    with services.database.reading() as db:
        user_id = user_by_name(db, LOCAL_USER)
    if user_id is None:
        raise errors.NotReady("There is no local user yet, so there are no entries")
    for line in entries.export_entries(services, user_id, EntryFilter(), after_seq):
        typer.echo(line, nl=False)


def _services(data_dir: Path | None) -> Services:
    from memorybase import wiring

    return wiring.build(stored_settings(data_dir))
