"""Captures what OpenAI's and Anthropic's clients send and get, streams included, below their HTTP clients, and recalls
for them.

    memory = AgentMemory("support", outbox="memorybase-outbox")
    client = OpenAI(http_client=DefaultHttpxClient(transport=CapturingTransport(memory, top_k=5)))
    with conversation("anna"):
        client.chat.completions.create(...)

Both have a DefaultHttpxClient. AsyncOpenAI and AsyncAnthropic take a DefaultAsyncHttpxClient with an
AsyncCapturingTransport, with the same AgentMemory. Chat completions, responses and messages are captured, of any server
that speaks them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from memorybase_client import AgentMemory
from memorybase_client.integrations import _anthropic_wire, _openai_wire
from memorybase_client.integrations._messages import Json
from memorybase_client.integrations._recall import Given, Recalls
from memorybase_client.prompts import identified, question_of, run_id_of

if TYPE_CHECKING:
    from memorybase_client import models

    _Transport = Any  # fits httpx and httpx2
else:
    _Transport = object

log = logging.getLogger("memorybase_client")

MAX_ANSWER_BYTES = 8_000_000  # of one answer that is kept for the capture


class _Wire(Protocol):
    """How an API writes prompts and answers."""

    def prompt_of(self, path: str, body: Any) -> list[Any] | None: ...

    def with_recalled(self, body: Json, text: str) -> Json: ...

    def answer_of(self, content: bytes) -> list[Json]: ...


_WIRES: tuple[_Wire, ...] = (_openai_wire, _anthropic_wire)


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


class _Capturing:
    """What the sync transport and the async one share."""

    def __init__(
        self, memory: AgentMemory, transport: Any = None, *, top_k: int = 0, min_score: float | None = None
    ) -> None:
        """`transport` gets the requests; by default the HTTP library's own."""
        self._memory = memory
        self._transport = transport
        self._recalls = Recalls(memory, top_k, min_score) if top_k > 0 else None


class CapturingTransport(_Capturing, _Transport):
    """Passes requests on, and captures what comes back.

    With `top_k`, the model reads up to so many messages of other sessions that fit the question. While memorybase is
    unreachable, it is asked without them.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def handle_request(self, request: Any) -> Any:
        """The answer; captured when the caller has read it to the end."""
        http, call = _library_of(request), _Call.of(request, self._memory)
        if call is not None and self._recalls is not None:
            request = call.with_recalled(self._recalls)
        if self._transport is None:
            self._transport = http.HTTPTransport()
        answer = self._transport.handle_request(request)
        if call is not None and answer.is_success and isinstance(answer.stream, http.SyncByteStream):
            answer.stream = _kind(_Read, http.SyncByteStream)(answer.stream, call.done)
        return answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class AsyncCapturingTransport(_Capturing, _Transport):
    """CapturingTransport for async clients. The memory is a sync one: it writes to the disk, in a thread."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """The answer; captured when the caller has read it to the end."""
        http, call = _library_of(request), _Call.of(request, self._memory)
        if call is not None and self._recalls is not None:
            request = await asyncio.to_thread(call.with_recalled, self._recalls)
        if self._transport is None:
            self._transport = http.AsyncHTTPTransport()
        answer = await self._transport.handle_async_request(request)
        if call is not None and answer.is_success and isinstance(answer.stream, http.AsyncByteStream):
            answer.stream = _kind(_AsyncRead, http.AsyncByteStream)(answer.stream, call.done)
        return answer

    async def aclose(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()


def _library_of(request: Any) -> ModuleType:
    """httpx or httpx2, whichever the client uses: neither takes the objects of the other."""
    return sys.modules[type(request).__module__.partition(".")[0]]


@cache
def _kind(reading: type, stream: type) -> Any:
    """The class for streams of this library."""
    return type(reading.__name__, (reading, stream), {})


@dataclass
class _Call:
    """A request to a model within a conversation."""

    request: Any
    wire: _Wire
    body: Json
    prompt: list[Any]
    conversation: _Conversation
    memory: AgentMemory
    given: Given | None

    @classmethod
    def of(cls, request: Any, memory: AgentMemory) -> _Call | None:
        """None for any other request."""
        current = _current.get()
        if current is None or request.method != "POST":
            return None
        try:
            body = json.loads(request.read())
        except (RuntimeError, ValueError):  # a body that is not JSON, or read only once
            return None
        for wire in _WIRES:
            prompt = wire.prompt_of(request.url.path, body)
            if prompt is not None:
                request.headers["Accept-Encoding"] = "identity"  # so that what is read is the text
                hits = current.recalled
                given = None if hits is None else Given(question_of(prompt), hits)
                return cls(request, wire, body, prompt, current, memory, given)
        return None

    def with_recalled(self, recalls: Recalls) -> Any:
        """The request with what is recalled for its question, unless the application has recalled itself."""
        if self.given is None:
            self.given = recalls.given(self.conversation.session_id, self.conversation.end_user_id, self.prompt)
            if self.given is not None and self.given.text:
                return _with_body(self.request, self.wire.with_recalled(self.body, self.given.text))
        return self.request

    def done(self, answer: bytes) -> None:
        """Capture prompt and answer. The application continues whatever the server answers."""
        try:
            session_id, end_user_id, _ = self.conversation
            messages = identified(session_id, self.prompt, self.wire.answer_of(answer))
            if messages:
                run_id = run_id_of(messages)
                if self.given is not None:
                    self.given.record(self.memory, session_id, run_id, end_user_id)
                self.memory.capture(session_id, messages, run_id=run_id, end_user_id=end_user_id)
        except Exception as error:  # noqa: BLE001 - see above
            log.warning("a call is not captured (%s)", type(error).__name__)


def _with_body(request: Any, body: Json) -> Any:
    headers = [each for each in request.headers.raw if each[0].lower() not in {b"content-length", b"transfer-encoding"}]
    content = json.dumps(body).encode()
    return type(request)(request.method, request.url, headers=headers, content=content, extensions=request.extensions)


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


class _Read:
    """A stream that hands over what was read when its end was reached, or when it is closed."""

    def __init__(self, stream: Any, done: Callable[[bytes], None]) -> None:
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


class _AsyncRead:
    """_Read for async clients."""

    def __init__(self, stream: Any, done: Callable[[bytes], None]) -> None:
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
