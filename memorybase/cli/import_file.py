"""import: import conversations into a running stack, and wait until they are ingested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memorybase import errors
from memorybase.cli.export_file import import_export, is_export
from memorybase.cli.import_target import Capture, find_or_create, ingest
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, progress, read_text
from memorybase.import_export.conversation_files import ImportedRun, read_runs

if TYPE_CHECKING:
    from memorybase_client import Client

MESSAGES_PER_POST = 200  # a longer run is posted in parts: new ids append to a known run


class System(StrEnum):
    chatgpt = "chatgpt"
    claude = "claude"
    langchain = "langchain"
    langflow = "langflow"
    mem0 = "mem0"
    letta = "letta"
    zep = "zep"
    agent_memory_server = "agent-memory-server"


def import_file(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON lines of messages, a LoCoMo file, or an export; with --from what that system keeps, also a "
            "database or an address.",
            show_default=False,
        ),
    ],
    *,
    system: Annotated[
        System | None, typer.Option("--from", help="The system that FILE comes from.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what is in FILE and store nothing.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="With --from: a file for everything that did not fit.", show_default=False)
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(help="With --from and a database: the table. (default: the system's)", show_default=False),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="With --from and an address: a header as 'Name: value', such as a key; @FILE: lines of a file.",
            show_default=False,
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow. (default: the file's name without extension; with --from as in the source)",
            show_default=False,
        ),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="The memory base. (default: the flow)", show_default=False)] = None,
    capture: Annotated[Capture, typer.Option(help="Which messages a new memory base counts.")] = "all",
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Import a file of conversations. Running it again continues and does not change existing data."""
    if system is not None:
        # Its readers of other systems load databases and HTTP, which --help does not need.
        from memorybase.cli.import_system import Options, import_system

        with ExitStack() as stack:
            client = None if dry_run else stack.enter_context(connect(data_dir, url, key))
            import_system(system.value, file, Options(flow, memory, capture, report, table, header or []), client)
        return
    for option, value in (("--report", report), ("--table", table), ("--header", header)):
        if value is not None:
            raise errors.InvalidRequest(f"{option} needs --from", field=option)
    _import_own(Path(file), flow, memory, capture, lambda: connect(data_dir, url, key), dry_run=dry_run)


def _import_own(
    file: Path,
    flow: str | None,
    memory: str | None,
    capture: Capture,
    connected: Callable[[], Client],
    *,
    dry_run: bool,
) -> None:
    """JSON lines of messages, a LoCoMo file, or an export."""
    if is_export(file):
        if flow or memory or dry_run:
            raise errors.InvalidRequest(
                "--flow, --memory and --dry-run do not apply to an export, which names its flows. "
                "Run the command without them."
            )
        with connected() as client:
            import_export(client, file)
        return
    flow = flow or file.stem
    runs = read_runs(read_text(file), namespace=flow)
    sessions = len({run.session_id for run in runs})
    if dry_run:
        messages = sum(len(run.messages) for run in runs)
        typer.echo(f"{sessions} sessions, {len(runs)} runs, {messages} messages would be imported; nothing was stored")
        return
    with connected() as client:
        client.put_flow(flow, name=flow)
        base = find_or_create(client, memory or flow, flow, capture)
        posted = _post(client, flow, runs)
        base = ingest(client, base)
    typer.echo(
        f"{sessions} sessions, {len(runs)} runs, {posted.total()} messages: {posted[True]} new, "
        f"{posted[False]} already there"
    )
    typer.echo(f"memory base {base.name}: {base.total_processed} ingested, {base.dead_letters} dead letters")


def _post(client: Client, flow: str, runs: Sequence[ImportedRun]) -> Counter[bool]:
    """Post every run; returns how many messages were new (True) and known (False)."""
    posted: Counter[bool] = Counter()
    with progress() as bar:
        task = bar.add_task("capturing", total=sum(len(run.messages) for run in runs))
        for run in runs:
            for messages in _parts(run):
                answer = client.capture_run(flow, session_id=run.session_id, run_id=run.run_id, messages=messages)
                posted.update(message.created for message in answer.messages)
                bar.advance(task, len(messages))
    return posted


def _parts(run: ImportedRun) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(run.messages), MESSAGES_PER_POST):
        yield list(run.messages[start : start + MESSAGES_PER_POST])
