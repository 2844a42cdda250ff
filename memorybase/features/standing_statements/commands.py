"""find-standing: find standing statements in messages that were captured before, directly in the database."""

from __future__ import annotations

import typer

from memorybase.cli.extension import Commands
from memorybase.cli.options import DataDirOption, plural, stored_settings


def find_standing(data_dir: DataDirOption = None) -> None:
    """Find instructions and preferences in messages that an earlier version captured."""
    from memorybase import wiring
    from memorybase.core import telemetry
    from memorybase.features.standing_statements import backfill

    settings = stored_settings(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    services = wiring.build(settings)
    messages = new = 0
    for read in backfill.find_in_stored(services):
        messages += read.messages
        new += read.new
    typer.echo(f"read {plural(messages, 'message')}, found {plural(new, 'new statement')}")


COMMANDS = Commands(panel="Messages", commands={"find-standing": find_standing})
