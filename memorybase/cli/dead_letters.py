"""dead-letters: list, retry and discard messages that could not be embedded, through a running stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memorybase.cli.bulk import DryRunOption, Filter, left_alone, repeat
from memorybase.cli.command import PrintedList, through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import plural
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Messages that could not be embedded: list, retry, discard.", no_args_is_help=True)

IdsArgument = Annotated[list[str] | None, typer.Argument(help="Ids from `dead-letters list`.", show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead letter of the memory base.")]
LETTERS = PrintedList(
    columns={
        "id": "id",
        "session": "session_id",
        "message": "message_id",
        "state": "state",
        "attempts": "attempts",
        "error": lambda each: f"{each.error.code}: {each.error.message}",
    },
    whole=("id", "message"),
    empty="no dead letters",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter(Filter):
    """Which dead letters."""

    code: Annotated[str | None, typer.Option("--cause", help="The error's code, as in the list.")] = None


@app.command("list")
@through_stack
def list_(client: Client, memory: Annotated[str, typer.Option("--memory", help="The memory base's name.")]) -> None:
    """List the dead letters of a memory base, oldest first, without their text."""
    LETTERS.show(client.list_dead_letters(find_memory_base(client, memory).id))


@app.command()
@through_stack
def retry(
    client: Client,
    ids: IdsArgument = None,
    *,
    wanted: LetterFilter,
    all_: AllOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Try again to embed these messages: named ones, all of a memory base, or those that a filter matches."""
    _act(client, "retry", ids, wanted.request(client, "cause"), all_=all_, dry_run=dry_run)


@app.command()
@through_stack
def discard(
    client: Client,
    ids: IdsArgument = None,
    *,
    wanted: LetterFilter,
    all_: AllOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Leave these messages out of their memory bases; they stay stored, and a regenerate tries them again."""
    _act(client, "discard", ids, wanted.request(client, "cause"), all_=all_, dry_run=dry_run)


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
    does, did = {"retry": ("retrying", "retried"), "discard": ("discarded", "discarded")}[action]
    letters = plural(taken, "dead letter")
    typer.echo((f"{letters} would be {did}" if dry_run else f"{does} {letters}") + left_alone(skipped))
    if ids and skipped.get("not_found"):
        raise typer.Exit(1)
