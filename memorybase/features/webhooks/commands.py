"""webhooks: list them and what was sent, replay and discard dead deliveries, through a running stack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase import errors
from memorybase.cli.bulk import OlderOption, ago
from memorybase.cli.extension import Commands
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, print_table

if TYPE_CHECKING:
    from memorybase_client import models

app = typer.Typer(help="Webhooks: list, and replay or discard dead deliveries.", no_args_is_help=True)
COMMANDS = Commands(panel="Access and retention", commands={"webhooks": app})

SHOWN = 50
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
WebhookArgument = Annotated[str, typer.Argument(help="Id from `webhooks list`.", show_default=False)]
IdsArgument = Annotated[list[str] | None, typer.Argument(help="Ids from `webhooks deliveries`.", show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead delivery of the webhook.")]


@app.command("list")
def list_(*, data_dir: DataDirOption = None, url: UrlOption = None, key: KeyOption = None) -> None:
    """List the webhooks, oldest first, with their dead and pending deliveries."""
    with connect(data_dir, url, key) as client:
        found = list(client.list_webhooks())
    if not found:
        typer.echo("no webhooks")
        return
    rows = ((each.id, each.url, each.description, _state(each), each.pending, each.dead) for each in found)
    print_table(("id", "url", "description", "state", "pending", "dead"), rows, whole=("id",))


@app.command()
def deliveries(
    webhook: WebhookArgument,
    *,
    state: Annotated[str | None, typer.Option(help="pending, delivered or dead.")] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """List the latest deliveries of a webhook, newest first, without what was sent."""
    wanted: dict[str, Any] = {} if state is None else {"state": state}
    with connect(data_dir, url, key) as client:
        found = list(islice(client.list_deliveries(webhook, **wanted), SHOWN))
    if not found:
        typer.echo("no deliveries")
        return
    rows = (
        (
            each.id,
            each.event_type,
            each.state,
            each.attempts,
            f"{each.occurred_at:%Y-%m-%d %H:%M:%S}",
            each.last_error or "",
        )
        for each in found
    )
    print_table(("id", "event", "state", "attempts", "happened", "error"), rows, whole=("id",))


@app.command()
def replay(
    webhook: WebhookArgument,
    ids: IdsArgument = None,
    *,
    all_: AllOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Send deliveries again, with all their attempts: named ones, or all dead ones."""
    _check(ids, "either ids of deliveries or --all", others=all_)
    with connect(data_dir, url, key) as client:
        for each in ids or ():
            client.replay_delivery(webhook, each)
        count, remaining = len(ids or ()), all_
        while remaining:
            answer = client.replay_dead_deliveries(webhook, since=BEGINNING)
            count, remaining = count + answer.replayed, answer.remaining
    typer.echo(f"replaying {plural(count, 'delivery', 'deliveries')}")


@app.command()
def discard(
    webhook: WebhookArgument,
    ids: IdsArgument = None,
    *,
    all_: AllOption = False,
    older_than: OlderOption = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Delete dead deliveries: named ones, all, or those dead for a given time. They cannot be replayed any more."""
    _check(ids, "ids of deliveries, --older-than, or --all", others=all_ + (older_than is not None))
    # Not what dies meanwhile: nobody has seen it.
    until = datetime.now(UTC) if older_than is None else ago(older_than, "older-than")
    with connect(data_dir, url, key) as client:
        for each in ids or ():
            client.discard_delivery(webhook, each)
        count, remaining = len(ids or ()), not ids
        while remaining:
            answer = client.discard_dead_deliveries(webhook, until=until)
            count, remaining = count + answer.discarded, answer.remaining
    typer.echo(f"discarded {plural(count, 'delivery', 'deliveries')}")


def _check(ids: Sequence[str] | None, choices: str, *, others: int) -> None:
    """Whether one of the choices is made, of which `others` are not by ids. Raises InvalidRequest."""
    if not all(ids or ()):
        raise errors.InvalidRequest("ids of deliveries must not be empty", field="ids")
    if bool(ids) + others != 1:
        raise errors.InvalidRequest(f"Pass {choices}", field="ids")


def _state(webhook: models.WebhookView) -> str:
    if not webhook.enabled:
        return f"disabled: {webhook.disabled_reason}"
    return "failing" if webhook.failing_since else "enabled"
