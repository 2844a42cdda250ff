"""backup, and restore of a backup: the embedded stack's data in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.extension import Commands
from memorybase.cli.options import DataDirOption, plural, progress, stored_settings
from memorybase.core.settings import Settings
from memorybase.features.backup.commands_restore import restore
from memorybase.stack.state import DataDir

if TYPE_CHECKING:
    from memorybase.features.backup.manifest import Manifest

MEGABYTE = 1_000_000


def backup(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that does not exist, or is empty.", show_default=False)
    ],
    *,
    vectors: Annotated[bool, typer.Option(help="Save the vectors too, so that a restore does not embed again.")] = True,
    data_dir: DataDirOption = None,
) -> None:
    """Back up the embedded stack while it runs: database, vectors, node memory and API key, with checksums."""
    from memorybase.core import telemetry
    from memorybase.features.backup.commands_take import take_backup

    settings = stored_settings(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    with _showing() as show:
        manifest = take_backup(DataDir(settings.data_dir), directory, show, vectors=vectors)
    typer.echo(f"{_summary(manifest)} written to {directory}")
    for name, reason in manifest.left_out.items():
        typer.echo(f"  without {name}: {reason}")


def restore_directory(directory: Path, *, force: bool, dry_run: bool, keep_chroma: bool, data_dir: Path | None) -> None:
    """Restore a backup into the data directory of a stack that is stopped, or verify the backup alone."""
    from memorybase.features.backup import commands_directory
    from memorybase.stack.children import NAMES
    from memorybase.stack.processes import end_leftovers

    with _showing() as show:
        if dry_run:
            manifest = commands_directory.verify(directory, show)
            typer.echo(f"{_summary(manifest)} in {directory}: every checksum is right")
            return
        data = DataDir(data_dir or Settings().data_dir)
        data.make()
        with data.locked():
            end_leftovers(data, NAMES, typer.echo)
            manifest = commands_directory.restore_backup(
                data, directory, show, typer.echo, force=force, keep_chroma=keep_chroma
            )
    typer.echo(f"{_summary(manifest)} restored to {data.path}, from {manifest.created_at}")
    typer.echo("Start the stack: the vector store is repaired then, in the background.")


def _summary(manifest: Manifest) -> str:
    counts = manifest.counts
    return (
        f"{plural(counts['messages'], 'message')} in {plural(counts['sessions'], 'session')}, "
        f"{plural(counts['memory_bases'], 'memory base')}, {manifest.vectors or 0} vectors, "
        f"{manifest.bytes / MEGABYTE:.1f} MB,"
    )


@contextmanager
def _showing() -> Iterator[Callable[[str, int, int | None], object]]:
    """Shows the progress of one step after the other."""
    with progress(keep=False) as bar:
        tasks = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield show


COMMANDS = Commands(panel="Operation", commands={"backup": backup, "restore": restore})
