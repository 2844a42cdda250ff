"""dead-letters: the messages that could not be embedded, through a running stack."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memorybase import errors
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, table_console
from memorybase.client import Client

app = typer.Typer(help="Messages that could not be embedded: list, retry, discard.", no_args_is_help=True)

MemoryOption = Annotated[str, typer.Option("--memory", help="The memory base's name.")]
IdsArgument = Annotated[
    list[str] | None, typer.Argument(help="Ids that `dead-letters list` shows.", show_default=False)
]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead letter of the memory base.")]


@app.command("list")
def list_(
    *, memory: MemoryOption, data_dir: DataDirOption = None, url: UrlOption = None, key: KeyOption = None
) -> None:
    """The dead letters of a memory base, oldest first; never their text."""
    with connect(data_dir, url, key) as client:
        found = list(client.pages(_path(client, memory)))
    if not found:
        typer.echo("no dead letters")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "session", "message", "state", "attempts", "error"):
        table.add_column(column, overflow="fold", no_wrap=column in {"id", "message"})
    for letter in found:
        error = f"{letter['error']['code']}: {letter['error']['message']}"
        shown = (
            letter["id"],
            letter["session_id"],
            letter["message_id"],
            letter["state"],
            str(letter["attempts"]),
            error,
        )
        table.add_row(*(escape(text) for text in shown))
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
    """Try to embed these messages once more."""
    with connect(data_dir, url, key) as client:
        path = _path(client, memory)
        chosen = _chosen(client, path, ids, all_=all_)
        for letter_id in chosen:
            client.call("POST", f"{path}/{letter_id}/retry")
    typer.echo(f"{len(chosen)} are tried again")


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
    """Give these messages up for this memory base; they stay stored."""
    with connect(data_dir, url, key) as client:
        path = _path(client, memory)
        chosen = _chosen(client, path, ids, all_=all_)
        for letter_id in chosen:
            # 404: a try before this one got through and lost its answer, or a repair was quicker.
            client.call("DELETE", f"{path}/{letter_id}", allow=(404,) if all_ else ())
    typer.echo(f"{len(chosen)} were discarded")


def _path(client: Client, memory: str) -> str:
    found: dict[str, Any] = client.find_memory(memory)
    return f"/memories/{found['id']}/dead-letters"


def _chosen(client: Client, path: str, ids: list[str] | None, *, all_: bool) -> list[str]:
    if bool(ids) == all_:
        raise errors.InvalidRequest("Name the dead letters' ids, or all of them with --all")
    return [letter["id"] for letter in client.pages(path)] if all_ else list(ids or [])
