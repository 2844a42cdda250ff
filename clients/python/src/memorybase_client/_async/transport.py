"""Sends calls: retries, errors, streams."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from memorybase_client import errors
from memorybase_client._async.listing import AsyncListing
from memorybase_client._async.streams import AsyncStream
from memorybase_client._async.waiting import sleep
from memorybase_client._calls import (
    FIRST_PAUSE_SECONDS,
    JSON_LINES,
    LONGEST_PAUSE_SECONDS,
    STREAM_SILENCE_SECONDS,
    Call,
    connection_of,
    error_of,
    error_of_transport,
    jittered,
    pause_before_retry,
)
from memorybase_client._lazy import models as lazy
from memorybase_client._lines import Events, Line, Lines, count_lines_of_all, loaded, parts_of, plus
from memorybase_client._spans import call_span

if TYPE_CHECKING:
    from memorybase_client import models

log = logging.getLogger("memorybase_client")

Answer = TypeVar("Answer")

TRIES = 5
TIMEOUT_SECONDS = 60.0


class AsyncTransport:
    """One key's connection to one server."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        tries: int = TRIES,
        verify: ssl.SSLContext | bool = True,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url, self._key = connection_of(url, key)
        self._timeout_seconds = timeout_seconds
        self._tries = max(tries, 1)
        self._connecting = {"verify": verify, "proxy": proxy}
        self._http = httpx.AsyncClient(
            base_url=f"{self.url}/v1",
            # A key may contain non-ASCII characters.
            headers={b"Authorization": b"Bearer " + self._key.encode()},
            # Reading the certificates takes longer than a call, and a server on this machine has none.
            verify=verify if proxy or self.url.startswith("https:") else False,
            proxy=proxy,
            transport=transport,
            # Proxies of the environment are for the internet, and memorybase mostly runs next to its caller.
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=20, max_connections=100),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _send(self, call: Call) -> httpx.Response:
        """The answer, after retries. Raises MemorybaseError."""
        options = call.options(self._timeout_seconds)
        with call_span(call, self.url, options["headers"]) as span:
            answer = await self._retried(call, options)
            span.answered(answer.content)
            return answer

    async def _retried(self, call: Call, options: Mapping[str, Any]) -> httpx.Response:
        attempt = 0
        while True:
            attempt += 1
            cause: Exception | None = None
            try:
                answer = await self._http.request(call.method, call.path, **options)
                if answer.is_success:
                    return answer
                error: errors.MemorybaseError = error_of(answer)
            except httpx.TransportError as exc:
                cause, error = exc, error_of_transport(exc, self.url)
            await self._pause_or_raise(call, error, cause, attempt)

    async def _pause_or_raise(
        self, call: Call, error: errors.MemorybaseError, cause: Exception | None, attempt: int
    ) -> None:
        pause = pause_before_retry(error, attempt=attempt, tries=self._tries)
        if pause is None:
            raise error from cause
        log.warning("%s failed with %s (attempt %d of %d)", call.method, error.code, attempt, self._tries)
        await sleep(pause)

    async def _call(self, call: Call, answer_type: type[Answer]) -> Answer:
        """The answer, parsed."""
        parsed: Answer = _parsed(await self._send(call), answer_type)
        return parsed

    async def _call_maybe(self, call: Call, answer_type: type[Answer]) -> Answer | None:
        """The answer, parsed; None if it is 204."""
        answer = await self._send(call)
        return _parsed(answer, answer_type) if answer.content else None

    async def _call_empty(self, call: Call) -> None:
        await self._send(call)

    async def _call_text(self, call: Call) -> str:
        return (await self._send(call)).text

    def _listing(self, call: Call, page_type: type[Any], *, size_name: str = "size") -> AsyncListing[Any, Any]:
        async def read(params: Mapping[str, Any]) -> Any:
            return await self._call(replace(call, params=params), page_type)

        return AsyncListing(read, call.params, size_name)

    @asynccontextmanager
    async def _opened(self, call: Call) -> AsyncIterator[httpx.Response]:
        """An answer whose body is read in parts; retries until it begins. Raises MemorybaseError, also when the body
        breaks off."""
        options = call.options(max(self._timeout_seconds, STREAM_SILENCE_SECONDS))
        request = self._http.build_request(call.method, call.path, **options)
        attempt = 0
        while True:
            attempt += 1
            cause: Exception | None = None
            try:
                answer = await self._http.send(request, stream=True)
                if answer.is_success:
                    break
                await answer.aread()
                error: errors.MemorybaseError = error_of(answer)
            except httpx.TransportError as exc:
                cause, error = exc, error_of_transport(exc, self.url)
            await self._pause_or_raise(call, error, cause, attempt)
        try:
            yield answer
        except httpx.TransportError as exc:
            raise errors.StreamBroken(f"The connection to {self.url} broke", retryable=True) from exc
        finally:
            await answer.aclose()

    def _lines(self, call: Call) -> AsyncStream[dict[str, Any]]:
        """The lines of an export, up to and including its last, of type `end`. Raises StreamBroken if it is missing."""
        return AsyncStream(self._read_lines(call))

    async def _read_lines(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        lines, last = Lines(), b""
        async with self._opened(call) as answer:
            async for part in answer.aiter_bytes():
                for line in lines.feed(part):
                    last = line
                    yield loaded(line)
        if lines.rest or not last or loaded(last).get("type") != "end":
            raise errors.StreamBroken("The export is incomplete: its last line is missing", retryable=True)

    def _job_events(self, call: Call) -> AsyncStream[Any]:
        """The job now and after each change, until it ends. Connects again if the connection breaks."""
        return AsyncStream(self._read_job_events(call))

    async def _read_job_events(self, call: Call) -> AsyncGenerator[Any, None]:
        shown, failures = b"", 0
        while True:
            try:
                async with self._opened(call) as answer:
                    async for name, data in _events(answer):
                        if name == "unauthorized":
                            raise errors.Unauthorized("The API key was revoked", status=401)
                        if name == "gone":
                            raise errors.NotFound("The job was deleted", status=404)
                        if data != shown:
                            shown, failures = data, 0
                            yield lazy.JobView.model_validate_json(data)
                        if name == "end":
                            return
                broken = errors.StreamBroken("The stream ended before the job", retryable=True)
            except errors.StreamBroken as error:
                broken = error
            failures += 1
            if failures >= self._tries:
                raise broken
            await sleep(jittered(min(FIRST_PAUSE_SECONDS * 2**failures, LONGEST_PAUSE_SECONDS)))

    async def _import(self, call: Call, lines: Iterable[Line]) -> models.ImportAnswer:
        """The counts of all parts, added. An error's `details["line"]` counts from the first line of all."""
        total: Any = None
        for before, content in parts_of(lines):
            try:
                answer = await self._send(replace(call, content=content, content_type=JSON_LINES))
            except errors.MemorybaseError as error:
                count_lines_of_all(error, before)
                raise
            total = plus(total, answer.json())
        parsed: models.ImportAnswer = lazy.ImportAnswer.model_validate(total or {})
        return parsed


async def _events(answer: httpx.Response) -> AsyncGenerator[tuple[str, bytes], None]:
    lines, events = Lines(), Events()
    async for part in answer.aiter_bytes():
        for line in lines.feed(part):
            event = events.feed(line)
            if event is not None:
                yield event


def _parsed(answer: httpx.Response, answer_type: Any) -> Any:
    try:
        return answer_type.model_validate_json(answer.content)
    except ValueError as error:  # pydantic's error quotes the answer
        text = f"{answer.request.method} was answered {answer.status_code} with another shape than this client expects"
        raise errors.UnexpectedAnswer(text, status=answer.status_code) from _without_text(error)


def _without_text(error: ValueError) -> ValueError:
    """The places of pydantic's error, without the values there."""
    places: Any = getattr(error, "errors", list)
    try:
        found = places(include_input=False, include_url=False, include_context=False)
    except TypeError:
        found = []
    return ValueError("; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:5]))
