"""Captures every call that LiteLLM makes: `litellm.callbacks = [MemorybaseLogger(AgentMemory(...))]`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from memorybase_client import AgentMemory
from memorybase_client.integrations._recall import Given
from memorybase_client.prompts import identified, question_of, run_id_of

log = logging.getLogger("memorybase_client")


class MemorybaseLogger(CustomLogger):
    """Stores prompt and answer of each successful call, every message once, in the session that the call's
    `metadata={"session_id": ...}` names. Calls without a session are not stored, and counted in `skipped`. `recalled`
    in the metadata are the hits that the prompt contains: the page of the call's run shows them."""

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__()
        self._memory = memory
        self.skipped = 0

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """LiteLLM calls this after a call, in its own thread."""
        del start_time, end_time
        try:
            self._capture(kwargs, response_obj)
        except Exception as error:  # noqa: BLE001 - whatever a provider answered, the application continues
            log.warning("a call is not captured (%s)", type(error).__name__)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """`log_success_event` for acompletion."""
        await asyncio.to_thread(self.log_success_event, kwargs, response_obj, start_time, end_time)

    def _capture(self, call: Mapping[str, Any], answer: Any) -> None:
        metadata = _metadata_of(call)
        session_id = metadata.get("session_id")
        choices = getattr(answer, "choices", None)
        if not session_id or not choices or not isinstance(call.get("messages"), list):
            self.skipped += 1
            return
        messages = identified(str(session_id), call["messages"], [choices[0].message])
        if messages:
            end_user_id = metadata.get("end_user_id") or call.get("user")
            run_id, recalled = run_id_of(messages), metadata.get("recalled")
            if recalled is not None:
                given = Given(question_of(call["messages"]), recalled)
                given.record(self._memory, str(session_id), run_id, end_user_id)
            self._memory.capture(str(session_id), messages, run_id=run_id, end_user_id=end_user_id)


def _metadata_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `metadata` that the caller passed."""
    metadata = (call.get("litellm_params") or {}).get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}
