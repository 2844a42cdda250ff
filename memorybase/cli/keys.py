"""keys: API keys of the local user, directly in the database."""

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
    name: Annotated[str, typer.Argument(help="A name for the key.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope of the key; repeat the option for more. (default: all)")
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Create a key and print its secret, which is shown only once."""
    from memorybase.auth import api_keys

    services, user_id = _local(data_dir)
    _, secret = api_keys.create_key(services, user_id, name=name, scopes=scope or list(api_keys.SCOPES))
    typer.echo(secret)


@app.command("list")
def list_(data_dir: DataDirOption = None) -> None:
    """List the keys that are not revoked, oldest first."""
    from memorybase.auth import api_keys

    services, user_id = _local(data_dir)
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "prefix", "scopes", "created", "last used", "expires"):
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for key in api_keys.list_keys(services, user_id):
        times = (key.created_at, key.last_used_at, key.expires_at)
        shown = [f"{time:%Y-%m-%d %H:%M}" if time else "-" for time in times]
        table.add_row(str(key.id), key.name, key.prefix, " ".join(key.scopes), *shown)
    table_console().print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id from `keys list`.")], data_dir: DataDirOption = None
) -> None:
    """Revoke a key permanently; a running API refuses it within a second."""
    from memorybase.auth import api_keys

    try:
        parsed = UUID(key_id)
    except ValueError:
        raise errors.InvalidRequest(
            "A key's id must be a UUID. List them with: memorybase keys list", value=key_id
        ) from None
    services, user_id = _local(data_dir)
    api_keys.revoke_key(services, user_id, parsed)
    typer.echo(f"revoked {parsed}")


def _local(data_dir: Path | None) -> tuple[Services, UUID]:
    """The services and the local user. Raises NotReady before the first start of a stack."""
    from memorybase import wiring
    from memorybase.auth import api_keys
    from memorybase.auth.queries import user_by_name

    services = wiring.build(settings_in_use(data_dir))
    try:
        with services.database.reading() as db:
            user_id = user_by_name(db, api_keys.LOCAL_USER)
    except errors.DatabaseUnavailable as exc:
        raise errors.DatabaseUnavailable(f"{exc.message}. Run `memorybase doctor` for fixes.") from exc
    if user_id is None:
        raise errors.NotReady(
            "There is no local user yet. Start a stack once (memorybase up), or set MEMORYBASE_API_KEY and run: "
            "memorybase prepare"
        )
    return services, user_id
