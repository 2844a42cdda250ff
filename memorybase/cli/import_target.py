"""The memory base that an import goes to."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import typer

from memorybase import errors
from memorybase.cli.options import progress
from memorybase.client import Client


class Capture(StrEnum):
    outputs = "outputs"
    all = "all"


def find_or_create(client: Client, name: str, flow: str, capture: Capture) -> dict[str, Any]:
    """The memory base with that name; a new one captures the flow."""
    try:
        found: dict[str, Any] = client.find_memory(name)
    except errors.NotFound:
        body = {"name": name, "flow_id": flow, "capture": capture.value}
        created: dict[str, Any] = client.call("POST", "/memories", json=body)
        return created
    if found["capture"] != capture:
        typer.echo(f"note: the memory base {name} already exists, with capture {found['capture']}", err=True)
    return found


def ingest(client: Client, base: dict[str, Any]) -> dict[str, Any]:
    """Wait until nothing of the memory base is pending; returns it."""
    with progress() as bar:
        task = bar.add_task("ingesting", total=None)

        def show(memory: dict[str, Any]) -> None:
            done = memory["total_processed"]
            bar.update(task, completed=done, total=done + memory["pending_messages"])

        return client.settle(base["id"], show)
