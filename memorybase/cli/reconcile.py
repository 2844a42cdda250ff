"""reconcile: the vector store against SQL, id by id, straight in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memorybase import errors
from memorybase.cli.options import DataDirOption, progress
from memorybase.stack.state import settings_in_use

if TYPE_CHECKING:
    from memorybase.memory_bases.reconcile import Reconciled
    from memorybase.services import Services


def reconcile(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what differs, drop what belongs to nothing.")] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Compare every memory base's store with SQL, id by id; exit code 1 when something is left to mend."""
    from memorybase import telemetry, wiring
    from memorybase.queries import memory_bases

    settings = settings_in_use(data_dir)
    telemetry.configure(settings.model_copy(update={"log_level": "ERROR"}))
    services = wiring.build(settings)
    with services.database.reading() as db:
        base_ids = memory_bases.active_base_ids(db)
    left = sum([_base_is_left(services, base_id, repair=repair) for base_id in base_ids])
    left += _orphans_left(services, repair=repair)
    if left:
        raise typer.Exit(1)


def _base_is_left(services: Services, base_id: UUID, *, repair: bool) -> bool:
    from memorybase.memory_bases import reconcile as reconciling

    with progress(stays=False) as bar:
        task = bar.add_task("looking for each chunk", total=None)

        def show(on_progress: int, total: int) -> None:
            bar.update(task, completed=on_progress, total=total)

        done = reconciling.reconcile_base(services, base_id, repair=repair, on_progress=show)
    if done is None:
        return False
    typer.echo(describe(done, repair=repair))
    return done.state != "ok" and not (repair and done.state == "mismatch")


def describe(done: Reconciled, *, repair: bool) -> str:
    """One line a memory base."""
    line = f"{done.name} ({done.memory_base_id}): {done.state}"
    if done.state == "unavailable":
        return f"{line}: the vector store does not answer"
    line += f", {done.expected} chunks expected, {done.found} found"
    line += f", {done.missing} missing, {done.extra} extra, {done.hidden} hidden"
    if done.without_tokens:
        line += f", {done.without_tokens} messages without token vectors"
    if done.state == "gone":
        return f"{line}\n  -> its collection is gone; regenerate it: POST /v1/memories/{done.memory_base_id}/regenerate"
    if done.state == "mismatch" and repair:
        return f"{line}\n  -> {done.removed} removed, {done.marked} sessions marked: the sweeper has them repaired"
    return f"{line}\n  -> mend it with --repair" if done.state == "mismatch" else line


def _orphans_left(services: Services, *, repair: bool) -> int:
    from memorybase.memory_bases import reconcile as reconciling

    try:
        orphans = reconciling.find_orphans(services)
        dropped = reconciling.drop_orphans(services, orphans) if repair else []
    except errors.VectorStoreUnavailable as exc:
        typer.echo(f"collections: {exc.message}")
        return 1
    for orphan in orphans:
        made = f"{orphan.created_at:%Y-%m-%d %H:%M}" if orphan.created_at else "at an unknown time"
        then = "deleted" if orphan in dropped else "delete it with --repair" if orphan.old else "kept for now"
        typer.echo(f"collection {orphan.ref.name} belongs to no memory base, made {made}\n  -> {then}")
    return sum(orphan.old for orphan in orphans) - len(dropped)
