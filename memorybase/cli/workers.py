"""workers: list the workers with what they hold, and drain one, directly in the database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.command import PrintedList
from memorybase.cli.options import DataDirOption, plural, stored_settings
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase.core.operations.workers import WorkerView
    from memorybase.core.services import Services

LOOK_SECONDS = 0.5
WORKERS = PrintedList(
    columns={
        "name": "name",
        "state": "state",
        "jobs": "jobs",
        "messages": "messages",
        "oldest job": "oldest_job_at",
        "started": "started_at",
        "last seen": "last_seen_at",
    },
    whole=("name",),
    missing="-",
    empty="no workers",
)
app = typer.Typer(help="The workers: what each of them holds; drain one.", no_args_is_help=True)


@app.command("list")
def list_(*, data_dir: DataDirOption = None) -> None:
    """List the workers with the jobs that they hold. One that was killed is listed for a day."""
    from memorybase.core.operations import workers

    WORKERS.show(workers.list_workers(_services(data_dir)).items)


@app.command()
def drain(
    name: Annotated[str, typer.Argument(help="The worker's name from `workers list`, or a part that no other has.")],
    *,
    wait: Annotated[float, typer.Option(help="Seconds to wait until it has stopped; 0: do not wait.")] = 60.0,
    data_dir: DataDirOption = None,
) -> None:
    """Let a worker end its jobs, or give them back after 15 s, and stop. A supervisor starts another one.

    Exit code 1 if it has not stopped in time: its request stays.
    """
    from memorybase.core.operations import workers

    services = _services(data_dir)
    whole = workers.request_drain(services, name)
    typer.echo(f"asked {whole} to stop")
    until = time.monotonic() + wait
    said = ""
    while time.monotonic() < until:
        worker = workers.find_worker(services, whole)
        if worker is None:
            typer.echo("it has stopped")
            return
        if worker.state is workers.WorkerState.LOST:
            typer.echo("it died; its jobs run elsewhere once their leases expire")
            return
        if (text := _progress(worker)) != said:
            typer.echo(said := text)
        time.sleep(LOOK_SECONDS)
    if wait:
        raise errors.NotReady(f"{whole} has not stopped after {wait:g} s. Its request stays: memorybase workers list")


def _progress(worker: WorkerView) -> str:
    return f"{worker.state}: {plural(worker.jobs, 'job')}, {plural(worker.messages, 'message')}"


def _services(data_dir: DataDirOption) -> Services:
    from memorybase import wiring

    return wiring.build(stored_settings(data_dir), role="cli")
