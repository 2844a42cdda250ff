"""jobs: list, retry and cancel ingestion jobs by query, through a running stack."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memorybase import errors
from memorybase.cli.bulk import (
    DryRunOption,
    FlowOption,
    MemoryFilterOption,
    NewerOption,
    OlderOption,
    SessionOption,
    chosen_by,
    left_alone,
    repeat,
)
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import DataDirOption, KeyOption, UrlOption, connect, plural, print_table

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Ingestion jobs: list, retry, cancel.", no_args_is_help=True)

SHOWN = 50
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)  # before every job: the API wants a filter
ErrorOption = Annotated[str | None, typer.Option("--error", help="The code of the last error, as in the errors page.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every job, without a filter.")]


@app.command("list")
def list_(
    *,
    memory: MemoryFilterOption = None,
    state: Annotated[str | None, typer.Option("--state", help="queued, running, done, failed or cancelled.")] = None,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """List the latest jobs, newest first."""
    wanted: dict[str, Any] = {} if state is None else {"state": state}
    with connect(data_dir, url, key) as client:
        if memory is not None:
            wanted["memory_base_id"] = find_memory_base(client, memory).id
        found = list(islice(client.list_all_jobs(**wanted), SHOWN))
    if not found:
        typer.echo("no jobs")
        return
    rows = (
        (
            job.id,
            job.memory_base_name,
            job.session_id,
            job.kind,
            job.state,
            f"{job.processed}/{job.total}",
            f"{job.created_at:%Y-%m-%d %H:%M:%S}",
            job.error or "",
        )
        for job in found
    )
    print_table(("id", "memory", "session", "kind", "state", "messages", "created", "error"), rows, whole=("id",))


@app.command()
def retry(
    *,
    memory: MemoryFilterOption = None,
    flow: FlowOption = None,
    session: SessionOption = None,
    error: ErrorOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    dry_run: DryRunOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Run jobs now that wait after an outage; without a filter all of them."""
    with connect(data_dir, url, key) as client:
        wanted = chosen_by(client, memory, flow, session, older_than, newer_than, error_code=error)
        _act(client, "retry", wanted, dry_run=dry_run)


@app.command()
def cancel(
    *,
    memory: MemoryFilterOption = None,
    flow: FlowOption = None,
    session: SessionOption = None,
    error: ErrorOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    all_: AllOption = False,
    dry_run: DryRunOption = False,
    data_dir: DataDirOption = None,
    url: UrlOption = None,
    key: KeyOption = None,
) -> None:
    """Cancel queued and running jobs. Nothing is deleted: their messages wait for the next trigger or flush."""
    with connect(data_dir, url, key) as client:
        wanted = chosen_by(client, memory, flow, session, older_than, newer_than, error_code=error)
        if bool(wanted) == all_:
            raise errors.InvalidRequest("Pass either a filter or --all")
        _act(client, "cancel", wanted or {"since": BEGINNING}, dry_run=dry_run)


def _act(client: Client, action: Literal["retry", "cancel"], wanted: dict[str, Any], *, dry_run: bool) -> None:
    taken, skipped = repeat(lambda: client.act_on_jobs(action=action, dry_run=dry_run, **wanted))
    done = {"retry": "retried", "cancel": "cancelled"}[action]
    typer.echo(f"{'would be ' if dry_run else ''}{done}: {plural(taken, 'job')}{left_alone(skipped)}")
