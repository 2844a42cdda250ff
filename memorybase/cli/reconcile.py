"""reconcile: compare the vector store with SQL, id by id, with direct access to both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memorybase.cli.options import DataDirOption, plural, progress, services_in_use
from memorybase.core import errors

if TYPE_CHECKING:
    from memorybase.core.memory_bases.reconcile import Reconciled
    from memorybase.core.services import Services
    from memorybase.core.vector_stores import VectorStoreName
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase.core.memory_bases.consistency import OnProgress
    from memorybase.core.memory_bases.deep_check import DeepResult
    from memorybase.core.services import Services


def report(services: Services, base_ids: Sequence[UUID]) -> int:
    """Check every memory base and ordinary knowledge base, print a line for each, and return the number that are not
    ok."""
    from memorybase.core.memory_bases import deep_check

    collections = [each for hooks in services.hooks for each in hooks.collections]
    with services.database.reading() as db:
        entries = [(each, entry) for each in collections for entry in each.living(db)]
    problems = 0
    for base_id in base_ids:
        done = _with_bar(partial(deep_check.check_memory_base, services, base_id))
        if done is not None:
            remedy = f"Regenerate: POST /v1/memories/{base_id}/regenerate"
            problems += _tell(f"deep check of {base_id}", done, remedy)
    for each, entry in entries:
        done = _with_bar(partial(each.check, services, entry))
        if done is not None:
            remedy = f"Rebuild: POST /v1/knowledge-bases/{quote(entry.name, safe='')}/rebuild"
            problems += _tell(f"deep check of knowledge base {entry.name}", done, remedy)
    return problems


def _with_bar(check: Callable[[OnProgress], DeepResult | None]) -> DeepResult | None:
    with progress(keep=False) as bar:
        task = bar.add_task("reading vectors", total=None)
        return check(lambda checked, total: bar.update(task, completed=checked, total=total))


def _tell(what: str, done: DeepResult, remedy: str) -> bool:
    damage = done.damage
    line = f"{what}: {done.state}, {damage.checked} chunks read"
    if damage:
        line += f", {damage.unreadable} without a readable vector, {damage.unreachable} not found by their own vector"
        line += f", {damage.altered} with another text"
    reasons = {
        "damaged": remedy,
        "unreadable": f"the vector store answers, but not for this collection: its index is damaged. {remedy}",
        "gone": f"the collection is missing. {remedy}",
        "unavailable": "the vector store does not answer: run this again when it does",
    }
    typer.echo(line if done.state == "ok" else f"{line}\n  -> {reasons[done.state]}")
    return done.state != "ok"


def reconcile(
    *,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair differences and delete orphaned collections.")
    ] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also read every vector and text, and search for each; ordinary knowledge bases too."
        ),
    ] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Compare every memory base's store with SQL, id by id. Exit code 1 if problems remain."""
    from memorybase.core.queries import memory_bases

    with services_in_use(data_dir) as services:
        with services.database.reading() as db:
            base_ids = memory_bases.active_base_ids(db)
        remaining = sum([_base_needs_repair(services, base_id, repair=repair) for base_id in base_ids])
        if deep:
            remaining += report(services, base_ids)
        remaining += _remaining_orphans(services, repair=repair)
    if remaining:
        raise typer.Exit(1)


def _base_needs_repair(services: Services, base_id: UUID, *, repair: bool) -> bool:
    from memorybase.core.memory_bases import reconcile as reconciling

    with progress(keep=False) as bar:
        task = bar.add_task("checking chunks", total=None)

        def show(checked: int, total: int) -> None:
            bar.update(task, completed=checked, total=total)

        done = reconciling.reconcile_base(services, base_id, repair=repair, on_progress=show)
    if done is None:
        return False
    typer.echo(describe(done, repair=repair))
    return done.state != "ok" and not (repair and done.state == "mismatch" and not done.altered)


def describe(done: Reconciled, *, repair: bool) -> str:
    """One line for a memory base, and what to do next."""
    line = describe_comparison(done)
    if done.state == "gone":
        return f"{line}\n  -> the collection is missing. Regenerate: POST /v1/memories/{done.memory_base_id}/regenerate"
    if done.state == "mismatch" and repair:
        marked = plural(done.marked, "session")
        line += f"\n  -> {done.removed} removed, {marked} marked; the sweeper schedules the repairs"
        if done.altered:
            line += f"\n  -> altered chunks stay. Regenerate: POST /v1/memories/{done.memory_base_id}/regenerate"
        return line
    return f"{line}\n  -> repair it with --repair" if done.state == "mismatch" else line


def describe_comparison(done: Reconciled) -> str:
    """The differences of a memory base, in one line."""
    line = f"{done.name} ({done.memory_base_id}): {done.state}"
    if done.state == "unavailable":
        return f"{line}: the vector store does not answer; --deep tells an outage from a damaged index"
    line += f", {done.expected} chunks expected, {done.found} found"
    line += f", {done.missing} missing, {done.extra} extra, {done.hidden} hidden"
    if done.altered:
        line += f", {done.altered} altered"
    if done.without_tokens:
        line += f", {done.without_tokens} messages without token vectors"
    return line


def _remaining_orphans(services: Services, *, repair: bool) -> int:
    from memorybase.core.vectors.stores import store_names

    return sum([_remaining_orphans_in(services, store, repair=repair) for store in store_names(services.vectors)])


def _remaining_orphans_in(services: Services, store: VectorStoreName, *, repair: bool) -> int:
    from memorybase.core.memory_bases.orphans import drop_orphans, find_orphans_in

    try:
        orphans = [orphan for orphan in find_orphans_in(services, store) if orphan.ours]
        dropped = drop_orphans(services, orphans) if repair else []
    except errors.VectorStoreUnavailable as exc:
        typer.echo(f"collections of {store}: {exc.message}")
        return 1
    for orphan in orphans:
        created = f"{orphan.created_at:%Y-%m-%d %H:%M}" if orphan.created_at else "at an unknown time"
        action = "deleted" if orphan in dropped else "delete it with --repair" if orphan.old else "kept for now"
        typer.echo(f"collection {orphan.ref.name} is orphaned, created {created}\n  -> {action}")
    return sum(orphan.old for orphan in orphans) - len(dropped)
