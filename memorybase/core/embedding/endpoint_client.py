"""POST /embeddings of an OpenAI-compatible endpoint: one request with its retries, limits and counts.

Nothing here logs, and no error quotes texts, the key or the endpoint's answer.
"""

from __future__ import annotations

import base64
import json
import random
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from memorybase.core.circuit import Circuit
from memorybase.core.embedding.usage import OF_THIS_PROCESS, Usage, UsageCounter
from memorybase.core.errors import ModelUnavailable
from memorybase.core.retry_after import seconds_in
from memorybase.core.settings import Settings

REFUSED = frozenset({400, 413, 422})  # the endpoint works, and does not take these texts
BUSY = 429
RETRIED = frozenset({408, 409, 425, BUSY})  # and 500 and above
HINTS = {
    401: "Check MEMORYBASE_EMBEDDING_KEY.",
    403: "Check MEMORYBASE_EMBEDDING_KEY.",
    404: "Check MEMORYBASE_EMBEDDING_URL and the model's name.",
}
TIMEOUT_SECONDS = 10.0  # of one request
ATTEMPTS = 4  # of a worker at a request
FAILURES = 5  # in a row, until there is a pause
PAUSE_SECONDS = 15.0  # without requests; then one tries
FIRST_PAUSE_SECONDS = 0.5  # before the second attempt; doubles
LONGEST_PAUSE_SECONDS = 30.0  # of a worker; an endpoint that asks for more is an outage
IMPATIENT_ATTEMPTS = 2  # of a search, whose user waits
IMPATIENT_PAUSE_SECONDS = 1.0
MAX_ANSWER_BYTES = 256_000_000  # the largest request's answer of 2,048 texts with 3,072 dimensions is below


class InputRefused(Exception):
    """The endpoint does not take these texts."""


class _Failed(Exception):
    """An attempt failed. `retry_after`: the seconds that the endpoint asked for."""

    def __init__(self, reason: str, *, again: bool = True, busy: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.again, self.busy, self.retry_after = reason, again, busy, retry_after


class EndpointClient:
    """The settings' endpoint, for one model and many threads. A patient one is a worker's; an impatient one fails soon,
    for requests of users."""

    def __init__(
        self,
        settings: Settings,
        model: str,
        *,
        patient: bool,
        usage: UsageCounter = OF_THIS_PROCESS,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        url, key = settings.embedding_url, settings.embedding_key
        self.host = urlsplit(url).hostname or url
        self._model = model
        self._dimension = settings.embedding_dimension
        self._timeout_seconds = TIMEOUT_SECONDS
        self._attempts = ATTEMPTS if patient else min(ATTEMPTS, IMPATIENT_ATTEMPTS)
        self._longest_pause = LONGEST_PAUSE_SECONDS if patient else IMPATIENT_PAUSE_SECONDS
        self._circuit = Circuit(PAUSE_SECONDS, failures=FAILURES)
        self._usage = usage
        self._sleep = sleep
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )
        weakref.finalize(self, self._client.close)  # nobody closes an embedder

    def embed(self, texts: Sequence[str], *, estimated_tokens: int) -> NDArray[np.float32]:
        """A vector for each text, in order. Raises ModelUnavailable in an outage, InputRefused."""
        for attempt in range(1, self._attempts + 1):
            if wait := self._circuit.seconds_to_wait():
                raise self._unavailable(f"has failed again and again; the next request is in {wait:.0f} s")
            try:
                vectors, tokens = self._request(texts)
            except InputRefused:
                self._circuit.succeeded()
                self._usage.add(self._model, Usage(requests=1, failed_requests=1))
                raise
            except _Failed as failure:
                self._usage.add(self._model, Usage(requests=1, failed_requests=1))
                if not failure.busy:  # it answers, and says when to come again
                    self._circuit.failed()
                pause = _pause(attempt, failure.retry_after)
                if not failure.again or attempt == self._attempts or pause > self._longest_pause:
                    raise self._unavailable(failure.reason) from None
                self._sleep(pause)
            else:
                self._circuit.succeeded()
                used = estimated_tokens if tokens is None else tokens
                self._usage.add(self._model, Usage(requests=1, texts=len(texts), tokens=used))
                return vectors
        raise AssertionError("unreachable")

    def _unavailable(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(f"The embedding endpoint at {self.host} {reason}", model=self._model)

    def _request(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimension:
            body["dimensions"] = self._dimension
        try:
            with self._client.stream("POST", "/embeddings", json=body) as answer:
                _check_status(answer)
                content = self._read(answer)
        except httpx.HTTPError as error:
            raise _Failed(f"does not answer ({type(error).__name__})") from None
        return _vectors_in(content, len(texts))

    def _read(self, answer: httpx.Response) -> bytes:
        """The body. The library's timeout bounds each read, not all of them."""
        give_up_at = time.monotonic() + self._timeout_seconds
        parts: list[bytes] = []
        size = 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if time.monotonic() > give_up_at:
                raise _Failed("does not answer (the answer takes too long)")
            if size > MAX_ANSWER_BYTES:
                raise _Failed("sent an answer that is too large", again=False)
        return b"".join(parts)


def _check_status(answer: httpx.Response) -> None:
    status = answer.status_code
    if answer.is_success:
        return
    if status in REFUSED:
        raise InputRefused
    again = status in RETRIED or status >= 500
    reason = f"answered with status {status}"
    hint = HINTS.get(status)
    asked = seconds_in(answer.headers.get("Retry-After")) or 0.0
    raise _Failed(f"{reason}. {hint}" if hint else reason, again=again, busy=status == BUSY, retry_after=asked)


def _pause(attempt: int, retry_after: float) -> float:
    """Seconds before the next attempt, with jitter: not all workers come again at once."""
    own: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, no secret
    return retry_after + own


def _vectors_in(content: bytes, count: int) -> tuple[NDArray[np.float32], int | None]:
    """The vectors in the order of the texts, by each one's index, and the tokens that were counted."""
    try:
        answer = json.loads(content)
        rows = answer["data"]
        if len(rows) != count:
            raise _Failed(f"sent {len(rows)} vectors for {count} texts")
        by_index = {_index(row, position): _vector(row["embedding"]) for position, row in enumerate(rows)}
        vectors = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        if vectors.ndim != 2:
            raise _Failed("sent vectors of several dimensions")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise _Failed("sent an answer that has no vector for each text") from None
    usage = answer.get("usage") or {}
    tokens = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return vectors, tokens if isinstance(tokens, int) and tokens >= 0 else None


def _index(row: Any, position: int) -> int:
    index = row.get("index", position)
    if not isinstance(index, int):
        raise TypeError
    return index


def _vector(stated: Any) -> NDArray[np.float32]:
    """Some servers send base64 whatever they are asked for."""
    if isinstance(stated, str):
        return np.frombuffer(base64.b64decode(stated, validate=True), dtype="<f4").astype(np.float32)
    return np.array(stated, dtype=np.float32)
