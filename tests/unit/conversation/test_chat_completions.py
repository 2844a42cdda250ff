"""The client of chat endpoints keeps the pause that an endpoint asks for, up to a bound."""

from __future__ import annotations

import httpx
import pytest
from harness.rows import each_row

from memorybase.core.conversation.summarizers.chat_completions import (
    LONGEST_RETRY_AFTER_SECONDS,
    ChatEndpoint,
    EndpointUnavailable,
)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def answering(answer: httpx.Response, clock: Clock) -> ChatEndpoint:
    return ChatEndpoint(
        url="http://model.test/v1",
        key=None,
        model="m",
        timeout_seconds=5,
        clock=clock,
        transport=httpx.MockTransport(lambda _: answer),
    )


@each_row("status", [429, 503])
@each_row(
    ("asked", "seconds"),
    [
        ({"Retry-After": "20"}, 20.0),
        ({"Retry-After": "86400"}, LONGEST_RETRY_AFTER_SECONDS),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_RETRY_AFTER_SECONDS),
        ({"Retry-After": "later"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_pause_that_an_endpoint_asks_for_is_known_and_bounded(
    status: int, asked: dict[str, str], seconds: float
) -> None:
    clock = Clock()
    endpoint = answering(httpx.Response(status, headers=asked), clock)
    assert endpoint.seconds_to_wait() == 0.0
    with pytest.raises(EndpointUnavailable) as failed:
        endpoint.complete([], max_tokens=1)
    assert (failed.value.status, failed.value.retry_after_seconds) == (status, seconds)
    assert endpoint.seconds_to_wait() == seconds
    clock.now += seconds
    assert endpoint.seconds_to_wait() == 0.0


@each_row("content", [b"<html>the proxy is tired</html>", b"[]", b'{"choices": []}', b"[" * 10_000])
def test_a_malformed_answer_is_an_outage(content: bytes) -> None:
    with pytest.raises(EndpointUnavailable, match="not a chat completion"):
        answering(httpx.Response(200, content=content), Clock()).complete([], max_tokens=1)
