"""quotas: limits of the local user and of its keys, directly in the database."""

from __future__ import annotations

from typing import Annotated

import typer

from memorybase.cli.doctor import Check, DoctorContext
from memorybase.cli.extension import Commands
from memorybase.cli.keys import local_user, parsed_id, recorded
from memorybase.cli.options import DataDirOption, print_table
from memorybase.core import errors

KeyOption = Annotated[str, typer.Option("--key", help="The id of a key, from `keys list`. (default: the user)")]
UNLIMITED = "default"

app = typer.Typer(help="Quotas of the user and of API keys: show, set.", no_args_is_help=True)


@app.command()
def show(key: KeyOption = "", data_dir: DataDirOption = None) -> None:
    """Show limit, use and reset of each quota of the user, or of a key."""
    from memorybase.features.quotas import usage

    services, user_id = local_user(data_dir)
    found = usage.usage_of_key(services, user_id, parsed_id(key)).key if key else None
    rows = (
        (
            each.quota,
            "unlimited" if each.limit is None else each.limit,
            "-" if each.used is None else each.used,
            f"{each.resets_at:%Y-%m-%d %H:%M} UTC" if each.resets_at else "-",
        )
        for each in (usage.usage_of_user(services, user_id).user if found is None else found)
    )
    print_table(("quota", "limit", "used", "resets"), rows)


@app.command("set")
def set_(
    messages_per_day: Annotated[str | None, typer.Option(help="A number, or default.")] = None,
    stored_messages: Annotated[str | None, typer.Option(help="The same.")] = None,
    searches_per_minute: Annotated[str | None, typer.Option(help="The same.")] = None,
    end_users: Annotated[str | None, typer.Option(help="The same.")] = None,
    key: KeyOption = "",
    data_dir: DataDirOption = None,
) -> None:
    """Set quotas of the user, or of a key. What is not named stays; default takes the value of the settings."""
    from memorybase.features.quotas import manage

    given = {
        "messages_per_day": messages_per_day,
        "stored_messages": stored_messages,
        "searches_per_minute": searches_per_minute,
        "end_users": end_users,
    }
    changes = {name: _number(name, value) for name, value in given.items() if value is not None}
    if not changes:
        raise errors.InvalidRequest("Name at least one quota, such as --messages-per-day 10000", field="quotas")
    services, user_id = local_user(data_dir)
    if key:
        key_id = parsed_id(key)
        with recorded(services, user_id, "quotas set", key_id=key_id):
            manage.change_key_quotas(services, user_id, key_id, changes)
    else:
        with recorded(services, user_id, "quotas set"):
            manage.change_user_quotas(services, user_id, changes)
    show(key, data_dir)


def _number(name: str, value: str) -> int | None:
    if value == UNLIMITED:
        return None
    if not value.isdecimal():
        raise errors.InvalidRequest(f"{name} must be a number, or {UNLIMITED}", field=name, value=value)
    return int(value)


def _check(context: DoctorContext) -> str:
    from memorybase.core.database import clock
    from memorybase.features.quotas import usage

    _ = context.database_url
    with context.services.database.reading() as db:
        full = usage.used_up(db, context.settings, clock.now(db))
    if full:
        raise errors.NotReady("; ".join(f"{each.quota} is used up: {each.text.rstrip('.')}" for each in full))
    return "none is used up"


COMMANDS = Commands(
    panel="Access and retention",
    commands={"quotas": app},
    checks=(Check("quotas", _check, lambda context: f"memorybase quotas show{context.option}, or set to raise one"),),
)
