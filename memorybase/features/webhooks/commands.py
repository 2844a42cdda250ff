"""webhooks: list them and what was sent, replay and discard dead deliveries, through a running stack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase.cli.bulk import OlderOption, ago
from memorybase.cli.command import PrintedList, through_stack
from memorybase.cli.extension import Commands
from memorybase.cli.options import plural
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client, models

app = typer.Typer(help="Webhooks: list, and replay or discard dead deliveries.", no_args_is_help=True)
COMMANDS = Commands(panel="Access and retention", commands={"webhooks": app})

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
WebhookArgument = Annotated[str, typer.Argument(help="Id from `webhooks list`.", show_default=False)]
IdsArgument = Annotated[list[str] | None, typer.Argument(help="Ids from `webhooks deliveries`.", show_default=False)]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead delivery of the webhook.")]


def _state(webhook: models.WebhookView) -> str:
    if not webhook.enabled:
        return f"disabled: {webhook.disabled_reason}"
    return "failing" if webhook.failing_since else "enabled"


WEBHOOKS = PrintedList(
    columns={
        "id": "id",
        "url": "url",
        "description": "description",
        "state": _state,
        "pending": "pending",
        "dead": "dead",
    },
    empty="no webhooks",
)
DELIVERIES = PrintedList(
    columns={
        "id": "id",
        "event": "event_type",
        "state": "state",
        "attempts": "attempts",
        "happened": "occurred_at",
        "error": "last_error",
    },
    empty="no deliveries",
    shown=50,
)


@app.command("list")
@through_stack
def list_(client: Client) -> None:
    """List the webhooks, oldest first, with their dead and pending deliveries."""
    WEBHOOKS.show(client.list_webhooks())


@app.command()
@through_stack
def deliveries(
    client: Client,
    webhook: WebhookArgument,
    *,
    state: Annotated[str | None, typer.Option(help="pending, delivered or dead.")] = None,
) -> None:
    """List the latest deliveries of a webhook, newest first, without what was sent."""
    wanted: dict[str, Any] = {} if state is None else {"state": state}
    DELIVERIES.show(client.list_deliveries(webhook, **wanted))


@app.command()
@through_stack
def replay(client: Client, webhook: WebhookArgument, ids: IdsArgument = None, *, all_: AllOption = False) -> None:
    """Send deliveries again, with all their attempts: named ones, or all dead ones."""
    _check(ids, "either ids of deliveries or --all", others=all_)
    for each in ids or ():
        client.replay_delivery(webhook, each)
    count, remaining = len(ids or ()), all_
    while remaining:
        answer = client.replay_dead_deliveries(webhook, since=BEGINNING)
        count, remaining = count + answer.replayed, answer.remaining
    typer.echo(f"replaying {plural(count, 'delivery', 'deliveries')}")


@app.command()
@through_stack
def discard(
    client: Client,
    webhook: WebhookArgument,
    ids: IdsArgument = None,
    *,
    all_: AllOption = False,
    older_than: OlderOption = None,
) -> None:
    """Delete dead deliveries: named ones, all, or those dead for a given time. They cannot be replayed any more."""
    _check(ids, "ids of deliveries, --older-than, or --all", others=all_ + (older_than is not None))
    # Not what dies meanwhile: nobody has seen it.
    until = datetime.now(UTC) if older_than is None else ago(older_than, "older-than")
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
