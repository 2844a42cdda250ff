"""The memory base that an import goes to."""

from __future__ import annotations

from enum import StrEnum
from typing import Any
from urllib.parse import quote

import typer

from memorybase import errors
from memorybase.cli.options import progress
from memorybase.client import Client
from memorybase.models import NAME_LENGTH

Json = dict[str, Any]


class Capture(StrEnum):
    outputs = "outputs"
    all = "all"


def find_or_create(client: Client, name: str, flow: str, capture: Capture) -> Json:
    """The memory base with that name; a new one captures the flow."""
    try:
        return _noted(client.find_memory(name), capture)
    except errors.NotFound:
        return _create(client, name, flow, capture)


def of_flow(client: Client, flow: str, flow_name: str, name: str | None, capture: Capture) -> Json:
    """The memory base with that name, else one of the flow; a new one gets the flow's name. Creates the flow unless it
    exists. Raises InvalidRequest if the name is that of another flow's memory base."""
    path = f"/flows/{quote(flow, safe='')}"
    found = client.call("GET", path, allow=(404,))
    if "error" in found:
        found = client.call("PUT", path, json={"name": flow_name[:NAME_LENGTH]})
    if name is not None:
        base = find_or_create(client, name, flow, capture)
        if base["flow_id"] != found["id"]:
            raise errors.InvalidRequest(f"The memory base {name} belongs to another flow", field="--memory", value=name)
        return base
    first = next(client.pages("/memories", flow_id=found["id"]), None)
    if first is not None:
        return _noted(first, capture)
    name = found["name"]
    try:
        return _create(client, name, flow, capture)
    except errors.CallerError as exc:
        if exc.details.get("code") != errors.NameTaken.code:
            raise
        return _create(client, f"{name[: NAME_LENGTH - len(found['id']) - 1]} {found['id']}", flow, capture)


def _create(client: Client, name: str, flow: str, capture: Capture) -> Json:
    body = {"name": name, "flow_id": flow, "capture": capture.value}
    created: Json = client.call("POST", "/memories", json=body)
    return created


def _noted(base: Json, capture: Capture) -> Json:
    if base["capture"] != capture:
        typer.echo(f"note: the memory base {base['name']} already exists, with capture {base['capture']}", err=True)
    return base


def ingest(client: Client, base: Json) -> Json:
    """Wait until nothing of the memory base is pending; returns it."""
    with progress() as bar:
        task = bar.add_task("ingesting", total=None)

        def show(memory: Json) -> None:
            done = memory["total_processed"]
            bar.update(task, completed=done, total=done + memory["pending_messages"])

        return client.settle(base["id"], show)
