"""keys: API keys of the local user, straight in the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.table import Table

from memorybase import errors
from memorybase.cli.options import DataDirOption, table_console
from memorybase.stack.state import settings_in_use

if TYPE_CHECKING:
    from memorybase.services import Services

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    scope: Annotated[list[str] | None, typer.Option(help="A scope of the key; repeat for more. (default: all)")] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Make a key and print its secret, which is shown this once."""
    from memorybase.auth import api_keys

    services, user_id = _local(data_dir)
    _, secret = api_keys.create_key(services, user_id, name=name, scopes=scope or list(api_keys.SCOPES))
    typer.echo(secret)


@app.command("list")
def list_(data_dir: DataDirOption = None) -> None:
    """The keys that work, oldest first."""
    from memorybase.auth import api_keys

    services, user_id = _local(data_dir)
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "begins", "scopes", "created", "last used", "expires"):
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for key in api_keys.list_keys(services, user_id):
        times = (key.created_at, key.last_used_at, key.expires_at)
        shown = [f"{time:%Y-%m-%d %H:%M}" if time else "-" for time in times]
        table.add_row(str(key.id), key.name, key.prefix, " ".join(key.scopes), *shown)
    table_console().print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id that `keys list` shows.")], data_dir: DataDirOption = None
) -> None:
    """Make a key stop working, at once and for good."""
    from memorybase.auth import api_keys

    try:
        wanted = UUID(key_id)
    except ValueError:
        raise errors.InvalidRequest("A key's id is a UUID; see: memorybase keys list", value=key_id) from None
    services, user_id = _local(data_dir)
    api_keys.revoke_key(services, user_id, wanted)
    typer.echo(f"revoked {wanted}")


def _local(data_dir: Path | None) -> tuple[Services, UUID]:
    """The services and the local user; raises NotReady before a stack has run here."""
    from memorybase import wiring
    from memorybase.auth import api_keys
    from memorybase.auth.queries import user_by_name

    services = wiring.build(settings_in_use(data_dir))
    try:
        with services.database.reading() as db:
            user_id = user_by_name(db, api_keys.LOCAL_USER)
    except errors.DatabaseUnavailable as exc:
        raise errors.DatabaseUnavailable(f"{exc.message}. See: memorybase doctor") from exc
    if user_id is None:
        raise errors.NotReady(
            "There is no local user yet. Start a stack once (memorybase up), or set MEMORYBASE_API_KEY and run: "
            "memorybase prepare"
        )
    return services, user_id
