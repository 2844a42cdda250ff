"""list, status: the contents and the state of a running stack."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from memorybase_client import errors as client_errors

from memorybase.cli.command import through_stack
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, print_table
from memorybase.core import errors
from memorybase.stack.state import find_data_dir

if TYPE_CHECKING:
    from memorybase_client import Client, models

COLUMNS = ("flow", "memory base", "state", "sessions", "ingested", "pending", "dead letters")
_SAMPLE = re.compile(r'^memorybase_(\w+)(?:\{\w+="(\w+)".*\})? (\S+)$', re.MULTILINE)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with ids.")]


@through_stack
def list_all(client: Client, *, as_json: JsonOption = False) -> None:
    """List flows and their memory bases, with counts and state."""
    flows = list(client.list_flows())
    bases: dict[UUID, list[models.MemoryBaseView]] = defaultdict(list)
    for base in client.list_memory_bases():
        bases[base.flow_id].append(base)
    if as_json:
        typer.echo(json.dumps([_flow_as_json(flow, bases[flow.id]) for flow in flows], indent=1, ensure_ascii=False))
    elif not flows:
        typer.echo("There are no flows yet. Import some with: memorybase import FILE")
    else:
        print_table(COLUMNS, [row for flow in flows for row in _rows(flow, bases[flow.id])])


def _rows(flow: models.FlowView, bases: list[models.MemoryBaseView]) -> list[tuple[object, ...]]:
    name = flow.name if flow.external_id in {None, flow.name} else f"{flow.name} ({flow.external_id})"
    if not bases:
        return [(name, "none", "", "", "", "", "")]
    return [
        (
            name,
            base.name,
            _state(base),
            base.sessions,
            base.total_processed,
            f"{base.pending_messages}{'+' if base.pending_capped else ''}",
            base.dead_letters,
        )
        for base in bases
    ]


def _state(base: models.MemoryBaseView) -> str:
    return "paused" if base.paused_at is not None and base.status in {"ready", "pending"} else base.status


def _flow_as_json(flow: models.FlowView, bases: list[models.MemoryBaseView]) -> dict[str, Any]:
    return {**flow.model_dump(mode="json"), "memory_bases": [base.model_dump(mode="json") for base in bases]}


def status(data_dir: DataDirOption = None, url: UrlOption = None, key: KeyOption = None) -> None:
    """Say whether the stack runs, what it holds, and what needs you. Exit code 1 if a part does not answer or
    the queue makes no progress."""
    try:
        client = connect(data_dir, url, key)
    except errors.NotReady as exc:
        typer.echo(f"stopped   {exc.message}")
        raise typer.Exit(1) from None
    with client:
        missing = _missing(client)
        running = find_data_dir(data_dir).running()
        process = ""
        if running is not None and running.url == client.url:
            process = f", {'one process' if running.one_process else 'process'} {running.pid}"
        typer.echo(f"{'ready' if missing is None else 'not ready'}   {client.url}{process}")
        if missing is not None:
            typer.echo(f"          {missing}")
        _print_holdings(client)
        _print_installation(client)
        _print_problems(client)
    if missing is not None:
        raise typer.Exit(1)


def _missing(client: Client) -> str | None:
    """The parts that do not answer, or why the queue makes no progress; None if all is well."""
    try:
        ready = client.health_ready()
    except client_errors.NotReady as exc:
        return exc.message
    return ready.reason


def _print_holdings(client: Client) -> None:
    bases = list(client.list_memory_bases())
    ingested, pending = sum(base.total_processed for base in bases), sum(base.pending_messages for base in bases)
    dead = sum(base.dead_letters for base in bases)
    typer.echo(f"holds     {plural(client.list_flows().page().total, 'flow')}, {plural(len(bases), 'memory base')}")
    typer.echo(
        f"messages  {ingested} ingested, {pending}{'+' if any(base.pending_capped for base in bases) else ''} pending, "
        f"{plural(dead, 'dead letter')}"
    )


def _print_installation(client: Client) -> None:
    """Processes, jobs and messages that are due, of all users; nothing for a limited key."""
    try:
        text = client.get_metrics()
    except client_errors.Forbidden:
        return
    figures: dict[tuple[str, str], str] = defaultdict(lambda: "-")  # as long as the database does not answer
    figures |= {(name, label): f"{float(value):.0f}" for name, label, value in _SAMPLE.findall(text)}
    typer.echo(f"processes workers {figures['processes', 'worker']}, sweepers {figures['processes', 'sweeper']}")
    queued, running, stuck = figures["jobs", "queued"], figures["jobs", "running"], figures["stuck_jobs", ""]
    typer.echo(f"jobs      {queued} queued, {running} running, {stuck} stuck")
    due, seconds = figures["pending_messages", ""], figures["oldest_pending_message_age_seconds", ""]
    typer.echo(
        f"due       messages {due}" + (f", the oldest captured {seconds} s ago" if due not in {"0", "-"} else "")
    )


def _print_problems(client: Client) -> None:
    try:
        problems = client.list_problems().problems
    except client_errors.Forbidden:  # a limited key
        return
    for problem in problems:
        typer.echo(f"problem   {problem.title}: {' '.join(problem.text.split())}")
        for fix in problem.fixes:
            if fix.command:
                typer.echo(f"          -> {fix.command}")
    if not problems:
        typer.echo("problems  none")
