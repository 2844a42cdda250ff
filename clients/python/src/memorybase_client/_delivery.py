"""How a capture of the outbox is sent: once, since the outbox itself tries again."""

from __future__ import annotations

from typing import Any

from memorybase_client import errors
from memorybase_client._calls import Call, segment
from memorybase_client._lazy import models
from memorybase_client._sync.operations import Operations

TIMEOUT_SECONDS = 30.0


class Sender(Operations):
    """Sends captures over a connection of its own. Creates flows that do not exist yet."""

    def __init__(self, url: str, key: str, **connecting: Any) -> None:
        super().__init__(url, key, tries=1, timeout_seconds=TIMEOUT_SECONDS, **connecting)

    def __call__(self, flow_id: str, body: bytes) -> None:
        call = Call("POST", f"/flows/{segment(flow_id, 'flow_id')}/runs", content=body)
        try:
            self._call(call, models.CaptureAnswer)
        except errors.NotFound:
            if self._has(flow_id):
                raise
            self.put_flow(flow_id, name=flow_id)
            self._call(call, models.CaptureAnswer)

    def _has(self, flow_id: str) -> bool:
        """PUT would rename a flow that exists."""
        try:
            self.get_flow(flow_id)
        except errors.NotFound:
            return False
        return True
