"""reconcile --deep: the damage of each memory base and ordinary knowledge base, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import typer

from memorybase.cli.options import progress

if TYPE_CHECKING:
    from uuid import UUID

    from memorybase.memory_bases.consistency import OnProgress
    from memorybase.memory_bases.deep_check import DeepResult
    from memorybase.services import Services


def report(services: Services, base_ids: Sequence[UUID]) -> int:
    """Check every memory base and ordinary knowledge base, and print a line for each; how many are not ok."""
    from memorybase.memory_bases import deep_check
    from memorybase.queries import knowledge_bases

    with services.database.reading() as db:
        entries = knowledge_bases.ordinary_knowledge_bases(db)
    problems = 0
    for base_id in base_ids:
        done = _with_bar(partial(deep_check.check_memory_base, services, base_id))
        if done is not None:
            remedy = f"Regenerate: POST /v1/memories/{base_id}/regenerate"
            problems += _tell(f"deep check of {base_id}", done, remedy)
    for entry in entries:
        done = _with_bar(partial(deep_check.check_knowledge_base, services, entry))
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
