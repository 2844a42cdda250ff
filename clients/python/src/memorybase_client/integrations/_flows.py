"""Flows for adapters whose writes must be stored when they return."""

from __future__ import annotations

from typing import Any

from memorybase_client import Client, errors, models


def capture_now(
    client: Client, flow_id: str, message: dict[str, Any], *, kind: str, **run: Any
) -> models.CapturedMessage:
    """Capture a run of one message; one that is stored already is kept. Creates a flow that does not exist, with a
    memory base named after it and the kind."""

    def capture() -> models.CaptureAnswer:
        return client.capture_run(flow_id, messages=[message], on_conflict="keep", **run)

    try:
        answer = capture()
    except errors.NotFound:
        _create_flow(client, flow_id, kind)
        answer = capture()
    return answer.messages[0]


def _create_flow(client: Client, flow_id: str, kind: str) -> None:
    client.put_flow(flow_id, name=flow_id)
    try:
        # Every message is worth a job: nothing follows it that would reach a larger threshold.
        client.create_memory_base(name=f"{flow_id} {kind}", flow_id=flow_id, capture="all", threshold=1)
    except errors.NameTaken:
        if not client.list_memory_bases(flow_id=flow_id, size=1).page().items:
            raise  # it belongs to another flow; else another process was faster
