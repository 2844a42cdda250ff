"""rebalance: move memory bases between the servers of Chroma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.options import DataDirOption, plural, progress
from memorybase.stack.state import settings_in_use

if TYPE_CHECKING:
    from memorybase.memory_bases.rebalance import Move, Moved, Plan
    from memorybase.services import Services


def rebalance(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the moves, and change nothing.")] = False,
    drain: Annotated[
        str | None, typer.Option("--drain", metavar="SERVER", help="Move everything off this server instead.")
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Move memory bases to emptier Chroma servers. Needs a running worker. Exit code 1 if a move fails."""
    from memorybase import telemetry, wiring
    from memorybase.memory_bases import rebalance as rebalancing
    from memorybase.operations import health

    settings = settings_in_use(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    services = wiring.build(settings)
    planned = rebalancing.plan(services, drain=drain)
    for line in describe(planned):
        typer.echo(line)
    if drain is not None:
        _report_knowledge_bases(services, drain)
    if dry_run or not planned.moves:
        return
    health.liveness(services, "worker")  # raises NotReady: without a worker no move would end
    results = [_move(services, each) for each in planned.moves]
    failed = sum(each.state == "failed" for each in results)
    typer.echo(f"{plural(sum(each.state == 'moved' for each in results), 'memory base')} moved, {failed} failed")
    if failed:
        raise typer.Exit(1)


def describe(planned: Plan) -> list[str]:
    """The load of each server, then each move."""
    lines = [
        f"{server}: {plural(load.collections, 'collection')}, {plural(load.chunks, 'chunk')}"
        + (" (gets nothing)" if server in planned.passed_over else "")
        for server, load in planned.loads.items()
    ]
    lines += [f"{_named(move)}: from {move.base.server} to {move.target}, {move.base.chunks} chunks"
              for move in planned.moves]  # fmt: skip
    return lines if planned.moves else [*lines, "nothing to move"]


def _move(services: Services, planned: Move) -> Moved:
    from memorybase.memory_bases import rebalance as rebalancing

    with progress(keep=False) as bar:
        task = bar.add_task(f"moving {planned.base.name}", total=None)

        def show(built: int, total: int) -> None:
            bar.update(task, completed=built, total=total)

        done = rebalancing.move(services, planned, show)
    typer.echo(f"{_named(planned)}: {done.state}" + (f", {done.reason}" if done.reason else f" to {planned.target}"))
    return done


def _named(move: Move) -> str:
    return f"{move.base.name} ({move.base.id})"


def _report_knowledge_bases(services: Services, server: str) -> None:
    from memorybase.knowledge_bases import queries
    from memorybase.vectors.collection_names import server_of

    with services.database.reading() as db:
        entries = queries.ordinary_knowledge_bases(db)
    for entry in entries:
        if entry.collection_name is not None and server_of(entry.collection_name) == server:
            typer.echo(f"knowledge base {entry.name} is on {server}\n  -> rebuild it to move it")
