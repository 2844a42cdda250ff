"""The transport to an application in this process behaves as a connection to a server does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from harness.waiting import wait_until

from memorybase import in_program
from memorybase.in_program import URL
from memorybase.in_program.application import Application
from memorybase.in_program.transport import UNREAD_PARTS, Transport
from memorybase.stack.state import DataDir

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Answers:
    """An application whose paths answer in different ways."""

    def __init__(self) -> None:
        self.router, self.state = SimpleNamespace(lifespan_context=self._lifespan), SimpleNamespace()
        self.may_go_on, self.left, self.sent = asyncio.Event(), threading.Event(), 0

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        yield

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await getattr(self, scope["path"].strip("/"))(scope, receive, send)

    async def echo(self, scope: Any, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        headers = [(name, value) for name, value in scope["headers"] if name == b"x-sent"]
        await send({"type": "http.response.start", "status": 207, "headers": headers})
        await send({"type": "http.response.body", "body": scope["query_string"] + b" " + body})

    async def halves(self, _: Any, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await self.may_go_on.wait()
        await send({"type": "http.response.body", "body": b"second"})

    async def silent(self, _: Any, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()

    async def broken(self, _: Any, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        raise OSError

    async def endless(self, scope: Any, receive: Receive, send: Send) -> None:
        waiting = asyncio.create_task(self.silent(scope, receive, send))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not waiting.done():
            self.sent += 1
            await send({"type": "http.response.body", "body": b"part", "more_body": True})
            await asyncio.sleep(0)


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    data = DataDir(tmp_path)
    data.make()
    found = Application(data, {})
    found.app = Answers()
    found._serve()
    yield found
    found.call_soon(found._stop.set)
    found._thread.join()


@pytest.fixture
def transport(application: Application) -> Transport:
    found = Transport(lambda _: None)
    found.application = application
    return found


@pytest.fixture
def client(transport: Transport) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=URL, transport=transport) as found:
        yield found


def test_a_request_and_its_answer_arrive_whole(client: httpx.Client) -> None:
    answer = client.post("/echo?a=1", content=b"body", headers={"X-Sent": "yes"})
    assert (answer.status_code, answer.headers["x-sent"], answer.content) == (207, "yes", b"a=1 body")


def test_an_answer_is_read_while_it_is_made(client: httpx.Client, application: Application) -> None:
    with client.stream("GET", "/halves") as answer:
        parts = answer.iter_bytes()
        assert next(parts) == b"first"
        application.call_soon(application.app.may_go_on.set)
        assert list(parts) == [b"second"]


def test_an_answer_is_read_in_another_event_loop(transport: Transport, application: Application) -> None:
    async def read() -> list[bytes]:
        async with (
            httpx.AsyncClient(base_url=URL, transport=transport) as client,
            client.stream("GET", "/halves") as it,
        ):
            application.call_soon(application.app.may_go_on.set)
            return [part async for part in it.aiter_bytes()]

    assert b"".join(asyncio.run(read())) == b"firstsecond"


def test_a_timeout_ends_the_wait_and_the_application_hears_of_it(
    client: httpx.Client, application: Application
) -> None:
    async def count() -> int:
        return len(asyncio.all_tasks())

    before = asyncio.run_coroutine_threadsafe(count(), application._loop).result()
    while not application.app.left.is_set():  # a call that times out before it began is none for the application
        with pytest.raises(httpx.ReadTimeout):
            client.post("/silent", content=b"body", timeout=0.01)
    assert not application._waiting
    wait_until(lambda: asyncio.run_coroutine_threadsafe(count(), application._loop).result() == before)


def test_a_cancelled_call_leaves_and_raises_nothing_else(transport: Transport, application: Application) -> None:
    async def cancelled() -> None:
        async with httpx.AsyncClient(base_url=URL, transport=transport) as client:
            async with asyncio.timeout(0.01):
                await client.get("/silent")

    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())
    assert application.app.left.wait(60)
    assert not application._waiting


def test_an_answer_that_breaks_off_is_an_error_of_the_connection(client: httpx.Client) -> None:
    with client.stream("GET", "/broken") as answer, pytest.raises(httpx.RemoteProtocolError):
        answer.read()


def test_who_sends_waits_for_the_reader_and_ends_with_it(client: httpx.Client, application: Application) -> None:
    with client.stream("GET", "/endless") as answer:
        parts = answer.iter_bytes()
        for _ in range(3):
            assert next(parts) == b"part"
        assert application.app.sent <= 3 * (UNREAD_PARTS + 2)
    assert application.app.left.wait(60)


def test_an_end_of_the_application_is_one_of_the_calls(
    client: httpx.Client, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_program.application, "STOP_SECONDS", 0)
    with client.stream("GET", "/halves") as answer:
        application.call_soon(application._stop.set)
        with pytest.raises(httpx.TransportError):
            answer.read()
    application._thread.join()
    with pytest.raises(httpx.ConnectError):
        client.get("/echo")
