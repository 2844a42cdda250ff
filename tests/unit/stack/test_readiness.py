"""What `memorybase up` says of an API that is not ready, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
from memorybase_client.local_stack import LocalStack

from memorybase.one_process import OneProcess
from memorybase.stack import run
from memorybase.stack.watch import failing_parts

ASYNC_CLIENT = httpx.AsyncClient
URL = "http://127.0.0.1:8000"
PREPARING = "preparing the embedding model (12 s)"
FAILED = "the embedding model cannot be prepared: The disk is full."


class Processes:
    def __init__(self, *ending: str) -> None:
        self.ending = ending

    def keeps_ending(self, name: str) -> bool:
        return name in self.ending


def not_ready(*failing: str, reason: str | None = None) -> httpx.Response:
    details: dict[str, Any] = {"failing": list(failing)} | ({"reason": reason} if reason else {})
    return httpx.Response(503, json={"error": {"code": "not_ready", "message": "Not ready", "details": details}})


READY = httpx.Response(200, json={"status": "ready"})


def answering(monkeypatch: Any, answers: list[httpx.Response]) -> Iterator[httpx.Response]:
    """Let readiness give these answers, one after the other; what is left of them."""
    sent = iter(answers)
    monkeypatch.setattr(
        run.httpx, "AsyncClient", lambda **_: ASYNC_CLIENT(transport=httpx.MockTransport(lambda _: next(sent)))
    )
    monkeypatch.setattr(run.asyncio, "sleep", _at_once)
    return sent


def printed(monkeypatch: Any, answers: list[httpx.Response], *ending: str) -> list[str]:
    """The lines of `up` while readiness gives these answers, one after the other."""
    sent = answering(monkeypatch, answers)
    lines: list[str] = []
    plan: Any = SimpleNamespace(
        health_url=f"{URL}/health/ready", stack=SimpleNamespace(url=URL), data=SimpleNamespace(logs="logs")
    )

    async def wait() -> None:
        processes: Any = Processes(*ending)
        if missing := await run._serving(plan, processes, lines.append):
            lines.append(missing)
            await run._ready(plan, processes, lines.append, missing)

    asyncio.run(wait())
    assert next(sent, None) is None  # it read every answer
    return lines


async def _at_once(_: float) -> None:
    return None


def test_a_model_in_preparation_is_said_once_and_waited_for(monkeypatch: Any) -> None:
    answers = [not_ready("chroma", "worker", "model", reason=PREPARING)]
    answers += [not_ready("worker", "model", reason=f"preparing the embedding model ({n} s)") for n in range(30)]
    assert printed(monkeypatch, [*answers, not_ready("worker"), READY]) == ["preparing the embedding model"]


def test_a_failed_preparation_is_said_once_with_its_reason(monkeypatch: Any) -> None:
    waits, fails = not_ready("model", reason=PREPARING), not_ready("model", reason=FAILED)
    reported = printed(monkeypatch, [waits, fails, fails, waits, fails, READY])
    assert reported == [
        "preparing the embedding model",
        f"not ready: {FAILED.rstrip('.')}; captures are accepted at {URL}",
    ]


def test_one_process_says_each_once_too(monkeypatch: Any) -> None:
    waits, fails = not_ready("worker", "model", reason=PREPARING), not_ready("model", reason=FAILED)
    sent = answering(monkeypatch, [waits, fails, waits, fails, not_ready("sweeper"), READY])
    lines: list[str] = []
    unused: Any = None
    process = OneProcess(unused, unused, unused, lines.append, unused)
    monkeypatch.setattr(process, "_tell_clients", lambda _: lines.append("told"))
    asyncio.run(process._until_ready(LocalStack(URL, "key", "data")))
    assert next(sent, None) is None
    assert lines == [
        "told",
        f"preparing the embedding model; captures are accepted at {URL}",
        f"not ready: {FAILED.rstrip('.')}; captures are accepted at {URL}",
    ]


def test_a_worker_that_keeps_ending_is_said_and_one_that_starts_is_not(monkeypatch: Any) -> None:
    assert printed(monkeypatch, [not_ready("worker"), not_ready("sweeper"), READY]) == []
    assert printed(monkeypatch, [not_ready("worker"), READY], "worker") == ["not ready: worker"]


def test_the_reason_of_the_model_is_read_from_readiness() -> None:
    async def ask() -> tuple[list[str] | None, str]:
        transport = httpx.MockTransport(lambda _: not_ready("model", reason=PREPARING))
        async with httpx.AsyncClient(transport=transport) as client:
            return await failing_parts(client, URL)

    assert asyncio.run(ask()) == (["model"], PREPARING)


def test_a_start_that_takes_long_says_what_it_waits_for_and_goes_on(monkeypatch: Any) -> None:
    monkeypatch.setattr(run, "PROGRESS_SECONDS", 0.0)
    lines = printed(monkeypatch, [not_ready("redis", "worker"), not_ready("worker"), READY])
    assert [line.rsplit(" (", 1)[0] for line in lines] == ["waiting for redis, worker", "waiting for worker"]
