"""restore: a backup into a data directory; without one, make the vector store follow a database that was restored."""

from __future__ import annotations

import shutil
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from memorybase.cli.options import DataDirOption, plural, services_in_use
from memorybase.cli.reconcile import describe_comparison
from memorybase.core import errors

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase.core.extension import Collections
    from memorybase.core.memory_bases.orphans import Orphan
    from memorybase.core.models import KnowledgeBase
    from memorybase.core.services import Services
    from memorybase.features.backup.repair import RestoredBase


POLL_SECONDS = 1.0


def restore(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A backup. Without it: repair the vector store.", show_default=False),
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Of DIR: move aside what the data directory holds.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Of DIR: verify the backup, change nothing.")] = False,
    keep_chroma: Annotated[
        bool, typer.Option("--keep-chroma", help="Of DIR: keep Chroma's data, and repair what differs.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Without DIR: do it. Otherwise only say what would be done.")
    ] = False,
    finish: Annotated[bool, typer.Option("--finish", hidden=True)] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Restore a backup DIR into the data directory of a stack that is stopped.

    Without DIR: after a database was restored, delete collections that SQL does not know, repair or regenerate what
    differs. Exit code 1 if something is left to do.
    """
    if directory is not None:
        if apply:
            raise errors.InvalidRequest("--apply is for a restore without DIR: the next start repairs by itself.")
        from memorybase.features.backup.commands import restore_directory

        restore_directory(directory, force=force, dry_run=dry_run, keep_chroma=keep_chroma, data_dir=data_dir)
    elif force or dry_run or keep_chroma:
        raise errors.InvalidRequest("--force, --dry-run and --keep-chroma need DIR, the backup.")
    else:
        _repair(data_dir, apply=apply, finish=finish)


def _repair(data_dir: Path | None, *, apply: bool, finish: bool) -> None:
    """Make the vector store follow SQL; with `finish`, wait until it does."""
    with services_in_use(data_dir) as services:
        left = _repaired(services, apply=apply)
        if left and not apply:
            typer.echo("Nothing was changed. Run it again with --apply.")
        if left:
            raise typer.Exit(1)
        if finish:
            _await_builds(services)
            shutil.rmtree(services.settings.restored_dir)


def _repaired(services: Services, *, apply: bool) -> int:
    """Do it, or say what would be done. Returns how much is left."""
    from memorybase.core.queries import memory_bases

    left = _collections(services, apply=apply)
    collections = [each for hooks in services.hooks for each in hooks.collections]
    with services.database.reading() as db:
        base_ids = memory_bases.active_base_ids(db)
        entries = [(each, entry) for each in collections for entry in each.living(db)]
    left += sum([_memory_base(services, base_id, apply=apply) for base_id in base_ids])
    return left + sum([_knowledge_base(services, each, entry, apply=apply) for each, entry in entries])


def _await_builds(services: Services) -> None:
    """Until no memory base is rebuilt: from then on nobody needs the vectors of the backup."""
    from memorybase.core.queries import memory_bases

    while True:
        with services.database.reading() as db:
            if not memory_bases.bases_in_build(db):
                return
        sleep(POLL_SECONDS)


def _collections(services: Services, *, apply: bool) -> int:
    from memorybase.features.backup import repair

    try:
        found, dropped = repair.unknown_collections(services, apply=apply)
    except errors.VectorStoreUnavailable as exc:
        typer.echo(f"collections: {exc.message}")
        return 1
    foreign = [orphan for orphan in found if not orphan.ours]
    for orphan in found:
        if orphan.ours:
            typer.echo(f"collection {orphan.ref.name}: not in the database\n  -> {_fate(orphan, orphan in dropped)}")
    if foreign:
        typer.echo(f"{plural(len(foreign), 'collection')} of another database, by name and metadata\n  -> kept")
    return sum(orphan.ours for orphan in found) - len(dropped)


def _fate(orphan: Orphan, dropped: bool) -> str:
    if dropped:
        return "deleted"
    if orphan.created_at is None:
        return "kept, because its age is unknown: delete it in the vector store"
    return "would be deleted" if orphan.old else "kept, because it is younger than a minute: run this again"


def _memory_base(services: Services, base_id: UUID, *, apply: bool) -> bool:
    from memorybase.features.backup import repair

    done = repair.restore_base(services, base_id, apply=apply)
    if done is None:
        return False
    typer.echo(describe_comparison(done.compared))
    if done.lost_build:
        typer.echo(
            f"  -> {'abandoned' if apply else 'would abandon'} the unfinished regenerate: its collection is gone"
        )
    if done.action != "none":
        typer.echo(f"  -> {_work(done, apply=apply)}")
    left = done.lost_build or done.action not in {"none", "building"}
    return done.action == "try again" or (left and not apply)


def _work(done: RestoredBase, *, apply: bool) -> str:
    if done.action == "building":
        return "is being regenerated"
    if done.action == "try again":
        return "run this again when the vector store answers"
    if done.action == "regenerate":
        return "regenerating" if apply else "would regenerate"
    marked = plural(done.compared.marked, "session")
    return f"{marked} marked; the sweeper schedules the repairs" if apply else "would repair"


def _knowledge_base(services: Services, of: Collections, entry: KnowledgeBase, *, apply: bool) -> bool:
    try:
        missing = of.restore(services, entry, apply)
    except errors.EnvironmentFailure as exc:
        typer.echo(f"knowledge base {entry.name} ({entry.id}): {exc.message}\n  -> run this again")
        return True
    state = "gone" if missing is None else f"mismatch, {missing} chunks missing" if missing else "ok"
    typer.echo(f"knowledge base {entry.name} ({entry.id}): {state}")
    if missing == 0:
        return False
    typer.echo(f"  -> {'rebuilt' if apply else 'would rebuild'}")
    return not apply
