"""import: import conversations into a running stack, and wait until they are ingested."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.command import Connection, with_options
from memorybase.cli.export_file import import_export
from memorybase.cli.import_target import Capture
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client.importers.records import Problem


class Format(StrEnum):
    chatgpt = "chatgpt"
    claude = "claude"
    langchain = "langchain"
    langflow = "langflow"
    mem0 = "mem0"
    letta = "letta"
    zep = "zep"
    agent_memory_server = "agent-memory-server"
    git = "git"
    jsonl = "jsonl"
    locomo = "locomo"
    export = "export"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What to import, and into what."""

    given: Annotated[
        Format | None,
        typer.Option("--from", help="The format of FILE. (default: recognised by its content)", show_default=False),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what is in FILE and store nothing.")] = False
    report: Annotated[Path | None, typer.Option(help="A file for everything that did not fit.", show_default=False)] = (
        None
    )
    table: Annotated[
        str | None,
        typer.Option(help="The table of a database. (default: the system's)", show_default=False),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="For an address: a header as 'Name: value', such as a key; @FILE: lines of a file.", show_default=False
        ),
    ] = None
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow. (default: as in the source; of JSON lines and LoCoMo the file's name without extension)",
            show_default=False,
        ),
    ] = None
    memory: Annotated[str | None, typer.Option(help="The memory base. (default: the flow's)", show_default=False)] = (
        None
    )
    everything: Annotated[
        bool, typer.Option("--all", help="Of a repository send also the commits that the flow has.")
    ] = False
    capture: Annotated[Capture, typer.Option(help="Which messages a new memory base counts.")] = "all"


@with_options
def import_file(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A file, folder or ZIP archive of conversations, an export, a database, an address or, "
            "with --from git, a repository. (of git the default: here)",
            show_default=False,
        ),
    ] = None,
    *,
    options: ImportOptions,
    connection: Connection,
) -> None:
    """Import conversations of any known format. Running it again continues and does not change existing data."""
    # Readers of databases and HTTP, which --help does not need.
    from memorybase.cli.import_runs import import_runs

    if file is None and options.given != Format.git:
        raise errors.InvalidRequest(
            "FILE is missing: only --from git has a default, the repository here.", field="FILE"
        )
    file = file or "."
    name = options.given.value if options.given is not None else _recognised(file)
    if name == Format.export:
        if options.flow or options.memory or options.dry_run or options.report:
            raise errors.InvalidRequest(
                "--flow, --memory, --report and --dry-run do not apply to an export, which names its flows. "
                "Run the command without them."
            )
        with connection.open() as client:
            import_export(client, Path(file))
    elif options.dry_run:
        import_runs(name, file, options, None)
    else:
        with connection.open() as client:
            import_runs(name, file, options, client)


def _recognised(source: str) -> str:
    """The format of the source. Raises InvalidRequest with what to do if it is none that is known."""
    from memorybase_client.importers.recognise import LINE_SUFFIXES, recognise
    from memorybase_client.importers.records import Report

    report = Report()
    name = recognise(source, report)
    if name is not None:
        return name
    formats = ", ".join(each.value for each in Format)
    if "://" in source:
        text = "An address or a database needs --from"
        raise errors.InvalidRequest(f"{text}, one of {formats}.", field="--from")
    if report.counts and Path(source).suffix.lower() in LINE_SUFFIXES:
        return Format.jsonl.value  # its reader names the line
    problem = next((each[0] for each in report.examples.values()), None)
    if problem is None and report.broken is None:
        raise errors.InvalidRequest(
            f"{source} has no message in a format that is recognised. Name it with --from, one of {formats}."
        )
    reason = report.broken or (problem and _reason(problem, Path(source).name))
    raise errors.InvalidRequest(f"{source} cannot be read: {reason}.")


def _reason(problem: Problem, file: str) -> str:
    value = "" if problem.value is None else f" ({problem.value})"
    return f"{'' if problem.where == file else f'{problem.where}: '}{problem.reason}{value}"
