"""keys: API keys of the local user, directly in the database."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memorybase.cli.command import PrintedList
from memorybase.cli.options import DataDirOption, stored_settings
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase.core.models import ApiKey
    from memorybase.core.services import Services

KeyIdArgument = Annotated[str, typer.Argument(help="The id from `keys list`.")]

app = typer.Typer(help="API keys: create, list, rotate, revoke.", no_args_is_help=True)


def _scopes(key: ApiKey) -> str:
    from memorybase.core.auth.limits import scopes_of

    return " ".join(scopes_of(key))


def _limits(key: ApiKey) -> str:
    flows = [f"flow {each}" for each in key.flow_ids or ()]
    return ", ".join([*flows, *([f"end user {key.end_user_id}"] if key.end_user_id else [])]) or "-"


KEYS = PrintedList(
    columns={
        "id": "id",
        "name": "name",
        "prefix": "prefix",
        "scopes": _scopes,
        "limits": _limits,
        "created": "created_at",
        "last used": "last_used_at",
        "expires": "expires_at",
    },
    missing="-",
    times="%Y-%m-%d %H:%M",
)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="A name for the key.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope of the key; repeat the option for more. (default: all)")
    ] = None,
    flow: Annotated[
        list[str] | None, typer.Option(help="Limit the key to this flow; repeat the option for more.")
    ] = None,
    end_user: Annotated[str, typer.Option(help="Limit the key to this end user.")] = "",
    data_dir: DataDirOption = None,
) -> None:
    """Create a key and print its secret, which is shown only once. A limited key has read and write by default."""
    from memorybase.core import ids
    from memorybase.core.auth import api_keys
    from memorybase.core.auth.limits import LIMITED_SCOPES

    services, user_id = local_user(data_dir)
    flow_ids = [ids.flow_id(user_id, each) for each in flow] if flow else None
    usual = [each for each in api_keys.SCOPES if each in LIMITED_SCOPES or not (flow_ids or end_user)]
    with recorded(services, user_id, "keys create"):
        _, secret = api_keys.create_key(
            services, user_id, name=name, scopes=scope or usual, flow_ids=flow_ids, end_user_id=end_user or None
        )
    typer.echo(secret)


@app.command()
def rotate(
    key_id: KeyIdArgument,
    overlap: Annotated[int, typer.Option(help="Seconds for which the old key stays valid.")] = 86_400,
    data_dir: DataDirOption = None,
) -> None:
    """Create a key that replaces this one and print its secret. The old key stays valid for the overlap."""
    from memorybase.core.auth import api_keys

    parsed = parsed_id(key_id)
    services, user_id = local_user(data_dir)
    with recorded(services, user_id, "keys rotate", key_id=parsed):
        _, secret = api_keys.rotate_key(services, user_id, parsed, overlap_seconds=overlap)
    typer.echo(secret)


@app.command("list")
def list_(data_dir: DataDirOption = None) -> None:
    """List the keys that are not revoked, oldest first."""
    from memorybase.core.auth import api_keys

    KEYS.show(api_keys.list_keys(*local_user(data_dir)))


@app.command()
def revoke(key_id: KeyIdArgument, data_dir: DataDirOption = None) -> None:
    """Revoke a key permanently; a running API refuses it within a second."""
    from memorybase.core.auth import api_keys

    parsed = parsed_id(key_id)
    services, user_id = local_user(data_dir)
    with recorded(services, user_id, "keys revoke", key_id=parsed):
        api_keys.revoke_key(services, user_id, parsed)
    typer.echo(f"revoked {parsed}")


@app.command()
def restore(key_id: KeyIdArgument, data_dir: DataDirOption = None) -> None:
    """Let a person whose access to the web page was revoked sign in there again."""
    from memorybase.core.auth import provider_sign_in

    parsed = parsed_id(key_id)
    services, user_id = local_user(data_dir)
    with recorded(services, user_id, "keys restore", key_id=parsed):
        provider_sign_in.restore(services, user_id, parsed)
    typer.echo(f"restored {parsed}")


def parsed_id(key_id: str) -> UUID:
    try:
        return UUID(key_id)
    except ValueError:
        raise errors.InvalidRequest(
            "A key's id must be a UUID. List them with: memorybase keys list", value=key_id
        ) from None


@contextmanager
def recorded(services: Services, user_id: UUID, operation: str, **objects: UUID) -> Iterator[None]:
    """Tell features that keep a record of calls, with the user of the operating system."""
    from memorybase.core import calls
    from memorybase.core.calls import Actor, Call, Effect

    actor = Actor("cli", user_id=user_id, person=_person())
    call = Call(actor, Effect.CHANGE, operation, calls.ids_in(objects))
    with services.database.before_commit(calls.recorder(services, call)):
        yield


def _person() -> str:
    """The name of the operating system's user, or its number where it has no name, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        if sys.platform == "win32":  # where users have no number
            return ""
        return str(os.getuid())


def local_user(data_dir: Path | None) -> tuple[Services, UUID]:
    """The services and the local user. Raises NotReady before the first start of a stack."""
    from memorybase import wiring
    from memorybase.core.auth import api_keys
    from memorybase.core.queries.credentials import user_by_name

    services = wiring.build(stored_settings(data_dir))
    try:
        with services.database.reading() as db:
            user_id = user_by_name(db, api_keys.LOCAL_USER)
    except errors.DatabaseUnavailable as exc:
        raise errors.DatabaseUnavailable(f"{exc}. Run `memorybase doctor` for fixes.") from exc
    if user_id is None:
        raise errors.NotReady(
            "There is no local user yet. Start a stack once (memorybase up), or set MEMORYBASE_API_KEY and run: "
            "memorybase prepare"
        )
    return services, user_id
