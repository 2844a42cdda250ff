"""dead-letters: list, retry and discard messages that could not be embedded, through a running stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memorybase import errors
from memorybase.cli.bulk import (
    DryRunOption,
    FlowOption,
    MemoryFilterOption,
    NewerOption,
    OlderOption,
    SessionOption,
    chosen_by,
    left_alone,
    repeat,
)
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, print_table

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Messages that could not be embedded: list, retry, discard.", no_args_is_help=True)

MemoryOption = Annotated[str, typer.Option("--memory", help="The memory base's name.")]
CauseOption = Annotated[str | None, typer.Option("--cause", help="The error's code, as in the list.")]
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
    rows = (
        (
            each.id,
            each.session_id,
            each.message_id,
            each.state,
            each.attempts,
            f"{each.error.code}: {each.error.message}",
        )
        for each in letters
    )
    print_table(("id", "session", "message", "state", "attempts", "error"), rows, whole=("id", "message"))


@app.command()
def retry(
    ids: IdsArgument = None,
    *,
    memory: MemoryFilterOption = None,
    all_: AllOption = False,
    flow: FlowOption = None,
    session: SessionOption = None,
    cause: CauseOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    dry_run: DryRunOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Try again to embed these messages: named ones, all of a memory base, or those that a filter matches."""
    with connect(data_dir, url, key) as client:
        wanted = chosen_by(client, memory, flow, session, older_than, newer_than, cause=cause)
        _act(client, "retry", ids, wanted, all_=all_, dry_run=dry_run)


@app.command()
def discard(
    ids: IdsArgument = None,
    *,
    memory: MemoryFilterOption = None,
    all_: AllOption = False,
    flow: FlowOption = None,
    session: SessionOption = None,
    cause: CauseOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    dry_run: DryRunOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Leave these messages out of their memory bases; they stay stored, and a regenerate tries them again."""
    with connect(data_dir, url, key) as client:
        wanted = chosen_by(client, memory, flow, session, older_than, newer_than, cause=cause)
        _act(client, "discard", ids, wanted, all_=all_, dry_run=dry_run)


def _act(
    client: Client,
    action: Literal["retry", "discard"],
    ids: list[str] | None,
    wanted: dict[str, Any],
    *,
    all_: bool,
    dry_run: bool,
) -> None:
    if not all(ids or []):
        raise errors.InvalidRequest("ids of dead letters must not be empty", field="ids")
    is_filtered = bool(set(wanted) - {"memory_base_id"})
    if bool(ids) + all_ + is_filtered != 1:
        raise errors.InvalidRequest("Pass ids of dead letters, a filter, or --all")
    if all_ and not wanted:
        raise errors.InvalidRequest("--all requires --memory", field="memory")
    if ids:
        wanted = {**wanted, "ids": ids}
    taken, skipped = repeat(lambda: client.act_on_dead_letters(action=action, dry_run=dry_run, **wanted))
    done = {"retry": "retrying", "discard": "discarded"}[action]
    said = f"{taken} would be {done}" if dry_run else f"{done} {plural(taken, 'dead letter')}"
    typer.echo(said + left_alone(skipped))
    if ids and skipped.get("not_found"):
        raise typer.Exit(1)
