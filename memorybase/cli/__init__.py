"""The command line: `memorybase --help`."""

from __future__ import annotations

import sys
from typing import Annotated

import pydantic
import typer
from memorybase_client import errors as client_errors

from memorybase import __version__, errors
from memorybase.cli import (
    audit,
    backup,
    dead_letters,
    doctor,
    evaluate,
    export_file,
    export_model,
    find_standing,
    hooks,
    import_file,
    jobs,
    keys,
    mcp,
    models,
    partition,
    pause,
    priority,
    quotas,
    rebalance,
    reconcile,
    reindex,
    restore,
    retention,
    search,
    sign_in,
    stack,
    top,
    tune,
    webhooks,
    workers,
)
from memorybase.settings import describe_settings
from memorybase.stack.private import keep_new_files_private

app = typer.Typer(
    name="memorybase",
    help="The memory of LLM flows: capture every run, lose nothing, search everything.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(stack.up)
app.command()(stack.demo)
app.command()(doctor.doctor)
app.command()(export_file.export)
app.command("import")(import_file.import_file)
app.command()(search.search)
app.command()(top.top)
app.command()(evaluate.evaluate)
app.command()(tune.tune)
app.command()(sign_in.sign_in)
app.command()(mcp.mcp)
app.command()(pause.pause)
app.command()(pause.resume)
app.command()(priority.priority)
app.command()(reconcile.reconcile)
app.command()(rebalance.rebalance)
app.command()(backup.backup)
app.command()(restore.restore)
app.command()(retention.retention)
app.command()(reindex.reindex)
app.command()(find_standing.find_standing)
app.command()(partition.partition)
app.command()(stack.migrate)
app.command()(stack.sweep)
app.command()(stack.prepare)
app.command()(export_model.export_model)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(jobs.app, name="jobs")
app.add_typer(workers.app, name="workers")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(keys.app, name="keys")
app.add_typer(quotas.app, name="quotas")
app.add_typer(models.app, name="models")
app.add_typer(audit.app, name="audit")
app.add_typer(hooks.app, name="hooks")


@app.callback(invoke_without_command=True)
def _version(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command. An expected error is one line on standard error and exit code 1; only a defect has a traceback."""
    keep_new_files_private()  # exports, the demo, a database that a command creates
    try:
        app()
    except (errors.MemorybaseError, client_errors.MemorybaseError) as exc:
        sys.exit(f"error: {describe(exc)}")
    except pydantic.ValidationError as exc:
        sys.exit(f"error: {describe_settings(exc)}")
    except ModuleNotFoundError as exc:
        package = (exc.name or "").partition(".")[0]
        if package in {"", "memorybase", "memorybase_client", "worker", "api", "migrations"}:
            raise
        sys.exit(
            f"error: this command needs the package {package}, which slim installations lack. "
            "In a copy of the repository run: pip install ."
        )


# What to do about the errors that the API's own messages cannot help with.
ADVICE: tuple[tuple[type[Exception], str], ...] = (
    (client_errors.ConnectionFailed, "Is the stack running? Start it with: memorybase up"),
    (client_errors.Unauthorized, "Pass the key with --key or MEMORYBASE_API_KEY."),
)


def describe(error: errors.MemorybaseError | client_errors.MemorybaseError) -> str:
    """One line: the message, with field, value, limit and what to do."""
    bounds = {"value": error.value, "limit": error.limit}
    details = [f"{name}: {value}" for name, value in bounds.items() if value is not None]
    if error.field and error.field not in error.message:
        details.insert(0, f"field: {error.field}")
    text = " ".join(error.message.split())
    text = f"{text} ({', '.join(details)})" if details else text
    advice = next((advice for kind, advice in ADVICE if isinstance(error, kind)), None)
    return text if advice is None else f"{text.rstrip('.')}. {advice}"
