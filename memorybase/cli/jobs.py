"""jobs: list, retry and cancel ingestion jobs by query, through a running stack."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memorybase.cli.bulk import DryRunOption, Filter, MemoryFilterOption, left_alone, repeat
from memorybase.cli.command import PrintedList, through_stack
from memorybase.cli.memory_bases import find_memory_base
from memorybase.cli.options import plural
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase_client import Client

app = typer.Typer(help="Ingestion jobs: list, retry, cancel.", no_args_is_help=True)

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)  # before every job: the API wants a filter
JOBS = PrintedList(
    columns={
        "id": "id",
        "memory": "memory_base_name",
        "session": "session_id",
        "kind": "kind",
        "state": "state",
        "messages": lambda job: f"{job.processed}/{job.total}",
        "created": "created_at",
        "error": "error",
    },
    empty="no jobs",
    shown=50,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter(Filter):
    """Which jobs."""

    code: Annotated[str | None, typer.Option("--error", help="The code of the last error, as in the errors page.")] = (
        None
    )


@app.command("list")
@through_stack
def list_(
    client: Client,
    memory: MemoryFilterOption = None,
    state: Annotated[str | None, typer.Option("--state", help="queued, running, done, failed or cancelled.")] = None,
) -> None:
    """List the latest jobs, newest first."""
    wanted: dict[str, Any] = {} if state is None else {"state": state}
    if memory is not None:
        wanted["memory_base_id"] = find_memory_base(client, memory).id
    JOBS.show(client.list_all_jobs(**wanted))


@app.command()
@through_stack
def retry(client: Client, wanted: JobFilter, *, dry_run: DryRunOption = False) -> None:
    """Run jobs now that wait after an outage; without a filter all of them."""
    _act(client, "retry", wanted.request(client, "error_code"), dry_run=dry_run)


@app.command()
@through_stack
def cancel(
    client: Client,
    wanted: JobFilter,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Every job, without a filter.")] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Cancel queued and running jobs. Nothing is deleted: their messages wait for the next trigger or flush."""
    fields = wanted.request(client, "error_code")
    if bool(fields) == all_:
        raise errors.InvalidRequest("Pass either a filter or --all")
    _act(client, "cancel", fields or {"since": BEGINNING}, dry_run=dry_run)


def _act(client: Client, action: Literal["retry", "cancel"], wanted: dict[str, Any], *, dry_run: bool) -> None:
    taken, skipped = repeat(lambda: client.act_on_jobs(action=action, dry_run=dry_run, **wanted))
    done = {"retry": "retried", "cancel": "cancelled"}[action]
    typer.echo(f"{'would be ' if dry_run else ''}{done}: {plural(taken, 'job')}{left_alone(skipped)}")
