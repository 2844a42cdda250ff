"""import: import conversations from a file into a running stack, and wait until they are ingested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from memorybase import errors
from memorybase.cli.export_file import import_export, is_export
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, progress, read_text
from memorybase.client import Client
from memorybase.import_export.conversation_files import ImportedRun, read_runs

MESSAGES_PER_POST = 200  # a longer run is posted in parts: new ids append to a known run


class Capture(StrEnum):
    outputs = "outputs"
    all = "all"


def import_file(
    file: Annotated[
        Path, typer.Argument(help="JSON lines of messages, a LoCoMo file, or an export.", show_default=False)
    ],
    *,
    flow: Annotated[
        str | None, typer.Option(help="The flow. (default: the file's name without extension)", show_default=False)
    ] = None,
    memory: Annotated[str | None, typer.Option(help="The memory base. (default: the flow)", show_default=False)] = None,
    capture: Annotated[Capture, typer.Option(help="Which messages a new memory base counts.")] = Capture.all,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Import a file of conversations. Running it again continues and does not change existing data."""
    if is_export(file):
        if flow or memory:
            raise errors.InvalidRequest(
                "--flow and --memory do not apply to an export, which names its flows. Run the command without them."
            )
        with connect(data_dir, url, key) as client:
            import_export(client, file)
        return
    flow = flow or file.stem
    runs = read_runs(read_text(file), namespace=flow)
    with connect(data_dir, url, key) as client:
        client.put_flow(flow)
        base = _memory(client, memory or flow, flow, capture)
        posted = _post(client, flow, runs)
        base = _ingest(client, base)
    sessions = len({run.session_id for run in runs})
    typer.echo(
        f"{sessions} sessions, {len(runs)} runs, {posted.total()} messages: {posted[True]} new, "
        f"{posted[False]} already there"
    )
    typer.echo(f"memory base {base['name']}: {base['total_processed']} ingested, {base['dead_letters']} dead letters")


def _memory(client: Client, name: str, flow: str, capture: Capture) -> dict[str, Any]:
    try:
        found: dict[str, Any] = client.find_memory(name)
    except errors.NotFound:
        body = {"name": name, "flow_id": flow, "capture": capture.value}
        created: dict[str, Any] = client.call("POST", "/memories", json=body)
        return created
    if found["capture"] != capture:
        typer.echo(f"note: the memory base {name} already exists, with capture {found['capture']}", err=True)
    return found


def _post(client: Client, flow: str, runs: Sequence[ImportedRun]) -> Counter[bool]:
    """Post every run; returns how many messages were new (True) and known (False)."""
    posted: Counter[bool] = Counter()
    with progress() as bar:
        task = bar.add_task("capturing", total=sum(len(run.messages) for run in runs))
        for run in runs:
            for part in _parts(run):
                answer = client.post_run(flow, part)
                posted.update(message["created"] for message in answer["messages"])
                bar.advance(task, len(part["messages"]))
    return posted


def _parts(run: ImportedRun) -> Iterator[dict[str, Any]]:
    for start in range(0, len(run.messages), MESSAGES_PER_POST):
        messages = list(run.messages[start : start + MESSAGES_PER_POST])
        yield {"session_id": run.session_id, "run_id": run.run_id, "messages": messages}


def _ingest(client: Client, base: dict[str, Any]) -> dict[str, Any]:
    with progress() as bar:
        task = bar.add_task("ingesting", total=None)

        def show(memory: dict[str, Any]) -> None:
            done = memory["total_processed"]
            bar.update(task, completed=done, total=done + memory["pending_messages"])

        return client.settle(base["id"], show)
