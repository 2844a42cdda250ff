"""The command line: `memorybase --help`."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable
from typing import Annotated

import pydantic
import typer
from memorybase_client import errors as client_errors

from memorybase import __version__
from memorybase.cli import (
    dead_letters,
    doctor,
    export_file,
    export_model,
    hooks,
    import_file,
    jobs,
    keys,
    listing,
    mcp,
    partition,
    pause,
    priority,
    reconcile,
    reindex,
    sample,
    search,
    sign_in,
    stack,
    workers,
)
from memorybase.core import errors
from memorybase.core.settings import describe_settings
from memorybase.features import EXTENSIONS
from memorybase.stack.private import keep_new_files_private

app = typer.Typer(
    name="memorybase",
    help="The memory of LLM flows: capture every run, lose nothing, search everything.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order of --help, by panel; commands of features follow.
COMMANDS: dict[str, dict[str, Callable[..., object] | typer.Typer]] = {
    "Run": {
        "up": stack.up,
        "demo": stack.demo,
        "status": listing.status,
        "doctor": doctor.doctor,
        "sign-in": sign_in.sign_in,
    },
    "Messages": {
        "sample": sample.sample,
        "list": listing.list_all,
        "search": search.search,
        "import": import_file.import_file,
        "export": export_file.export,
        "reindex": reindex.reindex,
    },
    "Agents": {"mcp": mcp.mcp, "hooks": hooks.app},
    "Search quality": {},
    "Ingestion": {
        "pause": pause.pause,
        "resume": pause.resume,
        "priority": priority.priority,
        "jobs": jobs.app,
        "dead-letters": dead_letters.app,
        "workers": workers.app,
        "reconcile": reconcile.reconcile,
    },
    "Access and retention": {
        "keys": keys.app,
    },
    "Operation": {
        "migrate": stack.migrate,
        "prepare": stack.prepare,
        "sweep": stack.sweep,
        "partition": partition.partition,
        "export-model": export_model.export_model,
    },
}
for _added in (found for each in EXTENSIONS if (found := each.commands()) is not None):
    COMMANDS[_added.panel] |= _added.commands
for _panel, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_command)


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
    if sys.platform == "win32":  # whose own encoding lacks most letters, where the output is no console
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")
    try:
        app()
    except (errors.MemorybaseError, client_errors.MemorybaseError) as exc:
        sys.exit(f"error: {describe(exc)}")
    except pydantic.ValidationError as exc:
        sys.exit(f"error: {describe_settings(exc)}")
    except OSError as exc:
        if exc.errno not in NOT_WRITABLE:
            raise
        where = f"{exc.filename} cannot be written: " if exc.filename else ""
        sys.exit(f"error: {where}{exc.strerror}. {NOT_WRITABLE[exc.errno]}")
    except ModuleNotFoundError as exc:
        package = (exc.name or "").partition(".")[0]
        if package in {"", "memorybase", "memorybase_client", "worker", "api", "migrations"}:
            raise
        sys.exit(
            f"error: this command needs the package {package}, which slim installations lack. "
            "In a copy of the repository run: pip install ."
        )


# Errors of the file system that no defect causes, and what to do about them.
NOT_WRITABLE = {
    errno.EROFS: "Choose a directory that is not on a read-only file system.",
    errno.ENOSPC: "Free some space, and run the command again.",
    errno.EDQUOT: "Free some space, and run the command again.",
}

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
    text = " ".join((str(error) if isinstance(error, errors.MemorybaseError) else error.message).split())
    text = f"{text} ({', '.join(details)})" if details else text
    advice = next((advice for kind, advice in ADVICE if isinstance(error, kind)), None)
    return text if advice is None else f"{text.rstrip('.')}. {advice}"
