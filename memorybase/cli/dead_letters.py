"""dead-letters: list, retry and discard messages that could not be embedded, through a running stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from memorybase_client import errors as client_errors
from rich.markup import escape
from rich.table import Table

from memorybase import errors
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, table_console

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase_client import Client

app = typer.Typer(help="Messages that could not be embedded: list, retry, discard.", no_args_is_help=True)

MemoryOption = Annotated[str, typer.Option("--memory", help="The memory base's name.")]
IdsArgument = Annotated[list[str] | None, typer.Argument(help="Ids from `dead-letters list`.", show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead letter of the memory base.")]


@app.command("list")
def list_(
    *, memory: MemoryOption, data_dir: DataDirOption = None, url: UrlOption = None, key: KeyOption = None
) -> None:
    """List the dead letters of a memory base, oldest first, without their text."""
    with connect(data_dir, url, key) as client:
        letters = list(client.list_dead_letters(find_memory_base(client, memory).id))
    if not letters:
        typer.echo("no dead letters")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "session", "message", "state", "attempts", "error"):
        table.add_column(column, overflow="fold", no_wrap=column in {"id", "message"})
    for letter in letters:
        error = f"{letter.error.code}: {letter.error.message}"
        cells = (letter.id, letter.session_id, letter.message_id, letter.state, letter.attempts, error)
        table.add_row(*(escape(str(cell)) for cell in cells))
    table_console().print(table)


@app.command()
def retry(
    ids: IdsArgument = None,
    *,
    memory: MemoryOption,
    all_: AllOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Try again to embed these messages."""
    with connect(data_dir, url, key) as client:
        base_id = find_memory_base(client, memory).id
        chosen = _chosen(client, base_id, ids, all_=all_)
        for letter_id in chosen:
            client.retry_dead_letter(base_id, letter_id)
    typer.echo(f"retrying {plural(len(chosen), 'dead letter')}")


@app.command()
def discard(
    ids: IdsArgument = None,
    *,
    memory: MemoryOption,
    all_: AllOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Leave these messages out of this memory base; they stay stored."""
    with connect(data_dir, url, key) as client:
        base_id = find_memory_base(client, memory).id
        chosen = _chosen(client, base_id, ids, all_=all_)
        for letter_id in chosen:
            try:
                client.discard_dead_letter(base_id, letter_id)
            except client_errors.NotFound:
                # An earlier attempt succeeded but its answer was lost, or a repair removed the dead letter.
                if not all_:
                    raise
    typer.echo(f"discarded {plural(len(chosen), 'dead letter')}")


def _chosen(client: Client, base_id: UUID, ids: list[str] | None, *, all_: bool) -> list[str]:
    if bool(ids) == all_:
        raise errors.InvalidRequest("Pass either ids of dead letters or --all")
    if not all(ids or []):
        raise errors.InvalidRequest("ids of dead letters must not be empty", field="ids")
    return [str(letter.id) for letter in client.list_dead_letters(base_id)] if all_ else list(ids or [])
