"""Captures what an OpenAI client sends and gets, streams included, below its HTTP client.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    client = OpenAI(http_client=httpx.Client(transport=CapturingTransport(memory)))
    with conversation("anna"):
        client.chat.completions.create(...)

For AsyncOpenAI: httpx.AsyncClient(transport=AsyncCapturingTransport(memory)), with the same AgentMemory. Chat
completions and responses are captured, of any server that speaks them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from memorybase_client import AgentMemory
from memorybase_client.integrations import _openai_wire
from memorybase_client.integrations._recall import Given
from memorybase_client.prompts import identified, question_of, run_id_of

if TYPE_CHECKING:
    from memorybase_client import models

log = logging.getLogger("memorybase_client")

MAX_ANSWER_BYTES = 8_000_000  # of one answer that is kept for the capture


class _Conversation(NamedTuple):
    session_id: str
    end_user_id: str | None
    recalled: Sequence[models.Hit] | None


_current: ContextVar[_Conversation | None] = ContextVar("memorybase_conversation", default=None)


@contextmanager
def conversation(
    session_id: str, *, end_user_id: str | None = None, recalled: Sequence[models.Hit] | None = None
) -> Iterator[None]:
    """Calls inside belong to this session. Without one, calls are not captured. `recalled` are the hits that their
    prompts contain: the page of each call's run shows them."""
    if not session_id:
        raise ValueError("session_id must not be empty")
    token = _current.set(_Conversation(session_id, end_user_id, recalled))
    try:
        yield
    finally:
        _current.reset(token)


class CapturingTransport(httpx.BaseTransport):
    """Passes requests on to `transport`, by default httpx's own, and captures what comes back."""

    def __init__(self, memory: AgentMemory, transport: httpx.BaseTransport | None = None) -> None:
        self._memory = memory
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer; captured when the caller has read it to the end."""
        call = _Call.of(request, self._memory)
        answer = self._transport.handle_request(request)
        if call is not None and answer.is_success and isinstance(answer.stream, httpx.SyncByteStream):
            answer.stream = _Read(answer.stream, call.done)
        return answer

    def close(self) -> None:
        self._transport.close()


class AsyncCapturingTransport(httpx.AsyncBaseTransport):
    """CapturingTransport for AsyncOpenAI. The memory is a sync one: it writes to the disk, in a thread."""

    def __init__(self, memory: AgentMemory, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._memory = memory
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer; captured when the caller has read it to the end."""
        call = _Call.of(request, self._memory)
        answer = await self._transport.handle_async_request(request)
        if call is not None and answer.is_success and isinstance(answer.stream, httpx.AsyncByteStream):
            answer.stream = _AsyncRead(answer.stream, call.done)
        return answer

    async def aclose(self) -> None:
        await self._transport.aclose()


class _Call:
    """A request to a model within a conversation."""

    def __init__(self, prompt: list[Any], conversation: _Conversation, memory: AgentMemory) -> None:
        self._prompt = prompt
        self._conversation = conversation
        self._memory = memory

    @classmethod
    def of(cls, request: httpx.Request, memory: AgentMemory) -> _Call | None:
        """None for any other request."""
        current = _current.get()
        if current is None or request.method != "POST":
            return None
        try:
            prompt = _openai_wire.prompt_of(request.url.path, json.loads(request.read()))
        except (httpx.StreamError, RuntimeError, ValueError):  # a body that is not JSON, or read only once
            return None
        if prompt is None:
            return None
        request.headers["Accept-Encoding"] = "identity"  # so that what is read is the text
        return cls(prompt, current, memory)

    def done(self, answer: bytes) -> None:
        """Capture prompt and answer. The application continues whatever the server answers."""
        try:
            session_id, end_user_id, recalled = self._conversation
            messages = identified(session_id, self._prompt, _openai_wire.answer_of(answer))
            if messages:
                run_id = run_id_of(messages)
                if recalled is not None:
                    Given(question_of(self._prompt), recalled).record(self._memory, session_id, run_id, end_user_id)
                self._memory.capture(session_id, messages, run_id=run_id, end_user_id=end_user_id)
        except Exception as error:  # noqa: BLE001 - see above
            log.warning("a call is not captured (%s)", type(error).__name__)


class _Kept:
    """The parts of an answer, up to a bound."""

    def __init__(self, done: Callable[[bytes], None]) -> None:
        self._done = done
        self._parts: list[bytes] = []
        self._size = 0
        self._is_handed_over = False

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= MAX_ANSWER_BYTES:
            self._parts.append(part)

    def hand_over(self) -> None:
        """Once: callers may stop at the last event, before the end of the stream."""
        if self._is_handed_over:
            return
        self._is_handed_over = True
        if self._size > MAX_ANSWER_BYTES:
            log.warning("a call is not captured: its answer has %d bytes", self._size)
        else:
            self._done(b"".join(self._parts))


class _Read(httpx.SyncByteStream):
    """A stream that hands over what was read when its end was reached, or when it is closed."""

    def __init__(self, stream: httpx.SyncByteStream, done: Callable[[bytes], None]) -> None:
        self._stream = stream
        self._kept = _Kept(done)

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            self._kept.add(part)
            yield part
        self._kept.hand_over()

    def close(self) -> None:
        self._stream.close()
        self._kept.hand_over()


class _AsyncRead(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, done: Callable[[bytes], None]) -> None:
        self._stream = stream
        self._kept = _Kept(done)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._kept.add(part)
            yield part
        await asyncio.to_thread(self._kept.hand_over)

    async def aclose(self) -> None:
        await self._stream.aclose()
        await asyncio.to_thread(self._kept.hand_over)
