"""partition: divide the keyword index of a large PostgreSQL database, directly in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.options import DataDirOption, plural, progress, stored_settings

if TYPE_CHECKING:
    from memorybase.core.database.engine import Database


def partition(
    *,
    partitions: Annotated[int, typer.Option(help="How many; it cannot be changed later.")] = 32,
    abandon: Annotated[bool, typer.Option("--abandon", help="Drop what an interrupted run left, and stop.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Divide the keyword index of a large PostgreSQL database into partitions. Captures and searches go on."""
    from memorybase.core.database.engine import Database
    from memorybase.core.keyword_index import partitions as dividing

    database = Database(stored_settings(data_dir).migration_url, pool_size=1)
    try:
        if abandon:
            dividing.abandon(database)
            typer.echo("nothing is left of an interrupted run")
        else:
            rows = _divide(database, partitions)
            typer.echo(f"{plural(rows, 'row')} of the keyword index in {partitions} partitions")
    finally:
        database.dispose()


def _divide(database: Database, number: int) -> int:
    from memorybase.core.keyword_index import partitions

    steps = partitions.partition(database, number)
    done = 0
    with progress() as bar:
        task = bar.add_task("rows", total=partitions.estimated_rows(database) or None)
        for rows in steps:
            done += rows
            bar.advance(task, rows)
    return done
