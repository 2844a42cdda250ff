"""The memory base that an import goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import typer
from memorybase_client import errors as client_errors

from memorybase import errors
from memorybase.cli.memory_bases import find_memory_base, ingest_pending
from memorybase.cli.options import progress
from memorybase.models import NAME_LENGTH

if TYPE_CHECKING:
    from memorybase_client import Client, models

Capture = Literal["outputs", "all"]


def find_or_create(client: Client, name: str, flow: str, capture: Capture) -> models.MemoryBaseView:
    """The memory base with that name; a new one captures the flow."""
    try:
        return _noted(find_memory_base(client, name), capture)
    except errors.NotFound:
        return client.create_memory_base(name=name, flow_id=flow, capture=capture)


def of_flow(client: Client, flow: str, flow_name: str, name: str | None, capture: Capture) -> models.MemoryBaseView:
    """The memory base with that name, else one of the flow; a new one gets the flow's name. Creates the flow unless it
    exists. Raises InvalidRequest if the name is that of another flow's memory base."""
    try:
        found = client.get_flow(flow)
    except client_errors.NotFound:
        found = client.put_flow(flow, name=flow_name[:NAME_LENGTH])
    if name is not None:
        base = find_or_create(client, name, flow, capture)
        if base.flow_id != found.id:
            raise errors.InvalidRequest(f"The memory base {name} belongs to another flow", field="--memory", value=name)
        return base
    first = next(iter(client.list_memory_bases(flow_id=found.id)), None)
    if first is not None:
        return _noted(first, capture)
    try:
        return client.create_memory_base(name=found.name, flow_id=flow, capture=capture)
    except client_errors.NameTaken:
        own_name = f"{found.name[: NAME_LENGTH - len(str(found.id)) - 1]} {found.id}"
        return client.create_memory_base(name=own_name, flow_id=flow, capture=capture)


def _noted(base: models.MemoryBaseView, capture: Capture) -> models.MemoryBaseView:
    if base.capture != capture:
        typer.echo(f"note: the memory base {base.name} already exists, with capture {base.capture}", err=True)
    return base


def ingest(client: Client, base: models.MemoryBaseView) -> models.MemoryBaseView:
    """Wait until nothing of the memory base is pending; returns it."""
    with progress() as bar:
        task = bar.add_task("ingesting", total=None)

        def show(now: models.MemoryBaseView) -> None:
            bar.update(task, completed=now.total_processed, total=now.total_processed + now.pending_messages)

        return ingest_pending(client, base.id, show)
