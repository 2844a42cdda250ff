"""The client of OpenAI-compatible endpoints, for summaries and features. The key never appears in errors or logs."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx

from memorybase.core.messages import message_text
from memorybase.core.retry_after import seconds_in

TIMEOUT_SECONDS = 30.0  # of one request
INPUT_TOKENS = 8_000  # of one request; longer input is divided until it fits
TOO_LARGE = (400, 413, 422)  # status codes for a prompt beyond the context window
MAX_ANSWER_BYTES = 4_000_000
LONGEST_RETRY_AFTER_SECONDS = 600.0  # an endpoint that asks for a longer pause is asked again after this one


class EndpointUnavailable(Exception):
    """A retry can help. `status` is None without an answer. `retry_after_seconds`: the pause that the endpoint asks
    for, at most LONGEST_RETRY_AFTER_SECONDS."""

    def __init__(self, message: str, status: int | None = None, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class PromptTooLong(Exception):
    """The prompt probably exceeds the model's context window."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. Token counts are None if the endpoint does not tell them; `is_complete`: it was not cut off."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    is_complete: bool = True


class _Response(NamedTuple):
    status: int
    content: bytes
    retry_after: str | None


class ChatEndpoint:
    """Any endpoint with POST /chat/completions. The timeout bounds a whole request, also one that answers slowly."""

    def __init__(
        self,
        *,
        url: str,
        key: str | None,
        model: str,
        timeout_seconds: float,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        self._clock = clock
        self._busy_until = clock()
        self._timeout_seconds = timeout_seconds
        self._takes_schemas = True  # until it refuses one
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=timeout_seconds,
            transport=transport,
        )
        weakref.finalize(self, self._client.close)  # a job makes one and ends; the client is part of a cycle

    def complete(
        self, messages: list[dict[str, str]], *, max_tokens: int, schema: dict[str, Any] | None = None
    ) -> Completion:
        """The answer to a chat, bound to a named JSON schema if the endpoint supports that.

        Raises EndpointUnavailable, PromptTooLong.
        """
        body: dict[str, Any] = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": max_tokens}
        if schema is not None and self._takes_schemas:
            bound = body | {"response_format": {"type": "json_schema", "json_schema": schema}}
            answer = self._post(bound)
            if answer.status in TOO_LARGE and _blames_schema(answer.content) and not _blames_length(answer.content):
                self._takes_schemas = False
                answer = self._post(body)
        else:
            answer = self._post(body)
        if answer.status in TOO_LARGE and _blames_length(answer.content):
            raise PromptTooLong
        if not 200 <= answer.status < 300:
            asked = min(seconds_in(answer.retry_after) or 0.0, LONGEST_RETRY_AFTER_SECONDS)
            self._busy_until = self._clock() + asked
            raise EndpointUnavailable(f"answered with status {answer.status}", answer.status, retry_after_seconds=asked)
        return _completion(answer.content)

    def seconds_to_wait(self) -> float:
        """The time until the endpoint accepts requests again; 0: it accepts them now."""
        return max(self._busy_until - self._clock(), 0.0)

    def _post(self, body: dict[str, Any]) -> _Response:
        deadline = time.monotonic() + self._timeout_seconds
        content = bytearray()
        try:
            with self._client.stream("POST", "/chat/completions", json=body) as answer:
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > MAX_ANSWER_BYTES:
                        raise EndpointUnavailable(f"answered with more than {MAX_ANSWER_BYTES} bytes")
                    if time.monotonic() > deadline:
                        raise EndpointUnavailable("does not answer: ReadTimeout")
                return _Response(answer.status_code, bytes(content), answer.headers.get("Retry-After"))
        except httpx.HTTPError as error:
            raise EndpointUnavailable(f"does not answer: {type(error).__name__}") from None


def blames_length(text: str) -> bool:
    """Whether an error's text says that the prompt is too long."""
    text = text.casefold()
    return "context" in text or "too long" in text or "maximum" in text


def _blames_length(content: bytes) -> bool:
    return blames_length(content.decode(errors="replace"))


def _blames_schema(content: bytes) -> bool:
    text = content.decode(errors="replace").casefold()
    return "response_format" in text or "json_schema" in text or "schema" in text


def _completion(content: bytes) -> Completion:
    try:
        answer = json.loads(content)
        choice = answer["choices"][0]
        text = message_text(choice["message"]["content"])
        usage = answer.get("usage") or {}
        return Completion(
            text,
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
            is_complete=choice.get("finish_reason") != "length",
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise EndpointUnavailable("sent an answer that is not a chat completion") from None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
