"""dead-letters: list, retry and discard messages that could not be embedded, through a running stack."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memorybase import errors
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, table_console
from memorybase.client import Client

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
        letters = list(client.pages(_path(client, memory)))
    if not letters:
        typer.echo("no dead letters")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "session", "message", "state", "attempts", "error"):
        table.add_column(column, overflow="fold", no_wrap=column in {"id", "message"})
    for letter in letters:
        error = f"{letter['error']['code']}: {letter['error']['message']}"
        cells = [str(letter[name]) for name in ("id", "session_id", "message_id", "state", "attempts")]
        table.add_row(*(escape(text) for text in (*cells, error)))
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
        path = _path(client, memory)
        chosen = _chosen(client, path, ids, all_=all_)
        for letter_id in chosen:
            client.call("POST", f"{path}/{letter_id}/retry")
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
        path = _path(client, memory)
        chosen = _chosen(client, path, ids, all_=all_)
        for letter_id in chosen:
            # 404: an earlier attempt succeeded but its answer was lost, or a repair removed the dead letter.
            client.call("DELETE", f"{path}/{letter_id}", allow=(404,) if all_ else ())
    typer.echo(f"discarded {plural(len(chosen), 'dead letter')}")


def _path(client: Client, memory: str) -> str:
    base: dict[str, Any] = client.find_memory(memory)
    return f"/memories/{base['id']}/dead-letters"


def _chosen(client: Client, path: str, ids: list[str] | None, *, all_: bool) -> list[str]:
    if bool(ids) == all_:
        raise errors.InvalidRequest("Pass either ids of dead letters or --all")
    return [letter["id"] for letter in client.pages(path)] if all_ else list(ids or [])
