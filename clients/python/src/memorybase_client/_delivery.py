"""Sends the outbox's entries, once each: the outbox itself retries."""

from __future__ import annotations

import codecs
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import httpx

from memorybase_client import errors
from memorybase_client._calls import call_of
from memorybase_client._lazy import models
from memorybase_client._outbox_store import Store
from memorybase_client._sync.operations import Operations

log = logging.getLogger("memorybase_client")

TIMEOUT_SECONDS = 30.0


class Sender(Operations):
    """Sends the outbox's entries over its own connection. Creates flows that do not exist yet, each with a memory base
    that holds all of its messages: without one, searches would find nothing of the flow. The store keeps which flows
    have none yet, also for the next process."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        answered: Callable[[], None],
        store: Store,
        target: str,
        transport: httpx.BaseTransport | None = None,
        **connecting: Any,
    ) -> None:
        # Now, and not by the first call: the outbox lets no fork happen meanwhile.
        import_module("memorybase_client.models")
        codecs.lookup("idna")
        super().__init__(url, key, tries=1, timeout_seconds=TIMEOUT_SECONDS, transport=transport, **connecting)
        self._http.event_hooks = {"response": [lambda _: answered()]}
        self._is_shared = transport is not None  # with the client, which closes it
        self._store = store
        self._target = target

    def close(self) -> None:
        if not self._is_shared:
            super().close()

    def __call__(self, flow_id: str, body: bytes) -> None:
        call, name = call_of(flow_id, body)
        answer = getattr(models, name)
        try:
            if self._store.is_new_flow(self._target, flow_id):
                self._create_memory_base(flow_id)
            self._call(call, answer)
        except errors.NotFound:
            if self._has(flow_id):
                raise
            self._store.add_new_flow(self._target, flow_id)  # first: the answer may be lost
            self.put_flow(flow_id, name=flow_id)
            self._create_memory_base(flow_id)
            self._call(call, answer)

    def _has(self, flow_id: str) -> bool:
        """PUT would rename a flow that exists."""
        try:
            self.get_flow(flow_id)
        except errors.NotFound:
            return False
        return True

    def _create_memory_base(self, flow_id: str) -> None:
        try:
            self.put_memory_base(flow_id, f"{flow_id} memory", capture="all")
        except errors.CallerError as error:
            if error.retryable or isinstance(error, errors.NotFound):
                raise
            # The name is in use, or the key may capture only.
            log.warning("the new flow has no memory base of its own: %s", error.code)
        self._store.remove_new_flow(self._target, flow_id)
