"""Captures every call that LiteLLM makes, and recalls for it:
`litellm.callbacks = [MemorybaseLogger(AgentMemory(...), top_k=5)]`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from memorybase_client import AgentMemory
from memorybase_client.integrations._recall import HEADING, Given, Recalls
from memorybase_client.prompts import identified, question_of, run_id_of

log = logging.getLogger("memorybase_client")


class MemorybaseLogger(CustomLogger):
    """Stores prompt and answer of each successful call, every message once, in the session that the call's
    `metadata={"session_id": ...}` names. Calls without a session are not stored, and counted in `skipped`.

    With `top_k`, the model of `acompletion` reads up to so many messages of other sessions that fit the question.
    `recalled` in the metadata are hits that the application has put into the prompt itself; nothing else is recalled
    then. The page of the call's run shows both.
    """

    def __init__(self, memory: AgentMemory, *, top_k: int = 0, min_score: float | None = None) -> None:
        super().__init__()
        self._memory = memory
        self._recalls = Recalls(memory, top_k, min_score) if top_k > 0 else None
        self.skipped = 0

    def with_recalled(self, messages: Sequence[Any], session_id: str, *, end_user_id: str | None = None) -> list[Any]:
        """The messages for one call of `completion`, before which LiteLLM asks no callback: with what is recalled."""
        said = _without_recalled(messages)
        given = None if self._recalls is None else self._recalls.given(session_id, end_user_id, said)
        return _with_text(said, given.text) if given is not None and given.text else said

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """LiteLLM calls this before acompletion."""
        metadata, messages = _mapping(kwargs.get("metadata")), kwargs.get("messages")
        session_id, recalled = metadata.get("session_id"), metadata.get("recalled")
        if call_type != "acompletion" or not session_id or recalled is not None or not isinstance(messages, list):
            return None
        end_user_id = metadata.get("end_user_id") or kwargs.get("user")
        changed = await asyncio.to_thread(self.with_recalled, messages, str(session_id), end_user_id=end_user_id)
        return {**kwargs, "messages": changed}

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
        prompt = _without_recalled(call["messages"])
        messages = identified(str(session_id), prompt, [choices[0].message])
        if messages:
            end_user_id = metadata.get("end_user_id") or call.get("user")
            run_id, given = run_id_of(messages), self._given(prompt, str(session_id), end_user_id, metadata)
            if given is not None:
                given.record(self._memory, str(session_id), run_id, end_user_id)
            self._memory.capture(str(session_id), messages, run_id=run_id, end_user_id=end_user_id)

    def _given(
        self, prompt: list[Any], session_id: str, end_user_id: str | None, metadata: Mapping[str, Any]
    ) -> Given | None:
        """What the model of this call was given."""
        question, recalled = question_of(prompt), metadata.get("recalled")
        if recalled is not None:
            return Given(question, recalled)
        return self._recalls.kept(session_id, end_user_id, question) if self._recalls is not None and question else None


def _metadata_of(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `metadata` that the caller passed."""
    return _mapping(_mapping(call.get("litellm_params")).get("metadata"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _with_text(messages: list[Any], text: str) -> list[Any]:
    """The messages with a further part of the latest question, so that the prompt up to there stays as a provider has
    cached it. LiteLLM joins parts for providers that take none."""
    changed = list(messages)
    for index, message in reversed(list(enumerate(messages))):
        if _mapping(message).get("role") == "user":
            rest = dict(message)
            content = rest.pop("content", None)
            if isinstance(content, str):  # a mark for the cache beside a text is one of its part
                mark = {"cache_control": rest.pop("cache_control")} if rest.get("cache_control") else {}
                content = [{"type": "text", "text": content, **mark}]
            changed[index] = {**rest, "content": [*(content or ()), {"type": "text", "text": text}]}
            break
    return changed


def _without_recalled(messages: Sequence[Any]) -> list[Any]:
    """The messages as the application said them."""
    return [_said(each) if _mapping(each).get("role") == "user" else each for each in messages]


def _said(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if not parts or not str(_mapping(parts[-1]).get("text")).startswith(f"{HEADING}\n"):
        return message
    is_text = len(parts) == 2 and set(_mapping(parts[0])) == {"type", "text"}
    return {**message, "content": parts[0]["text"] if is_text else parts[:-1]}
